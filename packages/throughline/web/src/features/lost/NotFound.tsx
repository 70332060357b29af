import "./lost.css";
import type { ReactNode } from "react";
import { useAddress } from "../../app/address";
import { Link } from "../../components/Link";

/** What is shown at an address that is none of the page's. */
export function NotFound(): ReactNode {
  const { pathname, search } = useAddress();
  return (
    <main className="lost">
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
