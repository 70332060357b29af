"""OpenMetadata: edges between tables, made of COMPLETE events that have inputs and outputs.

It looks tables up by the last parts of a name with dots, and some versions read column lineage
among the output facets only.
"""

from __future__ import annotations

import re
from typing import Any

from throughline.deliver.datasets import Body
from throughline.deliver.explicit import parted
from throughline.deliver.known import Known
from throughline.deliver.rewrite.rewriting import Kept, Rewriting, is_run, whole
from throughline.identity import DatasetName, Identity, glue_table, is_location

_TABLE = re.compile(r"[^/.]+(\.[^/.]+)+")


def rewrite(event: Body, known: Known) -> list[Body]:
    """The COMPLETE event with all that is known; no other leaves a trace there.

    Where a run states which input feeds which output, it is an event for each output.
    """
    if not is_run(event) or event.get("eventType") != "COMPLETE":
        return []
    body = whole(event, known)
    for dataset in body["outputs"]:
        if lineage := dataset.get("facets", {}).get("columnLineage"):
            dataset["outputFacets"] = {**dataset.get("outputFacets", {}), "columnLineage": lineage}
    return [each for each in parted(body) if each["inputs"] and each["outputs"]]


def _name_of(identity: Identity, name: DatasetName) -> DatasetName:
    shown = identity.primary(name)
    return DatasetName(shown.namespace, glue_table(shown) or shown.name)


def _readable(body: Body) -> Body:
    """The tables of a body and the columns that are made of its input tables.

    OpenMetadata makes nothing of a dataset that it does not have, and files, artifacts and URLs are
    no tables; nor does it take a column's source from a table that is not among the inputs.
    """
    inputs = [dataset for dataset in body["inputs"] if _is_table(dataset)]
    outputs = [dataset for dataset in body["outputs"] if _is_table(dataset)]
    if not (inputs and outputs):
        return {**body, "job": {**body["job"], "facets": {}}, "inputs": [], "outputs": []}
    sources = {(dataset["namespace"], dataset["name"]) for dataset in inputs}
    return {**body, "inputs": inputs, "outputs": [_from(each, sources) for each in outputs]}


def _is_table(dataset: Body) -> bool:
    name = DatasetName(dataset["namespace"], dataset["name"])
    return not is_location(name) and _TABLE.fullmatch(name.name) is not None


def _from(dataset: Body, sources: set[tuple[str, str]]) -> Body:
    facets = dict(dataset.get("facets", {}))
    lineage: Any = facets.pop("columnLineage", {})
    fields = {
        field: {**made, "inputFields": found}
        for field, made in (lineage.get("fields") or {}).items()
        if (
            found := [
                source
                for source in made.get("inputFields") or ()
                if (source.get("namespace"), source.get("name")) in sources
            ]
        )
    }
    if fields:
        facets["columnLineage"] = {"fields": fields}
    return {**dataset, "facets": facets, "outputFacets": {}}


OPENMETADATA = Rewriting(
    rewrite,
    Kept(facets=frozenset({"dataset columnLineage", "dataset symlinks", "job sql"}), runs=False),
    name=_name_of,
    readable=_readable,
)
