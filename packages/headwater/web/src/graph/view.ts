import { formatGrip, formatPick, isGrip, parsePick, type Grip, type Pick } from "./grips";
import { lockedIn, MOST_LOCKED } from "./lit";
import { RANGES, type Choice, type Range } from "./timeline";
import type { Direction, Level, Moment, NodeId, Seek, Side } from "./types";

/**
 * The state of the graph page. It is stored in the address, so the browser's back button undoes changes.
 *
 * A grip is a side of a node, `up:ID` or `down:ID`, at which it is expanded or collapsed.
 */
export interface View {
  node: string;
  /** Steps on each side; AUTO chooses by the size of the graph. */
  up: number;
  down: number;
  /** Neighbors of a node to show on a side before the rest collapses; not in the address. */
  most: number;
  level: Level;
  /** Nodes that show one more step on a side, in the order in which they were expanded. */
  grown: Grip[];
  /** Nodes with a collapsed side. */
  folded: Grip[];
  /** Neighbors that were picked from the collapsed ones of a node. */
  picks: Pick[];
  datasetsOnly: boolean;
  control: boolean;
  /** Null chooses the direction by the window. */
  direction: Direction | null;
  /** Pipelines drawn as one node. */
  collapsed: string[];
  /** True to draw chains as one node, except the `expanded` ones. */
  chains: boolean;
  expanded: string[];
  /** Node whose path is highlighted. */
  lit: NodeId | null;
  /** Shown details: a node's id, `run:RUN` or `column:DATASET|FIELD`. */
  open: string | null;
  tab: string | null;
  /** Datasets that show their columns; `column` is the one with a locked path. */
  columns: NodeId[];
  column: string | null;
  /** Other columns whose paths are locked too; only with `column`. */
  also: string[];
  /** Column searches of datasets, except unfiltered first pages. */
  seeks: Seek[];
  at: string | null;
  from: string | null;
  /** Range of the timeline; null if it is collapsed. */
  range: Range | null;
  /** Open moments besides now; `beside` is the one shown next to the graph. */
  moments: Moment[];
  beside: Moment | null;
}

export const AUTO = -1;

export const NEW_VIEW: View = {
  node: "",
  up: AUTO,
  down: AUTO,
  most: Infinity,
  level: "task",
  grown: [],
  folded: [],
  picks: [],
  datasetsOnly: false,
  control: true,
  direction: null,
  collapsed: [],
  chains: false,
  expanded: [],
  lit: null,
  open: null,
  tab: null,
  columns: [],
  column: null,
  also: [],
  seeks: [],
  at: null,
  from: null,
  range: "auto",
  moments: [],
  beside: null,
};

const DIRECTIONS: readonly Direction[] = ["right", "down"];
const LEVELS: readonly string[] = ["pipeline", "task", "query"];
/** Maximum number of steps in the API. */
export const DEEPEST = 100;

/** Return the view of an address's query string; unknown and invalid values become the defaults. */
export function parseView(search: string): View {
  const params = new URLSearchParams(search);
  const level = params.get("level") ?? "";
  const range = params.get("timeline") ?? "";
  return {
    node: params.get("node") ?? "",
    up: depth(params.get("up")),
    down: depth(params.get("down")),
    most: NEW_VIEW.most,
    level: LEVELS.includes(level) ? (level as Level) : "task",
    grown: params.getAll("grown").filter(isGrip),
    folded: params.getAll("folded").filter(isGrip),
    picks: params.getAll("pick").flatMap(parsePick),
    datasetsOnly: params.get("only") === "datasets",
    control: params.get("control") !== "no",
    direction: DIRECTIONS.find((direction) => direction === params.get("direction")) ?? null,
    collapsed: params.getAll("collapsed"),
    chains: params.get("chains") === "collapsed",
    expanded: params.getAll("expanded"),
    lit: params.get("lit") as NodeId | null,
    open: params.get("open"),
    tab: params.get("tab"),
    columns: params.getAll("columns") as NodeId[],
    column: params.get("column"),
    also: params.has("column") ? params.getAll("also").slice(0, MOST_LOCKED - 1) : [],
    seeks: params.getAll("seek").map(parseSeek),
    at: params.get("at"),
    from: params.get("from"),
    range: range === "no" ? null : range in RANGES ? (range as Choice) : NEW_VIEW.range,
    moments: params.getAll("moment"),
    beside: params.get("beside"),
  };
}

/** Return the address of a view; default values are omitted. */
export function formatView(view: View): string {
  const params = new URLSearchParams();
  const put = (name: string, value: string | number | null, usual: string | number | null = null) => {
    if (value !== usual && value !== null) params.append(name, String(value));
  };
  put("node", view.node, NEW_VIEW.node);
  put("up", view.up, NEW_VIEW.up);
  put("down", view.down, NEW_VIEW.down);
  put("level", view.level, NEW_VIEW.level);
  for (const grip of view.grown) put("grown", grip);
  for (const grip of view.folded) put("folded", grip);
  for (const each of view.picks) put("pick", formatPick(each));
  put("only", view.datasetsOnly ? "datasets" : null);
  put("control", view.control ? null : "no");
  put("direction", view.direction);
  for (const id of view.collapsed) put("collapsed", id);
  put("chains", view.chains ? "collapsed" : null);
  for (const id of view.expanded) put("expanded", id);
  put("lit", view.lit);
  put("open", view.open);
  put("tab", view.tab);
  for (const id of view.columns) put("columns", id);
  put("column", view.column);
  for (const key of lockedIn(view).slice(1)) put("also", key);
  for (const search of view.seeks) put("seek", formatSeek(search));
  put("at", view.at);
  put("from", view.from);
  put("timeline", view.range ?? "no", NEW_VIEW.range);
  for (const moment of view.moments) put("moment", moment);
  put("beside", view.beside);
  return `/lineage?${params.toString()}`;
}

