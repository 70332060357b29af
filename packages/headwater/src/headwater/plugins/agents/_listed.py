"""The tools for recalled versions, tags and the map.

Answers of queries are JSON, in the forms of `/api/v2`; an item of an answer is shortened for agents
by a function below its tool. A recalled version is one that a user declared bad.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from headwater.errors import ConfigError
from headwater.plugins.agents._reply import Context, Status, reply, shortened
from headwater.plugins.agents._tool import FromAnswer, Node, Text, Time, Tool
from headwater.query.models import Json
from headwater.text import counted
from headwater.wire import UNCOUNTED

_MOST = 50


class Recalls(Tool):
    """List the versions of datasets that were recalled as bad, with the reasons.

    With a node, list those whose data the dataset contains or may contain now. Do not use their
    data: gates refuse it. For a node, `none` also means that all runs upstream of it were reported.
    """

    name = "recalls"
    node: Node | None = None
    as_of: Time | None = None

    def answer(self, context: Context) -> Json:
        """Return the recalled versions and their number."""
        found = context.query("taints", {"node": self.node, "limit": _MOST})
        versions = [_recalled(item) for item in found["items"]]
        health = context.health()
        if self.node is None:
            return reply(
                "found" if versions else "none",
                health,
                total=found["total"],
                versions=versions,
                note=None if versions else "No version of a dataset is recalled.",
            )
        source = context.query("provenance", {"node": self.node})
        answer = reply(
            "found" if versions else "none",
            health,
            node=source["node"],
            total=found["total"],
            versions=versions,
            about=[source["node"], *(_job(run["job"]) for run in source["runs"])],
            unreported=[*_unknown_runs(source), *_unknown_reads(context, source)],
            page=context.page("lineage", node=source["node"]),
        )
        if not versions:
            is_proven = answer["completeness"]["isComplete"] is True
            answer["status"] = "none" if is_proven else "not_reported"
            answer["note"] = _NO_RECALL[is_proven]
        return answer


_NO_RECALL = {
    True: "The dataset contains no recalled version.",
    False: "No recalled version was found, but lineage upstream of the dataset is incomplete.",
}


def _unknown_runs(source: Json) -> list[str]:
    """Return messages about what is unknown of the runs upstream of a node.

    `source` is the answer of the query `provenance`. An empty list means that all are known.
    """
    declared = [_job(item["job"]) for item in source["runs"] if item["run"] is None]
    gaps = [f"{job} declared what it reads and writes, but reported no run" for job in declared]
    if not source["runs"]:
        gaps.append("no known run wrote it")
    if deleted := source["deletedSources"]:
        gaps.append(f"runs before {deleted['before']} were deleted")
    return gaps


def _unknown_reads(context: Context, source: Json) -> list[str]:
    """Return messages about what is unknown of the readers of recalled versions upstream of a node.

    `source` is the answer of the query `provenance`. Each version needs a query; at most 50 count.
    """
    upstream = {source["node"], *(item["id"] for item in source["datasets"])}
    upstream |= {f"dataset:{item['namespace']}:{item['name']}" for item in source["sources"]}
    recalled = context.query("taints", {"limit": 1_000})
    if recalled["next"]:
        return [f"{recalled['total']:,} versions are recalled; only 1,000 were compared"]
    near = [
        f"{item['id']}@{item['version']}" for item in recalled["items"] if item["id"] in upstream
    ]
    if len(near) > _MOST:
        return [f"{len(near):,} versions upstream are recalled; their readers were not compared"]
    found = [context.query("version", {"version": version, "limit": 1}) for version in near]
    return sorted({gap["message"] for version in found for gap in version["unknown"]})


def _recalled(item: Json) -> Json:
    """Return a recalled version in short."""
    short = {"id": item["id"], "version": item["version"], "recalledAt": item["at"]}
    return short | {"reason": shortened(item["reason"])}


class Tags(Tool):
    """List the columns with a tag such as pii, or the tags of a dataset; tags follow its columns.

    `status`: `tagged` by a producer; `derived` from a tagged column; `possible`, if the writer read
    tagged data and reported no column lineage; `masked`. Without arguments, count all tags.
    """

    name = "tags"
    tag: (
        Annotated[str, Text, FromAnswer, Field(description="KEY or KEY:VALUE, such as pii.")] | None
    ) = None
    node: Node | None = None
    status: Literal["tagged", "derived", "possible", "masked"] | None = None
    as_of: Time | None = None

    def answer(self, context: Context) -> Json:
        """Return columns or tags, and their number."""
        if self.tag is None:
            if self.status is not None:
                raise ConfigError("status: received no tag, expected the tag whose columns to list")
            return _all_tags(context) if self.node is None else self._of_node(context)
        if self.node is not None:
            raise ConfigError("node: received a tag as well, expected a tag or a node")
        where = {"tag": self.tag, "status": self.status, "limit": _MOST}
        found = context.query("tagged", where)
        datasets = [
            {"id": item["id"], "owners": item["owners"]}
            | {"columns": [_column(column) for column in item["columns"]]}
            for item in found["items"]
        ]
        has_tag = any(found["counts"].values())
        status: Status = "found" if datasets else "none" if has_tag else "not_reported"
        return reply(
            status,
            context.health(),
            counts=found["counts"],
            total=found["total"],
            datasets=datasets,
            note=None if datasets else _NO_COLUMN[status],
            page=_present_page(context, "tags", tag=self.tag, status=self.status),
        )

    def _of_node(self, context: Context) -> Json:
        """Return the tags of the node and its columns, each with its source if it is inherited."""
        found = context.query("tags", {"node": self.node, "limit": _MOST})
        tags = [_tag(item) for item in found["items"]]
        return reply(
            "found" if tags else "not_reported",
            context.health(),
            total=found["total"],
            tags=tags,
            note=None if tags else _NO_COLUMN["not_reported"],
        )


def _all_tags(context: Context) -> Json:
    """Return the reported tags with the number of datasets and jobs that have them.

    Only the present is counted: raises ConfigError if the context has a moment.
    """
    if context.moment is not None:
        raise ConfigError("as_of: received neither a tag nor a node, expected one of them")
    found = context.query("groups", {"by": "tag", "sort": "datasets", "limit": 1_000})
    tags = [item for item in found["items"] if item["value"]]
    status: Status = "found" if tags else "not_reported"
    note = None if tags else _NO_COLUMN["not_reported"]
    if uncounted := found[UNCOUNTED]:
        status = "found" if tags else "unknown"
        nodes = counted(uncounted, "node")
        note = f"The tags of {nodes} are not known yet. Repeat the request in a few seconds."
    return reply(
        status,
        context.health(),
        total=f"more than {len(tags):,}" if found["next"] else len(tags),
        tags=tags,
        note=note,
        page=context.page("tags"),
    )


def _present_page(context: Context, view: str, **parameters: str | None) -> str | None:
    """Return the address of a view that only shows the present, unless the answer is older."""
    return context.page(view, **parameters) if context.moment is None else None


_NO_COLUMN = {
    "none": "The tag exists, but no column has it with this status.",
    "not_reported": "No such tag was reported; this does not mean that there is no such data.",
}


def _column(column: Json) -> Json:
    """Return a column with its status and, if it inherits the tag, the tagged column.

    It is an item of `columns` in the answer of the query `tagged`. `from` is the tagged column.
    """
    short = {"column": column["field"], "status": column["status"]}
    source = column["path"][0] if len(column["path"]) > 1 else None
    short["from"] = source and _place(source)
    return {name: value for name, value in short.items() if value is not None}


def _tag(item: Json) -> Json:
    """Return a tag of a dataset or column and, if it is inherited, where it comes from.

    It is an item of the answer of the query `tags`.
    """
    here, source = _place(item), _place(item["from"])
    short = {"id": f"dataset:{item['namespace']}:{item['name']}", "column": item["field"]}
    short |= {"key": item["key"], "value": item["value"]}
    short["from"] = source if source != here else None
    return {name: value for name, value in short.items() if value is not None}


def _place(column: Json) -> str:
    """Return the id of a dataset, with `#` and the column if there is one."""
    field = f"#{column['field']}" if column["field"] else ""
    return f"dataset:{column['namespace']}:{column['name']}{field}"


class Map(Tool):
    """Count datasets by platform and schema, or tasks by owner or domain, with their problems.

    Start with it to see what exists. To open a group, add its `key` to `path`. A node without a
    counted problem may be healthy or unknown: see its `state`.
    """

    name = "map"
    by: Annotated[
        Literal["platform", "owner", "domain"],
        Field(description="Group datasets by platform, or tasks by owner or domain."),
    ] = "platform"
    path: Annotated[
        list[Annotated[str, StringConstraints(max_length=1_000), FromAnswer]],
        Field(max_length=2, description="Keys of the groups to open, outermost first."),
    ] = []

    def answer(self, context: Context) -> Json:
        """Return the groups or nodes of one level, those with problems first, and their number."""
        found = context.query("map", {"by": self.by, "path": self.path, "limit": _MOST})
        items = [_group(item) for item in found["items"]]
        return reply(
            "found" if items else "not_reported",
            context.health(),
            by=found["by"],
            path=found["path"],
            count=found["count"],
            problems=_counted(found["problems"]),
            total=found["total"],
            items=items,
            note=None if items else "Nothing was reported.",
            page=context.page("map", by=self.by, path=found["path"]),
        )


def _group(item: Json) -> Json:
    """Return a group or node of the query `map` in short.

    A node has a state instead of a count, unless it is a pipeline, which has both.
    """
    short = {"key": item["key"], "kind": item["kind"], "about": item["about"]}
    if item["node"] is None:
        short |= {"count": item["count"], "problems": _counted(item["problems"]) or None}
    else:
        # The key of a node is its id, which contains what `about` says.
        short |= {"about": None, "state": item["health"]["state"]}
        is_pipeline = item["kind"] == "pipeline"
        short["count"] = item["count"] if is_pipeline else None
        short["problems"] = (_counted(item["problems"]) or None) if is_pipeline else None
    return {name: value for name, value in short.items() if value is not None}


def _counted(problems: Json) -> Json:
    """Return the numbers of problems by kind, without zeros."""
    return {kind: count for kind, count in problems.items() if count}


def _job(name: Json) -> str:
    """Return the id of a job, given its namespace and name."""
    return f"job:{name['namespace']}:{name['name']}"
