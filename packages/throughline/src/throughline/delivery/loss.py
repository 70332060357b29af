"""Compare which facts of a set of events arrive at each kind of backend.

Each fact is counted once: a run, an edge, a facet of one run, job or dataset. It arrives if the
backend retains facts of its kind and the fact is in a payload, or if it is emitted separately.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from throughline.delivery.backend import Delivery
from throughline.delivery.body import Body, Name, facet_of, is_run, uuid_of
from throughline.delivery.effective_runs import NewestRuns
from throughline.delivery.payloads import payloads_with_context
from throughline.delivery.rewrite import REWRITINGS, Rewriting
from throughline.errors import DeliveryError
from throughline.events import EVERY_ROW, parse_columns, with_parent
from throughline.events.column_lineage import objects
from throughline.identity import DatasetName, Identity, canonical_name
from throughline.log import Entry, EventLog
from throughline.projection.live import Batch, Live

Facts = dict[str, set[Any]]
"""The facts of each kind, as hashable values."""

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
        with live.reading() as state:
            identity = state.identity  # nothing else writes to this log

        def primary(namespace: str, name: str) -> tuple[str, str]:
            return identity.primary(canonical_name(namespace, name))

        reported: Facts = defaultdict(set)
        for _, body in log.read():
            _add(reported, _facts(orjson.loads(body), primary))
        arrived = {
            backend: _arrived(live, rewriting, identity, reported)
            for backend, rewriting in REWRITINGS.items()
        }
    finally:
        log.close()
    return [
        Loss(
            kind,
            len(reported[kind]),
            {backend: len(facts[kind]) for backend, facts in arrived.items()},
        )
        for kind in (*_KINDS, *sorted(reported.keys() - set(_KINDS)))
        if reported[kind]
    ]


def _arrived(live: Live, rewriting: Rewriting, identity: Identity, reported: Facts) -> Facts:
    """Return the reported facts that a backend retains, under the backend's names."""
    retained = _retained_facts(live, rewriting)

    def dataset_name(*name: str) -> tuple[str, str]:
        return rewriting.dataset_name(*rewriting.name(identity, DatasetName(*name)))

    def renamed(fact: Any) -> Any:
        if not (isinstance(fact, tuple) and fact):
            return fact
        name = {"dataset": dataset_name, "job": rewriting.job_name}.get(fact[0])
        if name is not None:
            columns = (str(rewriting.job_name("", column)[1]) for column in fact[3:])
            return (fact[0], *name(fact[1], fact[2]), *columns)
        return tuple(renamed(part) for part in fact)

    return {
        kind: {renamed(fact) for fact in facts} & retained.get(kind, set())
        for kind, facts in reported.items()
    }


def _retained_facts(live: Live, rewriting: Rewriting) -> Facts:
    found: Facts = defaultdict(set)
    cache: NewestRuns = {}
    for seq, raw in live.log.read():
        try:
            sent = payloads_with_context(Delivery(seq, raw, live.reading), rewriting, cache)
        except DeliveryError:
            continue
        for body, context in sent:
            _add(found, _facts(rewriting.readable(body, context), rewriting.dataset_name))
    return {kind: facts for kind, facts in found.items() if kind not in rewriting.lost}


def _add(facts: Facts, added: Facts) -> None:
    for kind, values in added.items():
        facts[kind] |= values


def _facts(body: Body, dataset_name: Name) -> Facts:
    """Return the facts of one event."""
    facts: Facts = defaultdict(set)
    job = ("job", body["job"]["namespace"], body["job"]["name"]) if "job" in body else ()
    if is_run(body):
        run = ("run", uuid_of(body["run"]["runId"]))
        facts["runs"].add(run)
        run_facets = with_parent(body["run"].get("facets") or {})
        _add_facets(facts, "run", run, run_facets)
        parent_run = (run_facets.get("parent") or {}).get("run") or {}
        if parent_id := parent_run.get("runId"):
            facts["hierarchy"].add((run, ("run", uuid_of(str(parent_id)))))
        for dependency in objects((run_facets.get("jobDependencies") or {}).get("upstream")):
            other = dependency.get("job") or {}
            if "namespace" in other and "name" in other:
                facts["control edges"].add((("job", other["namespace"], other["name"]), job))
    if job:
        _add_facets(facts, "job", job, body["job"].get("facets") or {})
    for side in ("inputs", "outputs"):
        for dataset in body.get(side) or ():
            name = _add_dataset(facts, job, dataset, dataset_name)
            facts["data edges"].add((job, side, name))
    if "dataset" in body:
        _add_dataset(facts, job, body["dataset"], dataset_name)
    return facts


def _add_dataset(facts: Facts, job: Any, dataset: Body, dataset_name: Name) -> Any:
    """Add the facts of a dataset and return its name."""
    name = ("dataset", *dataset_name(dataset["namespace"], dataset["name"]))
    for place in ("facets", "inputFacets", "outputFacets"):
        _add_facets(facts, "dataset", name, dataset.get(place) or {})
    if facet_of(dataset, "datasetType").get("datasetType") == "MODEL":
        facts["models"].add(name)
    for link in parse_columns(facet_of(dataset, "columnLineage")).links:
        if link.target != EVERY_ROW:
            source = ("dataset", *dataset_name(link.namespace, link.name), link.field)
            facts["column edges"].add((job, (*name, link.target), source))
    return name


def _add_facets(facts: Facts, kind: str, owner: Any, facets: Body) -> None:
    for name in facets:
        facts[f"{kind} {name}"].add(owner)
