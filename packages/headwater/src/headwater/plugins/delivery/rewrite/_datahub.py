"""Rewriting for DataHub's OpenLineage endpoint, which has undocumented restrictions.

- It stores inputs and outputs per job, and every event replaces them.
- It derives a job's orchestrator from the run's engine, and requires a known producer of a parent.
- Events of type OTHER, events without a run, nulls and fields without a name are errors. Names with
  a space are dropped, names with a comma result in an invalid URN.
- A dataset with a TABLE symlink becomes a table of Glue or else of Hive, whatever its catalog.

`_datahub_proposals` emits what the endpoint does not support, such as events without a run.

`context` has everything that was reported about the run and its job, see `delivery.context`. A URN
is DataHub's id of a node.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import Any
from urllib.parse import quote

from headwater.events import parse_derivation, source_datasets
from headwater.events.column_lineage import objects
from headwater.identity import DatasetName, Identity, glue_table
from headwater.plugins.delivery.body import (
    Body,
    facet_of,
    is_run,
    symlinks_of,
    with_facets,
    with_renamed_datasets,
    with_required_fields,
)
from headwater.plugins.delivery.context import RunContext, engine_of
from headwater.plugins.delivery.rewrite._rewriting import Rewriting, column_lineage, complete_event

_RESERVED = re.compile(r"[\s,()␟]")
_PARENT_PRODUCER = "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/common"
UNKNOWN_ORCHESTRATOR = "openlineage"
"""The orchestrator of a job whose engine is not reported."""
_STORES = {
    "s3": "s3",
    "s3a": "s3",
    "s3n": "s3",
    "gs": "gcs",
    "gcs": "gcs",
    "abfs": "abs",
    "abfss": "abs",
    "wasb": "abs",
    "wasbs": "abs",
    "dbfs": "dbfs",
    "file": "file",
}
"""Schemes of object stores; the bucket or host is part of the name."""
_PROPOSED = ("documentation", "ownership", "tags")
"""The facets of jobs and datasets that proposals contain."""
_CONTENT = {
    "documentation": "description",
    "jobDependencies": "upstream",
    "ownership": "owners",
    "tags": "tags",
}
"""The key of a facet without which it is empty."""
_RENAMED = {"sqlserver": "mssql", "awsathena": "athena"}


def rewrite(event: Body, context: RunContext) -> list[Body]:
    """Return the complete event under valid names for DataHub.

    A JobEvent or DatasetEvent cannot be posted; `_datahub_proposals` converts it.
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
    """Return the body of a JobEvent or DatasetEvent for the proposals, with column lineage.

    It has the parts of a run's body (job, run, inputs, outputs), as far as they are known. A
    dataset becomes the output, and the datasets that its lineage facets name become the inputs.
    """
    body = with_required_fields(event, "JobEvent" if "job" in event else "DatasetEvent")
    if "dataset" in body:
        own, facet = body["dataset"], facet_of(body["dataset"], "lineage")
        columns = column_lineage(facet) or facet_of(own, "columnLineage")
        stated = parse_derivation(facet).datasets
        names = sorted(stated | source_datasets(columns))
        sources = [{"namespace": namespace, "name": name} for namespace, name in names]
        own = context.outputs[0] if context.outputs else own
        lineage = {"columnLineage": columns} if columns else {}
        outputs = [{**own, "facets": own.get("facets", {}) | lineage}]
        return with_datahub_names({**body, "inputs": sources, "outputs": outputs})
    body["job"]["facets"] = context.job_facets | body["job"].get("facets", {})
    body["run"] = {"facets": dict(context.run_facets)}
    body["inputs"] = list(context.inputs) or body.get("inputs") or []
    body["outputs"] = list(context.outputs) or body.get("outputs") or []
    body = with_datahub_names(body)
    body["job"] = _renamed_job(body["job"])
    _set_orchestrator(body)
    return body


def _renamed_job(job: Body) -> Body:
    namespace, name = escaped_name(job["namespace"], job["name"])
    return {**job, "namespace": namespace, "name": name}


def with_datahub_names(body: Body) -> Body:
    """Return a body with valid datasets for DataHub."""
    body = with_renamed_datasets(body, escaped_name)
    return body | {side: list(map(_rewrite_dataset, body[side])) for side in ("inputs", "outputs")}


def table_name(identity: Identity, name: DatasetName) -> DatasetName:
    """Return DataHub's name of a dataset: a table by its platform, as DataHub's converter does.

    A dataset is a Glue table if any of its names is one, not only a TABLE symlink.

    The converter derives the platform from a TABLE symlink alone.
    """
    names = identity.names(name)
    if glue := next(filter(None, map(glue_table, names)), None):
        return DatasetName("glue", glue)
    table = identity.table_name(name)
    return DatasetName("hive", _table(table.name)) if table else names[0]


def _table(name: str) -> str:
    """Return `db.t` for Glue's `table/db/t`; another name unchanged."""
    prefix = "table/"
    return name.removeprefix(prefix).replace("/", ".") if name.startswith(prefix) else name


