"""Rewriting for Amazon DataZone and SageMaker Catalog: RunEvents only, AWS names, 300,000 bytes.

DataZone identifies a Glue table by its ARN, so a dataset with a Glue name is sent under it. Bodies
that are too large are trimmed in the order of `TRIMMED` until they fit. Names, times and edges
between jobs and datasets are never trimmed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

import orjson

from throughline.delivery.context import RunContext
from throughline.delivery.datasets import Body
from throughline.delivery.rewrite.rewriting import (
    Retained,
    Rewriting,
    complete_event,
    is_run,
    symlinks_of,
    with_renamed_datasets,
)
from throughline.errors import DeliveryError
from throughline.identity import DatasetName, glue_table

MOST_BYTES = 300_000

_RETAINED = ("schema", "columnLineage", "symlinks")
"""Facets of datasets that DataZone shows or identifies datasets by, according to its docs."""


def rewrite(event: Body, context: RunContext) -> list[Body]:
    """Return the complete event under AWS names, in at most 300,000 bytes. Raises DeliveryError."""
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


DATAZONE = Rewriting(rewrite, Retained(frozenset(f"dataset {name}" for name in _RETAINED)))


def client_token(body: Body) -> str:
    """Return the Client-Token of a body; equal bodies have equal tokens, so they count once."""
    return hashlib.sha256(orjson.dumps(body, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _under_aws_names(body: Body) -> Body:
    aws: dict[tuple[str, str], tuple[str, str]] = {}
    for dataset in (*body["inputs"], *body["outputs"]):
        names = [dataset, *symlinks_of(dataset.get("facets", {}))]
        own, *aliases = (DatasetName(name["namespace"], name["name"]) for name in names)
        if not glue_table(own) and (glue := next(filter(glue_table, aliases), None)):
            aws[own] = glue
    return with_renamed_datasets(body, lambda *name: aws.get(name, name)) if aws else body


def _map_facets(change: Callable[[Body], Body], *places: str) -> Callable[[Body], Body]:
    """Return a function that changes the facets at `places`.

    The places are run, job, datasets, inputFacets and outputFacets.
    """

    def trim(body: Body) -> Body:
        trimmed = dict(body)
        for part in ("run", "job"):
            if part in places:
                trimmed[part] = {**body[part], "facets": change(body[part].get("facets", {}))}
        for side in ("inputs", "outputs"):
            trimmed[side] = [_of_dataset(dataset) for dataset in body[side]]
        return trimmed

    def _of_dataset(dataset: Body) -> Body:
        at = {"facets": "datasets", "inputFacets": "inputFacets", "outputFacets": "outputFacets"}
        changed = {key: change(dataset[key]) for key in at if key in dataset and at[key] in places}
        return dataset | changed

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
        _only(*_RETAINED), "datasets"
    ),
    "job facets except jobType, sql, ownership": _map_facets(
        _only("jobType", "sql", "ownership"), "job"
    ),
    "indirect column lineage, and transformations of direct lineage": _map_facets(
        _direct_only, "datasets"
    ),
    "schema": _map_facets(_without("schema"), "datasets"),
    "run facets except parent": _map_facets(_only("parent"), "run"),
    "job facets except jobType": _map_facets(_only("jobType"), "job"),
    "columnLineage": _map_facets(_only("symlinks"), "datasets"),
    "parent, jobType, symlinks": _map_facets(_only(), "run", "job", "datasets"),
}
"""Parts that are removed, in this order, while the body is too large."""
