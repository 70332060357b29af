import type { ReactNode } from "react";
import { isPiiText } from "../graph/tags";

/** Tags as small labels; tags of personal data are highlighted. */
export function Tags({ tags }: { tags: readonly string[] }): ReactNode {
  if (tags.length === 0) return null;
  return (
    <span className="chips">
      {tags.map((tag) => (
        <span key={tag} className={`chip clip${isPiiText(tag) ? " pii" : ""}`} title={tag}>
          {tag}
        </span>
      ))}
    </span>
  );
}
