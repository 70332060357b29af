import type { ColumnRow, RowPage } from "./columns";
import type { Mark } from "./difference";
import type { FrameBox } from "./arrange";
import { needsMark, TROUBLE_TEXT, type Trouble } from "./state";
import { SIZES } from "./sizes";
import { around, GRIPS, sizeOf, type Box, type Place } from "./layout";
import { columnKey } from "./lit";
import { besidePath, linePath } from "./route";
import { joined } from "./tags";
import type { LineageNode, RunLine } from "./types";
import { duration, moment, parts, short } from "./words";

/** A node of the drawn graph. */
export interface PictureNode {
  position: Place;
  data: { node: LineageNode; isDim: boolean; isRoot: boolean; mark: Mark | null; trouble: Trouble | null; columns: RowPage | null; litColumns: ReadonlySet<string> };
}

/** A line of the drawn graph; the handle of a column is `in:COLUMN` or `out:COLUMN`. */
export interface PictureLine {
  source: string;
  target: string;
  sourceHandle?: string | null;
  targetHandle?: string | null;
  className?: string;
  label?: unknown;
  /** Route of the line between its ends. */
  data?: { corners?: readonly Place[]; isDown?: boolean; isBeside?: boolean };
}

export const COLOURS = ["page", "card", "hover", "line", "line-strong", "text", "muted", "accent", "accent-soft", "good", "bad", "warn", "run"] as const;
type Colour = (typeof COLOURS)[number];

/** Drawing resources: the theme's colours, icons as SVG elements of 24 by 24, and a function that measures text. */
export interface Pens {
  colours: Record<Colour, string>;
  iconOf: (node: LineageNode) => { markup: string; colour: string; isFilled: boolean };
  measure: (text: string, size: number, isBold: boolean) => number;
}

export interface Picture {
  svg: string;
  width: number;
  height: number;
}

const MARGIN = 40;
const TITLE = 64;
const ROW = 28;
const FIRST_ROW = SIZES.body + SIZES.search;
const SANS = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif'.replaceAll('"', "'");
const MONO = "ui-monospace, Menlo, Consolas, monospace";
const STATES: Record<RunLine["state"], Colour> = { COMPLETED: "good", FAILED: "bad", ABORTED: "bad", RUNNING: "run", NEW: "run", LOST: "warn" };
const TROUBLES: Record<Trouble, Colour> = { failed: "bad", check: "bad", blocked: "bad", stale: "warn", late: "warn" };
const MARKS: Record<Mark, [string, Colour]> = { added: ["New", "good"], removed: ["Gone", "bad"], changed: ["Changed", "warn"] };

/** Draw the whole graph as a self-contained SVG, with its title and subtitle. */
export function pictureOf(nodes: readonly PictureNode[], lines: readonly PictureLine[], frames: readonly FrameBox[], title: string, about: string, pens: Pens): Picture {
  const draw = new Drawing(pens);
  const boxes = new Map(nodes.map((node) => [node.data.node.id as string, { ...boxOf(node), rows: node.data.columns?.rows ?? [] }]));
  const { x, y, width, height } = around([...boxes.values(), ...frames]);
  const size = { width: Math.round(Math.max(width, 480)) + 2 * MARGIN, height: Math.round(height) + TITLE + 2 * MARGIN };
  const heading = [draw.text(MARGIN, MARGIN + 16, title, { size: 20, isBold: true, room: size.width - 2 * MARGIN }), draw.text(MARGIN, MARGIN + 38, about, { size: 13, colour: "muted", room: size.width - 2 * MARGIN })];
  const drawn = [...frames.map((frame) => draw.frame(frame)), ...lines.map((line) => draw.line(line, boxes)), ...nodes.map((node) => draw.node(node)), ...lines.map((line) => draw.label(line, boxes))];
  const { colours } = pens;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${size.width}" height="${size.height}" viewBox="0 0 ${size.width} ${size.height}" font-family="${SANS}"><title>${escaped(`${title}, ${about}`)}</title><rect width="100%" height="100%" fill="${colours.page}"/>${heading.join("")}<g transform="translate(${MARGIN - x} ${MARGIN + TITLE - y})">${drawn.join("")}</g></svg>`;
  return { svg, ...size };
}

/** Return the scale of a PNG: 2, or less because of the browser's size limit. */
export function scaleOf({ width, height }: { width: number; height: number }): number {
  return Math.min(2, 16_000 / Math.max(width, height), Math.sqrt(100_000_000 / (width * height)));
}