def escaped_name(namespace: str, name: str) -> tuple[str, str]:
    """Return the name of a job or dataset without characters that are invalid in a URN."""
    return escaped(namespace), escaped(name)


def platform_name(namespace: str, name: str) -> tuple[str, str]:
    """Return the platform of a dataset and its name there, as the endpoint derives them.

    `namespace` and `name` are those of the sent dataset, escaped. The function is idempotent. Its
    rules follow recorded responses of the endpoint.
    """
    scheme, separator, authority = namespace.partition("://")
    if not separator:
        return namespace, name
    if scheme in _STORES:
        is_joined = authority.endswith("/") or name.startswith("/")
        path = (f"{authority}{name}" if is_joined else f"{authority}/{name}").rstrip("/")
        return _STORES[scheme], path if scheme == "file" else path.removeprefix("/")
    return _RENAMED.get(scheme, scheme), name


def escaped(text: str) -> str:
    """Escape characters that are invalid in a URN: a comma as %2C, as acryl-datahub does."""
    return _RESERVED.sub(lambda match: quote(match[0]), text)


def orchestrator(body: Body) -> str:
    """Return the orchestrator of a rewritten event, as DataHub derives it."""
    return str(body["run"]["facets"]["processing_engine"]["name"]).lower()


def _set_orchestrator(body: Body) -> None:
    """Set the engine of a run, and the producer of its parent facet, if DataHub would find none.

    The body is changed.
    """
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
    """Return a dataset with valid column names, and of its symlinks only one of Glue."""
    facets = dict(dataset.get("facets", {}))
    facets.pop("symlinks", None)
    if glue := next(filter(glue_table, symlinks_of(dataset)), None):
        facets["symlinks"] = {"identifiers": [{**glue._asdict(), "type": "TABLE"}]}
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
    """Return a columnLineage facet with valid column names, without sources that lack a column."""

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


def is_emitter_installed() -> bool:
    """Return True if acryl-datahub is installed, which proposals need."""
    return find_spec("datahub") is not None


def _readable_part(body: Body, context: RunContext) -> Body:
    """Return what DataHub shows of a body; used to count what is lost.

    That is what the recorded responses of its endpoint have, and what the proposals contain; there
    are none without acryl-datahub.
    """
    is_emitted, has_run = is_emitter_installed(), is_run(body)
    if not (is_emitted or has_run):
        return {"inputs": [], "outputs": []}
    part: Body = {
        side: [_readable_dataset(dataset, body, is_emitted=is_emitted) for dataset in body[side]]
        for side in ("inputs", "outputs")
    }
    emitted = _PROPOSED if is_emitted else ()
    # Without a run, a job that has run keeps the datasets and the description of its runs.
    if has_run:
        places = ["jobDependencies", *(["parent"] if context.ancestors else [])]
        run = _without_empty(body["run"])
        part["run"] = with_facets(
            run, "airflow", "processing_engine", *(places if is_emitted else ())
        )
        part["job"] = with_facets(_without_empty(body["job"]), "documentation", *emitted)
    elif "job" in body:
        is_new = context.started is None
        names = [name for name in emitted if is_new or name != "documentation"]
        part |= {} if is_new else {"inputs": [], "outputs": []}
        part["job"] = with_facets(_without_empty(body["job"]), *names)
    return part


def _readable_dataset(dataset: Body, body: Body, *, is_emitted: bool) -> Body:
    """Return a dataset with the facets that DataHub shows; `is_emitted` if proposals are sent.

    `dataset` is an input or output of `body`, a rewritten event. The rules are those of
    `_datahub_proposals`: a model shows its other facets as properties, except its dataSource, and a
    dataset the version that a completed run wrote (`_operation`). `_loss` counts other facets as
    lost.
    """
    names = {"schema", "columnLineage", "symlinks", *(_PROPOSED if is_emitted else ())}
    is_model = facet_of(dataset, "datasetType").get("datasetType") == "MODEL"
    if is_emitted and is_run(body):
        is_written = body["eventType"] == "COMPLETE" and dataset in body["outputs"]
        names |= {"version"} if is_written or is_model else set()
        names |= set(dataset.get("facets", {})) - {"dataSource"} if is_model else set()
    kept = with_facets(_without_empty(dataset), *names)
    return {**kept, "inputFacets": {}, "outputFacets": {}}


def _without_empty(part: Body) -> Body:
    """Return a run, job or dataset without the facets that lack their content."""
    facets = part.get("facets", {})
    full = (name for name in facets if name not in _CONTENT or facets[name].get(_CONTENT[name]))
    return with_facets(part, *full)


DATAHUB = Rewriting(
    rewrite,
    _readable_part,
    lost=frozenset({"dataset datasetType"}),
    name=table_name,
    dataset_name=lambda namespace, name: platform_name(*escaped_name(namespace, name)),
    job_name=escaped_name,
    is_per_job=True,
)
