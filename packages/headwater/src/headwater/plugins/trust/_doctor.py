"""Diagnose the received lineage and its intake: list the problems, each with a remedy.

Each check is a function of the state that yields findings; `_CHECKS` lists them. Most findings are
warnings: they may have a good reason.

- producer: the integration that sent events, such as `airflow`, `spark` or `dbt`
- intake: the ways by which events arrive: the spool folder, requests and files
- stale run: one without an end event whose last event is older than the setting LOST_AFTER
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from headwater import deadline
from headwater.collect.event_warnings import event_warnings
from headwater.errors import EventError
from headwater.events import load, shown_time
from headwater.events.facets import JobType
from headwater.graph.current import once_an_event
from headwater.graph.nodes import Node, node_id
from headwater.health.findings import finding, some, warning
from headwater.health.late import late_findings
from headwater.health.models import Finding
from headwater.health.overdue import overdue_nodes
from headwater.identity import DatasetName
from headwater.lineage.orphans import likely_namesakes
from headwater.log import EventLog
from headwater.log.reading import latest
from headwater.plugins.trust._names import (
    locations_with_several_names,
    names_of_several_locations,
    rules_that_join_several_pairs,
)
from headwater.plugins.trust._unread_sql import missing_reader, newest_texts, unread_sql
from headwater.plugins.trust.models import SPOOL, DoctorAnswer, Producer
from headwater.projection import Run, State, start_of
from headwater.projection.derived import descendants_of, is_lost, parent_of
from headwater.projection.live import Live
from headwater.text import counted

# Airflow operators that only launch Spark.
_SPARK_OPERATOR = re.compile(
    r"Spark|Livy|EmrAddSteps|EmrServerlessStartJob|Databricks(SubmitRun|RunNow)|DataprocSubmitJob"
)
_PORT = re.compile(r":\d+$")
_SCHEME = re.compile(r"^[a-z0-9+.-]+://")
_AHEAD = 600_000_000  # microseconds; smaller differences of clocks are ignored
_SILENT = 3  # times the longest pause of a producer so far
_NEWEST = 1_000  # events that are searched for warnings
_LINE = re.compile(r"[@:]\d+(\[\d+\])?$")  # place in a file
_FOLDER = "the spool folder"


class Spool(NamedTuple):
    """The state of the spool: unread bytes, those without a line end, and unreadable files."""

    lag: int = 0
    unended: int = 0
    stuck: Sequence[tuple[str, str]] = ()
    """Each file with the reason."""


def doctor_answer(live: Live, spool: Spool) -> DoctorAnswer:
    """Return the producers, and the problems of the received lineage and of its intake.

    The intake (spool, rejected lines) is not part of the state, so it is checked separately.
    """
    with live.reading() as state:
        producers, findings = producers_of(state), doctor(state)
        texts = newest_texts(state, _producer)
    return {
        "producers": producers,
        "findings": [*_intake(live.log, spool), *findings],
        "eventsWithWarnings": _events_with_warnings(live.log),
        "unreadSql": unread_sql(texts),
    }


def producers_of(state: State) -> list[Producer]:
    """Return the producers with their last events."""
    return [
        {"name": name, "lastEventAt": shown_time(times[-1]), "runs": len(times)}
        for name, times in sorted(_times_by_producer(state).items())
    ]


def doctor(state: State) -> list[Finding]:
    """Return the problems of the received lineage; the clock is `state.now`."""
    return [found for check in _CHECKS for found in check(state)]


def _times_by_producer(state: State) -> dict[str, list[int]]:
    """Return the ascending times of the last events of the runs, by producer."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for run in deadline.watched(state.runs.values()):
        if run.last is not None:
            found[_producer(state, run)].append(run.last)
    return {name: sorted(times) for name, times in found.items()}


def _producer(state: State, run: Run) -> str:
    """Return the integration of a run's job, or its engine, in lower case."""
    kind = state.jobs[run.key.job].facets.get("jobType").get("integration")
    engine = run.facets.get("processing_engine").get("name")
    return str(kind or engine or f"unnamed, of namespace {run.key.job.namespace}").lower()


def _no_events(state: State) -> Iterator[Finding]:
    """Yield a warning if nothing was ever reported."""
    if not (state.jobs or state.datasets):
        yield warning(
            "no events",
            "the log",
            "received no events; no job or dataset is known",
            "set OPENLINEAGE_URL of a producer to the address of this server, or import events"
            " with `headwater ingest` or `headwater harvest`",
        )