type Rows = ColumnRow[];
type Boxes = ReadonlyMap<string, Box & { rows: Rows }>;

function boxOf({ position, data: { columns } }: PictureNode): Box {
  return { ...position, ...sizeOf(columns?.all ?? null) };
}

interface Style {
  size?: number;
  isBold?: boolean;
  isMono?: boolean;
  isEnd?: boolean;
  colour?: Colour;
  /** Available width in pixels; longer text is truncated. */
  room?: number;
}

class Drawing {
  constructor(private readonly pens: Pens) {}

  text(x: number, y: number, content: string, { size = 14, isBold = false, isMono = false, isEnd = false, colour = "text", room = Infinity }: Style = {}): string {
    const shown = this.cut(content, size, isBold, room);
    const looks = [isBold && ' font-weight="600"', isMono && ` font-family="${MONO}"`, isEnd && ' text-anchor="end"'].filter(Boolean).join("");
    return `<text x="${x}" y="${y}" font-size="${size}" fill="${this.pens.colours[colour]}"${looks}>${escaped(shown)}</text>`;
  }

  private cut(content: string, size: number, isBold: boolean, room: number): string {
    if (this.pens.measure(content, size, isBold) <= room) return content;
    let count = content.length;
    while (count > 1 && this.pens.measure(`${content.slice(0, count)}…`, size, isBold) > room) count--;
    return `${content.slice(0, count)}…`;
  }

  node(pictureNode: PictureNode): string {
    const { node, isDim, isRoot, mark, trouble, columns, litColumns } = pictureNode.data;
    const { colours, iconOf } = this.pens;
    const icon = iconOf(node);
    const { x, y, width, height } = boxOf(pictureNode);
    const { title, above } = parts(node.name, node.type);
    const isJob = node.type === "job";
    const border = trouble ? TROUBLES[trouble] : mark ? MARKS[mark][1] : isRoot ? "accent" : "line";
    const end = width - 14;
    const pieces = [
      `<rect width="${width}" height="${height}" rx="${isJob ? 22 : 10}" fill="${colours.card}" stroke="${colours[border]}"${trouble ? ' stroke-width="2"' : ""}${mark === "removed" ? ' stroke-dasharray="5 4"' : ""}/>`,
      isJob ? "" : `<rect x="-1" y="8" width="3" height="${height - 16}" fill="${colours[node.kind === "model" || node.kind === "artifact" ? "accent" : "line-strong"]}"/>`,
      `<g transform="translate(12 10) scale(0.7)" ${icon.isFilled ? `fill="${icon.colour}"` : `fill="none" stroke="${icon.colour}" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"`}>${icon.markup}</g>`,
      this.text(38, 24, title, { isBold: true, room: end - 38 - (mark ? 62 : 0) }),
      mark ? this.text(end, 24, MARKS[mark][0], { size: 11, isBold: true, isEnd: true, colour: MARKS[mark][1] }) : "",
      this.text(14, 43, `${node.kind} · ${above || node.namespace}`, { size: 12, colour: "muted", room: end - 14 }),
      ...this.facts(node, end, trouble),
    ];
    if (columns) {
      const { rows, all, of } = columns;
      const total = of ?? all;
      pieces.push(`<path d="M0 ${SIZES.body}H${width}" stroke="${colours.line}"/>`, this.text(14, SIZES.body + 26, `${rows.length < total ? `${rows.length} of ` : ""}${total} columns`, { size: 12, colour: "muted" }));
      rows.forEach((row, place) => {
        const top = FIRST_ROW + place * ROW;
        if (litColumns.has(columnKey(node.id, row.name))) pieces.push(`<rect x="1" y="${top}" width="${width - 2}" height="${ROW}" fill="${colours["accent-soft"]}"/>`);
        pieces.push(
          this.text(14, top + 18, row.name, { size: 12, isMono: true, colour: row.isRelated ? "text" : "muted", room: 116 }),
          this.text(end, top + 18, row.type, { size: 12, isMono: true, isEnd: true, colour: "muted", room: 76 }),
        );
      });
    }
    return `<g transform="translate(${x} ${y})"${isDim ? ' opacity="0.35"' : ""}>${pieces.join("")}</g>`;
  }

