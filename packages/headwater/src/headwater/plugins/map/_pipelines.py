"""Pipelines with their newest runs, and the pipelines that write their inputs."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from functools import partial

from headwater import deadline
from headwater.events import JobRef, shown_time
from headwater.graph.current import generations_of, graph_of
from headwater.graph.levels import Level
from headwater.graph.nodes import Node, node_id
from headwater.graph.walk import neighbors
from headwater.health.models import NodeHealth
from headwater.health.states import health_of, state_of
from headwater.node_facets import platform_of
from headwater.nodes.rows import place_by_activity
from headwater.projection import RunState, State
from headwater.projection.derived import began_at
from headwater.query.models import Answer
from headwater.query.parameters import Limit
from headwater.query.registry import Times, query
from headwater.runs.summary import condition_of, newest_run, place_of_run

_RUNS = 10
_WRONG = frozenset(("failed", "failed_checks", "blocked", "late"))


class PipelineRun(Answer):
    """A short description of a run of a pipeline."""

    runId: str
    state: RunState
    startedAt: str | None


class PipelineRow(Answer):
    """A pipeline, or a job that is not part of one."""

    id: str
    namespace: str
    name: str
    platform: str | None
    health: NodeHealth
    runs: list[PipelineRun]
    """The 10 newest runs, newest first."""
    upstream: list[str]
    """Ids of the listed pipelines that write a dataset that this pipeline reads."""


class PipelinesAnswer(Answer):
    """Some pipelines, and the number of all pipelines."""

    items: list[PipelineRow]
    total: int


@query("pipelines", Times.THEN)
def pipelines_answer(state: State, limit: Limit = 30) -> PipelinesAnswer:
    """Return the pipelines that ran last, those with problems first, with their newest runs.

    A job that is not part of a pipeline is listed as one. `upstream` omits pipelines that are not
    listed.
    """
    every = [Node.of_job(ref) for ref in deadline.watched(state.jobs) if _is_on_top(state, ref)]
    place = partial(place_by_activity, state)
    order = sorted(every, key=place, reverse=True)
    chosen = sorted(order, key=lambda node: state_of(state, node) not in _WRONG)[:limit]
    listed = frozenset(chosen)
    items: list[PipelineRow] = [
        {
            "id": node_id(node),
            "namespace": node.namespace,
            "name": node.name,
            "platform": platform_of(state, node),
            "health": health_of(state, node),
            "runs": list(_runs(state, node.job_ref)),
            "upstream": [node_id(above) for above in _upstream(state, node) if above in listed],
        }
        for node in chosen
    ]
    return {"items": items, "total": len(every)}


def _is_on_top(state: State, ref: JobRef) -> bool:
    """Return True if the newest run of a job is not part of another pipeline's run."""
    run = newest_run(state, ref)
    levels = generations_of(state).levels
    return run is not None and levels.owner(run, Level.PIPELINE).key == run.key


def _runs(state: State, ref: JobRef) -> Iterator[PipelineRun]:
    """Yield the newest runs of a job in short, newest first."""
    runs = deadline.watched(state.runs[key] for key in state.jobs[ref].runs)
    for run in heapq.nlargest(_RUNS, runs, key=partial(place_of_run, state)):
        started = shown_time(began_at(state, run))
        yield {"runId": run.key.run_id, "state": condition_of(state, run), "startedAt": started}


def _upstream(state: State, node: Node) -> list[Node]:
    """Return the jobs that pass data to a pipeline, directly or through one dataset."""
    graph = graph_of(state, Level.PIPELINE)
    above = neighbors(graph, node, "up")
    jobs = {other for other in above if other.type == "job"}
    for dataset in (other for other in above if other.type == "dataset"):
        jobs |= {other for other in neighbors(graph, dataset, "up") if other.type == "job"}
    return sorted(jobs - {node})
