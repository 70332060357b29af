"""The interface of rewritings, and functions that they share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from throughline.delivery.context import PLACEMENT_FACETS, RunContext
from throughline.delivery.datasets import Body, Name, rename_datasets, symlink
from throughline.delivery.explicit import with_column_lineage
from throughline.events import with_parent
from throughline.events.column_lineage import objects
from throughline.identity import DatasetName, Identity

_SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs"
_NO_PRODUCER = "https://openlineage.io/unknown-producer"
ENDS = frozenset({"COMPLETE", "FAIL", "ABORT"})


Rewrite = Callable[[Body, RunContext], list[Body]]
"""A pure function from an event and its context to the bodies to send, in order."""


@dataclass(frozen=True, slots=True)
class Retained:
    """The facts that a backend retains; by default only runs and edges."""

    facets: frozenset[str] | None = frozenset()
    """The facets that the backend shows in some form, such as `run parent`; None: all."""
    runs: bool = True
    hierarchy: bool = False
    """Parents and children of runs."""
    control: bool = False
    """Control dependencies of jobs."""
    models: bool = False
    """Models as a separate kind of entity."""


def same_name(namespace: str, name: str) -> tuple[str, str]:
    """Return a name unchanged."""
    return namespace, name


@dataclass(frozen=True, slots=True)
class Rewriting:
    """The rewriting of events for one kind of backend, and the facts that it retains."""

    rewrite: Rewrite
    retained: Retained
    name: Callable[[Identity, DatasetName], DatasetName] = Identity.primary
    """Returns the name under which a dataset is sent, from any of its names."""
    dataset_name: Name = same_name
    """Returns the backend's name of a dataset from the name that is sent."""
    job_name: Name = same_name
    """Returns the backend's name of a job."""
    emitted_facts: Callable[[Body, RunContext], Iterable[tuple[str, Any]]] | None = None
    """Returns the facts that are emitted in addition to a run's body, and instead of other bodies;
    with their kinds, both as in `deliver.loss`."""
    readable: Callable[[Body], Body] | None = None
    """Returns the part of a body that the backend reads; None: all."""
    is_per_job: bool = False
    """True if the backend stores inputs and outputs per job instead of per run."""


def is_run(event: Body) -> bool:
    """Return True for a RunEvent."""
    return "runId" in (event.get("run") or {}) and "job" in event


def complete_event(event: Body, context: RunContext) -> Body:
    """Return a valid RunEvent with all inputs, outputs and facets of its context.

    The end of a run has all facets of the run, other events have the PLACEMENT_FACETS.
    """
    datasets = (
        event if context.started is None else {"inputs": context.inputs, "outputs": context.outputs}
    )
    is_end = event.get("eventType") in ENDS
    run_facets = {
        name: facet
        for name, facet in context.run_facets.items()
        if is_end or name in PLACEMENT_FACETS
    }
    facets = context.job_facets | _facets(event["job"])
    if lineage := context.job_facets.get("lineage"):
        facets["lineage"] = lineage
    job = {**event["job"], "facets": facets}
    body = {
        **event,
        "eventType": event.get("eventType") or "OTHER",
        "run": {
            "runId": uuid_of(event["run"]["runId"]),
            "facets": run_facets | with_parent(_facets(event["run"])),
        },
        "job": job,
        "inputs": list(datasets.get("inputs") or ()),
        "outputs": list(datasets.get("outputs") or ()),
    }
    return with_required_fields(with_column_lineage(body), "RunEvent")


def with_required_fields(body: Body, kind: str) -> Body:
    """Return an event with missing fields that the specification requires; `kind` is its type."""
    producer = body.get("producer") or _NO_PRODUCER
    event: Body = without_nulls(body)
    event["producer"] = producer
    event["schemaURL"] = body.get("schemaURL") or f"{_SPEC}/{kind}"
    _add_required_fields(event.get("run"), "RunFacet", producer)
    _add_required_fields(event.get("job"), "JobFacet", producer)
    parent = event.get("run", {}).get("facets", {}).get("parent")
    for ref in (parent, (parent or {}).get("root")):
        if isinstance(ref, dict) and isinstance(ref.get("run"), dict):
            ref["run"]["runId"] = uuid_of(str(ref["run"].get("runId")))
    for dataset in datasets_in(event):
        _add_required_fields(dataset, "DatasetFacet", producer)
        _add_required_fields(dataset, "InputDatasetFacet", producer, "inputFacets")
        _add_required_fields(dataset, "OutputDatasetFacet", producer, "outputFacets")
    return event


def uuid_of(run_id: str) -> str:
    """Return a run id that is a UUID, or a UUID derived from another id."""
    try:
        return str(UUID(run_id))
    except ValueError:
        return str(uuid5(NAMESPACE_URL, run_id))


def without_nulls(part: Any) -> Any:
    """Return a copy of JSON without nulls, for which some backends drop the event."""
    if isinstance(part, dict):
        return {key: without_nulls(value) for key, value in part.items() if value is not None}
    if isinstance(part, list):
        return [without_nulls(value) for value in part if value is not None]
    return part


def with_renamed_datasets(body: Body, name: Name) -> Body:
    """Return an event with renamed datasets, also in its column lineage."""
    changed: Body = {
        side: [with_renamed_dataset(dataset, name) for dataset in body[side]]
        for side in ("inputs", "outputs")
        if body.get(side)
    }
    if lineage := (body.get("job", {}).get("facets") or {}).get("lineage"):
        facets = {**body["job"]["facets"], "lineage": rename_datasets(lineage, name)}
        changed["job"] = {**body["job"], "facets": facets}
    if "dataset" in body:
        changed["dataset"] = with_renamed_dataset(body["dataset"], name)
    return body | changed


def with_renamed_dataset(dataset: Body, name: Name) -> Body:
    """Return a renamed dataset; its old name becomes a symlink."""
    old = DatasetName(dataset["namespace"], dataset["name"])
    new = DatasetName(*name(*old))
    facets = dict(dataset.get("facets") or {})
    if "columnLineage" in facets:
        facets["columnLineage"] = rename_datasets(facets["columnLineage"], name)
    if new != old:
        links = [link for link in symlinks_of(facets) if (link["namespace"], link["name"]) != new]
        facets["symlinks"] = {"identifiers": [*links, symlink(old)]}
    return {**dataset, **new._asdict(), "facets": facets}


def symlinks_of(facets: Body) -> list[Body]:
    """Return the valid identifiers of the symlinks facet."""
    facet = facets.get("symlinks")
    return [
        link
        for link in objects(facet.get("identifiers") if isinstance(facet, dict) else None)
        if isinstance(link.get("namespace"), str) and isinstance(link.get("name"), str)
    ]


def datasets_in(body: Body) -> list[Body]:
    """Return the datasets of an event of any type."""
    own = [body["dataset"]] if isinstance(body.get("dataset"), dict) else []
    return [*own, *body.get("inputs", ()), *body.get("outputs", ())]


def _facets(part: Body) -> Body:
    return part.get("facets") or {}


def _add_required_fields(part: Body | None, kind: str, producer: str, at: str = "facets") -> None:
    """Add a producer and a schema to facets without them."""
    facets = part.get(at) if part else None
    for facet in facets.values() if isinstance(facets, dict) else ():
        if isinstance(facet, dict):
            facet.setdefault("_producer", producer)
            facet.setdefault("_schemaURL", f"{_SPEC}/{kind}")
