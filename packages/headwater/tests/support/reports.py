"""Events with schemas, checks, versions and code, for several tests."""

from __future__ import annotations

from typing import Any

SPARK = "https://example.org/spark"


def schema(producer: str = SPARK, **fields: str) -> dict[str, Any]:
    return {
        "_producer": producer,
        "fields": [{"name": name, "type": type_} for name, type_ in fields.items()],
    }


def wrote(
    build: Any, hour: str, reports: dict[str, Any] | None, name: str = "db|t"
) -> dict[str, Any]:
    event: dict[str, Any] = build.run("COMPLETE", f"w{hour}", "load", f"{hour}:00:00")
    event["outputs"] = [build.dataset(name, **({"schema": reports} if reports else {}))]
    return event


def checked(
    build: Any, hour: str, *assertions: dict[str, Any], place: str = "inputFacets"
) -> dict[str, Any]:
    event: dict[str, Any] = build.run("COMPLETE", f"c{hour}", "check", f"{hour}:00:00")
    reported = {"dataQualityAssertions": {"assertions": list(assertions)}}
    event["inputs"] = [{**build.dataset("db|t"), place: reported}]
    return event


def versioned(event: dict[str, Any], **versions: str) -> dict[str, Any]:
    for dataset in (*event["inputs"], *event["outputs"]):
        if dataset["name"] in versions:
            dataset["facets"] = {"version": {"datasetVersion": versions[dataset["name"]]}}
    return event


def coded(event: dict[str, Any], version: str) -> dict[str, Any]:
    location = {"type": "git", "repoUrl": "https://example.org/x.git", "version": version}
    event["job"]["facets"]["sourceCodeLocation"] = location
    return event
