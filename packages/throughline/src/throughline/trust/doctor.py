"""What is wrong with the lineage that arrives, as far as the events tell; each with what to do.

A pure function of the state, whose clock is `state.now`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from throughline import deadline
from throughline.graph.nodes import Node, node_id
from throughline.identity import DatasetName
from throughline.projection import Run, State, start_of
from throughline.projection.derived import descendants_of, is_lost, parent_of
from throughline.spec import shown_time
from throughline.trust.freshness import late
from throughline.trust.models import DoctorAnswer
from throughline.words import duration_of

# Airflow operators whose work is done by Spark.
_LAUNCHES_SPARK = re.compile(
    r"Spark|Livy|EmrAddSteps|EmrServerlessStartJob|Databricks(SubmitRun|RunNow)|DataprocSubmitJob"
)
_PORT = re.compile(r":\d+$")
_SCHEME = re.compile(r"^[a-z0-9+.-]+://")
_LATE = 3  # times its longest pause so far


class Finding(NamedTuple):
    """A problem of the received lineage: its kind, its node or producer, and what to do."""

    kind: str
    about: str
    seen: str
    advice: str


def doctor(state: State) -> DoctorAnswer:
    """Return the producers with their last events, and the problems of the received lineage."""
    heard = _by_producer(state)
    findings = [finding for check in _CHECKS for finding in check(state)]
    findings += _silent(state, heard)
    return {
        "producers": [
            {"name": name, "lastEventAt": shown_time(max(times)), "runs": len(times)}
            for name, times in sorted(heard.items())
        ],
        "findings": [
            {
                "kind": finding.kind,
                "about": finding.about,
                "seen": finding.seen,
                "advice": finding.advice,
            }
            for finding in findings
        ],
    }


def _by_producer(state: State) -> dict[str, list[int]]:
    """When each run of a producer was last heard of, ascending."""
    heard: defaultdict[str, list[int]] = defaultdict(list)
    for run in deadline.watched(state.runs.values()):
        if run.last is not None:
            heard[_producer(state, run)].append(run.last)
    return {name: sorted(times) for name, times in heard.items()}


def _producer(state: State, run: Run) -> str:
    kind = state.jobs[run.key.job].facets.get("jobType").get("integration")
    engine = run.facets.get("processing_engine").get("name")
    return str(kind or engine or f"unnamed, of namespace {run.key.job.namespace}").lower()


def _silent(state: State, heard: dict[str, list[int]]) -> Iterator[Finding]:
    newest = max((times[-1] for times in heard.values()), default=0)
    for name, times in sorted(heard.items()):
        pauses = [after - before for before, after in pairwise(times)]
        patience = _LATE * max(pauses, default=0)
        is_patient = times[-1] + patience < min(state.stale_before, newest)
        if len(times) > 1 and is_patient:
            yield Finding(
                "silent producer", name, f"no event of it since {shown_time(times[-1])}",
                "see whether it still runs, and whether its transport still points here",
            )  # fmt: skip


def _without_spark(state: State) -> Iterator[Finding]:
    for ref, job in sorted(state.jobs.items()):
        runs = [state.runs[key] for key in job.runs if state.runs[key].end is not None]
        newest = max(runs, key=lambda run: (run.end, run.key), default=None)
        if newest is None:
            continue
        task = newest.facets.get("airflow").get("task")
        operator = str(task.get("operator_class")) if isinstance(task, dict) else ""
        if _LAUNCHES_SPARK.search(operator) and not descendants_of(state, newest):
            yield Finding(
                "no Spark below", node_id(Node.of_job(ref)),
                f"its newest run is of {operator}, and no run of Spark says that it is below it",
                "give Spark the jar openlineage-spark, the setting spark.extraListeners="
                "io.openlineage.spark.agent.OpenLineageSparkListener and a transport to here; "
                "and Airflow AIRFLOW__OPENLINEAGE__SPARK_INJECT_PARENT_JOB_INFO=True",
            )  # fmt: skip


def _without_parent(state: State) -> Iterator[Finding]:
    """Parents that never spoke, a line for each job that is such a parent."""
    silent: defaultdict[str, set[str]] = defaultdict(set)
    for run in state.runs.values():
        parent = parent_of(state, run) if run.has_events else None
        if (
            parent is not None
            and not parent.has_events
            and state.jobs[parent.key.job].first is None
        ):
            silent[node_id(Node.of_job(parent.key.job))].add(run.key.job.name)
    for about, names in sorted(silent.items()):
        yield Finding(
            "silent parent", about,
            f"{len(names)} jobs name it as their parent ({_some(names)}), and it sent no event",
            "have it send its events here too: of Airflow the package"
            " apache-airflow-providers-openlineage, with AIRFLOW__OPENLINEAGE__TRANSPORT set",
        )  # fmt: skip


def _not_joined(state: State) -> Iterator[Finding]:
    """Datasets that could be one: spelled alike, or one with the other's name behind a prefix."""
    alike: defaultdict[tuple[str, str], set[DatasetName]] = defaultdict(set)
    for primary in set(state.identity):
        for name in state.identity.names(primary):
            alike[_spelled(name)].add(primary)
    groups = {tuple(sorted(group)) for group in alike.values()}
    for (namespace, text), found in list(alike.items()):
        for at, mark in enumerate(text):
            shorter = alike.get((namespace, text[at + 1 :])) if mark in "./" else None
            if shorter:
                groups.add(tuple(sorted(shorter | found)))
    for group in sorted(groups):
        if len(group) > 1:
            ids = [node_id(Node.of_dataset(each)) for each in group]
            yield Finding(
                "names almost equal", ids[0], f"not joined with {_some(ids[1:])}",
                "if they are one, have their producers name them alike or with a symlink, or join"
                " them by hand: throughline alias A B",
            )  # fmt: skip


