import type { ReactNode } from "react";
import { useAddress } from "../../navigation/address";
import { Link } from "../../components/Link";
import { FALLBACK } from "../../strings/fallback";
import styles from "../../components/message.module.css";
import controls from "../../components/controls.module.css";

/** The page for unknown addresses. */
export function NotFound(): ReactNode {
  const { pathname, search } = useAddress();
  return (
    <main className={styles.lost} data-testid="lost">
      <h1>{FALLBACK.notFound}</h1>
      <p>
        {FALLBACK.noPage[0]}
        <code className="wrap">{pathname + search}</code>
        {FALLBACK.noPage[1]}
        <Link className={controls.link} href="/">
          {FALLBACK.start}
        </Link>
        .
      </p>
    </main>
  );
}
