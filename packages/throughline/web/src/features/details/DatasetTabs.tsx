import type { ReactNode } from "react";
import { Ago } from "../../components/Ago";
import { Command } from "../../components/Copy";
import { Tags } from "../../components/Tags";
import type { View } from "../../graph/view";
import { quoted } from "../../graph/words";
import { Became } from "./Became";
import { Facets, Facts } from "./Facts";
import { Quality, Schema, Versions } from "./History";
import { Lateness } from "./Lateness";
import type { NodeAnswer } from "./props";
import type { Tab } from "./Tabs";

/** What can be seen of a dataset. */
export function datasetTabs(node: NodeAnswer, view: View): Tab[] {
  return [
    { id: "about", title: "About", content: () => <About node={node} view={view} /> },
    { id: "schema", title: "Schema", count: node.fields.length, content: () => <Schema node={node} view={view} /> },
    { id: "versions", title: "Versions", content: () => <Versions node={node} view={view} /> },
    { id: "quality", title: "Quality", content: () => <Quality node={node} view={view} /> },
    { id: "history", title: "History", content: () => <Became node={node} view={view} /> },
    { id: "facets", title: "Facets", content: () => <Facets facets={node.facets} /> },
  ];
}

function About({ node, view }: { node: NodeAnswer; view: View }): ReactNode {
  const asOf = view.at ? ` --as-of ${view.at}` : "";
  return (
    <>
      {node.description && <p className="wrap">{node.description}</p>}
      <Lateness id={node.id} view={view} />
      <Facts
        facts={[
          ["Written", node.writtenAt ? <Ago at={node.writtenAt} /> : "by nobody who told it"],
          ["Version", node.version && <code className="wrap">{node.version}</code>],
          ["Rows written", node.rows?.toLocaleString("en")],
          ["Checks", node.failedChecks === null ? null : node.failedChecks === 0 ? "all hold" : `${node.failedChecks} do not hold`],
          ["Owners", node.owners.join(", ") || <span className="muted">not reported</span>],
          ["Tags", node.tags.length > 0 && <Tags tags={node.tags} />],
          ["Aliases", node.aliases.length > 0 && <Aliases aliases={node.aliases} />],
        ]}
      />
      <h3>On the command line</h3>
      <Command text={`throughline tree ${quoted(node.id)}${asOf}`} />
      <Command text={`throughline impact ${quoted(node.id)}${asOf}`} />
    </>
  );
}

function Aliases({ aliases }: { aliases: NodeAnswer["aliases"] }): ReactNode {
  return (
    <ul>
      {aliases.map((each) => (
        <li key={`${each.namespace} ${each.name}`} className="wrap">
          {each.name} <span className="muted">{each.namespace}</span>
        </li>
      ))}
    </ul>
  );
}
