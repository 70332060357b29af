import type { ReactNode } from "react";
import { PRESENT } from "../api/base";

/** The banner of the sample, with a link to leave it. */
export function SampleBanner(): ReactNode {
  return (
    <aside className="sample-banner" aria-label="Sample">
      <span>
        <strong>Sample:</strong> two weeks of a made-up pipeline, seen on {PRESENT.slice(0, 10)}. Not your data.
      </span>
      <a className="link" href="/">
        Leave the sample
      </a>
    </aside>
  );
}
