"""Compute the changes that a replay would make, without sending anything.

For a headwater server, its edges of the replayed jobs are compared with those that this version and
its rules determine. For other backends, the result is the events that they reject, the names, and
the facts that are lost.

A Source is a function that answers queries, by name and parameters: of the server (there, the
target of the replay) or of the log (local).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

from headwater.console.source import Params, Source, every
from headwater.errors import DeliveryError, MissingQueryError, ServerError
from headwater.events import JobRef, parse_time
from headwater.graph.nodes import Node, node_id
from headwater.identity import DatasetName, canonical_name
from headwater.plugin import parts
from headwater.plugins.delivery._effective_runs import NewestRuns
from headwater.plugins.delivery._loss import events_since, losses_of
from headwater.plugins.delivery.backend import Backend, Delivery
from headwater.plugins.delivery.models import BackendPreview, ColumnPair, GraphPreview, Lost
from headwater.plugins.delivery.payloads import payloads_with_context
from headwater.plugins.delivery.rewrite import REWRITINGS, Rewriting
from headwater.projection.live import Live
from headwater.query.parameters import LevelName
from headwater.query.registry import ask, find_query

_MOST_REASONS = 10
_Edge = tuple[JobRef, str, DatasetName]
"""A job, `reads` or `writes`, and a dataset."""
_Primary = Callable[[DatasetName], DatasetName]
"""Returns the primary name of a dataset in the log, by the rules of this version."""


class _Pair(NamedTuple):
    """A column and one that it depends on; `source_column` is empty for all rows."""

    dataset: DatasetName
    column: str
    source: DatasetName
    source_column: str
    is_direct: bool


def graph_preview(
    live: Live, server: Source, url: str, *, since: int, level: LevelName, columns: bool
) -> GraphPreview:
    """Compare the edges of the jobs of a log with those of a headwater server.

    Jobs with events since a time in microseconds are compared, unless the server has a newer run of
    the job: a replay does not change these, nor the other jobs of the server.

    Raises:
        ServerError: the server is not headwater, or an older version without this query.

    `server` queries the target, and `url` is its address for the answer. With `columns`, also the
    columns of the datasets that both have are compared.
    """

    def local(name: str, params: Params) -> Any:
        return ask(live, find_query(name), params)

    with live.reading() as state:
        jobs = {ref for ref, job in state.jobs.items() if (job.last or 0) >= since}
        identity = state.identity
        aliases = sum(relation != "reported" for _, relation in state.aliases.values())

    def primary(name: DatasetName) -> DatasetName:
        return identity.primary(canonical_name(*name))

    try:
        there = set(_edges(server, level))
        newer = _newer_jobs(server, local, level) & jobs
    except MissingQueryError:
        raise ServerError(
            f"{url} is not headwater: --diff compares the graphs of headwater servers. To see what"
            " another backend would reject or lose, list it in a deliver file and pass its name"
        ) from None
    # Of both sides only edges of the replayed jobs are compared, under the names of the log.
    others = {job for job, _, _ in there} - jobs
    jobs -= newer
    kept = {(job, way, primary(name)) for job, way, name in there if job in jobs}
    own = {edge for edge in _edges(local, level) if edge[0] in jobs}
    renamed = {name: primary(name) for job, _, name in there if job in jobs}
    written = sorted({name for _, way, name in own & kept if way == "writes"})
    old, new = set[_Pair](), set[_Pair]()
    if columns:
        olds = {new_name: name for name, new_name in renamed.items()}
        for name in written:
            new |= _pairs(local, name, primary)
            old |= _pairs(server, olds[name], primary)
    return {
        "target": url,
        "level": level,
        "jobs": len({job for job, _, _ in own | kept}),
        "otherJobs": len(others),
        "newerJobs": sorted(node_id(Node.of_job(job)) for job in newer),
        "aliases": aliases,
        "same": len(own & kept),
        "edgesAdded": sorted(map(_shown, own - kept)),
        "edgesRemoved": sorted(map(_shown, kept - own)),
        "renamed": sorted(_names(pair) for pair in renamed.items() if pair[0] != pair[1]),
        "columnsCompared": len(written) if columns else None,
        "columnsAdded": [_column_pair(pair) for pair in sorted(new - old)],
        "columnsRemoved": [_column_pair(pair) for pair in sorted(old - new)],
    }


def _edges(source: Source, level: LevelName) -> Iterator[_Edge]:
    """Yield the data edges at a level, from a function that queries a server or a log."""
    for row in every(source, "edges", {"level": level, "kind": "data"}):
        job, dataset = row["job"], row["dataset"]
        name = DatasetName(dataset["namespace"], dataset["name"])
        yield JobRef(job["namespace"], job["name"]), row["direction"], name


def _newer_jobs(server: Source, local: Source, level: LevelName) -> set[JobRef]:
    """Return the jobs whose effective run on the server started after the one in the log."""
    ours = _starts(local, level)
    return {job for job, at in _starts(server, level).items() if job in ours and at > ours[job]}


def _starts(source: Source, level: LevelName) -> dict[JobRef, datetime]:
    """Return when the effective run of each job started."""
    return {
        JobRef(item["namespace"], item["name"]): parse_time(item["run"]["startedAt"])
        for item in every(source, "nodes", {"level": level})
        if item["run"] and item["run"]["startedAt"]
    }


def _pairs(source: Source, name: DatasetName, primary: _Primary) -> set[_Pair]:
    """Return the columns of a dataset with those one step upstream.

    `primary` returns the name in the log, so that both sides have the same names.
    """
    node = node_id(Node.of_dataset(name))
    answer = source("columns", {"node": node, "depth": 1, "indirect": True})
    return {
        _Pair(
            primary(name),
            column["field"],
            primary(DatasetName(above["namespace"], above["name"])),
            above["field"] or "",
            above["isDirect"],
        )
        for column in answer["up"]["children"]
        for above in column["children"]
        if column["field"] is not None
    }


def _shown(edge: _Edge) -> list[str]:
    """Return the ids of the two ends of an edge, in the direction of the data."""
    job, way, name = edge
    ends = [node_id(Node.of_dataset(name)), node_id(Node.of_job(job))]
    return ends if way == "reads" else ends[::-1]


def _names(pair: tuple[DatasetName, DatasetName]) -> list[str]:
    return [node_id(Node.of_dataset(name)) for name in pair]


def _column_pair(pair: _Pair) -> ColumnPair:
    """Return an edge between two columns as part of the answer."""
    return {
        "dataset": node_id(Node.of_dataset(pair.dataset)),
        "column": pair.column,
        "source": node_id(Node.of_dataset(pair.source)),
        "sourceColumn": pair.source_column or None,
        "isDirect": pair.is_direct,
    }


def backend_preview(live: Live, name: str, backend: Backend, *, since: int) -> BackendPreview:
    """Return what a backend would receive of the events since a time in microseconds.

    A backend that does not rewrite events receives all of them unchanged.
    """
    found = _rewriting_of(backend)
    events = sum(1 for _ in events_since(live, since))
    preview: BackendPreview = {
        "target": name,
        "events": events,
        "rejected": 0,
        "reasons": [],
        "renamed": [],
        "lost": [],
    }
    if found is None:
        return preview
    kind, rewriting = found
    preview["rejected"], preview["reasons"] = _rejected(live, rewriting, since)
    preview["renamed"] = _renamed(live, rewriting)
    for loss in losses_of(live, {kind: rewriting}, since):
        arrived = loss.arrived[kind]
        if arrived < loss.reported:
            lost: Lost = {"kind": loss.kind, "reported": loss.reported, "arrived": arrived}
            preview["lost"].append(lost)
    return preview


def _rewriting_of(backend: Backend) -> tuple[str, Rewriting] | None:
    """Return the type of a backend and its rewriting; None if events are sent unchanged."""
    own = type(backend)
    for kind, point in parts("backends").items():
        if kind in REWRITINGS and point.value == f"{own.__module__}:{own.__qualname__}":
            return kind, REWRITINGS[kind]
    return None


def _rejected(live: Live, rewriting: Rewriting, since: int) -> tuple[int, list[str]]:
    """Return the number of events of which the backend accepts no part, and the first reasons."""
    count, reasons, cache = 0, list[str](), NewestRuns()
    for seq, body in events_since(live, since):
        try:
            payloads_with_context(Delivery(seq, body, live.reading), rewriting, cache)
        except DeliveryError as error:
            count += 1
            if len(reasons) < _MOST_REASONS:
                reasons.append(f"event {seq}: {error}")
    return count, reasons


def _renamed(live: Live, rewriting: Rewriting) -> list[list[str]]:
    """Return the datasets that have another name at the backend, with that name."""
    with live.reading() as state:
        identity = state.identity
        pairs = {
            name: DatasetName(*rewriting.dataset_name(*rewriting.name(identity, name)))
            for name in set(identity)
        }
    return sorted(_names(pair) for pair in pairs.items() if pair[0] != pair[1])
