"""The URNs that DataHub's OpenLineage endpoint makes of names, so that others mean the same."""

from __future__ import annotations

from throughline.deliver.datasets import Body

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
"""Schemes of stores: the bucket or host is a part of the name."""
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
    """The URN of a dataset under the name that DataHub is sent it."""
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
    if scheme in _STORES:
        is_joined = authority.endswith("/") or name.startswith("/")
        path = f"{authority}{name}" if is_joined else f"{authority}/{name}"
        path = path.rstrip("/")
        return _STORES[scheme], path if scheme == "file" else path.removeprefix("/")
    return _RENAMED.get(scheme, scheme), name
