"""URNs as DataHub's OpenLineage endpoint derives them from names."""

from __future__ import annotations

from throughline.delivery.datasets import Body

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
_RENAMED = {"sqlserver": "mssql", "awsathena": "athena"}


def flow_urn(orchestrator: str, job: Body) -> str:
    """Return the URN of a job's flow, whose name is the job's up to the first dot."""
    flow = job["name"].split(".")[0]
    return f"urn:li:dataFlow:({orchestrator},{flow},{job['namespace']})"


def job_urn(orchestrator: str, job: Body) -> str:
    """Return the URN of a job."""
    return f"urn:li:dataJob:({flow_urn(orchestrator, job)},{job['name']})"


def run_urn(run_id: str) -> str:
    """Return the URN of a run."""
    return f"urn:li:dataProcessInstance:{run_id}"


def dataset_urn(dataset: Body) -> str:
    """Return the URN of a dataset in a rewritten event."""
    platform, name = platform_name(dataset["namespace"], dataset["name"])
    return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},PROD)"


def field_urn(dataset: str, field: str) -> str:
    """Return the URN of a column; `dataset` is the dataset's URN."""
    return f"urn:li:schemaField:({dataset},{field})"


def platform_name(namespace: str, name: str) -> tuple[str, str]:
    """Return the platform of a dataset and its name there; idempotent."""
    scheme, separator, authority = namespace.partition("://")
    if not separator:
        return namespace, name
    if scheme in _STORES:
        is_joined = authority.endswith("/") or name.startswith("/")
        path = f"{authority}{name}" if is_joined else f"{authority}/{name}"
        path = path.rstrip("/")
        return _STORES[scheme], path if scheme == "file" else path.removeprefix("/")
    return _RENAMED.get(scheme, scheme), name
