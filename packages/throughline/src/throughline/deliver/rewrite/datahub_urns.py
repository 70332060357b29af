"""The URNs that DataHub's OpenLineage endpoint makes of names, so that others mean the same."""

from __future__ import annotations

from throughline.deliver.datasets import Body
from throughline.deliver.rewrite.rewriting import glue_table

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
}
"""Schemes of stores: the bucket is a part of the name."""
_RENAMED = {"sqlserver": "mssql", "awsathena": "athena"}


def flow_urn(orchestrator: str, job: Body) -> str:
    """The URN of the flow of a job: its name up to the first dot."""
    flow = job["name"].split(".")[0]
    return f"urn:li:dataFlow:({orchestrator},{flow},{job['namespace']})"


def job_urn(orchestrator: str, job: Body) -> str:
    """The URN of a job."""
    return f"urn:li:dataJob:({flow_urn(orchestrator, job)},{job['name']})"


def run_urn(run_id: str) -> str:
    """The URN of a run."""
    return f"urn:li:dataProcessInstance:{run_id}"


def dataset_urn(dataset: Body) -> str:
    """The URN of a dataset; a TABLE symlink is its name, of Glue or else of Hive."""
    links = dataset.get("facets", {}).get("symlinks", {}).get("identifiers", ())
    table = next((each for each in links if each.get("type") == "TABLE"), None)
    if table is not None:
        glue = glue_table(table["namespace"], table["name"])
        platform, name = ("glue", glue) if glue else ("hive", table["name"])
    else:
        platform, name = platform_name(dataset["namespace"], dataset["name"])
    return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},PROD)"


def field_urn(dataset: str, field: str) -> str:
    """The URN of a column of a dataset, which is given by its own."""
    return f"urn:li:schemaField:({dataset},{field})"


def platform_name(namespace: str, name: str) -> tuple[str, str]:
    """The platform of a dataset and its name there; of these again the same."""
    scheme, found, authority = namespace.partition("://")
    if not found:
        return namespace, name
    if scheme == "file":
        return "file", f"{authority.rstrip('/')}/{name.lstrip('/')}"
    if scheme in _STORES:
        return _STORES[scheme], f"{authority}/{name.strip('/')}"
    return _RENAMED.get(scheme, scheme), name
