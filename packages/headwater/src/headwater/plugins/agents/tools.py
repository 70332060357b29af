"""The tools: each is a model of its arguments, with a method that returns the answer.

They query through a `Source`, so they work on a remote server, within the server, and on a log.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

from pydantic import Field, ValidationError

from headwater.config import expected
from headwater.datasets.printing import removal_text
from headwater.errors import ConfigError, MissingQueryError, NotFoundError
from headwater.health.models import Finding
from headwater.plugins.agents._lineage import Columns, Downstream, Path, Upstream, Why, flat
from headwater.plugins.agents._listed import Map, Recalls, Tags
from headwater.plugins.agents._reply import (
    Context,
    Status,
    causes_in_short,
    problems_of,
    reply,
    shortened,
    unresolved,
    written,
)
from headwater.plugins.agents._report import Report
from headwater.plugins.agents._tool import Level, Node, Text, Time, Tool
from headwater.plugins.agents._unused import Unused
from headwater.plugins.agents._versions import Incident, Version
from headwater.query.models import Json
from headwater.text import searched_by_name, unchecked_lateness, unread_sql
from headwater.wire import UNCOUNTED


class Find(Tool):
    """Find datasets and jobs by name, column, tag, owner, description or SQL, and get their ids.

    A part of a word is enough. Use it first if you do not know the name of a table or job.
    """

    name = "find"
    text: Annotated[str, Text, Field(description="Text to search for.")]
    limit: Annotated[int, Field(ge=1, le=50)] = 15
    as_of: Time | None = None

    def answer(self, context: Context) -> Json:
        """Return the matching nodes, best first."""
        found = context.query("search", {"text": self.text, "limit": self.limit})
        items = [
            {"id": hit["id"], "kind": hit["kind"], "state": hit["health"]["state"]}
            | {"matched": hit["matched"]}
            | ({} if hit["matched"] == "name" else {"text": shortened(hit["text"])})
            | ({"owners": hit["owners"]} if hit["owners"] else {})
            | ({"removal": removal_text(hit["removal"])} if hit["removal"] else {})
            | ({"isOnlySimilar": True} if hit["isFuzzy"] else {})
            for hit in found["items"]
        ]
        note = None if items else "Nothing that was reported matches the text."
        if found["unreadTexts"]:
            note = unread_sql(found["unreadTexts"])
        if found["uncounted"]:
            note = searched_by_name(found["uncounted"])
        return reply(
            "found" if items else "unknown",
            context.health(),
            items=items,
            total=sum(found["counts"].values()),
            note=note,
            page=context.page("search", text=self.text),
        )


_ARGUMENTS = {"from": "since", "to": "until"}
"""Arguments of `compare` by the names of the parameters of the query `diff`."""


class Compare(Tool):
    """Compare two moments: nodes and edges added or removed, schema and code changes, failed runs.

    Without `until`, compare with now.
    """

    name = "compare"
    since: Time
    until: Time | None = None
    level: Level = "task"

    def answer(self, context: Context) -> Json:
        """Return the differences; edges are pairs of ids in the direction of the data."""
        where = {"from_": self.since, "to": self.until, "level": self.level}
        try:
            found = context.query("diff", where)
        except ConfigError as error:  # it begins with the name of a parameter of the query
            parameter, colon, rest = str(error).partition(":")
            raise ConfigError(_ARGUMENTS.get(parameter, parameter) + colon + rest) from None
        parts = ("added", "removed", "edgesAdded", "edgesRemoved", "schemas", "code")
        differences = {name: found[name] for name in parts}
        failed = [
            {"id": _job_id(run["job"]), "runId": run["runId"], "endedAt": run["endedAt"]}
            | ({"error": shortened(run["error"])} if run["error"] else {})
            for run in found["failed"]
        ]
        has_changed = any(differences.values()) or bool(failed)
        return reply(
            "found" if has_changed else "none",
            replace(context, moment=self.until).health(),
            since=self.since,
            note=None if has_changed else "Nothing differs between the two moments.",
            page=context.page(""),
            failed=failed,
            **differences,
        )


class Provenance(Tool):
    """List every run, code version and source that a dataset or model comes from.

    `gate` states whether this provenance passes the default policy, with the violations.
    """

    name = "provenance"
    node: Node
    version: Annotated[
        str | None,
        Text,
        Field(description="A version, or the id of the run that wrote it; by default the newest."),
    ] = None
    as_of: Time | None = None

    def answer(self, context: Context) -> Json:
        """Return the runs, newest first, the sources and the result of the gate."""
        found = context.query("provenance", {"node": self.node, "version": self.version})
        runs = [_provenance_run(item) for item in found["runs"]]
        sources = [f"dataset:{item['namespace']}:{item['name']}" for item in found["sources"]]
        removed = {
            item["id"]: removal_text(item["removal"])
            for item in found["datasets"]
            if item["removal"]
        }
        gate = _gate(context, found["node"]) if self.version is None else None
        return reply(
            "found" if runs else "not_reported",
            context.health(),
            node=found["node"],
            version=found["version"],
            gate=gate,
            runs=runs,
            sources=sources,
            removed=removed,
            note=None if runs else "No run that writes it was reported.",
            about=[found["node"], *(run["id"] for run in runs)],
            measures=("inputs", "outputs", "code", "ends"),
            unreported=found["unknown"],
            page=context.page("provenance", node=found["node"], version=self.version),
        )


def _gate(context: Context, node: str) -> Json | None:
    """Return the result of the default gate; None if no plugin adds gates.

    `node` is the id of a dataset. At most five violations are listed.
    """
    try:
        checked = context.query("gate", {"dataset": [node]})["datasets"][0]
    except MissingQueryError:
        return None
    gate = {"passed": checked["passed"]}
    if checked["violations"]:
        gate["violations"] = problems_of(checked["violations"][:5])
    return gate


class Problems(Tool):
    """List what is wrong: failed, stale and late jobs and failed checks, with causes and remedies.

    With a node, only what affects it: problems of the node and of everything upstream.
    """

    name = "problems"
    node: Node | None = None
    as_of: Time | None = None

    def answer(self, context: Context) -> Json:
        """Return the problems, errors first."""
        health = context.health()
        if self.node is None:
            return _all_problems(context, health)
        answer = context.query("findings", {})
        findings: list[Finding] = answer["items"]
        late = context.query("lateness", {"node": self.node})
        tree = context.query("tree", {"node": self.node, "direction": "both", "depth": 20})
        upstream = [tree["node"], *(item["id"] for item in flat(tree["up"]))]
        failed = [item for item in findings if item["subject"] in upstream]
        # `lateness` has the failures upstream too, with the distance
        known = {(item["kind"], item["subject"]) for item in late["reasons"]}
        failed = [item for item in failed if (item["kind"], item["subject"]) not in known]
        problems = [*late["reasons"], *failed]
        has_lineage = bool(tree["up"]["children"] or tree["down"]["children"])
        empty: Status = "none" if has_lineage else "not_reported"
        if answer[UNCOUNTED]:
            empty = "unknown"
        return reply(
            "found" if problems or late["isLate"] else empty,
            health,
            node=tree["node"],
            state=late["health"]["state"],
            stateReason=late["health"]["message"],
            isLate=late["isLate"],
            dueAt=late["dueAt"],
            lastAt=late["lastAt"],
            problems=problems_of(problems),
            note=_unchecked(answer),
            about=upstream,
            page=context.page("lineage", node=tree["node"]),
        )


def _all_problems(context: Context, health: Json) -> Json:
    """Return all problems, the open ones first; `health` is the answer of `Context.health`."""
    problems = [
        item
        for decided in (False, True)
        for item in context.query("problems", {"decided": decided})["items"]
    ]
    measures = health["completeness"]["measures"]
    empty: Status = "none" if health["counts"]["runs"] else "not_reported"
    if health[UNCOUNTED]:
        empty = "unknown"
    return reply(
        "found" if problems else empty,
        health,
        isHealthy=health["isHealthy"],
        counts=health["counts"],
        completeness={
            name: None if result["share"] is None else round(result["share"], 3)
            for name, result in measures.items()
        },
        problems=causes_in_short(problems),
        note=_unchecked(health) if health["counts"]["runs"] else "No run was reported.",
        page=replace(context, moment=None).page("problems"),  # this view only shows the present
    )


def _unchecked(answer: Json) -> str | None:
    """Return a note about an answer that may lack late jobs and datasets; None if it is complete.

    `isHealthy` is missing in a partial answer without errors.
    """
    return unchecked_lateness(answer[UNCOUNTED]) if answer[UNCOUNTED] else None


TOOLS: Mapping[str, type[Tool]] = {
    tool.name: tool
    for tool in (
        *(Find, Upstream, Downstream, Columns, Path, Why, Compare, Provenance, Version),
        *(Incident, Recalls, Tags, Unused, Problems, Map),
    )
}


def tools_of(*, may_report: bool) -> Mapping[str, type[Tool]]:
    """Return the tools by name, with `report` if it may be used."""
    return {**TOOLS, Report.name: Report} if may_report else TOOLS


def call(name: str, arguments: Mapping[str, object], context: Context) -> str:
    """Return a tool's answer as JSON text.

    `name` and `arguments` are those that the agent sent. A node that does not exist gives an answer
    with candidates instead of an error.

    Raises:
      ConfigError: the tool or an argument is invalid.
    """
    tools = tools_of(may_report=context.reporter is not None)
    if name not in tools:
        raise ConfigError(f"tool: received {name[:80]!r}, expected one of {', '.join(tools)}")
    try:
        tool = tools[name].model_validate(arguments)
    except ValidationError as error:
        raise ConfigError(_described(error)) from None
    try:
        return written(tool.answer(replace(context, moment=getattr(tool, "as_of", None))))
    except NotFoundError as error:
        return written(unresolved(error))


def _described(error: ValidationError) -> str:
    """Describe the first invalid argument: its name, the value received and what is allowed."""
    problem = error.errors(include_url=False)[0]
    place = ".".join(map(str, problem["loc"]))[:80] or "arguments"
    received = "nothing" if problem["type"] == "missing" else shortened(repr(problem["input"]))
    return f"{place}: received {received}, {expected(dict(problem))}"


def _provenance_run(item: Json) -> Json:
    """Return a run of the query `provenance` in short.

    A declared job without runs has no run id.
    """
    run: Json = {"id": _job_id(item["job"]), "code": item["code"].get("version")}
    if item["run"]:
        run |= {"runId": item["run"]["runId"], "endedAt": item["run"]["endedAt"]}
        if item["run"]["state"] != "COMPLETED":
            run["state"] = item["run"]["state"]
    return {name: value for name, value in run.items() if value is not None}


def _job_id(name: Mapping[str, str]) -> str:
    """Return the id of a job, given its namespace and name."""
    return f"job:{name['namespace']}:{name['name']}"
