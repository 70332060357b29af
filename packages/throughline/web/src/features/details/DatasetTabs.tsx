import type { View } from "../../graph/view";
import { ChangeHistory } from "./ChangeHistory";
import { DatasetAbout } from "./DatasetAbout";
import { Facets } from "./Facts";
import { Quality, Schema, Versions } from "./History";
import type { NodeAnswer } from "./props";
import type { Tab } from "./Tabs";

/** Return the tabs of a dataset's details. */
export function datasetTabs(node: NodeAnswer, view: View): Tab[] {
  return [
    { id: "about", title: "About", content: () => <DatasetAbout node={node} view={view} /> },
    { id: "schema", title: "Schema", count: node.fields.length, content: () => <Schema node={node} view={view} /> },
    { id: "versions", title: "Versions", content: () => <Versions node={node} view={view} /> },
    { id: "quality", title: "Quality", content: () => <Quality node={node} view={view} /> },
    { id: "history", title: "History", content: () => <ChangeHistory node={node} view={view} /> },
    { id: "facets", title: "Facets", content: () => <Facets facets={node.facets} /> },
  ];
}
