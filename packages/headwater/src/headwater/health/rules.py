"""The state of a job or a dataset: one rule for every answer (see HealthState).

States are cached until the next event, but for at most a minute, because they depend on the time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from headwater import deadline
from headwater.datasets.not_run import was_not_run
from headwater.datasets.printing import removal_text
from headwater.datasets.quality import (
    Failure,
    checks_of,
    current_failures,
    has_only_removed_failures,
    tests_without_dataset,
)
from headwater.datasets.removal import is_gone, removal_of
from headwater.datasets.writes import newest_write
from headwater.events import JobRef, parse_time, shown_time, to_micros
from headwater.events.facets import ErrorMessage
from headwater.filter_values import type_of
from headwater.graph.current import generations_of
from headwater.graph.generation import Generation
from headwater.graph.nodes import Node, node_ref
from headwater.health.blocked import Blocker, blockers_of, pipeline_of
from headwater.health.caching import until_stale
from headwater.health.failing import checked_nodes, failing_run
from headwater.health.freshness import Rhythm, is_ad_hoc, rhythm_of, rhythm_of_writes
from headwater.health.models import HealthState, NodeHealth
from headwater.health.project import removed_model
from headwater.projection import Run, State, outcome
from headwater.projection.derived import (
    ancestry_of,
    began_at,
    descendants_of,
    ended_at,
    is_lost,
    is_streaming,
    last_event_time,
)
from headwater.runs.failures import causes_of, is_failed
from headwater.runs.summary import newest_run, place_of_run

_MINUTE = 60_000_000  # microseconds
_CHECK_OF_INPUT = 2  # steps from a check to a job that reads the checked dataset


class _Found(NamedTuple):
    state: HealthState
    message: str
    at: int | None = None
    by: tuple[Node, ...] = ()


_Rule = Callable[[State, Node], _Found | None]


def health_of(state: State, node: Node) -> NodeHealth:
    """Return the state of a node, by the first rule that applies."""
    found = _state_and_reason(state, node)
    return {
        "state": found.state,
        "message": found.message,
        "at": shown_time(found.at),
        "by": list(map(node_ref, found.by)),
    }


def state_of(state: State, node: Node) -> HealthState:
    """Return the state of a node without its reason."""
    return _state_and_reason(state, node).state


def counts_of_states(state: State) -> Counter[tuple[str, HealthState]]:
    """Return the number of nodes by type and state."""
    nodes = (*map(Node.of_job, state.jobs), *map(Node.of_dataset, set(state.identity)))
    return Counter((node.type, state_of(state, node)) for node in deadline.watched(nodes))


def _state_and_reason(state: State, node: Node) -> _Found:
    minute, by_minute = state.now // _MINUTE, _states_by_minute(state)
    if minute not in by_minute:
        by_minute.clear()
    states = by_minute.setdefault(minute, {})
    if node not in states:
        results = (rule(state, node) for rule in _RULES)
        states[node] = next(result for result in results if result is not None)
    return states[node]


@until_stale
def _states_by_minute(state: State) -> dict[int, dict[Node, _Found]]:
    """Return the cache of states and reasons by node, which has only the current minute."""
    del state
    return {}


def _gone(state: State, node: Node) -> _Found | None:
    removal = removal_of(state, node.dataset_name) if node.type == "dataset" else None
    if removal is None or removal["kind"] == "emptied":
        return None
    at = to_micros(parse_time(removal["at"]))
    return _Found("unknown", f"was {removal_text(removal)}", at)


def _removed(state: State, node: Node) -> _Found | None:
    if (removed := removed_model(state, node)) is None:
        return None
    text = f"was removed from the dbt project {removed.project}"
    return _Found("unknown", text, ended_at(state, removed.run))


def _failed(state: State, node: Node) -> _Found | None:
    if node.type == "dataset":
        own = [b for b in blockers_of(state, node) if b.distance == 1]
        by = tuple(blocker.node for blocker in own)
        at = max((blocker.at for blocker in own), default=None)
        text = (
            "written by a failed run"
            if _is_of_failed_run(state, node)
            else "the newest load failed"
        )
        return _Found("failed", text, at, by) if by else None
    run = failing_run(state, node.job_ref)
    if run is None:
        return None
    causes = tuple(Node.of_job(c.key.job) for c in causes_of(state, run) if c is not run)
    return _Found("failed", "the newest run failed", ended_at(state, run), causes)


def _is_of_failed_run(state: State, node: Node) -> bool:
    newest = newest_write(generations_of(state), node.dataset_name)
    return newest is not None and is_failed(state, newest[0].run)


def _failed_checks(state: State, node: Node) -> _Found | None:
    failures = failures_of(state, node)
    if not failures:
        return None
    title = failures[0].assertion.title
    more = f" and {len(failures) - 1} more" if len(failures) > 1 else ""
    return _Found("failed_checks", f"failed {title}{more}", failures[0].check.time)


def failures_of(state: State, node: Node) -> list[Failure]:
    """Return the failed assertions of a dataset, or of the tests of a job without datasets.

    A dropped or renamed dataset has none.
    """
    if node not in checked_nodes(state):
        return []
    if node.type == "dataset":
        name = node.dataset_name
        failures = current_failures(state, checks_of(state, name))
        return [] if failures and is_gone(state, name) else failures
    return current_failures(state, tests_without_dataset(state, node.job_ref))


def _blocked(state: State, node: Node) -> _Found | None:
    blockers = blockers_of(state, node)
    if not blockers:
        return None
    names = [_name_of(blocker) for blocker in blockers]
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    since = max(blocker.at for blocker in blockers)
    by = tuple(blocker.node for blocker in blockers)
    text = f"not written since {names[0]}{more} failed"
    if type_of(state, node) == "exposure":
        nearest = blockers[0].subject
        text = (
            f"shows data of {nearest.name} that failed checks"
            if nearest.type == "dataset" and blockers[0].distance == _CHECK_OF_INPUT
            else f"shows data from before {names[0]}{more} failed"
        )
    return _Found("blocked", text, since, by)


def _name_of(blocker: Blocker) -> str:
    name = blocker.node.name
    return name if blocker.node.type == "job" else f"checks of {name}"


def _late(state: State, node: Node) -> _Found | None:
    rhythm = lateness_of(state, node)
    if rhythm is None:
        return None
    due = rhythm.due
    if rhythm.is_late(state.now):
        return _Found("late", f"{_without(state, node)}was due", due)
    if rhythm.is_stopped(state.now):
        return _Found("unknown", "has stopped; it was due", due)
    return None


def _without(state: State, node: Node) -> str:
    """Return how often a dataset's pipeline ran since the dataset was last written, as text."""
    newest = max(_newest_runs(state, node), key=lambda run: place_of_run(state, run), default=None)
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
    return f"not run since {day}; the pipeline ran {times} without it; "