def _clocks_ahead(state: State) -> Iterator[Finding]:
    """Find producers with runs in the future, which hide that later runs are missing."""
    for name, times in sorted(_times_by_producer(state).items()):
        ahead = sum(time > state.now + _AHEAD for time in times)
        if ahead and state.now:  # 0: the time is not set
            yield warning(
                "clock ahead",
                name,
                f"reported {counted(ahead, 'run')} in the future, the last at"
                f" {shown_time(times[-1])}",
                "correct the clock or the time zone of the producer. Until then, these runs count"
                " as the newest, and missing runs of the producer are not reported",
            )


def _silent_producers(state: State) -> Iterator[Finding]:
    """Find producers that have been silent for more than three times their longest earlier pause.

    Silence is measured up to the earlier of two times: LOST_AFTER ago, or the newest event of any
    producer. If all are silent, the server was off or the log was imported.

    A producer with one run has no pause to compare with. Times are those of the last events of
    runs.
    """
    times_by_producer = _times_by_producer(state)
    newest = max((times[-1] for times in times_by_producer.values()), default=0)
    for name, times in sorted(times_by_producer.items()):
        pauses = [after - before for before, after in pairwise(times)]
        silent_at = times[-1] + _SILENT * max(pauses, default=0)
        if len(times) > 1 and silent_at < min(state.stale_before, newest):
            yield warning(
                "silent producer",
                name,
                f"sent no event since {shown_time(times[-1])}",
                "check that it still runs and that its transport points to this server",
            )


