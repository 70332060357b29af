"""The rules that determine the state of a job or a dataset (see HealthState).

Each rule is a function that returns a state, or None if the rule does not apply. `_RULES` lists
them by precedence. A gone dataset was dropped or renamed and not written since. A *rhythm* is the
usual interval of the starts of a job or the writes of a dataset; a *blocker* is a failed job or
check upstream, at distance 1 if it writes the dataset itself. Times are microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from headwater.datasets.not_run import only_warns, was_not_run
from headwater.datasets.printing import removal_text
from headwater.datasets.quality import (
    Result,
    checks_of,
    current_failures,
    has_only_removed_failures,
    tests_without_dataset,
)
from headwater.datasets.removal import is_gone, removal_of
from headwater.datasets.writes import newest_write
from headwater.events import JobRef, parse_time, shown_time, to_micros
from headwater.events.facets import ErrorMessage
from headwater.filter_values import is_view, type_of
from headwater.graph.current import generations_of, graph_of
from headwater.graph.generation import Generation
from headwater.graph.levels import Level
from headwater.graph.nodes import Node
from headwater.health.blocked import Blocker, blockers_of, pipeline_of
from headwater.health.failing import checked_nodes, failing_run
from headwater.health.freshness import (
    Rhythm,
    is_ad_hoc,
    is_replaced,
    rhythm_of,
)
from headwater.health.models import HealthState
from headwater.health.project import removed_model
from headwater.health.recovery import unrepeated_write
from headwater.health.writers import rhythm_of_writes
from headwater.partial import PartialState
from headwater.projection import Run, RunState, State, outcome
from headwater.projection.derived import (
    ancestry_of,
    began_at,
    descendants_of,
    ended_at,
    is_lost,
    is_streaming,
    last_event_time,
)
from headwater.runs.completion import doubt_of_completion
from headwater.runs.failures import causes_of, is_failed
from headwater.runs.summary import newest_run, place_of_run
from headwater.text import REMOVED_MODEL, counted

NO_RUN, NO_WRITER = "no run was reported", "no job was reported to write it"


class Found(NamedTuple):
    """The state of a node and its reason."""

    state: HealthState
    message: str
    at: int | None = None
    by: tuple[Node, ...] = ()


_Rule = Callable[[State, Node], Found | None]


def found_state(state: State, node: Node) -> Found:
    """Return the state of a node and its reason, by the first rule that applies."""
    results = (rule(state, node) for rule in _RULES)
    return next(result for result in results if result is not None)


def _gone(state: State, node: Node) -> Found | None:
    """Return "unknown" for a dataset that was dropped or renamed; an emptied one has a state."""
    removal = removal_of(state, node.dataset_name) if node.type == "dataset" else None
    if removal is None or removal["kind"] == "emptied":
        return None
    at = to_micros(parse_time(removal["at"]))
    return Found("unknown", f"was {removal_text(removal)}", at)


def _removed(state: State, node: Node) -> Found | None:
    """Return "unknown" for a model that its dbt project no longer has."""
    if (removed := removed_model(state, node)) is None:
        return None
    text = f"{REMOVED_MODEL} {removed.project}"
    return Found("unknown", text, ended_at(state, removed.run))


def _failed(state: State, node: Node) -> Found | None:
    """Return the state of a failing job, or of a dataset that a failing job should have written.

    The job blocks the dataset at distance 1. `by` are the jobs that failed: for a job, the lowest
    failed ones below it.
    """
    if node.type == "dataset":
        own = [b for b in blockers_of(state, node) if b.distance == 1]
        by = tuple(blocker.node for blocker in own)
        if not by:
            return None
        text = (
            "written by a failed run"
            if _is_of_failed_run(state, node)
            else "the newest load failed"
        )
        return Found("failed", text, max(blocker.at for blocker in own), by)
    run = failing_run(state, node.job_ref)
    if run is None:
        return None
    causes = tuple(Node.of_job(c.key.job) for c in causes_of(state, run) if c is not run)
    return Found("failed", "the newest run failed", ended_at(state, run), causes)


def _is_of_failed_run(state: State, node: Node) -> bool:
    """Return True if the newest write of a dataset is that of a failed run."""
    newest = newest_write(generations_of(state), node.dataset_name)
    return newest is not None and is_failed(state, newest[0].run)


def _failed_checks(state: State, node: Node) -> Found | None:
    """Return the state of a node with failed checks, see `failures_of`."""
    failures = failures_of(state, node)
    if not failures:
        return None
    title = failures[0].assertion.title
    more = f" and {len(failures) - 1} more" if len(failures) > 1 else ""
    return Found("failed_checks", f"failed {title}{more}", failures[0].check.time)


def failures_of(state: State, node: Node) -> list[Result]:
    """Return the failed assertions of a dataset, or of the tests of a job without datasets.

    A dropped or renamed dataset has none.

    The list is empty if every newest result passed, or none was reported.
    """
    if not isinstance(state, PartialState) and node not in checked_nodes(state):
        return []
    if node.type == "dataset":
        name = node.dataset_name
        failures = current_failures(state, checks_of(state, name))
        return [] if failures and is_gone(state, name) else failures
    return current_failures(state, tests_without_dataset(state, node.job_ref))


def _blocked(state: State, node: Node) -> Found | None:
    """Return the state of a node behind a failed job or check.

    An exposure, such as a dashboard, has no runs that could wait, and a view has the rows of its
    tables: the text says that they show old data. If they show data that failed a check, the state
    is "failed_checks" instead.
    """
    blockers = blockers_of(state, node)
    if not blockers:
        return None
    if shown := [blocker for blocker in blockers if blocker.is_shown]:
        return _shows_failed_data(state, shown, [b for b in blockers if not b.is_shown])
    names = [_name_of(blocker) for blocker in blockers]
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    since = max(blocker.at for blocker in blockers)
    by = tuple(blocker.node for blocker in blockers)
    text = f"not written since {names[0]}{more} failed"
    if type_of(state, node) in ("exposure", "view"):
        text = f"shows data from before {names[0]}{more} failed"
        if all(_only_creates_views(state, blocker.subject) for blocker in blockers):
            text = f"reads views that were not created again since {names[0]}{more} failed"
    return Found("blocked", text, since, by)


def _only_creates_views(state: State, node: Node) -> bool:
    """Return True for a job whose outputs are views: if it fails, they still show current rows."""
    if node.type != "job":
        return False
    written = graph_of(state, Level.TASK).edges_of(node.job_ref).writes
    return bool(written) and all(is_view(state, Node.of_dataset(name)) for name in written)


def _shows_failed_data(state: State, shown: list[Blocker], others: list[Blocker]) -> Found:
    """Return the state of a view or an exposure that shows data that failed a check.

    `shown` are the failed checks of this data, nearest first and at least one; `others` is what
    else blocks the node.
    """
    first, *rest = dict.fromkeys(blocker.subject for blocker in shown)
    titles = [failure.assertion.title for failure in failures_of(state, first)]
    more = f" and {len(titles) - 1} more" if len(titles) > 1 else ""
    checks = f"its check{'s' if more else ''} {titles[0]}{more}" if titles else "its checks"
    text = f"shows data of {first.name} that failed {checks}"
    if rest:
        text += f", and of {counted(len(rest), 'other dataset')} with failed checks"
    if others:
        text += f", and data from before {_name_of(others[0])} failed"
    since = max(blocker.at for blocker in shown)
    return Found("failed_checks", text, since, tuple(blocker.node for blocker in shown))


def _name_of(blocker: Blocker) -> str:
    name = blocker.node.name
    return name if blocker.node.type == "job" else f"checks of {name}"


def _late(state: State, node: Node) -> Found | None:
    """Return the state of a late job or dataset; "unknown" if it has stopped or was replaced.

    Without a rhythm, a job may have none because others write its outputs now.
    """
    rhythm = lateness_of(state, node)
    if rhythm is None:
        is_due = node.type == "job" and not is_ad_hoc(state, node.job_ref)
        run = newest_run(state, node.job_ref) if is_due else None
        if run is not None and is_replaced(state, pipeline_of(state, run)):
            return Found(
                "unknown", "other jobs write its outputs now; last run", began_at(state, run)
            )
        return None
    by = (Node.of_job(rhythm.job),) if rhythm.job else ()
    if rhythm.is_late(state.now):
        text = _without(state, node, rhythm) or (
            f"not written by {rhythm.job.name}, which was due" if rhythm.job else "was due"
        )
        return Found("late", text, rhythm.due, by)
    if rhythm.is_stopped(state.now):
        stopped = f"{rhythm.job.name} has stopped" if rhythm.job else "has stopped"
        return Found("unknown", f"{stopped}; it was due", rhythm.due, by)
    return None


def _without(state: State, node: Node, rhythm: Rhythm) -> str:
    """Return how often a dataset's pipeline ran since it last wrote the dataset, as text.

    `rhythm` is that by which the dataset is late. The text is empty if the pipeline did not run
    without it.
    """
    runs = (
        run for run in newest_runs(state, node) if node.type == "job" or run.key.job in rhythm.jobs
    )
    newest = max(runs, key=lambda run: place_of_run(state, run), default=None)
    if newest is None:
        return ""
    *_, root = ancestry_of(state, newest)
    since = place_of_run(state, root)
    ran = sum(place_of_run(state, run) > since for run in _runs(state, root.key.job))
    if root is newest or not ran:
        return ""
    day, times = (
        str(shown_time(began_at(state, newest)))[:10],
        "once" if ran == 1 else f"{ran} times",
    )
    pipeline = rhythm.job.name if rhythm.job else "the pipeline"
    return f"not run since {day}; {pipeline} ran {times} without it; was due"


def lateness_of(state: State, node: Node, *, needs_reason: bool = True) -> Rhythm | None:
    """Return the rhythm by which a node is late: for a task, that of its pipeline.

    That of a dataset is determined by its writers, see `headwater.health.writers`. A dropped or
    renamed dataset has none, nor has a model that was removed from its project. With
    `needs_reason`, None if its jobs wait for assets that were not written.
    """
    if removed_model(state, node) is not None:
        return None
    if node.type == "dataset":
        name = node.dataset_name
        rhythm = rhythm_of_writes(state, name, needs_reason=needs_reason)
        return None if rhythm and is_gone(state, name) else rhythm
    run = newest_run(state, node.job_ref)
    pipeline = pipeline_of(state, run) if run else node.job_ref
    if is_ad_hoc(state, node.job_ref):
        return None
    return rhythm_of(state, pipeline, needs_reason=needs_reason)


def _unknown(state: State, node: Node) -> Found | None:
    """Return the state "unknown" with its reason; None if the runs determine the state.

    A failed run reaches this rule only if its pipeline ran again without it, or its tests do not
    count.
    """
    runs = list(newest_runs(state, node))
    if not runs:
        return Found("unknown", NO_RUN if node.type == "job" else NO_WRITER)
    newest = max(runs, key=lambda run: place_of_run(state, run))
    if is_lost(state, newest):
        return Found("unknown", "the newest run sent no end event", newest.last)
    if _is_stream(state, newest):
        return None
    if not any(
        outcome(state, run).ended for ref in _jobs(state, node) for run in _runs(state, ref)
    ):
        return Found("unknown", "no run has ended yet", began_at(state, newest))
    if is_failed(state, newest):
        return Found("unknown", _ignored_failure(state, newest), ended_at(state, newest))
    if (doubt := "was skipped" if newest.is_skipped else doubt_of_completion(newest)) is not None:
        return Found("unknown", f"the newest run {doubt}", ended_at(state, newest))
    left = unrepeated_write(state, node.dataset_name) if node.type == "dataset" else None
    if left is not None:
        text = "no run has replaced what a failed run wrote or should have written"
        return Found("unknown", text, ended_at(state, left), (Node.of_job(left.key.job),))
    return None


def _ignored_failure(state: State, run: Run) -> str:
    """Return why a failed run does not make its job fail."""
    if was_not_run(state, run):
        return "was not run, because the data that it tests was not written"
    if has_only_removed_failures(state, run):
        return "the tests that failed were removed from the dbt project"
    return "the newest run failed, and its pipeline ran again without it"


def _is_stream(state: State, run: Run) -> bool:
    """Return True for a streaming run, or an open run above an open one (an application)."""
    if is_streaming(state, run):
        return True
    is_open = outcome(state, run).ended is None
    return is_open and any(
        is_streaming(state, descendant) and outcome(state, descendant).ended is None
        for descendant in descendants_of(state, run)
    )


def _jobs(state: State, node: Node) -> list[JobRef]:
    """Return the job itself, or the writers of a dataset, without those that only created it.

    If all writers only created it, return all.
    """
    if node.type == "job":
        return [node.job_ref]
    name, generations = node.dataset_name, generations_of(state)

    def only_creates(writing: list[Generation]) -> bool:
        return all(name in generation.only_created for generation in writing)

    writers = generations.writers(name)
    has_rows = (
        ref
        for ref in writers
        if not generations.derived_of_writes(ref, name, "only creates", only_creates)
    )
    return list(has_rows) or writers


def _runs(state: State, ref: JobRef) -> Iterator[Run]:
    """Return the runs of a job that have events."""
    job = state.jobs.get(ref)
    return (run for key in (job.runs if job else ()) if (run := state.runs[key]).has_events)


def newest_runs(state: State, node: Node) -> Iterator[Run]:
    """Yield the newest run of a job, or the newest of each job that may have written a dataset.

    A skipped run wrote nothing, so that it does not decide the state of a dataset.
    """
    for ref in _jobs(state, node):
        run = newest_run(state, ref)
        if run is not None and run.is_skipped and node.type == "dataset":
            others = (run for run in _runs(state, ref) if not run.is_skipped)
            run = max(others, key=lambda other: place_of_run(state, other), default=None)
        if run is not None:
            yield run


def _fine(state: State, node: Node) -> Found:
    """Return the state of a node to which no other rule applies: healthy, streaming or ad hoc.

    The newest run decides. One above an open stream is a stream, too. A failed test whose failures
    are only warnings is healthy.
    """
    newest = max(newest_runs(state, node), key=lambda run: place_of_run(state, run))
    last = newest.last
    if _is_stream(state, newest):
        is_open = outcome(state, newest).ended is None
        at = last_event_time(state, newest)
        return Found("streaming", "last event" if is_open else "ended", at)
    if all(is_ad_hoc(state, ref) for ref in _jobs(state, node)):
        return Found("ad_hoc", "completed; runs on request", last)
    has_error = bool(newest.facets.parsed(ErrorMessage).message)  # such as one caught by @catch
    text = "completed, but reported an error" if has_error else "completed"
    if only_warns(state, newest):
        is_completed = outcome(state, newest).state is RunState.COMPLETED
        reported = "completed" if is_completed else "reported as failed"
        text = f"{reported}, and all failures of its tests are warnings"
    return Found("healthy", text, last)


_RULES: tuple[_Rule, ...] = (
    _gone,
    _removed,
    _failed,
    _failed_checks,
    _blocked,
    _late,
    _unknown,
    _fine,
)
"""By precedence."""
