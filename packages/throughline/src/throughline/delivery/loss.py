"""Compare which facts of a set of events arrive at each kind of backend.

Each fact is counted once: a run, an edge, a facet of one run, job or dataset. It arrives if the
backend retains facts of its kind and the fact is in a payload, or if it is emitted separately.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from throughline.delivery.backend import Delivery
from throughline.delivery.datasets import Body, Name
from throughline.delivery.effective_runs import NewestRuns
from throughline.delivery.payloads import payloads_with_context
from throughline.delivery.rewrite import REWRITINGS, Rewriting
from throughline.delivery.rewrite.rewriting import Retained, is_run, same_name, uuid_of
from throughline.errors import DeliveryError
from throughline.events import EVERY_ROW, parse_columns, with_parent
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
            _add(reported, _facts(orjson.loads(body), primary, same_name))
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
        kind: {renamed(fact) for fact in facts} & retained[kind] for kind, facts in reported.items()
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
            if rewriting.emitted_facts is None or is_run(body):
                read = rewriting.readable(body) if rewriting.readable else body
                facts = _facts(read, rewriting.dataset_name, same_name)
                _add(found, _select(facts, rewriting.retained))
            if rewriting.emitted_facts is not None:
                for kind, fact in rewriting.emitted_facts(body, context):
                    found[kind].add(fact)
    return found


def _select(facts: Facts, retained: Retained) -> Facts:
    is_retained = {
        "runs": retained.runs,
        "data edges": True,
        "column edges": True,
        "hierarchy": retained.hierarchy,
        "control edges": retained.control,
        "models": retained.models,
    }
    return {
        kind: values
        for kind, values in facts.items()
        if is_retained.get(kind, retained.facets is None or kind in retained.facets)
    }


def _add(facts: Facts, added: Facts) -> None:
    for kind, values in added.items():
        facts[kind] |= values


def _facts(body: Body, dataset_name: Name, job_name: Name) -> Facts:
    """Return the facts of one event."""
    facts: Facts = defaultdict(set)
    job = ("job", *job_name(body["job"]["namespace"], body["job"]["name"])) if "job" in body else ()
    if is_run(body):
        run = ("run", uuid_of(body["run"]["runId"]))
        facts["runs"].add(run)
        run_facets = with_parent(body["run"].get("facets") or {})
        _add_facets(facts, "run", run, run_facets)
        if parent := _run_of(run_facets.get("parent")):
            facts["hierarchy"].add((run, parent))
        for dependency in (run_facets.get("jobDependencies") or {}).get("upstream") or ():
            other = dependency["job"]
            upstream = ("job", *job_name(other["namespace"], other["name"]))
            facts["control edges"].add((upstream, job))
    if job:
        _add_facets(facts, "job", job, body["job"].get("facets") or {})
    for side in ("inputs", "outputs", "dataset"):
        value = body.get(side) or []
        for dataset in value if isinstance(value, list) else [value]:
            _add_dataset(facts, job, side, dataset, dataset_name)
    return facts


def _add_dataset(facts: Facts, job: Any, side: str, dataset: Body, dataset_name: Name) -> None:
    name = ("dataset", *dataset_name(dataset["namespace"], dataset["name"]))
    if side != "dataset":
        facts["data edges"].add((job, side, name))
    facets = dataset.get("facets") or {}
    for added in (facets, dataset.get("inputFacets"), dataset.get("outputFacets")):
        _add_facets(facts, "dataset", name, added or {})
    if (facets.get("datasetType") or {}).get("datasetType") == "MODEL":
        facts["models"].add(name)
    for column in _columns(dataset, dataset_name):
        facts["column edges"].add((job, *column))


def _add_facets(facts: Facts, kind: str, owner: Any, facets: Body) -> None:
    for name in facets:
        facts[f"{kind} {name}"].add(owner)


def _columns(dataset: Body, dataset_name: Name) -> Iterator[tuple[Any, Any]]:
    own = dataset_name(dataset["namespace"], dataset["name"])
    facet = (dataset.get("facets") or {}).get("columnLineage") or {}
    for link in parse_columns(facet).links:
        if link.target != EVERY_ROW:
            source = dataset_name(link.namespace, link.name)
            yield ("dataset", *own, link.target), ("dataset", *source, link.field)


def _run_of(parent: Any) -> Any:
    run_id = ((parent or {}).get("run") or {}).get("runId")
    return ("run", uuid_of(str(run_id))) if run_id else None