/** Return the address of the graph around a node; `others` override the default view. */
export function addressOf(node: string, others: Partial<View> = {}): string {
  return formatView({ ...NEW_VIEW, node, ...others });
}

/** Encode a column search as a query string, which can contain any id and text. */
function formatSeek({ id, text, page }: Seek): string {
  return new URLSearchParams({ of: id, ...(text && { text }), ...(page && { page: String(page) }) }).toString();
}

function parseSeek(written: string): Seek {
  const params = new URLSearchParams(written);
  const page = Number(params.get("page"));
  return { id: (params.get("of") ?? "") as NodeId, text: params.get("text") ?? "", page: Number.isInteger(page) && page > 0 ? page : 0 };
}

/** Replace the column search of a dataset; an unfiltered first page removes it. */
export function seek(view: View, sought: Seek): Seek[] {
  const others = view.seeks.filter((other) => other.id !== sought.id);
  return sought.text || sought.page ? [...others, sought] : others;
}

/** Reuse the lists of the previous view where they are equal, so that they are not recomputed. */
export function reuseLists(before: View, view: View): View {
  const isSame = (was: readonly unknown[], now: readonly unknown[]) => JSON.stringify(was) === JSON.stringify(now);
  const kept = <T>(was: T[], now: T[]) => (isSame(was, now) ? was : now);
  return { ...view, grown: kept(before.grown, view.grown), folded: kept(before.folded, view.folded), picks: kept(before.picks, view.picks), collapsed: kept(before.collapsed, view.collapsed), expanded: kept(before.expanded, view.expanded), columns: kept(before.columns, view.columns), also: kept(before.also, view.also), seeks: kept(before.seeks, view.seeks) };
}

/** Return a number of steps from 0 to 100; AUTO if it is missing or no integer. */
function depth(text: string | null): number {
  const number = text === null ? AUTO : Number(text);
  return Number.isInteger(number) ? Math.min(Math.max(number, text === null ? AUTO : 0), DEEPEST) : AUTO;
}

/** Larger graphs show only the nearest nodes at first. */
const MOST_AUTO = 60;
const NEAREST = 2;
export const MOST_NEIGHBORS = 12;

/** Replace AUTO with a number of steps, by the number of nodes on each side (null if unknown) and the steps of the locked column's path. */
export function withDepths(view: View, reach: Record<Side, number> | null, path: Record<Side, number> | null = null): View {
  const steps = reach === null ? 1 : isWhole(reach) ? DEEPEST : NEAREST;
  const needed = (side: Side) => Math.min(DEEPEST, Math.max(steps, path ? stepsToColumns(view, path[side]) : 0));
  return { ...view, up: view.up === AUTO ? needed("up") : view.up, down: view.down === AUTO ? needed("down") : view.down };
}

/** Collapse more than 12 neighbors of a node, unless all nodes were requested, times are compared or a column's path is shown. */
export function withFanOut(view: View): View {
  const isAll = view.up === DEEPEST && view.down === DEEPEST;
  return isAll || view.from !== null || view.column !== null ? view : { ...view, most: MOST_NEIGHBORS };
}

/** Return true if a graph with this many nodes on each side is shown as a whole. */
export function isWhole(reach: Record<Side, number>): boolean {
  return reach.up + reach.down < MOST_AUTO;
}

/** Convert steps between columns to steps of the graph: two through a job. A column of another node starts at the farthest shown node. */
function stepsToColumns({ node, column, datasetsOnly, grown }: View, steps: number): number {
  const start = column?.startsWith(`${node}|`) ? 0 : NEAREST + grown.length;
  return steps === 0 ? 0 : start + steps * (datasetsOnly ? 1 : 2);
}

/** Collapse or expand a pipeline or a chain. */
export function toggleGroup(view: View, id: string): Partial<View> {
  const key = id.startsWith("chain:") ? "expanded" : "collapsed";
  return { [key]: view[key].includes(id) ? view[key].filter((other) => other !== id) : [...view[key], id] };
}

/** Show one more step on a side of a node; if it was collapsed, also its previous nodes. */
export function grow<T extends { grown: Grip[]; folded: Grip[] }>(view: T, side: Side, id: NodeId): T {
  const grip = formatGrip(side, id);
  const folded = view.folded.filter((other) => other !== grip);
  return { ...view, grown: view.grown.includes(grip) ? view.grown : [...view.grown, grip], folded };
}

/** Collapse a side of a node. */
export function fold(view: View, side: Side, id: NodeId): View {
  const grip = formatGrip(side, id);
  const picks = view.picks.filter(({ of }) => of !== grip);
  return view.folded.includes(grip) ? view : { ...view, picks, folded: [...view.folded, grip] };
}

/** Select a time (null for now); a second one is compared with the first. */
export function selectTime(view: View, at: string | null, isSecond: boolean): Partial<View> {
  if (!isSecond || at === view.at) return { at, from: null };
  const [from, to] = at !== null && (view.at === null || Date.parse(at) < Date.parse(view.at)) ? [at, view.at] : [view.at, at];
  return { from, at: to };
}
