"""The interface of rewritings, and functions that they share.

A rewriting turns an event into the bodies for one kind of backend. The context has what all events
reported about the run and its job (`delivery.context`); a body is an event as JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headwater.events import DatasetId, parse_entries, with_parent
from headwater.events.column_lineage import objects
from headwater.events.renaming import Name
from headwater.identity import DatasetName, Identity
from headwater.plugins.delivery.body import Body, facet_of, name_of, uuid_of, with_required_fields
from headwater.plugins.delivery.context import PLACEMENT_FACETS, RunContext

ENDS = frozenset({"COMPLETE", "FAIL", "ABORT"})

Rewrite = Callable[[Body, RunContext], list[Body]]
"""A pure function from an event and its context to the bodies to send, in order."""


def same_name(namespace: str, name: str) -> tuple[str, str]:
    """Return a name unchanged."""
    return namespace, name


@dataclass(frozen=True, slots=True)
class Rewriting:
    """The rewriting of events for one kind of backend, and what the backend keeps of them."""

    rewrite: Rewrite
    readable: Callable[[Body, RunContext], Body]
    """Returns the part of a body that the backend shows in some form."""
    lost: frozenset[str] = frozenset()
    """The kinds of facts, as in `delivery._loss`, that it does not show although they are there."""
    name: Callable[[Identity, DatasetName], DatasetName] = Identity.primary
    """Returns the name under which a dataset is sent, from any of its names."""
    dataset_name: Name = same_name
    """Returns the backend's name of a dataset from the name that is sent."""
    job_name: Name = same_name
    """Returns the backend's name of a job."""
    is_per_job: bool = False
    """True if the backend stores inputs and outputs per job instead of per run."""


def complete_event(event: Body, context: RunContext) -> Body:
    """Return a valid RunEvent with all inputs, outputs and facets of its context.

    The end of a run has all facets of the run, other events have the PLACEMENT_FACETS.

    Without context, as for an event whose run was deleted, the event's own inputs and outputs stay.
    """
    is_known, is_end = context.started is not None, event.get("eventType") in ENDS
    run_facets = {
        name: facet
        for name, facet in context.run_facets.items()
        if is_end or name in PLACEMENT_FACETS
    }
    job_facets = context.job_facets | (event["job"].get("facets") or {})
    # that of the context is merged over all events of the run and has the backend's names
    if lineage := context.job_facets.get("lineage"):
        job_facets["lineage"] = lineage
    body = {
        **event,
        "eventType": event.get("eventType") or "OTHER",
        "run": {
            "runId": uuid_of(event["run"]["runId"]),
            "facets": run_facets | with_parent(event["run"].get("facets") or {}),
        },
        "job": {**event["job"], "facets": job_facets},
        "inputs": list(context.inputs if is_known else event.get("inputs") or ()),
        "outputs": list(context.outputs if is_known else event.get("outputs") or ()),
    }
    return with_required_fields(_with_column_lineage(body), "RunEvent")


def _with_column_lineage(body: Body) -> Body:
    """Return an event whose outputs have the column lineage of its lineage facet.

    Backends read columns from the outputs only.
    """
    stated = {
        (entry.get("namespace"), entry.get("name")): columns
        for entry in objects(facet_of(body["job"], "lineage").get("entries"))
        if entry.get("type") == "DATASET" and (columns := column_lineage(entry))
    }
    outputs = [
        {**output, "facets": {**(output.get("facets") or {}), "columnLineage": facet}}
        if (facet := stated.get(name_of(output)))
        else output
        for output in body["outputs"]
    ]
    return {**body, "outputs": outputs}


def split_by_output(body: Body) -> list[Body]:
    """Split an event with explicit lineage into one event per output with its inputs.

    Explicit lineage states the inputs of each output; backends combine all inputs of one event with
    all of its outputs. Without such a facet, the body is returned alone.
    """
    sources: dict[tuple[str, str], set[DatasetId]] = {}
    for entry in parse_entries(facet_of(body["job"], "lineage")):
        if isinstance(entry.target, DatasetId):
            sources.setdefault(entry.target, set()).update(entry.datasets)
    if not sources:
        return [body]
    return [
        {
            **body,
            "inputs": [
                dataset
                for dataset in body["inputs"]
                if name_of(dataset) in sources.get(name_of(output), ())
            ],
            "outputs": [output],
        }
        for output in body["outputs"]
    ]


def column_lineage(stated: Body) -> Body:
    """Return the lineage of a dataset as a columnLineage facet; empty without columns."""
    fields = {
        field: {"inputFields": inputs}
        for field, entry in (stated.get("fields") or {}).items()
        if (inputs := _columns(entry))
    }
    every_row = _columns(stated)
    rows = {"dataset": every_row} if every_row else {}
    return {"fields": fields, **rows} if fields or rows else {}


def _columns(entry: Body) -> list[Body]:
    """Return the columns among the inputs of a lineage entry as inputs of columnLineage."""
    return [
        {key: value for key, value in item.items() if key != "type"}
        for item in objects(entry.get("inputs"))
        if item.get("type") == "DATASET" and item.get("field")
    ]
