import type { Answer } from "../../api/client";
import type { View } from "../../graph/view";

export type NodeAnswer = Answer<"node">;

export interface DetailsProps {
  view: View;
  change: (change: Partial<View>) => void;
}
