"""Rewriting for DataHub's OpenLineage endpoint, which fails in undocumented cases.

- It stores inputs and outputs per job, and every event replaces them.
- It derives a job's orchestrator from the run's engine, and requires a known producer of a parent.
- Events of type OTHER, events without a run, nulls and fields without a name are errors. Names with
  a space are dropped, names with a comma result in an invalid URN.
- A dataset with a TABLE symlink becomes a table of Glue or else of Hive, whatever its catalog.

`datahub_proposals` emits what the endpoint does not support, such as events without a run.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from throughline.delivery.context import RunContext, engine_of
from throughline.delivery.datasets import Body
from throughline.delivery.explicit import derivation_of
from throughline.delivery.rewrite.rewriting import (
    complete_event,
    is_run,
    symlinks_of,
    with_renamed_datasets,
    with_required_fields,
)
from throughline.events.column_lineage import objects
from throughline.identity import DatasetName, Identity, glue_table

_RESERVED = re.compile(r"[\s,()␟]")
_PARENT_PRODUCER = "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/common"
UNKNOWN_ORCHESTRATOR = "openlineage"
"""The orchestrator of a job whose engine is not reported."""


def rewrite(event: Body, context: RunContext) -> list[Body]:
    """Return the complete event under valid names for DataHub.

    A JobEvent or DatasetEvent cannot be posted; `datahub_proposals` converts it.
    """
    if not is_run(event):
        return [_rewrite_static(event, context)]
    body = with_datahub_names(complete_event(event, context))
    if body["eventType"] == "OTHER":
        body["eventType"] = "RUNNING"
    body["job"] = _renamed_job(body["job"])
    _set_orchestrator(body)
    return [with_required_fields(body, "RunEvent")]


def _rewrite_static(event: Body, context: RunContext) -> Body:
    body = with_required_fields(event, "JobEvent" if "job" in event else "DatasetEvent")
    if "dataset" in body:
        sources, explicit = derivation_of(body["dataset"])
        columns = explicit or body["dataset"].get("facets", {}).get("columnLineage")
        own = context.outputs[0] if context.outputs else body["dataset"]
        lineage = {"columnLineage": columns} if columns else {}
        sources += [
            {"namespace": source["namespace"], "name": source["name"]}
            for field in ((columns or {}).get("fields") or {}).values()
            for source in field.get("inputFields") or ()
        ]
        outputs = [{**own, "facets": own.get("facets", {}) | lineage}]
        return with_datahub_names({**body, "inputs": sources, "outputs": outputs})
    sides = {
        "inputs": list(context.inputs) or body.get("inputs") or [],
        "outputs": list(context.outputs) or body.get("outputs") or [],
    }
    job = {**body["job"], "facets": context.job_facets | body["job"].get("facets", {})}
    body = with_datahub_names({**body, **sides})
    body["run"] = {"facets": dict(context.run_facets)}
    body["job"] = _renamed_job(job)
    _set_orchestrator(body)
    return body


def _renamed_job(job: Body) -> Body:
    namespace, name = job_name(job["namespace"], job["name"])
    return {**job, "namespace": namespace, "name": name}


def with_datahub_names(body: Body) -> Body:
    """Return a body with valid datasets for DataHub."""
    body = with_renamed_datasets(body, dataset_name)
    return body | {side: list(map(_rewrite_dataset, body[side])) for side in ("inputs", "outputs")}


def table_name(identity: Identity, name: DatasetName) -> DatasetName:
    """Return DataHub's name of a dataset: a table by its platform, as DataHub's converter does.

    A dataset is a Glue table if any of its names is one, not only a TABLE symlink.
    """
    names = identity.names(name)
    if glue := next(filter(None, map(glue_table, names)), None):
        return DatasetName("glue", glue)
    table = identity.table_name(name)
    return DatasetName("hive", _table(table.name)) if table else names[0]


def _table(name: str) -> str:
    prefix = "table/"
    return name.removeprefix(prefix).replace("/", ".") if name.startswith(prefix) else name


def job_name(namespace: str, name: str) -> tuple[str, str]:
    """Return DataHub's name of a job."""
    return escaped(namespace), escaped(name)


def dataset_name(namespace: str, name: str) -> tuple[str, str]:
    """Return the name of a dataset without characters that are invalid in a URN."""
    return escaped(namespace), escaped(name)


def escaped(text: str) -> str:
    """Escape characters that are invalid in a URN: a comma as %2C, as acryl-datahub does."""
    return _RESERVED.sub(lambda match: quote(match[0]), text)


def orchestrator(body: Body) -> str:
    """Return the orchestrator of a rewritten event, as DataHub derives it."""
    return str(body["run"]["facets"]["processing_engine"]["name"]).lower()


def _set_orchestrator(body: Body) -> None:
    facets = body["run"]["facets"]
    if not facets.get("processing_engine", {}).get("name"):
        name = engine_of({}, body["job"]["facets"], str(body["producer"])) or UNKNOWN_ORCHESTRATOR
        facets["processing_engine"] = {
            "name": name,
            "version": "unknown",
            "openlineageAdapterVersion": "unknown",
        }
    parent = facets.get("parent")
    if parent and not engine_of({}, {}, str(parent.get("_producer"))):
        parent["_producer"] = _PARENT_PRODUCER


def _rewrite_dataset(dataset: Body) -> Body:
    facets = dict(dataset.get("facets", {}))
    names = [DatasetName(link["namespace"], link["name"]) for link in symlinks_of(facets)]
    facets.pop("symlinks", None)
    if glue := [name for name in names if glue_table(name)]:
        facets["symlinks"] = {"identifiers": [{**glue[0]._asdict(), "type": "TABLE"}]}
    if "schema" in facets:
        facets["schema"] = {**facets["schema"], "fields": _fields(facets["schema"].get("fields"))}
    if "columnLineage" in facets:
        facets["columnLineage"] = _escaped_columns(facets["columnLineage"])
    return {**dataset, "facets": facets}


def _fields(fields: Any) -> list[Body]:
    """Return the fields that have a name, under escaped names."""
    named = []
    for field in objects(fields):
        if field.get("name"):
            nested = {"fields": _fields(field["fields"])} if field.get("fields") else {}
            named.append({**field, "name": escaped(str(field["name"])), **nested})
    return named


def _escaped_columns(lineage: Body) -> Body:
    def sources(inputs: Any) -> list[Body]:
        return [
            {**item, "field": escaped(str(item["field"]))}
            for item in inputs or ()
            if "field" in item
        ]

    fields = {
        escaped(name): {**field, "inputFields": sources(field.get("inputFields"))}
        for name, field in (lineage.get("fields") or {}).items()
    }
    every_row = sources(lineage.get("dataset"))
    return {**lineage, "fields": fields, **({"dataset": every_row} if every_row else {})}
