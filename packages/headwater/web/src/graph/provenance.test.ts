import { describe, expect, test } from "vitest";
import { originTree, provenanceLine, provenanceText, type Origin, type ProvenanceAnswer, type Upstream } from "./provenance";

const use = (text: string) => {
  const [name = "", versions] = text.split("@");
  return { namespace: "s3://l", name, versions: versions ? versions.split(",") : [] };
};

function ran(id: string, job: string, reads: string[], writes: string[], version: string | null = "9f3c2a71d0"): Upstream {
  const line = { runId: id, state: "COMPLETED" as const, startedAt: "2026-01-02T03:04:05Z", endedAt: null, durationMs: null, job: { namespace: "n", name: job } };
  return { job: line.job, run: line, code: version ? { repoUrl: "r", path: "a.py", version } : {}, inputs: reads.map(use), outputs: writes.map((text) => ({ ...use(text), sources: null, hasFailed: false })) };
}

function answer(node: string, runs: Upstream[], tags: [string, string | null, string][] = [], version: string | null = null): ProvenanceAnswer {
  const uses = runs.flatMap((run) => [...run.inputs, ...run.outputs]);
  const names = [...new Set([node, ...uses.map((dataset) => dataset.name)])];
  const written = new Set(runs.flatMap((run) => run.outputs.map((out) => out.name)));
  const tag = ([name, field, from]: [string, string | null, string]) => ({
    id: `dataset:s3://l:${name}`, namespace: "s3://l", name, field, key: "pii", value: "true", source: "",
    from: { namespace: "s3://l", name: from, field: "mail" },
  }); // prettier-ignore
  return {
    node: `dataset:s3://l:${node}`, version, level: "task", runs, tags: tags.map(tag),
    datasets: names.map((name) => ({ id: `dataset:s3://l:${name}`, type: "dataset", namespace: "s3://l", name, kind: name.includes("/") ? "file" : "table", owners: [], removal: null })),
    sources: names.filter((name) => !written.has(name)).map(use), deletedSources: null, unknown: [], personalData: { state: "untagged", message: "", columns: [] },
  }; // prettier-ignore
}

/** Format a tree as `table@version < job(input, …)`. */
function drawn({ title, members, by, isAbove }: Origin): string {
  const versions = members.flatMap((member) => member.versions);
  const name = `${title}${versions.length > 0 ? `@${versions.join(",")}` : ""}${isAbove ? "*" : ""}`;
  return by.length === 0 ? name : `${name} < ${by.map((maker) => `${maker.name}×${maker.entries.length}(${maker.inputs.map(drawn).join(" + ")})`).join(" | ")}`;
}

describe("the upstream tree", () => {
  test("follows versions to the sources", () => {
    const provenance = answer("model", [ran("2", "train", ["day@7"], ["model@m1"]), ran("1", "sum", ["in/a.csv"], ["day@7"])]);
    expect(drawn(originTree(provenance))).toBe("model@m1 < train×1(day@7 < sum×1(a.csv))");
    expect(drawn(originTree({ ...provenance, version: "m0" }))).toContain("model@m0 < ");
    const tagged = originTree({ ...provenance, tags: answer("model", [], [["day", "who", "raw"]]).tags });
    expect(tagged.by[0]?.inputs[0]?.members[0]?.tags).toEqual(["pii, derived (who)"]);
  });

  test("shows each path once and ends at cycles", () => {
    const provenance = answer("b", [ran("3", "join", ["a@1", "c@2", "b@0"], ["b@1"]), ran("2", "copy", ["a@1"], ["c@2"]), ran("1", "load", ["in/x"], ["a@1"])]);
    expect(drawn(originTree(provenance))).toBe("b@1 < join×1(a@1 < load×1(x) + c@2 < copy×1(a@1*) + b@0*)");
  });

  test("folds many files of a folder with equal writers", () => {
    const months = ["1", "2", "3", "4", "5"];
    const loads = months.flatMap((month) => [ran(`l${month}`, "stage", [`in/${month}.csv@v${month}`], [`raw@${month}`]), ran(`d${month}`, "download", [`web/${month}.csv`], [`in/${month}.csv@v${month}`])]);
    const tree = originTree(answer("raw", loads));
    expect(drawn(tree)).toBe("raw@1,2,3,4,5 < stage×5(5 files@v1,v2,v3,v4,v5 < download×5(5 files))");
    expect(tree.by[0]?.inputs[0]?.members).toHaveLength(5);
    expect(tree.by[0]?.commits).toHaveLength(1);
  });

  test("does not fold tables or invent metadata", () => {
    const provenance = answer("t", [ran("1", "union", ["a", "b", "c", "d"], ["t@1"])]);
    expect(originTree(provenance).by[0]?.inputs).toHaveLength(4);
    const bare = originTree({ ...provenance, datasets: [] });
    expect([bare.kind, bare.title]).toEqual(["table", "l:t"]);
  });

  test("is a source if no run wrote it", () => {
    expect(drawn(originTree(answer("t", [])))).toBe("t");
  });
});

test("an output has only the inputs that feed it", () => {
  const load = ran("1", "load", ["a", "b"], ["x@1", "y@1"]);
  const [x, y] = load.outputs as [Upstream["outputs"][number], Upstream["outputs"][number]];
  x.sources = [{ namespace: "s3://l", name: "a" }];
  y.sources = [{ namespace: "s3://l", name: "b" }];
  expect(drawn(originTree(answer("t", [ran("2", "join", ["x@1", "y@1"], ["t"]), load])))).toBe("t < join×1(x@1 < load×1(a) + y@1 < load×1(b))");
});

test("summary counts runs, jobs, commits and sources", () => {
  expect(provenanceLine(answer("t", [ran("1", "load", ["a@1"], ["t@1"]), ran("2", "load", ["b@1"], ["t@2"])]))).toBe("2 runs of 1 job · 1 commit · from 2 sources");
  expect(provenanceLine(answer("t", []))).toBe("0 runs of 0 jobs · from 1 source");
});

test("text is indented like the tree", () => {
  const declared: Upstream = { ...ran("", "plan", ["a"], ["b"], null), run: null };
  const load = ran("1", "load", ["b", "a@1"], ["t@1"]);
  const silent = { ...load, job: { namespace: "n", name: "other" }, run: load.run && { ...load.run, startedAt: null }, inputs: [use("b")] };
  expect(provenanceText(originTree(answer("t", [load, silent, declared])))).toBe(
    [
      "t @ 1",
      "  by load, 1 run, newest 1 2026-01-02 03:04:05 UTC, a.py at 9f3c2a7",
      "    b",
      "      by plan, 1 run",
      "        a",
      "    a @ 1",
      "  by other, 1 run, newest 1, a.py at 9f3c2a7",
      "    b (as above)",
    ].join("\n"),
  );
});
