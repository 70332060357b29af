import { describe, expect, test } from "vitest";
import { answer, id } from "../test/graphs";
import { pageOf } from "./columns";
import { merge } from "./merge";
import { COLOURS, pictureOf, scaleOf, type Pens, type PictureLine, type PictureNode } from "./picture";
import { SIZES } from "./sizes";
import type { DatasetNode, JobNode, LineageNode } from "./types";

const PENS: Pens = {
  colours: Object.fromEntries(COLOURS.map((colour) => [colour, `#${colour}`])) as Pens["colours"],
  iconOf: (node) => ({ markup: `<path d="M1 1"/>`, colour: "#icon", isFilled: node.type === "job" }),
  measure: (text, size) => text.length * size * 0.5,
};
const NODES = merge([answer("a", "a>j", "j>b")]).nodes;
const { width, body } = SIZES;
const RUN = { runId: "1", state: "COMPLETED" as const, startedAt: "2026-01-02T03:04:05Z", endedAt: null, durationMs: 4_200, job: { namespace: "n", name: "j" } };

function placed(name: string, x: number, node: Partial<JobNode> | Partial<DatasetNode> = {}, data: Partial<PictureNode["data"]> = {}): PictureNode {
  const complete = { ...NODES.get(id(name)), ...node } as LineageNode;
  return { position: { x, y: 0 }, data: { node: complete, isDim: false, isRoot: false, mark: null, trouble: null, columns: null, litColumns: new Set(), ...data } };
}

const page = (names: string[], lit: string[] = []) => pageOf(id("a"), names.map((name) => ({ name, type: "int", isRelated: name !== "last", mark: null })), new Set(lit));
const line = (from: string, to: string, others: Partial<PictureLine> = {}): PictureLine => ({ source: id(from), target: id(to), sourceHandle: "out", targetHandle: "in", ...others });
const svgOf = (nodes: PictureNode[], lines: PictureLine[] = []) => pictureOf(nodes, lines, [], 'a "b" <c>', "now & then", PENS).svg;

describe("the picture", () => {
  test("is as large as the graph with its title, whose text is escaped", () => {
    const picture = pictureOf([placed("a", -50), placed("b", 900)], [], [], 'a "b" <c>', "now & then", PENS);
    expect([picture.width, picture.height]).toEqual([950 + width + 80, body + 64 + 80]);
    expect(picture.svg).toContain("<title>a &quot;b&quot; &lt;c>, now &amp; then</title>");
    expect(picture.svg).toContain('<g transform="translate(90 104)">');
  });

  test("has each node with its name, kind, state and time", () => {
    const svg = svgOf([
      placed("j", 0, { name: "dag.load", run: RUN }),
      placed("a", 300, { name: "db.trips", rows: 3_200_000, tags: ["pii", "gold"], writtenAt: "2026-01-02T00:00:00Z" }),
    ]);
    for (const text of ["load", "task · dag", "completed 4.2 s", "2026-01-02 03:04", "trips", "table · db", "3.2M written · 2 tags", "2026-01-02 00:00"]) expect(svg).toContain(`>${text}</text>`);
    expect(svg).toContain('d="M1 1"');
  });

  test("shows a node's problem or unknown state", () => {
    const svg = svgOf([placed("a", 0, { failedChecks: 2 }), placed("j", 300), placed("j", 600, { run: { ...RUN, state: "NEW", durationMs: null, startedAt: null } })]);
    for (const text of ["2 failed", "only read", "table · n", "never ran", "new"]) expect(svg).toContain(`>${text}</text>`);
    expect(svg).toMatch(/fill="#bad">2 failed/);
    const blocked = svgOf([placed("a", 0, { rows: 7 }, { trouble: "blocked" }), placed("j", 300, { run: RUN }, { trouble: "late" })]);
    expect(blocked).toMatch(/fill="#bad">Not rebuilt · 7 written.*fill="#warn">Late</);
    expect(blocked).not.toContain("completed");
  });

  test("shows dimmed, root, model, added, removed and changed nodes", () => {
    const svg = svgOf([
      placed("a", 0, {}, { isDim: true, isRoot: true }),
      placed("b", 300, { kind: "model" }, { mark: "removed" }),
      placed("j", 600, {}, { mark: "added" }),
    ]);
    expect(svg).toContain('translate(0 0)" opacity="0.35"');
    expect(svg).toMatch(/stroke="#accent"\/>.*stroke="#bad" stroke-dasharray="5 4".*>Gone<.*>New</);
    expect(svg).toContain(`height="${body - 16}" fill="#accent"`);
  });

  test("truncates long texts", () => {
    const columns = page(Array.from({ length: 12 }, (_, place) => `c${place}`));
    const svg = svgOf([placed("a", 0, { name: `db.${"x".repeat(200)}` }, { columns })]);
    expect(svg).toMatch(/>x{10,40}…<.*>10 of 12 columns<.*>c9</);
    expect(svg).not.toContain(">c10<");
  });
});

