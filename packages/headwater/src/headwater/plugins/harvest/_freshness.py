"""Import the results of `dbt source freshness` from target/sources.json.

Each source with a result is checked by a job of its own. A stale source fails this check, as an
error or a warning, depending on its criteria in the project.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
from openlineage.client.event_v2 import Dataset, InputDataset
from openlineage.client.facet_v2 import data_quality_assertions_dataset as dq

from headwater.errors import ConfigError
from headwater.events import JobRef, parse_time
from headwater.plugins.harvest._manifest import Artifact, check_results
from headwater.plugins.harvest.events import FinishedRun, run_id
from headwater_client.events import PRODUCER
from headwater_client.parents import RunRef

log = logging.getLogger(__name__)

_MARK = "only_freshness"
_SUCCESS = {"pass": True, "warn": False, "error": False}
"""True for a fresh and False for a stale source, by the status of its result."""
_CRITERIA = {"warn": ("warn_after",), "error": ("error_after",)}
"""The criterion that a stale source does not meet; a fresh source meets all."""


def read_freshness(target: Path) -> Artifact:
    """Return the results in a target folder; empty if sources were not checked.

    Raises:
        ConfigError: the file cannot be read.
    """
    path = target / "sources.json"
    try:
        results: Any = orjson.loads(path.read_bytes())
        results["metadata"]["invocation_id"].strip()
        parse_time(results["metadata"]["generated_at"])
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{path}: {error!r}; run `dbt source freshness` again") from None
    # The result of a source that could not be checked has no times.
    check_results({"results": [{"timing": [], **item} for item in results["results"]]}, str(path))
    return dict(results)


def run_results(path: Path, freshness: Artifact) -> Artifact:
    """Return the content of run_results.json; without the file, no results if sources were checked.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is not JSON.
    """
    try:
        results: Artifact = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        if not freshness:
            raise
        args = {"which": "run", _MARK: True}
        return {"metadata": freshness["metadata"], "args": args, "results": []}
    return results


def is_only_freshness(results: Artifact) -> bool:
    """Return True for the results of `run_results` if the file is missing."""
    return _MARK in (results.get("args") or {})


def freshness_runs(
    freshness: Artifact,
    manifest: Artifact,
    namespace: str,
    dataset_of: Callable[[str], Dataset],
) -> Iterator[FinishedRun]:
    """Yield a run for each checked source.

    `freshness` is the content of sources.json, `manifest` that of manifest.json, and `namespace`
    that of the jobs. `dataset_of` returns the dataset of a unique id. There are no runs if another
    command wrote the manifest since: it may have had another target, with other tables.
    """
    metadata = freshness.get("metadata", {})
    if freshness and metadata["invocation_id"] != manifest["metadata"].get("invocation_id"):
        log.warning(
            "target/sources.json: not imported, because another command of dbt wrote manifest.json"
            " since. Import directly after `dbt source freshness`"
        )
        return
    for result in freshness.get("results", ()):
        node = result["unique_id"]
        if node not in manifest.get("sources", {}):
            continue
        source = dataset_of(node)
        is_known = "criteria" in result  # else the check itself failed, as without a connection
        name = f"{source.name.rpartition('.')[0]}.{node.partition('.')[2]}.freshness"
        checked = result.get("snapshotted_at") or metadata["generated_at"]
        job = JobRef(namespace, name)
        yield FinishedRun(
            ref=RunRef(*job, run_id("dbt", metadata["invocation_id"], *job)),
            integration="DBT",
            job_type="TEST",
            started=parse_time(checked),
            ended=parse_time(checked),
            state="COMPLETE" if is_known else "FAIL",
            error=None if is_known else str(result.get("error") or result["status"]),
            inputs=[
                InputDataset(
                    source.namespace,
                    source.name,
                    facets=source.facets,
                    inputFacets={"dataQualityAssertions": _assertion(result)},
                )
            ],
        )


def _assertion(result: Artifact) -> dq.DataQualityAssertionsDatasetFacet:
    """Return the result of a check as an assertion, with the expected and the actual age.

    The assertion about a source that could not be checked has no result.
    """
    status, given = result["status"], result.get("criteria") or {}
    names = _CRITERIA.get(status, ("warn_after", "error_after"))
    criteria = [item for name in names if (item := given.get(name) or {}).get("count")]
    limits = [f"at most {item['count']} {item['period']}s old" for item in criteria]
    age = result.get("max_loaded_at_time_ago_in_s")
    success: Any = _SUCCESS.get(status)  # None has no type in the library
    found = dq.Assertion(
        assertion="freshness",
        name="source freshness",
        success=success,
        severity="warn" if status == "warn" else "error",
        expected=limits[0] if limits else None,
        actual=None if age is None else f"{timedelta(seconds=round(age))} old",
    )
    return dq.DataQualityAssertionsDatasetFacet([found], producer=PRODUCER)
