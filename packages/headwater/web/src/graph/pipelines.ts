import type { Box, Place } from "./layout";

interface Pipeline {
  id: string;
  upstream: readonly string[];
}

/** The connected pipelines in columns from left to right, the lines between them, and the other pipelines. */
export interface PipelineMap<T> {
  boxes: { pipeline: T; box: Box }[];
  lines: string[];
  width: number;
  height: number;
  others: T[];
}

const BOX = { width: 240, height: 58 };
const GAP = { x: 44, y: 14 };

/** Place each pipeline to the right of those upstream of it. */
export function mapOf<T extends Pipeline>(pipelines: readonly T[], size = BOX): PipelineMap<T> {
  const byId = new Map(pipelines.map((pipeline) => [pipeline.id, pipeline]));
  const upstreamOf = ({ upstream }: Pipeline) => upstream.filter((id) => byId.has(id));
  const connected = new Set(pipelines.flatMap((pipeline) => (upstreamOf(pipeline).length > 0 ? [pipeline.id, ...upstreamOf(pipeline)] : [])));
  const columns = withoutGaps(columnsOf(byId, upstreamOf), connected);
  const places = new Map<string, Place>();
  const rows: number[] = [];
  for (const pipeline of pipelines.filter(({ id }) => connected.has(id)).toSorted((a, b) => Number(columns.get(a.id)) - Number(columns.get(b.id)))) {
    const column = columns.get(pipeline.id) as number;
    const row = rows[column] ?? 0;
    rows[column] = row + 1;
    places.set(pipeline.id, { x: column * (size.width + GAP.x), y: row * (size.height + GAP.y) });
  }
  const boxes = [...places].map(([id, place]) => ({ pipeline: byId.get(id) as T, box: { ...place, ...size } }));
  const lines = boxes.flatMap(({ pipeline, box }) => upstreamOf(pipeline).map((id) => lineBetween(places.get(id) as Place, box, size)));
  const width = Math.max(0, ...boxes.map(({ box }) => box.x + box.width));
  const height = Math.max(0, ...boxes.map(({ box }) => box.y + box.height));
  return { boxes, lines, width, height, others: pipelines.filter(({ id }) => !connected.has(id)) };
}

/** Return the column of each pipeline: one more than the last one upstream of it; cycles are cut. */
function columnsOf<T extends Pipeline>(byId: ReadonlyMap<string, T>, upstreamOf: (pipeline: T) => string[]): Map<string, number> {
  const columns = new Map<string, number>();
  const columnOf = (id: string): number => {
    const known = columns.get(id);
    if (known !== undefined) return known;
    columns.set(id, 0);
    const column = Math.max(0, ...upstreamOf(byId.get(id) as T).map((other) => columnOf(other) + 1));
    columns.set(id, column);
    return column;
  };
  for (const id of byId.keys()) columnOf(id);
  return columns;
}

/** Number the columns of connected pipelines without gaps, which cycles leave. */
function withoutGaps(columns: ReadonlyMap<string, number>, connected: ReadonlySet<string>): Map<string, number> {
  const used = [...new Set([...connected].map((id) => Number(columns.get(id))))].sort((a, b) => a - b);
  return new Map([...columns].map(([id, column]) => [id, used.indexOf(column)]));
}

function lineBetween(from: Place, to: Place, { width, height }: typeof BOX): string {
  const [x, y, end, into] = [from.x + width, from.y + height / 2, to.x, to.y + height / 2];
  const bend = Math.max(GAP.x / 2, Math.abs(end - x) / 2);
  return `M${x} ${y}C${x + bend} ${y} ${end - bend} ${into} ${end} ${into}`;
}
