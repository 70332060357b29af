import { clsx } from "clsx";
import type { ReactNode } from "react";
import { useAnswer } from "../../api/answers";
import { Copy } from "../../components/Copy";
import { Icon } from "../../components/Icon";
import { Link } from "../../components/Link";
import { OutLinks } from "../../components/OutLink";
import { PlatformIcon } from "../../components/PlatformIcon";
import { Skeleton } from "../../components/Skeleton";
import { ErrorMessage } from "../../components/ErrorMessage";
import { impactOf, provenanceOf } from "../../graph/places";
import { addressOf } from "../../graph/view";
import { kindText } from "../../platforms";
import { parts, restOf } from "../../graph/words";
import { datasetTabs } from "./DatasetTabs";
import type { DetailsProps } from "./props";
import { jobTabs } from "./JobTabs";
import { Tabs } from "./Tabs";
import { COMPONENTS } from "../../strings/components";
import details from "./details.module.css";
import controls from "../../components/controls.module.css";

/** Details of a dataset or a job. */
export function NodeDetails({ id, view, change }: DetailsProps & { id: string }): ReactNode {
  const { data: node, error } = useAnswer("node", { node: id, asOf: view.at });
  if (error) return <div className={details.head}><ErrorMessage error={error} /></div>;
  if (!node) return <Skeleton />;
  const isJob = node.type === "job";
  const named = parts(node.name, isJob ? "job" : "dataset");
  const rest = restOf(node.name, named);
  const tabs = isJob ? jobTabs(node, view) : datasetTabs(node, view);
  return (
    <>
      <div className={details.head}>
        <p className={clsx("muted", details.kind)}>
          <PlatformIcon node={node} isNamed />
          {kindText(node)}
        </p>
        <h2 className={details.title}>
          {named.title}
          <Copy text={node.name} label={COMPONENTS.copy.name} />
        </h2>
        {rest && <p className="muted wrap">{rest}</p>}
        <p className="muted wrap">{node.namespace}</p>
        <div className={details.links}>
          <Link className={controls.button} href={impactOf(node.id, { at: view.at })}>
            <Icon name="impact" /> {COMPONENTS.impact}
          </Link>
          {!isJob && (
            <Link className={controls.button} href={provenanceOf(node.id, { at: view.at })}>
              <Icon name="origin" /> {COMPONENTS.provenance}
            </Link>
          )}
          {node.id !== view.node && (
            <Link className={controls.button} href={addressOf(node.id, { level: view.level, at: view.at, from: view.from })}>
              <Icon name="pipeline" /> {COMPONENTS.inGraph}
            </Link>
          )}
        </div>
        <OutLinks links={node.links} />
      </div>
      <Tabs tabs={tabs} selected={view.tab} select={(tab) => change({ tab })} />
    </>
  );
}
