"""The tools that follow lineage: upstream, downstream, columns, path and why.

Each tool queries through the `Context` and returns a `reply`, whose status and gaps show what was
not reported (`_reply`). Its docstring and its fields describe the tool to an agent; private names
such as `_COLUMN_NOTES` are texts for empty answers, by status.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import Field

from headwater.console.source import Params
from headwater.datasets.printing import removal_text
from headwater.errors import NotFoundError
from headwater.lineage.models import UNREPORTED
from headwater.plugins.agents._reply import (
    Context,
    Status,
    delimited,
    lacks,
    reply,
    shortened,
)
from headwater.plugins.agents._tool import ColumnName, Control, Depth, Level, Node, Time, Tool, Way
from headwater.query.models import Json


class _Followed(Tool):
    """Arguments of the tools that follow lineage from a node."""

    node: Node
    depth: Depth = 20
    as_of: Time | None = None


class Upstream(_Followed):
    """List the jobs and datasets that a dataset or job is computed from, nearest first."""

    name = "upstream"
    level: Level = "task"
    control: Control = False

    def answer(self, context: Context) -> Json:
        """Return the upstream nodes with their distances."""
        where: Params = {"node": self.node, "level": self.level, "control": self.control}
        found = context.query("tree", {**where, "depth": self.depth, "direction": "up"})
        health = context.health()
        items = flat(found["up"])
        status: Status = "found"
        note = None
        if not items:
            status, note = _without_neighbors(context, found["up"], "up", health)
        return reply(
            status,
            health,
            node=found["node"],
            upstream=items,
            isCutByDepth=_is_cut(found["up"]) or None,
            note=note,
            about=[found["node"], *(item["id"] for item in items)],
            page=context.page("lineage", node=found["node"]),
        )


class Downstream(_Followed):
    """List what a change of a dataset, column or job affects (its downstream), nearest first.

    With a column, `affected` takes values from it, `indirect` has rows that it filters, joins,
    groups or sorts, and `possible` may be affected: no column lineage was reported there.
    `drop` states whether the column is safe to drop, with `reasons`.
    """

    name = "downstream"
    column: ColumnName | None = None

    def answer(self, context: Context) -> Json:
        """Return the affected nodes or columns with their distances and owners."""
        where = {"node": self.node, "depth": self.depth, "field": self.column}
        found = context.query("impact", where)
        health = context.health()
        affected = [_affected(item) for item in found["affected"]]
        indirect = [_affected(item) for item in found.get("indirect", [])]
        possible = [_affected(item) for item in found.get("possible", [])]
        status: Status = "found"
        note = None
        if not affected and not indirect:
            where = {"node": found["node"], "depth": 1, "direction": "down"}
            tree = context.query("tree", where)
            status, note = _without_neighbors(context, tree["down"], "down", health)
            if possible:
                status, note = "not_reported", "Downstream jobs reported no column lineage."
            elif tree["down"]["children"]:
                status, note = "none", "No downstream column uses this column."
        verdict, reasons, gaps = _drop(found)
        # "none" would contradict a verdict that another reader exists or is unknown.
        if status == "none" and (verdict in ("unsafe", "unknown") or gaps):
            status = "found" if verdict == "unsafe" else "not_reported"
            note = delimited(" ".join(reasons))
        about = [found["node"], *(item["id"] for item in (*affected, *indirect, *possible))]
        page = context.page("impact", node=found["node"], column=self.column)
        return reply(
            status,
            health,
            node=found["node"],
            drop=verdict,
            reasons=reasons,
            affected=affected,
            indirect=indirect,
            possible=possible,
            note=note,
            about=about,
            unreported=gaps,
            page=page,
        )


def _drop(found: Json) -> tuple[str | None, list[str], list[str]]:
    """Return the verdict on dropping a column, its reasons, and those about missing reports.

    `found` is the answer of the query `impact`. The verdict is safe, unsafe or unknown, and None
    for a whole node. For a whole node, the reasons say why other jobs may read it.
    """
    drop = found.get("drop")
    if drop is None:
        unknown = [reason["message"] for reason in found["unknown"]]
        return None, [shortened(message) for message in unknown], unknown
    reasons = [shortened(reason["message"]) for reason in drop["reasons"]]
    gaps = [r["message"] for r in drop["reasons"] if r["kind"] in UNREPORTED]
    return drop["verdict"], reasons, gaps


class Columns(_Followed):
    """List the columns that a column or a dataset is computed from, or that use it.

    `how` is the transformation and `job` computes the column.
    """

    name = "columns"
    column: ColumnName | None = None
    direction: Way = "up"
    indirect: Annotated[
        bool, Field(description="Include columns that only filter, join, group or sort.")
    ] = False

    def answer(self, context: Context) -> Json:
        """Return the columns with their distances and transformations."""
        where = {"node": self.node, "field": self.column, "direction": self.direction}
        how: Params = {"depth": self.depth, "indirect": self.indirect}
        found = context.query("columns", {**where, **how})
        health = context.health()
        top = found[self.direction]
        # The first step of the tree goes from the dataset to its own columns.
        items = [_column(steps - 1, leaf, above) for steps, leaf, above in walk(top) if steps > 1]
        status: Status = "found" if items else self._empty(context, found["node"])
        return reply(
            status,
            health,
            node=found["node"],
            column=self.column,
            columns=items,
            isCutByDepth=_is_cut(top) or None,
            note=None if items else _COLUMN_NOTES[status],
            about=[found["node"], *_jobs(health, {leaf["job"] for _, leaf, _ in walk(top)})],
            measures=("inputs", "columns"),
            page=context.page("lineage", node=found["node"], column=self.column),
        )

    def _empty(self, context: Context, node: str) -> Status:
        """Return the status of a column without lineage in the direction.

        It is `none` only if all jobs reported column lineage: downstream, if no job may use it
        unreported; upstream, if all writers reported inputs, which then only filter or sort.
        """
        if self.column is None:
            return "not_reported"
        where = {"node": node, "field": self.column}
        if self.direction == "down":
            found = context.query("impact", where)
            return "not_reported" if found["possible"] else "none"
        writers = context.query("column", where)["producers"]
        has_indirect = bool(writers) and all(writer["inputs"] for writer in writers)
        return "none" if has_indirect and not self.indirect else "not_reported"


_COLUMN_NOTES: Mapping[Status, str] = {
    "not_reported": "No column lineage was reported here; this does not mean that there is none.",
    "none": "Column lineage was reported around it, and no column takes its values.",
}


class Path(Tool):
    """Return the shortest lineage path between two nodes, from upstream to downstream."""

    name = "path"
    start: Node
    end: Node
    level: Level = "task"
    control: Control = False
    as_of: Time | None = None

    def answer(self, context: Context) -> Json:
        """Return the ids on the path; `byControl` has those reached by a control dependency."""
        where: Params = {"from_": self.start, "to": self.end, "level": self.level}
        where = {**where, "control": self.control}
        nodes: list[str] = []
        by_control: list[str] = []
        status: Status = "found"
        note = None
        try:
            found = context.query("path", where)
            nodes = [node["id"] for node in found["path"]]
            by_control = [node["id"] for node in found["path"] if node["isControl"]]
            note = "The path leads from `end` to `start`." if found["isReversed"] else None
        except NotFoundError:
            status = self._empty(context)
            note = _PATH_NOTES[status]
        return reply(
            status,
            context.health(),
            path=nodes,
            byControl=by_control or None,
            note=note,
            about=nodes,
            page=context.page("lineage", node=nodes[0]) if nodes else None,
        )

    def _empty(self, context: Context) -> Status:
        """Return why no path exists. Raises NotFoundError if one of the nodes does not exist."""
        status: Status = "none"
        for node in (self.start, self.end):
            tree = context.query("tree", {"node": node, "direction": "both", "depth": 1})
            if not tree["up"]["children"] and not tree["down"]["children"]:
                status = "not_reported"
        return status


class Why(Tool):
    """Return the evidence of an edge between two neighbors: its sources, first time and runs.

    `grade`: verified by two independent sources, reported by one, possible (no source states
    which input feeds the output), contradicted by the SQL text, or stale. Use it before relying on
    an edge.
    """

    name = "why"
    start: Node
    end: Node
    as_of: Time | None = None

    def answer(self, context: Context) -> Json:
        """Return the evidence of the edges through each job, the newest first."""
        for node in (self.start, self.end):
            context.query("tree", {"node": node, "depth": 0})  # raises NotFoundError
        try:
            found = context.query("why", {"from_": self.start, "to": self.end, "limit": 1})
        except NotFoundError as error:
            return reply("none", context.health(), note=str(error))
        return reply(
            "found",
            context.health(),
            start=found["source"],
            end=found["target"],
            evidence=[_evidence(job) for job in found["jobs"]],
            about=[found["source"], found["target"]],
            page=context.page("lineage", node=found["target"]),
        )


def _evidence(job: Json) -> Json:
    """Return the evidence of an edge through a job, an item of the query `why`, in short."""
    short: Json = {
        "job": f"job:{job['job']['namespace']}:{job['job']['name']}" if job["job"] else None,
        "grade": job["grade"],
        "statedBy": [" of ".join(filter(None, item.values())) for item in job["statedBy"]],
        "runs": job["runCount"],
        "missedSince": job["missedCount"] or None,
    }
    times = {f"{name}SeenAt": time for name, time in (job["seen"] or {}).items()}
    newest = {"runId": job["runs"][0]["run"]["runId"]} if job["runs"] else {}
    return {name: value for name, value in (short | times | newest).items() if value is not None}


_PATH_NOTES: Mapping[Status, str] = {
    "none": "No reported lineage connects them, in either direction.",
    "not_reported": "No lineage was reported for at least one of them.",
}


def walk(top: Json, *, control: bool = True) -> Iterator[tuple[int, Json, Json]]:
    """Yield the nodes below the top of a tree, nearest first, with distance and parent.

    Without `control`, control dependencies are not followed.

    `top` is an item of the answer of the query `tree` or `columns`: a dict with `children`. The
    distance counts edges. A node with several paths is yielded once per path.
    """
    level = [top]
    steps = 0
    while level:
        steps += 1
        pairs = [
            (leaf, child)
            for leaf in level
            for child in leaf["children"]
            if control or not child.get("isControl")
        ]
        for above, leaf in pairs:
            yield steps, leaf, above
        level = [leaf for _, leaf in pairs]


def flat(top: Json) -> list[Json]:
    """Return each node of a tree once, nearest first; of a job, its state unless it completed.

    Nodes that no path of data edges leads to have `isControlOnly`.

    `top` is one direction of the answer of the query `tree`. `evidence` is left out if reported.
    """
    items: dict[str, Json] = {}
    by_data = {leaf["id"] for _, leaf, _ in walk(top, control=False)}
    for steps, leaf, _ in walk(top):
        item: Json = {"id": leaf["id"], "steps": steps}
        if leaf["id"] not in by_data:
            item["isControlOnly"] = True
        latest = leaf["latestRun"]
        if latest and latest["state"] != "COMPLETED":
            item |= {"latestRun": latest["state"], "runId": latest["runId"]}
        if leaf["removal"]:
            item["removal"] = removal_text(leaf["removal"])
        if leaf["evidence"] != "reported" or leaf["grade"] == "possible":
            item["evidence"] = "possible" if leaf["grade"] == "possible" else leaf["evidence"]
        items.setdefault(leaf["id"], item)
    return list(items.values())


def _is_cut(top: Json) -> bool:
    """Return True if the depth left nodes out of a tree.

    `top` is one direction of the answer of the query `tree` or `columns`.
    """
    return top["hasMore"] or any(leaf["hasMore"] for _, leaf, _ in walk(top))


def _without_neighbors(context: Context, top: Json, way: Way, health: Json) -> tuple[Status, str]:
    """Return why a node has no neighbors in a direction, and a note that explains it.

    `top` is the node in the answer of `tree` and `health` the answer of `Context.health`. It is
    "none" only if lineage was reported around the node; else "not_reported".
    """
    other: Way = "down" if way == "up" else "up"
    where = {"node": top["id"], "depth": 1, "direction": other}
    has_other = bool(context.query("tree", where)[other]["children"])
    if not has_other:
        return "not_reported", "No lineage was reported for this node, in either direction."
    if top["type"] == "dataset":
        if way == "up":
            return "not_reported", (
                "No run that writes it was reported: it is a source, or its writer reports none."
            )
        return "none", "No reported job reads it."
    kind: Literal["inputs", "outputs"] = "inputs" if way == "up" else "outputs"
    if lacks(health, kind, top["id"]):
        return "not_reported", f"Completed runs of this job reported no {kind}."
    return "none", f"The job reported its lineage, and it has no {kind}."


def _jobs(health: Json, names: set[str]) -> Iterator[str]:
    """Yield the ids of incomplete jobs with some names; column lineage has no job namespaces.

    The gaps of these jobs belong to an answer about columns.

    `health` is the answer of `Context.health`. `names` are names of jobs; "" is ignored.
    """
    results = health["completeness"]["measures"].values()
    for subject in {item["subject"] for result in results for item in result["findings"]}:
        if any(name and subject.endswith(f":{name}") for name in names):
            yield subject


def _column(steps: int, leaf: Json, above: Json) -> Json:
    """Return a column of a tree in short; `of` is the column that led to it.

    `leaf` and `above` are columns of the answer of `columns`. Empty values are left out.
    """
    short = {"id": leaf["id"], "column": leaf["field"], "steps": steps}
    short |= {"of": above["field"], "how": leaf["transformation"], "job": leaf["job"]}
    short["evidence"] = leaf["evidence"] if leaf["evidence"] != "reported" else None
    return {name: value for name, value in short.items() if value not in (None, "")}


def _affected(item: Json) -> Json:
    """Return an affected node or column of the query `impact` in short, without empty values."""
    short = {"id": item["id"], "steps": item["distance"], "owners": item["owners"]}
    short["state"] = item["health"]["state"]
    short["removal"] = removal_text(item["removal"]) if item["removal"] else None
    short |= {"column": item["field"], "how": item["transformation"]}
    return {name: value for name, value in short.items() if value not in (None, "", [])}
