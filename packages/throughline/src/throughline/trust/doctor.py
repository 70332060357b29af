"""Diagnose the received lineage: list its problems, each with a remedy.

A pure function of the state, whose clock is `state.now`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from throughline import deadline
from throughline.console.text import duration_of
from throughline.events import shown_time
from throughline.graph.nodes import Node, node_id
from throughline.identity import DatasetName
from throughline.projection import Run, State, start_of
from throughline.projection.derived import descendants_of, is_lost, parent_of
from throughline.trust.freshness import late
from throughline.trust.models import DoctorAnswer, Finding

# Airflow operators that only launch Spark.
_SPARK_OPERATOR = re.compile(
    r"Spark|Livy|EmrAddSteps|EmrServerlessStartJob|Databricks(SubmitRun|RunNow)|DataprocSubmitJob"
)
_PORT = re.compile(r":\d+$")
_SCHEME = re.compile(r"^[a-z0-9+.-]+://")
_SILENT = 3  # times the longest pause of a producer so far


def doctor(state: State) -> DoctorAnswer:
    """Return the producers with their last events, and the problems of the received lineage."""
    times_by_producer = _times_by_producer(state)
    findings = [finding for check in _CHECKS for finding in check(state)]
    findings += _silent_producers(state, times_by_producer)
    return {
        "producers": [
            {"name": name, "lastEventAt": shown_time(times[-1]), "runs": len(times)}
            for name, times in sorted(times_by_producer.items())
        ],
        "findings": findings,
    }


def _times_by_producer(state: State) -> dict[str, list[int]]:
    """Return the ascending times of the last events of the runs, by producer."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for run in deadline.watched(state.runs.values()):
        if run.last is not None:
            found[_producer(state, run)].append(run.last)
    return {name: sorted(times) for name, times in found.items()}


def _producer(state: State, run: Run) -> str:
    kind = state.jobs[run.key.job].facets.get("jobType").get("integration")
    engine = run.facets.get("processing_engine").get("name")
    return str(kind or engine or f"unnamed, of namespace {run.key.job.namespace}").lower()


def _silent_producers(state: State, times_by_producer: dict[str, list[int]]) -> Iterator[Finding]:
    newest = max((times[-1] for times in times_by_producer.values()), default=0)
    for name, times in sorted(times_by_producer.items()):
        pauses = [after - before for before, after in pairwise(times)]
        silent_at = times[-1] + _SILENT * max(pauses, default=0)
        if len(times) > 1 and silent_at < min(state.stale_before, newest):
            yield Finding(
                severity="warning",
                kind="silent producer",
                subject=name,
                message=f"sent no event since {shown_time(times[-1])}",
                remedy="check that it still runs and that its transport points to this server",
            )


def _missing_spark_runs(state: State) -> Iterator[Finding]:
    for ref, job in sorted(state.jobs.items()):
        runs = [state.runs[key] for key in job.runs if state.runs[key].end is not None]
        newest = max(runs, key=lambda run: (run.end, run.key), default=None)
        if newest is None:
            continue
        task = newest.facets.get("airflow").get("task")
        operator = str(task.get("operator_class")) if isinstance(task, dict) else ""
        if _SPARK_OPERATOR.search(operator) and not descendants_of(state, newest):
            yield Finding(
                severity="warning",
                kind="missing Spark run",
                subject=node_id(Node.of_job(ref)),
                message=f"its newest run uses {operator}, but no Spark run names it as its parent",
                remedy="add the jar openlineage-spark, the setting spark.extraListeners="
                "io.openlineage.spark.agent.OpenLineageSparkListener and a transport to this server"
                " to Spark, and AIRFLOW__OPENLINEAGE__SPARK_INJECT_PARENT_JOB_INFO=True to Airflow",
            )


def _silent_parents(state: State) -> Iterator[Finding]:
    """Find jobs that are named as parents but sent no events."""
    children: defaultdict[str, set[str]] = defaultdict(set)
    for run in state.runs.values():
        parent = parent_of(state, run) if run.has_events else None
        if (
            parent is not None
            and not parent.has_events
            and state.jobs[parent.key.job].first is None
        ):
            children[node_id(Node.of_job(parent.key.job))].add(run.key.job.name)
    for subject, names in sorted(children.items()):
        yield Finding(
            severity="warning",
            kind="silent parent",
            subject=subject,
            message=f"sent no event, but is the parent of {len(names)} jobs ({_some(names)})",
            remedy="make it send its events to this server too; Airflow needs the package"
            " apache-airflow-providers-openlineage and AIRFLOW__OPENLINEAGE__TRANSPORT",
        )


