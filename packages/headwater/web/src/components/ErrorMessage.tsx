import { clsx } from "clsx";
import type { ReactNode } from "react";
import { ApiError, UserFacingError } from "../api/client";
import { addressOf } from "../graph/view";
import { Link } from "./Link";
import { COMPONENTS } from "../strings/components";
import messages from "./message.module.css";
import controls from "./controls.module.css";

const TEXTS = COMPONENTS.error;

/** The error of a request, and what to do about it. */
export function ErrorMessage({ error, children }: { error: Error; children?: ReactNode }): ReactNode {
  const isApiError = error instanceof ApiError;
  return (
    <div className={clsx(messages.note, messages.bad)} role="alert">
      <p>
        {error instanceof UserFacingError ? error.message : TEXTS.away}
        {isApiError && error.nearest.length > 0 && TEXTS.nearest}
        {isApiError &&
          error.nearest.map((name, place) => (
            <span key={name}>
              {place > 0 && TEXTS.or}
              <Link className={controls.link} href={addressOf(name)}>
                {name}
              </Link>
            </span>
          ))}
        {isApiError && error.nearest.length > 0 && TEXTS.end}
        {isApiError && error.status === 401 && TEXTS.key}
      </p>
      {children}
    </div>
  );
}
