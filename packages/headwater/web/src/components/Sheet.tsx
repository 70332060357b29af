import { clsx } from "clsx";
import type { ReactNode } from "react";
import type { ImpactView } from "../graph/places";
import { moment } from "../graph/words";
import { Command } from "./Copy";
import { Icon, type IconName } from "./Icon";
import { Link } from "./Link";
import { useTitle } from "./useTitle";
import { COMPONENTS } from "../strings/components";
import styles from "./sheet.module.css";
import controls from "./controls.module.css";

interface Props {
  icon: IconName;
  kind: string;
  title: ReactNode;
  /** The title of the browser tab. */
  name: string;
  about?: ReactNode;
  actions?: ReactNode;
  isBusy?: boolean;
  children: ReactNode;
}

/** A page with a heading, actions and content. */
export function Sheet({ icon, kind, title, name, about, actions, isBusy = false, children }: Props): ReactNode {
  useTitle(name);
  return (
    <main className={styles.sheet} aria-busy={isBusy}>
      <div className={styles.inner}>
        <header className={styles.head}>
          <p className={clsx(styles.kind, "muted")}>
            <Icon name={icon} />
            {kind}
          </p>
          <h1>{title}</h1>
          {about && <p className="muted wrap">{about}</p>}
          {actions && <div className={styles.actions}>{actions}</div>}
        </header>
        {children}
      </div>
    </main>
  );
}

/** The command with the same answer. */
export function CommandPart({ text }: { text: string }): ReactNode {
  return (
    <section className={styles.part}>
      <h2>{COMPONENTS.commandLine}</h2>
      <Command text={text} />
    </section>
  );
}

/** The selected past time with a link to now; hidden for the present. */
export function AsOf({ at, now }: { at: ImpactView["at"]; now: string }): ReactNode {
  if (at === null) return null;
  return (
    <p className={styles.line}>
      {COMPONENTS.asOf(moment(at))}{" "}
      <Link className={controls.link} href={now}>
        {COMPONENTS.now}
      </Link>
    </p>
  );
}
