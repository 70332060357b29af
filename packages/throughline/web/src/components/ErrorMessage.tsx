import type { ReactNode } from "react";
import { ApiError, ToldError } from "../api/client";
import { addressOf } from "../graph/view";
import { Link } from "./Link";

/** What went wrong with a question, and what to do. */
export function ErrorMessage({ error, children }: { error: Error; children?: ReactNode }): ReactNode {
  const isOurs = error instanceof ApiError;
  return (
    <div className="note bad" role="alert">
      <p>
        {error instanceof ToldError ? error.message : "The server does not respond. This page retries automatically."}
        {isOurs && error.nearest.length > 0 && ". Did you mean "}
        {isOurs &&
          error.nearest.map((name, place) => (
            <span key={name}>
              {place > 0 && " or "}
              <Link className="link" href={addressOf(name)}>
                {name}
              </Link>
            </span>
          ))}
        {isOurs && error.nearest.length > 0 && "?"}
        {isOurs && error.status === 401 && " Reload the page to enter an API key as the password."}
      </p>
      {children}
    </div>
  );
}
