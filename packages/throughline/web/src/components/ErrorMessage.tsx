import type { ReactNode } from "react";
import { ApiError, UserFacingError } from "../api/client";
import { addressOf } from "../graph/view";
import { Link } from "./Link";

/** The error of a request, and what to do about it. */
export function ErrorMessage({ error, children }: { error: Error; children?: ReactNode }): ReactNode {
  const isApiError = error instanceof ApiError;
  return (
    <div className="note bad" role="alert">
      <p>
        {error instanceof UserFacingError ? error.message : "The server does not respond. This page retries automatically."}
        {isApiError && error.nearest.length > 0 && ". Did you mean "}
        {isApiError &&
          error.nearest.map((name, place) => (
            <span key={name}>
              {place > 0 && " or "}
              <Link className="link" href={addressOf(name)}>
                {name}
              </Link>
            </span>
          ))}
        {isApiError && error.nearest.length > 0 && "?"}
        {isApiError && error.status === 401 && " Reload the page to enter an API key as the password."}
      </p>
      {children}
    </div>
  );
}
