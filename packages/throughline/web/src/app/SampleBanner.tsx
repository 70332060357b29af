import type { ReactNode } from "react";

/** Above every view of the sample: that it is one, and the way out of it. */
export function SampleBanner(): ReactNode {
  return (
    <aside className="sample-banner" aria-label="Sample">
      <span>
        <strong>Sample:</strong> two weeks of a made-up pipeline. Not your data.
      </span>
      <a className="link" href="/">
        Leave the sample
      </a>
    </aside>
  );
}