  /** Draw a pipeline around its tasks. */
  frame({ x, y, width, height, frame }: FrameBox): string {
    const { colours } = this.pens;
    return `<g transform="translate(${x} ${y})"><rect width="${width}" height="${height}" rx="16" fill="${colours.hover}" stroke="${colours["line-strong"]}"/>${this.text(16, 24, frame.name, { isBold: true, room: width - 32 })}</g>`;
  }

  /** Draw the last lines of a node: the newest run of a job, or the rows and tags of a dataset; and the time. */
  private facts(node: LineageNode, end: number, trouble: Trouble | null): string[] {
    const facts = (text: string, colour: Colour, at: string) => [
      this.text(14, 64, text, { size: 12.5, colour, room: end - 14 }),
      this.text(14, 84, at, { size: 12, colour: "muted" }),
    ];
    const wrong = trouble && needsMark(node, trouble) ? trouble : null;
    const time = (at: string | null) => (at ? moment(at).slice(0, 16) : "");
    if (node.type === "dataset") {
      const rows = node.rows === null ? "" : `${short(node.rows)} written`;
      const failed = node.failedChecks ? `${node.failedChecks} failed` : "";
      const distinct = joined(node.tags);
      const tags = distinct.length > 1 ? `${distinct.length} tags` : distinct.join("");
      return facts([failed || (wrong && TROUBLE_TEXT[wrong]), rows, tags].filter(Boolean).join(" · "), failed ? "bad" : wrong ? TROUBLES[wrong] : "muted", node.writtenAt ? time(node.writtenAt) : "only read");
    }
    if (!node.run) return facts("never ran", "muted", "");
    const { state, durationMs, startedAt } = node.run;
    if (wrong) return facts(TROUBLE_TEXT[wrong], TROUBLES[wrong], time(startedAt));
    const took = durationMs === null ? "" : ` ${duration(durationMs)}`;
    return facts(`${state.toLowerCase()}${took}`, STATES[state], time(startedAt));
  }

  line(line: PictureLine, boxes: Boxes): string {
    const from = gripOf(boxes.get(line.source), line.sourceHandle, line.data?.isDown ? "bottom" : "right");
    const to = gripOf(boxes.get(line.target), line.targetHandle, line.data?.isDown ? "top" : "left");
    if (!from || !to) return "";
    const looks = new Set((line.className ?? "").split(" "));
    const { colours } = this.pens;
    const colour = looks.has("lit") ? "accent" : looks.has("added") ? "good" : looks.has("removed") ? "bad" : "line-strong";
    const dashes = looks.has("control") ? "3 5" : looks.has("indirect") ? "2 4" : looks.has("removed") ? "6 5" : "";
    const corners = line.data?.corners ?? [];
    const path = line.data?.isBeside ? besidePath(from, corners, to) : linePath(from, corners, to, line.data?.isDown);
    return `<path d="${path}" fill="none" stroke="${colours[colour]}" stroke-width="${looks.has("lit") ? 2 : 1.5}"${dashes && ` stroke-dasharray="${dashes}"`}${looks.has("dim") ? ' opacity="0.3"' : ""}/>`;
  }

  /** Draw the label of a line near its end, above all other elements. */
  label({ label, target, targetHandle }: PictureLine, boxes: Boxes): string {
    const to = gripOf(boxes.get(target), targetHandle, "left");
    if (!to || typeof label !== "string") return "";
    const { colours, measure } = this.pens;
    const width = measure(label, 11, false) + 14;
    const back = `<rect x="${to.x - width - 6}" y="${to.y - 9}" width="${width}" height="18" rx="9" fill="${colours.card}" stroke="${colours.line}"/>`;
    return back + this.text(to.x - 13, to.y + 4, label, { size: 11, isEnd: true });
  }
}

/** Return the end point of a line, or null at a hidden column. */
function gripOf(box: (Box & { rows: Rows }) | undefined, handle: string | null | undefined, side: "left" | "right" | "top" | "bottom"): Place | null {
  if (!box) return null;
  const { x, y } = side === "bottom" ? { ...GRIPS.top, y: box.height } : GRIPS[side];
  const field = handle?.includes(":") ? handle.slice(handle.indexOf(":") + 1) : null;
  if (field === null) return { x: box.x + x, y: box.y + y };
  const place = box.rows.findIndex((row) => row.name === field);
  return place < 0 ? null : { x: box.x + x, y: box.y + FIRST_ROW + place * ROW + ROW / 2 };
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
