import type { ReactNode } from "react";
import { PRESENT } from "../api/base";

/** Above every view of the sample: that it is one, and the way out of it. */
export function SampleBanner(): ReactNode {
  return (
    <aside className="sample-banner" aria-label="Sample">
      <span>
        <strong>Sample:</strong> two weeks of a made-up pipeline, seen on {PRESENT.slice(0, 10)}. Not your data.
      </span>
      <a className="link" href="/">
        Leave the sample
      </a>
    </aside>
  );
}
