"""What arrives at each kind of backend of a set of events, and what is lost on the way.

Each thing that the events tell is counted once: a run, an edge, a facet of one run, job or dataset.
It arrives if it is in a body that the backend is sent and the backend keeps things of its kind, or
if it is told there in another way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from throughline.deliver.backend import Delivery
from throughline.deliver.datasets import Body
from throughline.deliver.job_runs import Done
from throughline.deliver.rewrite import REWRITINGS, Rewriting
from throughline.deliver.rewrite.rewriting import Kept, is_run, uuid_of
from throughline.deliver.rewritten import rewritten
from throughline.errors import DeliveryError
from throughline.identity import DatasetName, Identity, canonical_name
from throughline.log import Entry, EventLog
from throughline.projection.live import Batch, Live
from throughline.spec import EVERY_ROW, parse_columns, with_parent

Pair = tuple[str, str]
Name = Callable[[str, str], Pair]
Told = dict[str, set[Any]]
"""By kind: each thing of it, as something that tells it from others."""

_KINDS = ("runs", "data edges", "column edges", "hierarchy", "control edges", "models")


@dataclass(frozen=True, slots=True)
class Loss:
    """How many things of a kind are told, and how many of them arrive at each backend."""

    kind: str
    told: int
    arrived: dict[str, int]

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        return {"kind": self.kind, "told": self.told, "arrived": self.arrived}


def losses(entries: Iterable[Entry]) -> list[Loss]:
    """What becomes of the events at every kind of backend: runs, edges, then facets by name."""
    log = EventLog("sqlite://")
    try:
        live = Live(log)
        live.ingest(Batch(list(entries)))
        with live.reading() as state:
            identity = state.identity  # nothing else writes to this log

        def primary(namespace: str, name: str) -> Pair:
            return identity.primary(canonical_name(namespace, name))

        told: Told = defaultdict(set)
        for _, body in log.read():
            _add(told, _things(orjson.loads(body), primary, _same))
        names = {name: _told_there(live, each, identity) for name, each in REWRITINGS.items()}
    finally:
        log.close()
    kinds = [*_KINDS, *sorted(told.keys() - set(_KINDS))]
    return [
        Loss(
            kind,
            len(told[kind]),
            {
                name: len(_renamed(told[kind], there[1]) & there[0][kind])
                for name, there in names.items()
            },
        )
        for kind in kinds
        if told[kind]
    ]


_There = tuple[Told, Callable[[Any], Any]]


def _told_there(live: Live, rewriting: Rewriting, identity: Identity) -> _There:
    """What a backend keeps of all that it is sent, and what it calls a thing."""
    found: Told = defaultdict(set)
    done: Done = {}
    for seq, raw in live.log.read():
        try:
            sent = rewritten(Delivery(seq, raw, live.reading), rewriting, done)
        except DeliveryError:
            continue
        for body, known in sent:
            if rewriting.emitted is None or is_run(body):
                read = rewriting.readable(body) if rewriting.readable else body
                _add(found, _kept(_things(read, rewriting.dataset_name, _same), rewriting.kept))
            for kind, thing in rewriting.emitted(body, known) if rewriting.emitted else ():
                found[kind].add(thing)

    def dataset_name(*name: str) -> Pair:
        return rewriting.dataset_name(*rewriting.name(identity, DatasetName(*name)))

    def called(thing: Any) -> Any:
        if not (isinstance(thing, tuple) and thing):
            return thing
        name = {"dataset": dataset_name, "job": rewriting.job_name}.get(thing[0])
        if name is not None:
            rest = (str(rewriting.job_name("", each)[1]) for each in thing[3:])
            return (thing[0], *name(thing[1], thing[2]), *rest)
        return tuple(called(each) for each in thing)

    return found, called


def _renamed(things: set[Any], called: Callable[[Any], Any]) -> set[Any]:
    return {called(each) for each in things}


def _kept(found: Told, kept: Kept) -> Told:
    has = {
        "runs": kept.runs,
        "hierarchy": kept.hierarchy,
        "control edges": kept.control,
        "models": kept.models,
    }
    left: Told = defaultdict(set)
    for kind, things in found.items():
        if kind in _KINDS and not has.get(kind, True):
            continue
        if kind in _KINDS or kept.facets is None or kind in kept.facets:
            left[kind] = things
    return left


def _add(found: Told, more: Told) -> None:
    for kind, things in more.items():
        found[kind] |= things


def _same(namespace: str, name: str) -> Pair:
    return namespace, name


def _things(body: Body, dataset_name: Name, job_name: Name) -> Told:
    """What one event tells."""
    found: Told = defaultdict(set)
    job = ("job", *job_name(body["job"]["namespace"], body["job"]["name"])) if "job" in body else ()
    if is_run(body):
        run = ("run", uuid_of(body["run"]["runId"]))
        found["runs"].add(run)
        facets = with_parent(body["run"].get("facets") or {})
        _facets(found, "run", run, facets)
        if above := _run_of(facets.get("parent")):
            found["hierarchy"].add((run, above))
        for each in (facets.get("jobDependencies") or {}).get("upstream") or ():
            other = each["job"]
            waited = ("job", *job_name(other["namespace"], other["name"]))
            found["control edges"].add((waited, job))
    if job:
        _facets(found, "job", job, body["job"].get("facets") or {})
    for side in ("inputs", "outputs", "dataset"):
        given = body.get(side) or []
        for dataset in given if isinstance(given, list) else [given]:
            _of_dataset(found, job, side, dataset, dataset_name)
    return found


def _of_dataset(found: Told, job: Any, side: str, dataset: Body, dataset_name: Name) -> None:
    name = ("dataset", *dataset_name(dataset["namespace"], dataset["name"]))
    if side != "dataset":
        found["data edges"].add((job, side, name))
    facets = dataset.get("facets") or {}
    for place in (facets, dataset.get("inputFacets"), dataset.get("outputFacets")):
        _facets(found, "dataset", name, place or {})
    if (facets.get("datasetType") or {}).get("datasetType") == "MODEL":
        found["models"].add(name)
    for column in _columns(dataset, dataset_name):
        found["column edges"].add((job, *column))


def _facets(found: Told, kind: str, holder: Any, facets: Body) -> None:
    for name in facets:
        found[f"{kind} {name}"].add(holder)


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
