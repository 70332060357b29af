"""Why something is late: its rhythm, and what is wrong with what it comes from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from throughline import deadline
from throughline.graph.answers import generations_of, graph_of
from throughline.graph.around import at_level
from throughline.graph.levels import Level
from throughline.graph.nodes import Node, find_node, node_id
from throughline.graph.walk import newest_run, reach, run_line
from throughline.identity import DatasetName
from throughline.projection import Run, RunState, State, outcome
from throughline.projection.derived import began_at, is_lost, parent_of
from throughline.spec import JobRef, shown_time
from throughline.trust.freshness import Rhythm, rhythm_of, rhythm_of_writes
from throughline.trust.health import causes_of, is_failed

_KINDS = ("failed", "lost", "running", "late")  # what failed often is why others are late
_MOST = 20  # reasons; who has more mends the nearest first


def lateness(state: State, text: str) -> dict[str, Any]:
    """When a node was due by its own rhythm, and what holds it up: the worst, the nearest first."""
    node = find_node(state, text)
    if node.type == "job":
        rhythm = rhythm_of(state, JobRef(node.namespace, node.name))
    else:
        rhythm = rhythm_of_writes(state, DatasetName(node.namespace, node.name))
    return {"node": node_id(node), **_told(state, rhythm), "reasons": _reasons(state, node)}


def _told(state: State, rhythm: Rhythm | None) -> dict[str, Any]:
    """A rhythm as JSON; without one nobody can say when something is due."""
    due = rhythm and rhythm.last + rhythm.every
    return {
        "lastAt": shown_time(rhythm and rhythm.last),
        "everySeconds": rhythm and rhythm.every // 1_000_000,
        "dueAt": shown_time(due),
        "lateSeconds": max(0, state.now - due) // 1_000_000 if due else None,
        "isLate": bool(rhythm and rhythm.is_late(state.now)),
        "isStopped": bool(rhythm and rhythm.is_stopped(state.now)),
    }


def _reasons(state: State, node: Node) -> list[dict[str, Any]]:
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for distance, ref in sorted(_upstream(state, node)):
        for reason in _wrong_with(state, ref):
            if reason["kind"] == "late" and Node.of_job(ref) == node:
                continue  # which is what is asked
            key = (reason["kind"], *reason["job"].values())
            found.setdefault(key, {"distance": distance, **reason})
        if len(found) >= _MOST:
            break
    told = sorted(found.values(), key=lambda each: _KINDS.index(each["kind"]))
    return told[:_MOST]


def _upstream(state: State, node: Node) -> Iterator[tuple[int, JobRef]]:
    """The tasks that a node comes from, and the pipelines that run them, by steps from it."""
    known, graph = generations_of(state), graph_of(state, Level.TASK)
    steps: dict[JobRef, int] = {}
    for root in at_level(known, graph, node, Level.TASK):
        for each, distance in {root: 0, **reach(graph, root, "up", -1)}.items():
            if each.type == "job":
                ref = JobRef(each.namespace, each.name)
                steps[ref] = min(distance, steps.get(ref, distance))
    for ref, distance in deadline.watched(steps.items()):
        yield distance, ref
        if run := newest_run(state, ref):
            top = known.levels.lineage(run)[-1].key.job
            if top not in steps:
                yield distance, top


def _wrong_with(state: State, ref: JobRef) -> Iterator[dict[str, Any]]:
    run = newest_run(state, ref)
    if run is None:
        return
    if is_failed(state, run):
        for cause in causes_of(state, run):
            message = cause.facets.get("errorMessage").get("message")
            since = shown_time(began_at(state, _first_failed(state, cause)))
            yield _reason("failed", state, cause, str(message) if message else None, since)
    elif is_lost(state, run):
        yield _reason("lost", state, run, None, shown_time(began_at(state, run)))
    elif run.end is None:
        yield _reason("running", state, run, None, shown_time(began_at(state, run)))
    # The tasks of a pipeline that did not start are late with it.
    rhythm = rhythm_of(state, ref) if parent_of(state, run) is None else None
    if rhythm and (rhythm.is_late(state.now) or rhythm.is_stopped(state.now)):
        yield _reason("late", state, run, None, shown_time(rhythm.last + rhythm.every))


def _first_failed(state: State, run: Run) -> Run:
    """The first of the runs of a job that failed one after the other, up to this one."""
    runs = [state.runs[key] for key in state.jobs[run.key.job].runs]
    before = sorted(deadline.watched(runs), key=lambda each: (began_at(state, each) or 0, each.key))
    first = run
    for each in reversed(before[: before.index(run)]):
        if outcome(state, each).state is RunState.COMPLETED:
            break
        first = each
    return first


def _reason(
    kind: str, state: State, run: Run, message: str | None, since: str | None
) -> dict[str, Any]:
    told = {"run": run_line(state, run), "message": message, "since": since}
    return {"kind": kind, "job": run.key.job._asdict(), **told}
