"""Completed runs whose own process did not report that they completed.

If a person marks a task of Airflow as successful, Airflow reports it as completed, although it
failed before or was stopped. dbt-ol reports each batch of a model with the same run id, so a model
may report an error and later that it completed. `dbt run --empty` completes without loading rows.

The *stamp* of a facet is the time and the hash of the event that reported it.
"""

from __future__ import annotations

from headwater.events import EventType
from headwater.events.facets import Airflow, DbtRun, ErrorMessage
from headwater.projection import Run

EMPTY = "headwater_dbt_empty"
"""Run facet: dbt was started with `--empty`."""
_BY_HAND = "a person may have marked it as successful"


def has_failed_batch(run: Run) -> bool:
    """Return True if a batch of a dbt model failed, although a later one completed."""
    return bool(run.facets.get(DbtRun.KEY)) and _had_error_before_completion(run)


def _had_error_before_completion(run: Run) -> bool:
    """Return True if a run reported an error, and in a later event that it completed."""
    return _is_before_completion(run, ErrorMessage.KEY)


def doubt_of_completion(run: Run) -> str | None:
    """Return why it is unknown whether a run of Airflow completed; None if it is known.

    A run of dbt with `--empty` completed, but loaded no rows.

    A DAG run completes only after its last task.

    The process of a task sends the facet `airflow` in each of its events, since Airflow 3 also in
    the last one.
    """
    if run.facets.get(EMPTY):
        return "was started with `--empty`, so it loaded no rows"
    tasks = run.facets.get("airflowState").get("tasksState")
    if _is_completed(run) and isinstance(tasks, dict) and "running" in tasks.values():
        return f"completed while one of its tasks was running; {_BY_HAND}"
    if not run.facets.get(Airflow.KEY):
        return None
    if _had_error_before_completion(run):
        return f"reported an error, and later that it completed; {_BY_HAND}"
    major = str(run.facets.get("processing_engine").get("version")).partition(".")[0]
    is_old = not major.isdecimal() or major in ("0", "1", "2")
    if not is_old and _is_before_completion(run, Airflow.KEY):
        return f"did not itself report that it completed; {_BY_HAND}"
    return None


def _is_before_completion(run: Run, facet: str) -> bool:
    """Return True if a run completed, and its last event with a facet was an earlier one."""
    stamp = run.facets.stamp_of(facet)
    return _is_completed(run) and stamp is not None and run.end is not None and stamp < run.end[0]


def _is_completed(run: Run) -> bool:
    return run.end is not None and run.end[1] is EventType.COMPLETE