def _spelled(name: DatasetName) -> tuple[str, str]:
    """A name without case, scheme, port and outer slashes."""
    namespace = _PORT.sub("", _SCHEME.sub("", name.namespace.lower().rstrip("/")))
    return namespace, name.name.lower().strip("/")


def _never_seen(state: State) -> Iterator[Finding]:
    for ref, job in sorted(state.jobs.items()):
        if job.declared is None:
            continue
        runs = [state.runs[key] for key in job.runs]
        used = {
            state.identity.primary(name) for run in runs for name in (*run.inputs, *run.outputs)
        }
        named = {state.identity.primary(n) for n in job.declared.inputs | job.declared.outputs}
        if unused := sorted(named - used):
            yield Finding(
                "declared, never seen", node_id(Node.of_job(ref)),
                f"no run of it read or wrote {_some([name.name for name in unused])}",
                "correct the declaration, or have the job's runs send what they read and write",
            )  # fmt: skip


def _lost(state: State) -> Iterator[Finding]:
    for ref, job in sorted(state.jobs.items()):
        runs = (state.runs[key] for key in job.runs if state.runs[key].end is None)
        lost = [run for run in runs if run.has_events and is_lost(state, run)]
        if lost:
            newest = max(lost, key=lambda run: (start_of(run) or 0, run.key))
            yield Finding(
                "lost runs", node_id(Node.of_job(ref)),
                f"{len(lost)} without an end, the newest {newest.key.run_id}"
                f" of {shown_time(start_of(newest))}",
                "see whether the process was killed; an end event that comes late makes it right",
            )  # fmt: skip


def _stale(state: State) -> Iterator[Finding]:
    for each in late(state, sorted(state.jobs)):
        node = Node("job", each["job"]["namespace"], each["job"]["name"])
        yield Finding(
            "stale job", node_id(node),
            f"no run of it since {each['lastStartedAt']}, and it ran every"
            f" {duration_of(each['everySeconds'] * 1_000)}",
            "see whether its schedule is on, and whether what starts it works",
        )  # fmt: skip


def _damaged(state: State) -> Iterator[Finding]:
    for seq, reason in sorted(state.unreadable.items()):
        yield Finding(
            "damaged row", f"row {seq} of the log", reason,
            "`throughline repair --database` lists such rows; with --yes it moves them to the"
            " rejected lines",
        )  # fmt: skip


def _some(names: Any) -> str:
    listed = sorted(names)
    return ", ".join(listed[:3]) + (f" and {len(listed) - 3} more" if len(listed) > 3 else "")


_CHECKS: tuple[Callable[[State], Iterator[Finding]], ...] = (
    _without_spark,
    _without_parent,
    _not_joined,
    _never_seen,
    _lost,
    _stale,
    _damaged,
)
