"""Problems: findings of health by their cause, with what was not rebuilt because of each.

A cause groups the findings that it explains, its `parts`, see `_causes`. Decided findings are muted
or acknowledged; a problem is open if one of its findings is. Nodes behind a cause are those that
were not written or run since because of it; they are its affected nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Literal, cast

from headwater.events import parse_time, to_micros
from headwater.filter_values import is_exposure, is_view, platform_value, type_of, values_of
from headwater.graph.current import generations_of, graph_of
from headwater.graph.levels import Level
from headwater.graph.nodes import Node, node_id, node_ref
from headwater.graph.walk import parts_of
from headwater.health.blocked import nodes_behind
from headwater.health.findings import failure_text
from headwater.health.late import late_writes
from headwater.health.overdue import overdue_nodes
from headwater.health.states import state_of
from headwater.lookup import find_node
from headwater.plugins.trust._causes import Cause, causes_of_findings
from headwater.plugins.trust._error_lines import telling_lines
from headwater.plugins.trust._health import LEFT_OUT, findings_of, is_left_out
from headwater.plugins.trust.finding_states import ALL_OPEN, FindingStates
from headwater.plugins.trust.models import (
    AffectedNode,
    Problem,
    ProblemFacets,
    ProblemKind,
    ProblemsAnswer,
)
from headwater.projection import RunKey, State
from headwater.query.filters import NO_VALUE, Values, choose_by
from headwater.query.models import ValueCount
from headwater.query.pages import Place, cut
from headwater.query.parameters import Cursor, Limit
from headwater.runs.failures import is_failed
from headwater.runs.links import links_of_run

_FACETS = ("kind", "owner", "tag", "platform", "age")
_AGES = {"hour": 3_600, "day": 86_400, "week": 7 * 86_400}  # seconds
_MOST_AFFECTED = 50
_LARGEST = 2**62
Age = Literal["hour", "day", "week", "older"]


def problems_answer(
    state: State,
    kind: Annotated[ProblemKind | None, "Only problems of this kind."] = None,
    owner: Annotated[
        str | None, "Only if the cause or something affected has this owner. Empty: no owner."
    ] = None,
    tag: Annotated[
        str | None, "Only if the cause or something affected has this tag: KEY or KEY:VALUE."
    ] = None,
    platform: Annotated[str | None, "Only causes of this platform. Empty: unknown."] = None,
    age: Annotated[
        Age | None, "Only problems of the last hour, day or week, or older than a week."
    ] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
    *,
    decided: Annotated[bool, "Return muted and acknowledged problems, not the open ones."] = False,
    stored: FindingStates = ALL_OPEN,
) -> ProblemsAnswer:
    """Return the problems, one per cause, with the error and what was not rebuilt since.

    Errors are sorted before warnings, then by the number of affected datasets, then newest first.
    `uncounted` nodes are not checked for lateness yet. `decided` in the response is the number of
    muted or acknowledged problems that match the other filters.
    """
    overdue = overdue_nodes(state, in_part=True)
    findings = (stored.of(found, state.now) for found in findings_of(state, overdue))
    causes = causes_of_findings(state, findings)
    behind = nodes_behind(state)
    measured = [_Measured(state, cause, behind) for cause in causes]
    given = {"kind": kind, "owner": owner, "tag": tag, "platform": platform, "age": age}
    wanted = {name: value for name, value in given.items() if value is not None}

    def chosen(is_open: bool) -> tuple[list[_Measured], dict[str, list[ValueCount]]]:
        items = (item for item in measured if item.is_open is is_open)
        return choose_by(_FACETS, items, lambda item: item.values, wanted)

    matching, counts = chosen(not decided)
    about = ("problems", *given.values(), decided)
    items, following = cut(about, matching, lambda item: item.place, limit, cursor)
    return {
        "items": [item.problem() for item in items],
        "next": following,
        "total": len(matching),
        "decided": len(matching if decided else chosen(is_open=False)[0]),
        "facets": cast("ProblemFacets", counts),
        "uncounted": overdue.uncounted,
    }


class _Measured:
    """A cause with the nodes that it affects, from which a problem, its filters and rank follow.

    `behind` has the nodes that were not written since, by failed job or checked dataset.
    """

    def __init__(self, state: State, cause: Cause, behind: dict[Node, list[Node]]) -> None:
        self._state, self._cause = state, cause
        self._node = cause.node
        self._affected = list(dict.fromkeys(self._affected_nodes(behind)))
        self._datasets = [node for node in self._affected if node.type == "dataset"]
        self._tags = Counter(tag for node in self._datasets for tag in self._known(node, "tag"))

    @property
    def is_open(self) -> bool:
        """Return True unless all findings of the cause are muted or acknowledged."""
        return self._cause.is_open

    def _affected_nodes(self, behind: dict[Node, list[Node]]) -> Iterator[Node]:
        """Yield the nodes that were not rebuilt because of the cause, or that are late with it."""
        if self._cause.finding["kind"] in ("late", "stopped"):
            yield from _late_datasets(self._state, self._node)
            return
        subjects = [find_node(self._state, part["subject"]) for part in self._cause.parts]
        checked = [subject for subject in subjects if subject.type == "dataset"]
        for subject in (self._node, *checked):
            yield from (node for node in behind.get(subject, ()) if node != self._node)

    def _known(self, node: Node, facet: str) -> list[str]:
        return [value for value in values_of(self._state, node)[facet] if value != NO_VALUE]

    def _all(self, facet: str) -> list[str]:
        nodes = (self._node, *self._affected)
        return list(dict.fromkeys(value for node in nodes for value in self._known(node, facet)))

    @property
    def values(self) -> Values:
        """Return the facet values."""
        return {
            "kind": (self._cause.finding["kind"],),
            "owner": self._all("owner") or [NO_VALUE],
            "tag": self._all("tag") or [NO_VALUE],
            "platform": (platform_value(self._state, self._node),),
            "age": self._ages(),
        }

    def _ages(self) -> list[str]:
        """Return the filter values by age: for 2 hours, `day` and `week`."""
        if self._at is None:
            return [NO_VALUE]
        seconds = (self._state.now - self._at) // 1_000_000
        return [name for name, most in _AGES.items() if seconds <= most] or ["older"]

    @property
    def _at(self) -> int | None:
        at = self._cause.finding["at"]
        return to_micros(parse_time(at)) if at else None

    @property
    def _is_error(self) -> bool:
        return any(part["severity"] == "error" for part in self._cause.parts)

    @property
    def place(self) -> Place:
        """Return the sort key: errors first, then most affected datasets, then the newest."""
        most = _LARGEST - len(self._datasets)
        return int(not self._is_error), most, _LARGEST - (self._at or 0), self._id

    @property
    def _id(self) -> str:
        finding = self._cause.finding
        return " ".join((finding["kind"], node_id(self._cause.node), finding["runId"] or ""))

    def problem(self) -> Problem:
        """Return the problem as part of the answer.

        Its state and note are those of its first open finding. `pipeline` is set if the finding is
        about a pipeline, and the cause is a task of it.
        """
        finding, parts = self._cause.finding, self._cause.parts
        run = self._cause.run
        shown = next((part for part in parts if part["state"] == "open"), parts[0])
        above = find_node(self._state, parts[0]["subject"])
        is_part = finding["kind"] == "failed" and above != self._node
        exposures = sum(is_exposure(self._state, node) for node in self._affected)
        views = sum(is_view(self._state, node) for node in self._datasets)
        jobs = len(self._affected) - len(self._datasets) - exposures
        return {
            "id": self._id,
            "kind": cast("ProblemKind", finding["kind"]),
            "severity": "error" if self._is_error else "warning",
            "cause": node_ref(self._node),
            "pipeline": node_ref(above) if is_part else None,
            "message": self._message(),
            "remedy": parts[0]["remedy"],
            "runId": finding["runId"],
            "at": finding["at"],
            "error": self._error(),
            "links": links_of_run(self._state, run) if run else [],
            "datasets": len(self._datasets) - views,
            "views": views,
            "jobs": jobs,
            "exposures": exposures,
            "affected": [self._node_affected(node) for node in self._affected[:_MOST_AFFECTED]],
            "owners": self._all("owner"),
            "tags": [{"value": value, "count": count} for value, count in self._tags.most_common()],
            "findings": [
                {"kind": cast("ProblemKind", part["kind"]), "subject": part["subject"]}
                for part in parts
            ],
            "state": shown["state"],
            "note": shown["note"],
            "mutedUntil": shown["mutedUntil"],
        }

    def _message(self) -> str:
        """Return the message of the cause; that of a failed run without its error (`_error`)."""
        finding, run, part = self._cause.finding, self._cause.run, self._cause.parts[0]
        if finding["kind"] != "failed" or run is None or not is_failed(self._state, run):
            return finding["message"]
        subject = find_node(self._state, part["subject"])
        failed = self._state.runs.get(RunKey(part["runId"] or "", subject.job_ref))
        is_omitted = failed is not None and is_left_out(self._state, failed)
        return failure_text(self._state, run) + (LEFT_OUT if is_omitted else "")

    def _error(self) -> list[str]:
        """Return the failed checks of a failed run and the main lines of its error; at most three.

        Other causes, such as a late dataset, have no error.
        """
        run = self._cause.run
        if self._cause.finding["kind"] != "failed" or run is None:
            return []
        error = str(run.facets.get("errorMessage").get("message") or "")
        checks = [part for part in self._cause.parts if part["kind"] == "quality"]
        failed = [f"{part['subject'].rpartition(':')[2]} {part['message']}" for part in checks]
        return [*failed, *telling_lines(error)][:3]

    def _node_affected(self, node: Node) -> AffectedNode:
        kind = type_of(self._state, node)
        return {**node_ref(node), "kind": kind, "owners": self._known(node, "owner")}


def _late_datasets(state: State, node: Node) -> Iterator[Node]:
    """Yield the datasets that are late because a job or its tasks did not write them.

    A late dataset itself is the cause, so it has none.
    """
    if node.type == "dataset":
        return
    graph = graph_of(state, Level.TASK)
    tasks = [node]
    if not graph.has_job(node.job_ref):
        tasks = parts_of(generations_of(state), graph, node, Level.TASK)
    for task in tasks:
        for name in sorted(graph.edges_of(task.job_ref).writes):
            is_late = state_of(state, written := Node.of_dataset(name)) == "late"
            if is_late and any(node.job_ref in late.jobs for late in late_writes(state, name)):
                yield written
