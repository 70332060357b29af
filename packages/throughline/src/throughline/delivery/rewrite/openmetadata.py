"""Rewriting for OpenMetadata, which creates edges between tables from COMPLETE events.

It finds tables by the last parts of a dotted name. Some versions read column lineage only from the
output facets.
"""

from __future__ import annotations

import re
from typing import Any

from throughline.delivery.context import RunContext
from throughline.delivery.datasets import Body
from throughline.delivery.explicit import split_by_output
from throughline.delivery.rewrite.rewriting import Retained, Rewriting, complete_event, is_run
from throughline.identity import DatasetName, Identity, glue_table, is_location

_TABLE = re.compile(r"[^/.]+(\.[^/.]+)+")


def rewrite(event: Body, context: RunContext) -> list[Body]:
    """Return the complete COMPLETE event; other events have no effect.

    With explicit lineage, return one event for each output.
    """
    if not is_run(event) or event.get("eventType") != "COMPLETE":
        return []
    body = complete_event(event, context)
    for dataset in body["outputs"]:
        if lineage := dataset.get("facets", {}).get("columnLineage"):
            dataset["outputFacets"] = {**dataset.get("outputFacets", {}), "columnLineage": lineage}
    return [part for part in split_by_output(body) if part["inputs"] and part["outputs"]]


def _name_of(identity: Identity, name: DatasetName) -> DatasetName:
    primary = identity.primary(name)
    return DatasetName(primary.namespace, glue_table(primary) or primary.name)


def _readable_part(body: Body) -> Body:
    """Return the tables of a body, with the column lineage from its input tables.

    OpenMetadata ignores unknown datasets, and files, artifacts and URLs are not tables. It also
    ignores source columns of tables that are not inputs.
    """
    inputs = [dataset for dataset in body["inputs"] if _is_table(dataset)]
    outputs = [dataset for dataset in body["outputs"] if _is_table(dataset)]
    if not (inputs and outputs):
        return {**body, "job": {**body["job"], "facets": {}}, "inputs": [], "outputs": []}
    sources = {(dataset["namespace"], dataset["name"]) for dataset in inputs}
    return {
        **body,
        "inputs": inputs,
        "outputs": [_with_sources(table, sources) for table in outputs],
    }


def _is_table(dataset: Body) -> bool:
    name = DatasetName(dataset["namespace"], dataset["name"])
    return not is_location(name) and _TABLE.fullmatch(name.name) is not None


def _with_sources(dataset: Body, sources: set[tuple[str, str]]) -> Body:
    facets = dict(dataset.get("facets", {}))
    lineage: Any = facets.pop("columnLineage", {})
    fields = {
        field: {**column, "inputFields": inputs}
        for field, column in (lineage.get("fields") or {}).items()
        if (
            inputs := [
                source
                for source in column.get("inputFields") or ()
                if (source.get("namespace"), source.get("name")) in sources
            ]
        )
    }
    if fields:
        facets["columnLineage"] = {"fields": fields}
    return {**dataset, "facets": facets, "outputFacets": {}}


OPENMETADATA = Rewriting(
    rewrite,
    Retained(
        facets=frozenset({"dataset columnLineage", "dataset symlinks", "job sql"}), runs=False
    ),
    name=_name_of,
    readable=_readable_part,
)
