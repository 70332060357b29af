"""Amazon DataZone and SageMaker Catalog: RunEvents only, AWS names, 300,000 bytes.

A Glue table is known there by its ARN, so a dataset is called by its Glue name wherever one of its
names is that. What is too long is trimmed in the order of `TRIMMED` until it fits; names, times and
edges between jobs and datasets are never trimmed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

import orjson

from throughline.deliver.datasets import Body
from throughline.deliver.known import Known
from throughline.deliver.rewrite.rewriting import (
    Kept,
    Rewriting,
    is_run,
    renamed,
    symlinks,
    whole,
)
from throughline.errors import DeliveryError
from throughline.identity import DatasetName, glue_table

MOST_BYTES = 300_000

_KEPT = ("schema", "columnLineage", "symlinks")
"""Facets of datasets that DataZone shows or knows a dataset by, as its documentation has it."""


def rewrite(event: Body, known: Known) -> list[Body]:
    """The event, whole, under AWS names, in at most 300,000 bytes. Raises DeliveryError."""
    if not is_run(event):
        return []
    body = _under_aws_names(whole(event, known))
    for trim in TRIMMED.values():
        if len(orjson.dumps(body)) <= MOST_BYTES:
            return [body]
        body = trim(body)
    if (length := len(orjson.dumps(body))) > MOST_BYTES:
        raise DeliveryError(
            f"the event has {length:,} bytes without any facet, DataZone takes {MOST_BYTES:,}:"
            " it names too many datasets"
        )
    return [body]


DATAZONE = Rewriting(rewrite, Kept(frozenset(f"dataset {name}" for name in _KEPT)))


def client_token(body: Body) -> str:
    """The Client-Token of a body: the same for the same one, so that it counts once."""
    return hashlib.sha256(orjson.dumps(body, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _under_aws_names(body: Body) -> Body:
    aws: dict[tuple[str, str], tuple[str, str]] = {}
    for dataset in (*body["inputs"], *body["outputs"]):
        each = [dataset, *symlinks(dataset.get("facets", {}))]
        own, *others = (DatasetName(name["namespace"], name["name"]) for name in each)
        if not glue_table(own) and (glue := next(filter(glue_table, others), None)):
            aws[own] = glue
    return renamed(body, lambda *name: aws.get(name, name)) if aws else body


def _map_facets(change: Callable[[Body], Body], *places: str) -> Callable[[Body], Body]:
    """A trim of the facets at some places: run, job, datasets, inputFacets, outputFacets."""

    def trim(body: Body) -> Body:
        trimmed = dict(body)
        for part in ("run", "job"):
            if part in places:
                trimmed[part] = {**body[part], "facets": change(body[part].get("facets", {}))}
        for side in ("inputs", "outputs"):
            trimmed[side] = [_of_dataset(each) for each in body[side]]
        return trimmed

    def _of_dataset(dataset: Body) -> Body:
        at = {"facets": "datasets", "inputFacets": "inputFacets", "outputFacets": "outputFacets"}
        changed = {key: change(dataset[key]) for key in at if key in dataset and at[key] in places}
        return dataset | changed

    return trim


def _only(*names: str) -> Callable[[Body], Body]:
    return lambda facets: {name: facets[name] for name in names if name in facets}


def _without(*names: str) -> Callable[[Body], Body]:
    return lambda facets: {name: each for name, each in facets.items() if name not in names}


def _direct_only(facets: Body) -> Body:
    """Column lineage without what only filters, joins, groups or sorts."""
    if "columnLineage" not in facets:
        return facets
    lineage = {key: each for key, each in facets["columnLineage"].items() if key != "dataset"}
    fields = {
        name: {**told, "inputFields": list(_direct(told.get("inputFields", ())))}
        for name, told in (lineage.get("fields") or {}).items()
    }
    return {**facets, "columnLineage": {**lineage, "fields": fields}}


def _direct(inputs: list[Body]) -> Iterator[Body]:
    for each in inputs:
        how = each.get("transformations") or ()
        direct = [one for one in how if one.get("type") != "INDIRECT"]
        if direct or not how:
            yield {key: value for key, value in each.items() if key != "transformations"}


TRIMMED: dict[str, Callable[[Body], Body]] = {
    "what the run has besides parent, nominalTime, processing_engine, errorMessage": _map_facets(
        _only("parent", "nominalTime", "processing_engine", "errorMessage"), "run"
    ),
    "the job's sourceCode": _map_facets(_without("sourceCode"), "job"),
    "inputFacets and outputFacets": _map_facets(_only(), "inputFacets", "outputFacets"),
    "what datasets have besides schema, columnLineage, symlinks": _map_facets(
        _only(*_KEPT), "datasets"
    ),
    "what the job has besides jobType, sql, ownership": _map_facets(
        _only("jobType", "sql", "ownership"), "job"
    ),
    "indirect column lineage, and how the direct one came to be": _map_facets(
        _direct_only, "datasets"
    ),
    "schema": _map_facets(_without("schema"), "datasets"),
    "what the run has besides parent": _map_facets(_only("parent"), "run"),
    "what the job has besides jobType": _map_facets(_only("jobType"), "job"),
    "columnLineage": _map_facets(_only("symlinks"), "datasets"),
    "parent, jobType, symlinks": _map_facets(_only(), "run", "job", "datasets"),
}
"""What goes, in this order, as long as the body is too long."""
