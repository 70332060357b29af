"""Rewriting for Amazon DataZone and SageMaker Catalog: RunEvents only, AWS names, 300,000 bytes.

DataZone identifies a Glue table by its ARN, so a dataset with a Glue name is sent under it. Bodies
that are too large are trimmed in the order of `TRIMMED` until they fit. Names, times and edges
between jobs and datasets are never trimmed.

The limit is on the JSON of one event.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

import orjson

from headwater.errors import DeliveryError
from headwater.identity import glue_table
from headwater.plugins.delivery.body import (
    Body,
    is_run,
    name_of,
    symlinks_of,
    with_facets,
    with_renamed_datasets,
)
from headwater.plugins.delivery.context import RunContext
from headwater.plugins.delivery.rewrite._rewriting import Rewriting, complete_event

MOST_BYTES = 300_000

_RETAINED = ("schema", "columnLineage", "symlinks")
"""Facets of datasets that DataZone shows or identifies datasets by, according to its docs."""


def rewrite(event: Body, context: RunContext) -> list[Body]:
    """Return the complete event under AWS names, in at most 300,000 bytes.

    The list is empty for events without a run. Raises DeliveryError if only names remain and are
    too many.
    """
    if not is_run(event):
        return []
    body = _under_aws_names(complete_event(event, context))
    for trim in TRIMMED.values():
        if len(orjson.dumps(body)) <= MOST_BYTES:
            return [body]
        body = trim(body)
    if (length := len(orjson.dumps(body))) > MOST_BYTES:
        raise DeliveryError(
            f"the event has {length:,} bytes without any facet, DataZone accepts {MOST_BYTES:,}:"
            " it has too many datasets"
        )
    return [body]


def _readable_part(body: Body, _context: RunContext) -> Body:
    return {
        "run": with_facets(body["run"]),
        "job": with_facets(body["job"]),
        "inputs": [_readable_dataset(dataset) for dataset in body["inputs"]],
        "outputs": [_readable_dataset(dataset) for dataset in body["outputs"]],
    }


def _readable_dataset(dataset: Body) -> Body:
    return {**with_facets(dataset, *_RETAINED), "inputFacets": {}, "outputFacets": {}}


DATAZONE = Rewriting(rewrite, _readable_part)


def client_token(body: Body) -> str:
    """Return the Client-Token of a body; equal bodies have equal tokens, so they count once."""
    return hashlib.sha256(orjson.dumps(body, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _under_aws_names(body: Body) -> Body:
    """Return a body in which each dataset with a Glue symlink has that name."""
    aws: dict[tuple[str, str], tuple[str, str]] = {}
    for dataset in (*body["inputs"], *body["outputs"]):
        own = name_of(dataset)
        if not glue_table(own) and (glue := next(filter(glue_table, symlinks_of(dataset)), None)):
            aws[own] = glue
    return with_renamed_datasets(body, lambda *name: aws.get(name, name)) if aws else body


def _map_facets(change: Callable[[Body], Body], *places: str) -> Callable[[Body], Body]:
    """Return a function that changes the facets at `places`.

    Places are `run`, `job`, and the keys `facets`, `inputFacets` and `outputFacets` of datasets.

    `change` returns the facets to keep. The result is an item of `TRIMMED`.
    """

    def of_dataset(dataset: Body) -> Body:
        return dataset | {place: change(dataset[place]) for place in places if place in dataset}

    def trim(body: Body) -> Body:
        parts = {part: body[part] for part in ("run", "job") if part in places}
        return {
            **body,
            **{name: part | {"facets": change(part["facets"])} for name, part in parts.items()},
            **{side: list(map(of_dataset, body[side])) for side in ("inputs", "outputs")},
        }

    return trim


def _only(*names: str) -> Callable[[Body], Body]:
    return lambda facets: {name: facets[name] for name in names if name in facets}


def _without(*names: str) -> Callable[[Body], Body]:
    return lambda facets: {name: facet for name, facet in facets.items() if name not in names}


def _direct_only(facets: Body) -> Body:
    """Remove the column lineage of filters, joins, groupings and sorts."""
    if "columnLineage" not in facets:
        return facets
    lineage = {key: value for key, value in facets["columnLineage"].items() if key != "dataset"}
    fields = {
        name: {**field, "inputFields": list(_direct(field.get("inputFields", ())))}
        for name, field in (lineage.get("fields") or {}).items()
    }
    return {**facets, "columnLineage": {**lineage, "fields": fields}}


def _direct(inputs: list[Body]) -> Iterator[Body]:
    """Yield the input fields that are direct, without their transformations.

    An input field without transformations counts as direct.
    """
    for source in inputs:
        kinds = [item.get("type") for item in source.get("transformations") or ()]
        if not kinds or any(kind != "INDIRECT" for kind in kinds):
            yield {key: value for key, value in source.items() if key != "transformations"}


TRIMMED: dict[str, Callable[[Body], Body]] = {
    "run facets except parent, nominalTime, processing_engine, errorMessage": _map_facets(
        _only("parent", "nominalTime", "processing_engine", "errorMessage"), "run"
    ),
    "the job's sourceCode": _map_facets(_without("sourceCode"), "job"),
    "inputFacets and outputFacets": _map_facets(_only(), "inputFacets", "outputFacets"),
    "dataset facets except schema, columnLineage, symlinks": _map_facets(
        _only(*_RETAINED), "facets"
    ),
    "job facets except jobType, sql, ownership": _map_facets(
        _only("jobType", "sql", "ownership"), "job"
    ),
    "indirect column lineage, and transformations of direct lineage": _map_facets(
        _direct_only, "facets"
    ),
    "schema": _map_facets(_without("schema"), "facets"),
    "run facets except parent": _map_facets(_only("parent"), "run"),
    "job facets except jobType": _map_facets(_only("jobType"), "job"),
    "columnLineage": _map_facets(_only("symlinks"), "facets"),
    "parent, jobType, symlinks": _map_facets(_only(), "run", "job", "facets"),
}
"""Parts that are removed, in this order, while the body is too large."""
