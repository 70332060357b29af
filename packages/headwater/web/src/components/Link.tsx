import type { ComponentProps, ReactNode } from "react";
import { go, hrefOf } from "../navigation/address";

/** A link within the page. The browser handles clicks with a modifier key. */
export function Link({ href, children, ...others }: ComponentProps<"a"> & { href: string }): ReactNode {
  return (
    <a
      {...others}
      href={hrefOf(href)}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        go(href);
      }}
    >
      {children}
    </a>
  );
}
