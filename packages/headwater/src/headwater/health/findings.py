"""Findings: problems of runs, jobs and datasets, in one format for all answers and alerts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from headwater.datasets.quality import Result
from headwater.events import JobRef, shown_time
from headwater.graph.nodes import Node, node_id
from headwater.health.branches import Mix
from headwater.health.freshness import Rhythm
from headwater.health.models import Finding, LateJob, Severity
from headwater.identity import DatasetName
from headwater.projection import Run, RunState, State, outcome
from headwater.projection.derived import began_at
from headwater.runs.failures import causes_of, map_index_of
from headwater.text import duration_of

_MOST_MESSAGE = 200  # characters of an error
_NAMED = 3


def finding(
    kind: str,
    subject: str | JobRef | DatasetName | Node,
    message: str,
    remedy: str,
    *,
    severity: Severity = "error",
    column: str | None = None,
    run: Run | None = None,
    at: int | None = None,
) -> Finding:
    """Return a finding: a problem of a node, run or producer.

    `subject` is a node, or the text that names another subject, such as a producer. `message` is a
    sentence without its subject, and `remedy` is an instruction. `run` is the run with the problem,
    and `at` the time of it in microseconds, None if there is none.
    """
    if isinstance(subject, JobRef):
        subject = Node.of_job(subject)
    elif isinstance(subject, DatasetName):
        subject = Node.of_dataset(subject)
    return {
        "severity": severity,
        "kind": kind,
        "subject": node_id(subject) if isinstance(subject, Node) else subject,
        "column": column,
        "message": message,
        "remedy": remedy,
        "runId": run.key.run_id if run else None,
        "at": shown_time(at),
    }


warning = partial(finding, severity="warning")
"""Return a finding that may be a problem."""


def name_of_subject(found: Finding) -> str:
    """Return the name of the subject without type and namespace."""
    return found["subject"].rpartition(":")[2]


def names_of(findings: Iterable[Finding]) -> str:
    """Return the names of the first subjects."""
    return some(dict.fromkeys(map(name_of_subject, findings)))


def some(texts: Iterable[str]) -> str:
    """Return the first three texts and the number of the others."""
    listed = list(texts)
    more = f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else ""
    return ", ".join(listed[:_NAMED]) + more


def failed_run(state: State, run: Run) -> Finding:
    """Return the finding about a failed run, with the lowest failed runs below it as its causes.

    A run below it that failed because of another one below is no cause. Messages of errors are cut.
    """
    causes = [cause for cause in causes_of(state, run) if cause is not run]
    found = _failure(state, run, causes)
    if causes:
        found["causes"] = [_failure(state, cause, []) for cause in causes]
    return found


def doubted_run(state: State, run: Run, doubt: str) -> Finding:
    """Return the warning that it is unknown whether a run completed; `doubt` is the reason."""
    remedy = "run the job again, or mute the finding if its data is right"
    at = outcome(state, run).ended
    return finding("failed", run.key.job, doubt, remedy, severity="warning", run=run, at=at)


def failure_text(state: State, run: Run) -> str:
    """Return "failed", or "was aborted" for an aborted run, as the finding about it begins."""
    return "was aborted" if outcome(state, run).state is RunState.ABORTED else "failed"


def _failure(state: State, run: Run, causes: list[Run]) -> Finding:
    """Return the finding about a failed run; `causes` are the lowest failed runs below it."""
    texts = [
        f"{cause.key.job.name}{_element(cause)}: {_error(cause) or 'no error message'}"
        for cause in causes[:_NAMED]
    ]
    detail = f" ({'; '.join(texts)})" if texts else f": {_error(run)}" if _error(run) else ""
    ended = outcome(state, run).ended
    return finding(
        "failed",
        run.key.job,
        failure_text(state, run) + _element(run) + detail,
        "correct the cause and run the job again",
        run=run,
        at=began_at(state, run) if ended is None else ended,
    )


def _element(run: Run) -> str:
    """Return the text about the element of a mapped task that a run is; empty for others."""
    index = map_index_of(run)
    return "" if index is None else f" for map index {index}"


def _error(run: Run) -> str:
    """Return the error message of a run as one line, cut to 200 characters; empty if none."""
    message = str(run.facets.get("errorMessage").get("message") or "")
    return " ".join(message.split())[:_MOST_MESSAGE]


def lost_run(state: State, run: Run) -> Finding:
    """Return the finding about a stale run."""
    message = "started but sent no end event"
    remedy = "check whether the process was killed; a late end event corrects the state"
    return finding("lost", run.key.job, message, remedy, run=run, at=began_at(state, run))


def late_job(late: LateJob) -> Finding:
    """Return the finding about a job that is late or has stopped.

    `late` is a job as the query about late jobs returns it.
    """
    every = duration_of(late["everySeconds"] * 1_000)
    condition = "has stopped" if late["isStopped"] else "is late"
    found = finding(
        "stopped" if late["isStopped"] else "late",
        JobRef(late["job"]["namespace"], late["job"]["name"]),
        f"{condition}: it usually runs every {every} and was due at {late['dueAt']}",
        "check that its schedule is on and that its scheduler works",
        severity="warning" if late["isStopped"] else "error",
    )
    return {**found, "at": late["dueAt"]}


def several_branches(state: State, ref: JobRef, mixes: Sequence[Mix]) -> Finding:
    """Return the finding about a job whose runs are of several branches or environments.

    `mixes` has the kinds in which its runs differ, at least one.
    """
    parts = [f"{len(mix.names)} {mix.kind} ({some(mix.names)})" for mix in mixes]
    run = mixes[0].run
    message = f"got runs of {' and '.join(parts)} under one name"
    if failed := [name for mix in mixes for name in mix.failed]:  # a later run may hide a failure
        message += f"; the newest run of {some(failed)} failed"
    return warning(
        "branches",
        ref,
        message,
        "give each of them its own OPENLINEAGE_NAMESPACE, and for branches in Metaflow set"
        " METAFLOW_OPENLINEAGE_SEPARATE_BRANCHES=true, so that their jobs and artifacts stay apart",
        run=run,
        at=began_at(state, run),
    )


def late_dataset(name: DatasetName, rhythm: Rhythm) -> Finding:
    """Return the finding about a dataset that was not written at its usual time.

    `rhythm` is that of the writes that are late.
    """
    due = rhythm.due
    every = duration_of(rhythm.every // 1_000)
    usual = f"{rhythm.job.name} usually writes it" if rhythm.job else "it is usually written"
    message = f"is late: {usual} every {every} and was due at {shown_time(due)}"
    remedy = "check that the jobs that write it are part of the runs of their pipeline"
    return finding("late", name, message, remedy, at=due)


def failed_checks(node: Node, failures: list[Result]) -> Finding:
    """Return the finding about failed assertions, newest first, of a dataset or a job.

    There is at least one failure. The version, the run and the time are those of the newest one.
    """
    check = failures[0].check
    failed = [failure.assertion for failure in failures]
    texts = dict.fromkeys(assertion.title for assertion in failed)
    version = f" on version {check.version}" if check.version else ""
    return finding(
        "quality",
        node,
        f"failed its checks{version}: {', '.join(texts)}",
        "correct the data and write it again, or correct the check",
        column=failed[0].column if len(failed) == 1 else None,
        run=check.run,
        at=check.time,
    )