def lateness_of(state: State, node: Node) -> Rhythm | None:
    """Return the rhythm by which a node is late: of a task, that of its pipeline.

    A dropped or renamed dataset has none, nor has a model that was removed from its project.
    """
    if removed_model(state, node) is not None:
        return None
    if node.type == "dataset":
        name = node.dataset_name
        rhythm = rhythm_of_writes(state, name)
        return None if rhythm and is_gone(state, name) else rhythm
    run = newest_run(state, node.job_ref)
    pipeline = pipeline_of(state, run) if run else node.job_ref
    return None if is_ad_hoc(state, node.job_ref) else rhythm_of(state, pipeline)


def _unknown(state: State, node: Node) -> _Found | None:
    """Return why nothing can be said; None if the newest run ended or is a stream."""
    runs = list(_newest_runs(state, node))
    if not runs:
        text = "no run was reported" if node.type == "job" else "no job was reported to write it"
        return _Found("unknown", text)
    newest = max(runs, key=lambda run: place_of_run(state, run))
    if is_lost(state, newest):
        return _Found("unknown", "the newest run sent no end event", newest.last)
    if _is_stream(state, newest):
        return None
    if not any(
        outcome(state, run).ended for ref in _jobs(state, node) for run in _runs(state, ref)
    ):
        return _Found("unknown", "no run has ended yet", began_at(state, newest))
    if is_failed(state, newest):
        text = "the newest run failed, and its pipeline ran again without it"
        if was_not_run(state, newest):
            text = "was not run, because the data that it tests was not written"
        elif has_only_removed_failures(state, newest):
            text = "the tests that failed were removed from the dbt project"
        return _Found("unknown", text, ended_at(state, newest))
    return None


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
    if node.type == "job":
        return [node.job_ref]
    name, known = node.dataset_name, generations_of(state)

    def only_creates(oldest_first: list[Generation]) -> bool:
        wrote = (g for g in oldest_first if name in g.edges.writes)
        return all(name in generation.only_created for generation in wrote)

    key = "\0".join(("only creates", *name))
    writers = known.writers(name)
    return [ref for ref in writers if not known.derived(ref, key, only_creates)] or writers


def _runs(state: State, ref: JobRef) -> Iterator[Run]:
    job = state.jobs.get(ref)
    return (run for key in (job.runs if job else ()) if (run := state.runs[key]).has_events)


def _newest_runs(state: State, node: Node) -> Iterator[Run]:
    found = (newest_run(state, ref) for ref in _jobs(state, node))
    return (run for run in found if run is not None)


def _fine(state: State, node: Node) -> _Found:
    newest = max(_newest_runs(state, node), key=lambda run: place_of_run(state, run))
    last = newest.last
    if _is_stream(state, newest):
        is_open = outcome(state, newest).ended is None
        at = last_event_time(state, newest)
        return _Found("streaming", "last event" if is_open else "ended", at)
    if all(is_ad_hoc(state, ref) for ref in _jobs(state, node)):
        return _Found("ad_hoc", "completed; runs on request", last)
    has_error = bool(newest.facets.parsed(ErrorMessage).message)  # such as one caught by @catch
    text = "completed, but reported an error" if has_error else "completed"
    return _Found("healthy", text, last)


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