def _similar_names(state: State) -> Iterator[Finding]:
    """Find datasets whose names are equal but for spelling or a prefix."""
    by_spelling: defaultdict[tuple[str, str], set[DatasetName]] = defaultdict(set)
    for primary in set(state.identity):
        for name in state.identity.names(primary):
            by_spelling[_spelling(name)].add(primary)
    groups = {tuple(sorted(group)) for group in by_spelling.values()}
    for (namespace, text), group in list(by_spelling.items()):
        for index, character in enumerate(text):
            if character in "./" and (shorter := by_spelling.get((namespace, text[index + 1 :]))):
                groups.add(tuple(sorted(shorter | group)))
    for names in sorted(groups):
        if len(names) > 1:
            ids = [node_id(Node.of_dataset(name)) for name in names]
            yield Finding(
                severity="warning",
                kind="similar names",
                subject=ids[0],
                message=f"may be the same dataset as {_some(ids[1:])}",
                remedy="if so, make their producers use one name or a symlink, or merge them:"
                " throughline alias A B",
            )


def _spelling(name: DatasetName) -> tuple[str, str]:
    """Return a name in lower case, without scheme, port and outer slashes."""
    namespace = _PORT.sub("", _SCHEME.sub("", name.namespace.lower().rstrip("/")))
    return namespace, name.name.lower().strip("/")


def _unused_declarations(state: State) -> Iterator[Finding]:
    for ref, job in sorted(state.jobs.items()):
        if job.declared is None:
            continue
        runs = [state.runs[key] for key in job.runs]
        used = {
            state.identity.primary(name) for run in runs for name in (*run.inputs, *run.outputs)
        }
        declared = {
            state.identity.primary(name) for name in job.declared.inputs | job.declared.outputs
        }
        if unused := sorted(declared - used):
            yield Finding(
                severity="warning",
                kind="unused declaration",
                subject=node_id(Node.of_job(ref)),
                message=f"no run read or wrote {_some([name.name for name in unused])}",
                remedy="correct the declaration, or make the runs report their inputs and outputs",
            )


def _stale_runs(state: State) -> Iterator[Finding]:
    for ref, job in sorted(state.jobs.items()):
        open_runs = (state.runs[key] for key in job.runs if state.runs[key].end is None)
        stale = [run for run in open_runs if run.has_events and is_lost(state, run)]
        if stale:
            newest = max(stale, key=lambda run: (start_of(run) or 0, run.key))
            yield Finding(
                severity="error",
                kind="stale runs",
                subject=node_id(Node.of_job(ref)),
                message=f"{len(stale)} without an end event, the newest is {newest.key.run_id}"
                f" of {shown_time(start_of(newest))}",
                remedy="check whether the process was killed; a late end event corrects the state",
            )


def _late_jobs(state: State) -> Iterator[Finding]:
    for job in late(state, sorted(state.jobs)):
        yield Finding(
            severity="warning",
            kind="late job",
            subject=node_id(Node("job", job["job"]["namespace"], job["job"]["name"])),
            message=f"no run since {job['lastStartedAt']}, although it usually runs every"
            f" {duration_of(job['everySeconds'] * 1_000)}",
            remedy="check that its schedule is on and that its scheduler works",
        )


def _damaged_rows(state: State) -> Iterator[Finding]:
    for seq, reason in sorted(state.unreadable.items()):
        yield Finding(
            severity="error",
            kind="damaged row",
            subject=f"row {seq} of the log",
            message=reason,
            remedy="`throughline repair --database` lists such rows; with --yes it moves them to"
            " the rejected lines",
        )


def _some(names: Any) -> str:
    listed = sorted(names)
    return ", ".join(listed[:3]) + (f" and {len(listed) - 3} more" if len(listed) > 3 else "")


_CHECKS: tuple[Callable[[State], Iterator[Finding]], ...] = (
    _missing_spark_runs,
    _silent_parents,
    _similar_names,
    _unused_declarations,
    _stale_runs,
    _late_jobs,
    _damaged_rows,
)
