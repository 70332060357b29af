"""The seam of rewriting, and what all of it shares."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import NAMESPACE_URL, UUID, uuid5

from throughline.deliver.datasets import Body, named
from throughline.deliver.explicit import with_columns
from throughline.deliver.known import PLACING, Known
from throughline.identity import DatasetName, Identity, is_location
from throughline.spec import with_parent

_SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs"
_NO_PRODUCER = "https://openlineage.io/unknown-producer"
ENDS = frozenset({"COMPLETE", "FAIL", "ABORT"})


class Rewrite(Protocol):
    """Events as one kind of backend takes them."""

    def __call__(self, event: Body, known: Known, /) -> list[Body]:
        """The bodies to send for an event, in order; none where the backend has no use for it.

        Neither argument is changed. Told the same, it answers the same. An event that is no
        RunEvent comes with nothing known.
        """


@dataclass(frozen=True, slots=True)
class Kept:
    """What a backend keeps of what it takes; where it is not said otherwise, nothing."""

    facets: frozenset[str] | None = frozenset()
    """The facets that can be read there again in some form, as `run parent`; None: all."""
    runs: bool = True
    hierarchy: bool = False
    """Which job started which."""
    control: bool = False
    """Which job waits for which."""
    models: bool = False
    """Models as such, apart from other datasets."""


def _same(namespace: str, name: str) -> tuple[str, str]:
    return namespace, name


@dataclass(frozen=True, slots=True)
class Rewriting:
    """How events are rewritten for one kind of backend, and what it then keeps of them."""

    rewrite: Rewrite
    kept: Kept
    name: Callable[[Identity, DatasetName], DatasetName] = Identity.primary
    """The name under which it is sent a dataset, from any of its names."""
    dataset_name: Callable[[str, str], tuple[str, str]] = _same
    """What it calls a dataset that it is sent under a name."""
    job_name: Callable[[str, str], tuple[str, str]] = _same
    emitted: Callable[[Body, Known], Iterable[tuple[str, Any]]] | None = None
    """What it is told besides a body, and instead of one that is of no run: each thing with its
    kind, both as in `deliver.loss`."""
    readable: Callable[[Body], Body] | None = None
    """The part of a body that it can use; None: all of it."""
    of_job: bool = False
    """Whether the backend keeps what a job reads and writes, rather than each run of it."""


def is_run(event: Body) -> bool:
    """Whether an event is about a run."""
    return "runId" in (event.get("run") or {}) and "job" in event


def whole(event: Body, known: Known) -> Body:
    """A RunEvent with all inputs, outputs and facets that are known, valid by the specification.

    The end of a run carries every facet of it, another event those that place it.
    """
    told = event if known.started is None else {"inputs": known.inputs, "outputs": known.outputs}
    is_end = event.get("eventType") in ENDS
    run_facets = {
        name: facet for name, facet in known.run_facets.items() if is_end or name in PLACING
    }
    facets = known.job_facets | _facets(event["job"])
    if stated := known.job_facets.get("lineage"):
        facets["lineage"] = stated
    job = {**event["job"], "facets": facets}
    body = {
        **event,
        "eventType": event.get("eventType") or "OTHER",
        "run": {
            "runId": uuid_of(event["run"]["runId"]),
            "facets": run_facets | with_parent(_facets(event["run"])),
        },
        "job": job,
        "inputs": list(told.get("inputs") or ()),
        "outputs": list(told.get("outputs") or ()),
    }
    return valid(with_columns(body), "RunEvent")


def valid(body: Body, kind: str) -> Body:
    """An event with what the specification asks of it and the producer left out."""
    producer = body.get("producer") or _NO_PRODUCER
    signed: Body = without_nulls(body)
    signed["producer"] = producer
    signed["schemaURL"] = body.get("schemaURL") or f"{_SPEC}/{kind}"
    _sign(signed.get("run"), "RunFacet", producer)
    _sign(signed.get("job"), "JobFacet", producer)
    parent = signed.get("run", {}).get("facets", {}).get("parent")
    for each in (parent, (parent or {}).get("root")):
        if isinstance(each, dict) and isinstance(each.get("run"), dict):
            each["run"]["runId"] = uuid_of(str(each["run"].get("runId")))
    one = [signed["dataset"]] if isinstance(signed.get("dataset"), dict) else []
    for dataset in (*one, *signed.get("inputs", ()), *signed.get("outputs", ())):
        _sign(dataset, "DatasetFacet", producer)
        _sign(dataset, "InputDatasetFacet", producer, "inputFacets")
        _sign(dataset, "OutputDatasetFacet", producer, "outputFacets")
    return signed


def uuid_of(run_id: str) -> str:
    """The id of a run, or of one that is no UUID always the same UUID."""
    try:
        return str(UUID(run_id))
    except ValueError:
        return str(uuid5(NAMESPACE_URL, run_id))


def without_nulls(part: Any) -> Any:
    """A copy of JSON without its nulls, which say nothing and lose some backends the event."""
    if isinstance(part, dict):
        return {key: without_nulls(each) for key, each in part.items() if each is not None}
    if isinstance(part, list):
        return [without_nulls(each) for each in part if each is not None]
    return part


def renamed(body: Body, name: Callable[[str, str], tuple[str, str]]) -> Body:
    """An event whose datasets are called otherwise, in its column lineage too."""
    changed: Body = {
        side: [renamed_dataset(dataset, name) for dataset in body[side]]
        for side in ("inputs", "outputs")
        if body.get(side)
    }
    if stated := (body.get("job", {}).get("facets") or {}).get("lineage"):
        facets = {**body["job"]["facets"], "lineage": named(stated, name)}
        changed["job"] = {**body["job"], "facets": facets}
    if "dataset" in body:
        changed["dataset"] = renamed_dataset(body["dataset"], name)
    return body | changed


def renamed_dataset(dataset: Body, name: Callable[[str, str], tuple[str, str]]) -> Body:
    """A dataset that is called otherwise; the name that it had becomes a symlink."""
    old = DatasetName(dataset["namespace"], dataset["name"])
    new = DatasetName(*name(*old))
    facets = dict(dataset.get("facets") or {})
    if "columnLineage" in facets:
        facets["columnLineage"] = named(facets["columnLineage"], name)
    if new != old:
        links = [link for link in symlinks(facets) if (link["namespace"], link["name"]) != new]
        links.append({**old._asdict(), "type": "LOCATION" if is_location(old) else "TABLE"})
        facets["symlinks"] = {"identifiers": links}
    return {**dataset, **new._asdict(), "facets": facets}


def symlinks(facets: Body) -> list[Body]:
    """The other names of a dataset, without those that are no names."""
    facet = facets.get("symlinks")
    links = facet.get("identifiers") if isinstance(facet, dict) else None
    return [
        link
        for link in (links if isinstance(links, list) else ())
        if isinstance(link, dict)
        and isinstance(link.get("namespace"), str)
        and isinstance(link.get("name"), str)
    ]


def _facets(part: Body) -> Body:
    return part.get("facets") or {}


def _sign(part: Body | None, kind: str, producer: str, at: str = "facets") -> None:
    """Say whose each facet is, and a schema, where that is left out."""
    facets = part.get(at) if part else None
    for facet in facets.values() if isinstance(facets, dict) else ():
        if isinstance(facet, dict):
            facet.setdefault("_producer", producer)
            facet.setdefault("_schemaURL", f"{_SPEC}/{kind}")
