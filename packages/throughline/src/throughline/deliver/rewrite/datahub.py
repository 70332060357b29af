"""DataHub's OpenLineage endpoint, which fails or forgets more than it says.

- It keeps the inputs and outputs of a job, and every event replaces them.
- It knows a job's orchestrator by the run's engine, and must know the producer of a parent too.
- An event of the type OTHER is invalid there; events without a run, nulls and fields without a name
  are errors; a name with a space is dropped, one with a comma makes an invalid URN.
- A dataset with a TABLE symlink is a table of Glue or else of Hive, whatever its catalog.

What it has no place for goes by `datahub_extras`, events without a run by `datahub_declared`.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from throughline.deliver.datasets import Body
from throughline.deliver.known import Known, engine_of
from throughline.deliver.rewrite.rewriting import is_run, renamed, symlinks, valid, whole
from throughline.identity import DatasetName, Identity, glue_table

_RESERVED = re.compile(r"[\s,()␟]")
_PARENT_PRODUCER = "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/common"
UNKNOWN = "openlineage"
"""The orchestrator of a job of which nothing says what runs it."""


def rewrite(event: Body, known: Known) -> list[Body]:
    """The event of a run, whole, under names that DataHub takes.

    One of a job or a dataset is what `datahub_declared` makes proposals of: it cannot be posted.
    """
    if not is_run(event):
        return [_declared(event, known)]
    body = under_its_names(whole(event, known))
    if body["eventType"] == "OTHER":
        body["eventType"] = "RUNNING"
    body["job"] = _named_job(body["job"])
    _set_orchestrator(body)
    return [valid(body, "RunEvent")]


def _declared(event: Body, known: Known) -> Body:
    body = valid(event, "JobEvent" if "job" in event else "DatasetEvent")
    if "dataset" in body:
        columns = body["dataset"].get("facets", {}).get("columnLineage")
        own = known.outputs[0] if known.outputs else body["dataset"]
        told = {"columnLineage": columns} if columns else {}
        made_of = [
            {"namespace": each["namespace"], "name": each["name"]}
            for field in ((columns or {}).get("fields") or {}).values()
            for each in field.get("inputFields") or ()
        ]
        outputs = [{**own, "facets": own.get("facets", {}) | told}]
        return under_its_names({**body, "inputs": made_of, "outputs": outputs})
    sides = {
        "inputs": list(known.inputs) or body.get("inputs") or [],
        "outputs": list(known.outputs) or body.get("outputs") or [],
    }
    job = {**body["job"], "facets": known.job_facets | body["job"].get("facets", {})}
    body = under_its_names({**body, **sides})
    body["run"] = {"facets": dict(known.run_facets)}
    body["job"] = _named_job(job)
    _set_orchestrator(body)
    return body


def _named_job(job: Body) -> Body:
    namespace, name = job_name(job["namespace"], job["name"])
    return {**job, "namespace": namespace, "name": name}


def under_its_names(body: Body) -> Body:
    """A body with datasets as DataHub takes them."""
    body = renamed(body, dataset_name)
    return body | {side: list(map(_dataset, body[side])) for side in ("inputs", "outputs")}


def name_of(identity: Identity, name: DatasetName) -> DatasetName:
    """What a dataset is called there: a table by its platform, like DataHub's converter does.

    A Glue table is one by any of its names, and not only by a TABLE symlink.
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
    """What a job is called there."""
    return escaped(namespace), escaped(name)


def dataset_name(namespace: str, name: str) -> tuple[str, str]:
    """A name of a dataset without what a URN cannot hold."""
    return escaped(namespace), escaped(name)


def escaped(text: str) -> str:
    """A text without what a URN cannot hold: %2C for a comma, as acryl-datahub writes it."""
    return _RESERVED.sub(lambda found: quote(found[0]), text)


def orchestrator(body: Body) -> str:
    """The orchestrator of a rewritten event, as DataHub finds it."""
    return str(body["run"]["facets"]["processing_engine"]["name"]).lower()


def _set_orchestrator(body: Body) -> None:
    facets = body["run"]["facets"]
    if not facets.get("processing_engine", {}).get("name"):
        name = engine_of({}, body["job"]["facets"], str(body["producer"])) or UNKNOWN
        facets["processing_engine"] = {
            "name": name,
            "version": "unknown",
            "openlineageAdapterVersion": "unknown",
        }
    parent = facets.get("parent")
    if parent and not engine_of({}, {}, str(parent.get("_producer"))):
        parent["_producer"] = _PARENT_PRODUCER


def _dataset(dataset: Body) -> Body:
    facets = dict(dataset.get("facets", {}))
    names = [DatasetName(link["namespace"], link["name"]) for link in symlinks(facets)]
    facets.pop("symlinks", None)
    if glue := [name for name in names if glue_table(name)]:
        facets["symlinks"] = {"identifiers": [{**glue[0]._asdict(), "type": "TABLE"}]}
    if "schema" in facets:
        facets["schema"] = {**facets["schema"], "fields": _fields(facets["schema"].get("fields"))}
    if "columnLineage" in facets:
        facets["columnLineage"] = _escaped_columns(facets["columnLineage"])
    return {**dataset, "facets": facets}


def _fields(fields: Any) -> list[Body]:
    """The fields that have a name, under names that a URN can hold."""
    found = []
    for field in fields if isinstance(fields, list) else ():
        if isinstance(field, dict) and field.get("name"):
            nested = {"fields": _fields(field["fields"])} if field.get("fields") else {}
            found.append({**field, "name": escaped(str(field["name"])), **nested})
    return found


def _escaped_columns(lineage: Body) -> Body:
    def inputs(told: Body) -> list[Body]:
        given = told.get("inputFields") or ()
        return [{**each, "field": escaped(str(each["field"]))} for each in given if "field" in each]

    fields = lineage.get("fields") or {}
    made = {escaped(name): {**told, "inputFields": inputs(told)} for name, told in fields.items()}
    rest = inputs({"inputFields": lineage.get("dataset")})
    return {**lineage, "fields": made, **({"dataset": rest} if rest else {})}
