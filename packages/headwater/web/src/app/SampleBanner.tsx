import type { ReactNode } from "react";
import { PRESENT } from "../api/base";
import { FRAME } from "../strings/frame";
import styles from "./banner.module.css";
import controls from "../components/controls.module.css";

/** The banner of the sample, with a link to leave it. */
export function SampleBanner(): ReactNode {
  return (
    <aside className={styles.banner} aria-label={FRAME.sample}>
      <span>
        <strong>{FRAME.sampleMark}</strong>
        {FRAME.sampleAbout(PRESENT.slice(0, 10))}
      </span>
      <a className={controls.link} href="/">
        {FRAME.leaveSample}
      </a>
    </aside>
  );
}
