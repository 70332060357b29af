import type { View } from "../../graph/view";
import { ChangeHistory } from "./ChangeHistory";
import { DatasetAbout } from "./DatasetAbout";
import { Facets } from "./Facts";
import { Quality, Schema, Versions } from "./History";
import type { NodeAnswer } from "./props";
import type { Tab } from "./Tabs";
import { DETAILS } from "../../strings/details";

/** Return the tabs of a dataset's details. */
export function datasetTabs(node: NodeAnswer, view: View): Tab[] {
  return [
    { id: "about", title: DETAILS.tabs.about, content: () => <DatasetAbout node={node} view={view} /> },
    { id: "schema", title: DETAILS.tabs.schema, count: node.fields.length, content: () => <Schema node={node} view={view} /> },
    { id: "versions", title: DETAILS.tabs.versions, content: () => <Versions node={node} view={view} /> },
    { id: "quality", title: DETAILS.tabs.quality, content: () => <Quality node={node} view={view} /> },
    { id: "history", title: DETAILS.tabs.history, content: () => <ChangeHistory node={node} view={view} /> },
    { id: "facets", title: DETAILS.tabs.facets, content: () => <Facets facets={node.facets} /> },
  ];
}
