import { clsx } from "clsx";
import type { ReactNode } from "react";
import { isPiiText, joined } from "../graph/tags";
import tagStyles from "./tags.module.css";

/** Tags as small labels, one per tag of several columns; tags of personal data are highlighted. */
export function Tags({ tags }: { tags: readonly string[] }): ReactNode {
  if (tags.length === 0) return null;
  return (
    <span className={tagStyles.chips}>
      {joined(tags).map((tag) => (
        <span key={tag} className={clsx(tagStyles.chip, "clip", isPiiText(tag) && tagStyles.pii)} title={tag}>
          {tag}
        </span>
      ))}
    </span>
  );
}
