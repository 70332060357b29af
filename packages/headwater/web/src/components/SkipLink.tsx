import type { ReactNode } from "react";
import { FRAME } from "../strings/frame";
import { focusNode, ROOT_NODE } from "./focus";
import styles from "./skip.module.css";

/** A link for keyboard users that moves the focus to the graph, or else to the view. */
export function SkipLink(): ReactNode {
  return (
    <a
      className={styles["skip"]}
      href="#content"
      onClick={(event) => {
        event.preventDefault();
        document.querySelector("main")?.setAttribute("tabindex", "-1");
        focusNode(ROOT_NODE, "[data-node]", "main");
      }}
    >
      {FRAME.skip}
    </a>
  );
}