test("frames and problems are drawn in their colours", () => {
  const frame = { frame: { id: id("j"), name: "dag", platform: null, health: null, members: [] }, x: -20, y: -40, width: 900, height: 200 };
  const picture = pictureOf([placed("j", 0, {}, { trouble: "failed" }), placed("a", 300)], [], [frame], "a", "b", PENS);
  expect([picture.width, picture.height]).toEqual([980, 344]);
  expect(picture.svg).toContain('>dag</text>');
  expect(picture.svg).toMatch(/stroke="#bad" stroke-width="2"/);
});

test("vertical lines end above and below nodes", () => {
  const nodes = [placed("a", 0), { ...placed("j", 0), position: { x: 0, y: 200 } }];
  expect(svgOf(nodes, [line("a", "j", { data: { corners: [], isDown: true } })])).toContain(`M${width / 2} ${body}C`);
  expect(svgOf([placed("a", 0), placed("b", 0)], [line("a", "b", { data: { isBeside: true } })])).toContain(`L${width + 24} ${body / 2}`);
});

describe("lines", () => {
  const LIT = [`${id("a")}|last`];
  const [a, b] = [placed("a", 0, {}, { columns: page(["x", "y", "last"], LIT), litColumns: new Set(LIT) }), placed("b", 400)];

  test("connect shown nodes only", () => {
    const svg = svgOf([a, b], [line("a", "b"), line("a", "c", { label: "to nowhere" }), line("c", "a")]);
    expect(svg).not.toContain("to nowhere");
    expect(svg.split(`<path d="M${width} ${body / 2}C`).slice(1)).toHaveLength(1);
    expect(svg.match(/stroke-width="1.5"/g)).toHaveLength(1);
  });

  test("connect columns, highlighted ones first, with transformations", () => {
    const lit = { sourceHandle: "out:last", className: "column lit", label: "identity" };
    const svg = svgOf([a, b], [line("a", "b", lit), line("a", "b", { sourceHandle: "out:gone" })]);
    expect(svg).toContain(`<path d="M${width} ${body + SIZES.search + 14}C`);
    expect(svg.split(`<path d="M${width}`).slice(1)).toHaveLength(1);
    expect(svg).toMatch(/>3 columns<.*fill="#accent-soft".*>last<.*>x<.*>identity</);
  });

  test.each([
    ["lit", 'stroke="#accent" stroke-width="2"/>'],
    ["added", 'stroke="#good" stroke-width="1.5"/>'],
    ["removed", 'stroke="#bad" stroke-width="1.5" stroke-dasharray="6 5"/>'],
    ["control dim", 'stroke="#line-strong" stroke-width="1.5" stroke-dasharray="3 5" opacity="0.3"/>'],
    ["column indirect", 'stroke="#line-strong" stroke-width="1.5" stroke-dasharray="2 4"/>'],
  ])("have the style of %s", (className, looks) => {
    expect(svgOf([a, b], [line("a", "b", { className, sourceHandle: null, targetHandle: undefined })])).toContain(looks);
  });
});

test("PNG scale is 2 within the browser's size limit", () => {
  expect(scaleOf({ width: 1_000, height: 800 })).toBe(2);
  expect(scaleOf({ width: 32_000, height: 100 })).toBe(0.5);
  expect(scaleOf({ width: 10_000, height: 10_000 })).toBe(1);
});

test("backward line has corners", () => {
  const back = svgOf([placed("a", 0), placed("b", 400)], [line("b", "a", { data: { corners: [{ x: 680, y: 150 }, { x: 0, y: 150 }] } })]);
  expect(back).toMatch(/L\d+ 136Q\d+ 150/);
});
