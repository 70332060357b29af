import { clsx } from "clsx";
import type { ReactNode } from "react";
import { Copy } from "./Copy";
import { COMPONENTS } from "../strings/components";
import styles from "./outLink.module.css";
import controls from "./controls.module.css";

const isFramed = window.self !== window.top;

/** A link to another site in a new tab. Inside a frame, such as Airflow's, a button copies the address instead. */
export function OutLink({ href, children }: { href: string; children: ReactNode }): ReactNode {
  if (isFramed)
    return (
      <span className={styles.out} title={href}>
        {children}
        <Copy text={href} label={COMPONENTS.copy.address} />
      </span>
    );
  return (
    <a className={clsx(controls.link, styles.out)} href={href} rel="noreferrer" target="_blank">
      {children}
    </a>
  );
}

/** Links to the pages of an orchestrator. */
export function OutLinks({ links }: { links: readonly { name: string; url: string }[] }): ReactNode {
  return links.map((link) => (
    <OutLink key={link.url} href={link.url}>
      {link.name}
    </OutLink>
  ));
}
