import { clsx } from "clsx";
import type { ReactNode } from "react";
import { useAnswer } from "../../api/answers";
import { Link } from "../../components/Link";
import { addressOf } from "../../graph/view";
import { useAddress } from "../../navigation/address";
import { BROWSE } from "../../strings/browse";
import { changed, cursorsIn, nodeStateIn, orderIn, selectedIn, sortOf } from "./address";
import { freshnessRows, partIn, Parts, type Part } from "./Freshness";
import { Listing, PAGE } from "./Listing";
import { NamesList } from "./Names";
import { TaggedPage } from "./TaggedPage";
import { UnusedList } from "./Unused";
import { datasetRows, groupRows, jobRows, runRows } from "./rows";
import controls from "../../components/controls.module.css";

/** The list of the address: datasets, jobs, runs, owners or tags. */
export default function BrowsePage(): ReactNode {
  switch (useAddress().pathname) {
    case "/jobs":
      return <Jobs />;
    case "/runs":
      return <Runs />;
    case "/owners":
      return <Groups by="owner" />;
    case "/tags":
      return <TagsOrTag />;
    default:
      return <Datasets />;
  }
}

/** Return the parameters that all lists share. */
function useListParameters() {
  const params = useAddress().searchParams;
  const { state, ...selected } = selectedIn(params);
  return { params, state, selected, page: { limit: PAGE, cursor: cursorsIn(params).at(-1) ?? null }, text: params.get("name") };
}

/** The datasets, their freshness, the unused ones or names to join: the parameter `fresh` selects which of them. */
function Datasets(): ReactNode {
  const params = useAddress().searchParams;
  const part = partIn(params);
  if (params.get("fresh") === "unused") return <UnusedList />;
  if (params.get("fresh") === "names") return <NamesList />;
  return part ? <FreshnessBoard part={part} /> : <AllDatasets />;
}

function FreshnessBoard({ part }: { part: Part }): ReactNode {
  const { params, selected, state, page, text } = useListParameters();
  const orders = ["due", "-due", "name", "written", "-written"] as const;
  const order = orderIn(params, orders);
  const answer = useAnswer("freshness/datasets", { ...selected, ...page, ...sortOf<"due" | "name" | "written">(order), text, due: part, state: nodeStateIn(state) });
  return <Listing title={BROWSE.datasets} icon="table" answer={answer} orders={orders} order={order} layout="fresh" above={<Parts part={part} counts={answer.data?.counts} />} rows={freshnessRows} />;
}

function AllDatasets(): ReactNode {
  const { params, selected, state, page, text } = useListParameters();
  const orders = ["name", "-name", "written", "-written"] as const;
  const order = orderIn(params, orders);
  const answer = useAnswer("datasets", { ...selected, ...page, ...sortOf<"name" | "written">(order), text, state: nodeStateIn(state) });
  return <Listing title={BROWSE.datasets} icon="table" answer={answer} orders={orders} order={order} above={<Parts part={null} />} rows={datasetRows} />;
}

function Jobs(): ReactNode {
  const { params, selected, state, page, text } = useListParameters();
  const orders = ["name", "-name", "started", "-started"] as const;
  const order = orderIn(params, orders);
  const answer = useAnswer("jobs", { ...selected, ...page, ...sortOf<"name" | "started">(order), text, state: nodeStateIn(state) });
  return <Listing title={BROWSE.jobs} icon="task" answer={answer} orders={orders} order={order} layout="wide" rows={jobRows} />;
}

const STATES = ["NEW", "RUNNING", "COMPLETED", "FAILED", "ABORTED", "LOST"] as const;

function Runs(): ReactNode {
  const { params, selected, state, page, text } = useListParameters();
  const orders = ["started", "-started", "duration", "-duration"] as const;
  const order = orderIn(params, orders);
  const condition = STATES.find((name) => name === state);
  const job = params.get("job");
  const answer = useAnswer("runs", { ...selected, ...page, ...sortOf<"started" | "duration">(order), job, text, condition, facets: true });
  return <Listing title={BROWSE.runs} icon="run" answer={answer} orders={orders} order={order} layout="wide" above={job && <OfJob job={job} />} rows={runRows} />;
}

/** All tags, or the columns of the one in the address. */
function TagsOrTag(): ReactNode {
  const tag = useAddress().searchParams.get("tag");
  return tag ? <TaggedPage tag={tag} /> : <Groups by="tag" />;
}

/** The job to which the list of runs is limited. */
function OfJob({ job }: { job: string }): ReactNode {
  const address = useAddress();
  return (
    <p>
      {BROWSE.ofJob}{" "}
      <Link className={controls.link} href={addressOf(job)}>
        {job.slice(job.lastIndexOf(":") + 1)}
      </Link>{" "}
      <Link className={clsx(controls.button, controls.bare)} href={changed(address, { job: null })}>
        {BROWSE.allJobs}
      </Link>
    </p>
  );
}

function Groups({ by }: { by: "owner" | "tag" }): ReactNode {
  const { params, page, text } = useListParameters();
  const orders = ["name", "-name", "datasets", "jobs"] as const;
  const order = orderIn(params, orders);
  const answer = useAnswer("groups", { by, ...page, ...sortOf<"name" | "datasets" | "jobs">(order), text });
  const icon = by === "owner" ? "owner" : "tag";
  return <Listing key={by} title={by === "owner" ? BROWSE.owners : BROWSE.tags} icon={icon} answer={answer} orders={orders} order={order} rows={(groups) => groupRows(groups, by, icon)} />;
}
