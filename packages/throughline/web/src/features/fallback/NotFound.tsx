import type { ReactNode } from "react";
import { useAddress } from "../../app/address";
import { Link } from "../../components/Link";
import styles from "../../components/message.module.css";

/** The page for unknown addresses. */
export function NotFound(): ReactNode {
  const { pathname, search } = useAddress();
  return (
    <main className={styles.lost} data-testid="lost">
      <h1>Not found</h1>
      <p>
        No page at <code className="wrap">{pathname + search}</code>. Search above for a table or a job, or go to the{" "}
        <Link className="link" href="/">
          start page
        </Link>
        .
      </p>
    </main>
  );
}