def _missing_spark_runs(state: State) -> Iterator[Finding]:
    """Find Airflow tasks that launch Spark, but whose newest ended run has no runs below it.

    If no run is below it, the lineage of the Spark application is missing.
    """
    for ref, job in sorted(state.jobs.items()):
        runs = [state.runs[key] for key in job.runs if state.runs[key].end is not None]
        newest = max(runs, key=lambda run: (run.end, run.key), default=None)
        if newest is None:
            continue
        task = newest.facets.get("airflow").get("task")
        operator = str(task.get("operator_class")) if isinstance(task, dict) else ""
        if _SPARK_OPERATOR.search(operator) and not descendants_of(state, newest):
            yield warning(
                "missing Spark run",
                ref,
                f"its newest run uses {operator}, but no Spark run names it as its parent",
                "add the jar openlineage-spark, the setting spark.extraListeners="
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
        yield warning(
            "silent parent",
            subject,
            f"sent no event, but is the parent of {len(names)} jobs ({some(sorted(names))})",
            "make it send its events to this server too; Airflow needs the package"
            " apache-airflow-providers-openlineage and AIRFLOW__OPENLINEAGE__TRANSPORT",
        )


def _similar_names(state: State) -> Iterator[Finding]:
    """Find datasets whose names are equal but for spelling or a prefix."""
    for first, *names in sorted(_groups_of_similar_names(state)):
        if others := [name for name in names if not state.identity.is_stated(first, name)]:
            one, *ids = (node_id(Node.of_dataset(name)) for name in (first, *others))
            yield warning(
                "similar names",
                one,
                f"may be the same dataset as {some(ids)}",
                "if so, make their producers use one name or a symlink, or join them: headwater"
                f" alias '{one}' '{ids[0]}'; if not: headwater alias --separate '{one}' '{ids[0]}'",
            )


@once_an_event
def _groups_of_similar_names(state: State) -> set[tuple[DatasetName, ...]]:
    """Return groups of two or more datasets whose names are equal but for spelling or a prefix.

    A name that is a symlink of several datasets does not count.
    """
    by_spelling: defaultdict[tuple[str, str], set[DatasetName]] = defaultdict(set)
    for primary in set(state.identity):
        for name in state.identity.names(primary):
            if state.identity.datasets(name) == [primary]:  # no local name of several
                by_spelling[_spelling(name)].add(primary)
    groups = {tuple(sorted(group)) for group in by_spelling.values()}
    # `db.s.t` without its first parts is `s.t`, then `t`: one of these may be another dataset
    for (namespace, text), group in list(by_spelling.items()):
        for index, character in enumerate(text):
            if character in "./" and (shorter := by_spelling.get((namespace, text[index + 1 :]))):
                groups.add(tuple(sorted(shorter | group)))
    return {names for names in groups if len(names) > 1}


def _likely_names(state: State) -> Iterator[Finding]:
    """Yield a warning if datasets with equal last parts may be one: one is only read.

    Until they are joined or separated, no column of the other one is safe to drop.
    """
    similar = _groups_of_similar_names(state)
    pairs = [
        pair
        for pair in likely_namesakes(state)
        if not any({pair.written, pair.read} <= {*names} for names in similar)
    ]
    if pairs:
        first = max(pairs, key=lambda pair: pair.score)
        written, read = (node_id(Node.of_dataset(name)) for name in (first.written, first.read))
        others = f"; so may {counted(len(pairs) - 1, 'other dataset')}" if pairs[1:] else ""
        reasons = "; ".join(item.message for item in first.evidence)
        yield warning(
            "likely names",
            written,
            f"may be the same dataset as {read}, which is only read ({reasons}){others}",
            f"if they are one dataset: headwater alias '{written}' '{read}'; if not: headwater"
            f" alias --separate '{written}' '{read}'",
        )


def _spelling(name: DatasetName) -> tuple[str, str]:
    """Return a name in lower case, without scheme, port and outer slashes."""
    namespace = _PORT.sub("", _SCHEME.sub("", name.namespace.lower().rstrip("/")))
    return namespace, name.name.lower().strip("/")


def _unused_declarations(state: State) -> Iterator[Finding]:
    """Find jobs with declared inputs or outputs that none of their runs used."""
    for ref, job in sorted(state.jobs.items()):
        # dbt's manifest declares exposures and models that were not built yet.
        if job.declared is None or job.facets.parsed(JobType).integration == "DBT":
            continue
        runs = [state.runs[key] for key in job.runs]
        used = {
            state.identity.primary(name) for run in runs for name in (*run.inputs, *run.outputs)
        }
        declared = {
            state.identity.primary(name) for name in job.declared.inputs | job.declared.outputs
        }
        if unused := sorted(declared - used):
            yield warning(
                "unused declaration",
                ref,
                f"no run read or wrote {some(name.name for name in unused)}",
                "correct the declaration, or make the runs report their inputs and outputs",
            )


def _stale_runs(state: State) -> Iterator[Finding]:
    """Yield a finding per job with runs that never ended."""
    for ref, job in sorted(state.jobs.items()):
        open_runs = (state.runs[key] for key in job.runs if state.runs[key].end is None)
        stale = [run for run in open_runs if run.has_events and is_lost(state, run)]
        if stale:
            newest = max(stale, key=lambda run: (start_of(run) or 0, run.key))
            yield finding(
                "lost",
                ref,
                f"has {counted(len(stale), 'run')} without an end event, the newest is"
                f" {newest.key.run_id} of {shown_time(start_of(newest))}",
                "check whether the process was killed; a late end event corrects the state",
            )


def _late(state: State) -> Iterator[Finding]:
    """Yield the findings of `health` about late and stopped pipelines and late datasets."""
    yield from late_findings(state, overdue_nodes(state))


def _damaged_rows(state: State) -> Iterator[Finding]:
    """Yield a finding per row of the log that cannot be read."""
    for seq, reason in sorted(state.unreadable.items()):
        yield finding(
            "damaged row",
            f"row {seq} of the log",
            reason,
            "`headwater repair --database` lists such rows; with --yes it moves them to"
            " the rejected lines",
        )


def _intake(log: EventLog, spool: Spool) -> Iterator[Finding]:
    """Yield the problems of a spool, and the rejected lines of a log.

    The spool is only examined, not ingested.
    """
    for file, reason in spool.stuck:
        remedy = "correct or remove the file; the other files of the folder are read"
        yield finding("unreadable file", file, reason, remedy)
    if spool.unended:
        message = f"the last line of a file is incomplete: {counted(spool.unended, 'byte')}"
        remedy = "its producer is still writing it or was killed: complete or remove the line"
        yield warning(SPOOL, _FOLDER, message, remedy)
    if behind := max(spool.lag - spool.unended, 0):
        message = f"{counted(behind, 'byte')} not ingested"
        remedy = "check that `serve --spool` runs and can read the files; see its log"
        yield warning(SPOOL, _FOLDER, message, remedy)
    if sources := [line.source for line in log.rejected_lines()]:
        files = sorted({_LINE.sub("", source) for source in sources})
        message = f"{counted(len(sources), 'line')} rejected, from {some(files)}"
        remedy = "GET /api/v2/rejected lists the reasons; correct the producer"
        yield finding("rejected lines", _FOLDER, message, remedy)


def _events_with_warnings(log: EventLog) -> int:
    """Return the number of the newest events that have warnings."""
    return sum(_has_warnings(text) for _, text in latest(log, None, _NEWEST))


def _has_warnings(text: str) -> bool:
    try:
        body = load(text)
    except EventError:
        return False  # a damaged row, which is a separate finding
    return isinstance(body, dict) and any(True for _ in event_warnings(body))


_CHECKS: tuple[Callable[[State], Iterator[Finding]], ...] = (
    _no_events,
    _clocks_ahead,
    _missing_spark_runs,
    _silent_parents,
    _similar_names,
    _likely_names,
    names_of_several_locations,
    locations_with_several_names,
    rules_that_join_several_pairs,
    _unused_declarations,
    _stale_runs,
    _late,
    _damaged_rows,
    _silent_producers,
    missing_reader,
)
