"""Compare which facts of a set of events arrive at each kind of backend.

Each fact is counted once: a run, an edge, a facet of one run, job or dataset. It arrives if it is
in the part of a payload that the backend shows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import orjson

from headwater.errors import DeliveryError, EventError
from headwater.events import EVERY_ROW, parse_columns, with_parent
from headwater.events.column_lineage import objects
from headwater.events.renaming import Name
from headwater.identity import DatasetName, Identity, canonical_name
from headwater.log import Entry, EventLog, read_entry
from headwater.plugins.delivery._effective_runs import NewestRuns
from headwater.plugins.delivery.backend import Delivery
from headwater.plugins.delivery.body import Body, facet_of, is_run, uuid_of
from headwater.plugins.delivery.payloads import payloads_with_context
from headwater.plugins.delivery.rewrite import REWRITINGS, Rewriting
from headwater.projection.live import Batch, Live

_Fact = tuple[str, Any]
"""A kind, and a fact of it as a hashable value."""

_KINDS = ("runs", "data edges", "column edges", "hierarchy", "control edges", "models")


@dataclass(frozen=True, slots=True)
class Loss:
    """The number of reported facts of a kind, and of those that arrive at each backend."""

    kind: str
    reported: int
    arrived: dict[str, int]


def losses(entries: Iterable[Entry]) -> list[Loss]:
    """Return the loss at every kind of backend: of runs, edges, then facets by name."""
    log = EventLog("sqlite://")
    try:
        live = Live(log)
        live.ingest(Batch(list(entries)))
        return losses_of(live, REWRITINGS)
    finally:
        log.close()


def losses_of(live: Live, rewritings: Mapping[str, Rewriting], since: int = 0) -> list[Loss]:
    """Return, per kind of fact, how many are reported, and how many arrive at each backend.

    Args:
        since: the earliest event, in microseconds.

    `rewritings` are those of the backends to compare, by type. Nothing is sent.
    """
    with live.reading() as state:
        identity = state.identity

    # Facts are compared under the primary names of datasets, so several names are one fact.
    def primary(namespace: str, name: str) -> tuple[str, str]:
        return identity.primary(canonical_name(namespace, name))

    reported = {
        fact
        for _, body in events_since(live, since)
        for fact in _facts(orjson.loads(body), primary)
    }
    arrived = {
        backend: Counter(kind for kind, _ in _arrived(live, rewriting, identity, reported, since))
        for backend, rewriting in rewritings.items()
    }
    numbers = Counter(kind for kind, _ in reported)
    return [
        Loss(kind, numbers[kind], {backend: counts[kind] for backend, counts in arrived.items()})
        for kind in (*_KINDS, *sorted(numbers.keys() - set(_KINDS)))
        if numbers[kind]
    ]


def events_since(live: Live, since: int) -> Iterator[tuple[int, str]]:
    """Yield the readable events from a time on."""
    for seq, body in live.log.read():
        with suppress(EventError):
            if read_entry(body).time >= since:
                yield seq, body


def _arrived(
    live: Live, rewriting: Rewriting, identity: Identity, reported: set[_Fact], since: int
) -> set[_Fact]:
    """Return the reported facts that a backend shows, under the backend's names.

    `reported` are the facts under primary names; they are renamed as the backend would.
    """

    def dataset_name(*name: str) -> tuple[str, str]:
        return rewriting.dataset_name(*rewriting.name(identity, DatasetName(*name)))

    def renamed(fact: Any) -> Any:
        """Return a fact with the names that the backend has for its nodes.

        A fact is a tuple. It begins with `dataset` or `job`, followed by namespace, name and
        columns, or has such tuples as parts.
        """
        if not (isinstance(fact, tuple) and fact):
            return fact
        name = {"dataset": dataset_name, "job": rewriting.job_name}.get(fact[0])
        if name is not None:
            columns = (str(rewriting.job_name("", column)[1]) for column in fact[3:])
            return (fact[0], *name(fact[1], fact[2]), *columns)
        return tuple(renamed(part) for part in fact)

    shown = set(_shown_facts(live, rewriting, since))
    return {(kind, renamed(fact)) for kind, fact in reported} & shown


def _shown_facts(live: Live, rewriting: Rewriting, since: int) -> Iterator[_Fact]:
    """Yield the facts that a backend shows; none of an event that it would reject."""
    cache: NewestRuns = {}
    for seq, raw in events_since(live, since):
        try:
            sent = payloads_with_context(Delivery(seq, raw, live.reading), rewriting, cache)
        except DeliveryError:
            continue
        for body, context in sent:
            for kind, fact in _facts(rewriting.readable(body, context), rewriting.dataset_name):
                if kind not in rewriting.lost:
                    yield kind, fact


def _facts(body: Body, dataset_name: Name) -> Iterator[_Fact]:
    """Yield the facts of one event, as pairs such as ("data edges", (job, "inputs", dataset)).

    `dataset_name` returns the name under which a dataset is counted, from its namespace and name.
    """
    job = ("job", body["job"]["namespace"], body["job"]["name"]) if "job" in body else ()
    if is_run(body):
        run = ("run", uuid_of(body["run"]["runId"]))
        yield "runs", run
        run_facets = with_parent(body["run"].get("facets") or {})
        yield from ((f"run {name}", run) for name in run_facets)
        parent_run = (run_facets.get("parent") or {}).get("run") or {}
        if parent_id := parent_run.get("runId"):
            yield "hierarchy", (run, ("run", uuid_of(str(parent_id))))
        for dependency in objects((run_facets.get("jobDependencies") or {}).get("upstream")):
            other = dependency.get("job") or {}
            if "namespace" in other and "name" in other:
                yield "control edges", (("job", other["namespace"], other["name"]), job)
    if job:
        yield from ((f"job {name}", job) for name in body["job"].get("facets") or {})
    for side in ("inputs", "outputs"):
        for dataset in body.get(side) or ():
            name = ("dataset", *dataset_name(dataset["namespace"], dataset["name"]))
            yield "data edges", (job, side, name)
            yield from _dataset_facts(dataset, name, job, dataset_name)
    if dataset := body.get("dataset"):
        name = ("dataset", *dataset_name(dataset["namespace"], dataset["name"]))
        yield from _dataset_facts(dataset, name, job, dataset_name)


def _dataset_facts(
    dataset: Body, own: tuple[str, ...], job: tuple[str, ...], dataset_name: Name
) -> Iterator[_Fact]:
    """Yield the facts of a dataset of an event.

    `own` is the dataset as a fact, and `job` the job that uses it, empty without one.
    """
    for place in ("facets", "inputFacets", "outputFacets"):  # a facet is one fact in any of them
        yield from ((f"dataset {name}", own) for name in dataset.get(place) or {})
    if facet_of(dataset, "datasetType").get("datasetType") == "MODEL":
        yield "models", own
    for link in parse_columns(facet_of(dataset, "columnLineage")).links:
        source = ("dataset", *dataset_name(link.namespace, link.name))
        if source != own:  # the source of a column is an input, also if no list names it
            yield "data edges", (job, "inputs", source)
        if link.target != EVERY_ROW:
            yield "column edges", (job, (*own, link.target), (*source, link.field))
