"""Rewriting for OpenMetadata, which creates edges between tables from COMPLETE events.

It finds tables by the last parts of a dotted name. Some versions read column lineage only from the
output facets.
"""

from __future__ import annotations

import re

from headwater.identity import DatasetName, Identity, glue_table, is_location
from headwater.plugins.delivery.body import Body, facet_of, is_run, name_of, with_facets
from headwater.plugins.delivery.context import RunContext
from headwater.plugins.delivery.rewrite._rewriting import Rewriting, complete_event, split_by_output

_TABLE = re.compile(r"[^/.]+(\.[^/.]+)+")


def rewrite(event: Body, context: RunContext) -> list[Body]:
    """Return the COMPLETE event with its whole context, or one event per output.

    It is split by output if it has explicit lineage.

    The list is empty for other events, and without inputs or outputs.
    """
    if not is_run(event) or event.get("eventType") != "COMPLETE":
        return []
    body = complete_event(event, context)
    for dataset in body["outputs"]:
        if lineage := facet_of(dataset, "columnLineage"):
            dataset["outputFacets"] = {**dataset.get("outputFacets", {}), "columnLineage": lineage}
    return [part for part in split_by_output(body) if part["inputs"] and part["outputs"]]


def _name_of(identity: Identity, name: DatasetName) -> DatasetName:
    """Return the primary name of a dataset; of a Glue table its name in dots, as `db.t`."""
    primary = identity.primary(name)
    return DatasetName(primary.namespace, glue_table(primary) or primary.name)


def _readable_part(body: Body, _context: RunContext) -> Body:
    """Return the tables of a body, with the column lineage from its input tables.

    OpenMetadata ignores unknown datasets, and files, artifacts and URLs are not tables. It also
    ignores source columns of tables that are not inputs.
    """
    inputs = [with_facets(item, "symlinks") for item in body["inputs"] if _is_table(item)]
    outputs = [dataset for dataset in body["outputs"] if _is_table(dataset)]
    if not (inputs and outputs):
        return {"inputs": [], "outputs": []}
    sources = set(map(name_of, inputs))
    return {
        "job": with_facets(body["job"], "sql"),
        "inputs": [{**dataset, "inputFacets": {}} for dataset in inputs],
        "outputs": [_with_sources(dataset, sources) for dataset in outputs],
    }


def _is_table(dataset: Body) -> bool:
    name = name_of(dataset)
    return not is_location(name) and _TABLE.fullmatch(name.name) is not None


def _with_sources(dataset: Body, sources: set[DatasetName]) -> Body:
    """Return a table with the column lineage from `sources`, the input tables."""
    fields = {
        field: {"inputFields": inputs}
        for field, column in (facet_of(dataset, "columnLineage").get("fields") or {}).items()
        for inputs in [
            [item for item in column.get("inputFields") or () if name_of(item) in sources]
        ]
        if inputs
    }
    readable = {**with_facets(dataset, "symlinks"), "outputFacets": {}}
    if fields:
        readable["facets"]["columnLineage"] = {"fields": fields}
    return readable


OPENMETADATA = Rewriting(rewrite, _readable_part, name=_name_of)
