"""Queries of runs."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from throughline import deadline
from throughline.errors import NotFoundError
from throughline.graph.current import generations_of, level_of
from throughline.graph.nodes import find_node
from throughline.projection import State
from throughline.projection.derived import has_reported_ancestor
from throughline.query.models import Page
from throughline.query.pages import cut, paged
from throughline.query.parameters import Cursor, LevelName, Limit
from throughline.query.registry import query
from throughline.runs.models import RunInfo, RunTree
from throughline.runs.service import external_id_of, find_run, run_info, run_tree
from throughline.runs.summary import condition_of, place_of_run

Condition = Literal["NEW", "RUNNING", "COMPLETED", "FAILED", "ABORTED", "LOST"]


@query("runs")
def runs_answer(
    state: State,
    job: Annotated[str | None, "A job; by default all."] = None,
    limit: Limit = 20,
    condition: Annotated[Condition | None, "Only runs in this state."] = None,
    counting: Annotated[LevelName | None, "Only effective runs of the graph at this level."] = None,
    cursor: Cursor = None,
    *,
    roots: Annotated[bool, "Only runs without a parent."] = False,
    own_id: Annotated[str | None, "Only runs with this id in their orchestrator."] = None,
) -> Page[RunInfo]:
    """Return the newest runs of one job or of all, with parameters, external ids and errors."""
    if job is None:
        runs = [run for run in state.runs.values() if run.has_events]
    else:
        node = find_node(state, job, "job")
        if node.type != "job":
            raise NotFoundError(f"{job!r} is a dataset, and only jobs have runs")
        ref = node.job_ref
        runs = [state.runs[key] for key in state.jobs[ref].runs]
    if roots:
        runs = [run for run in runs if not has_reported_ancestor(state, run)]
    if own_id is not None:
        runs = [run for run in deadline.watched(runs) if external_id_of(run) == own_id]
    matching = (run for run in runs if condition in (None, condition_of(state, run)))
    if counting is not None:
        generations, level = generations_of(state), level_of(counting)
        members = (run for generation in generations.present for run in generation.runs)
        keys = {generations.levels.owner(run, level).key for run in members}
        matching = (run for run in matching if run.key in keys)
    about, place = ("runs", job, condition, counting, roots, own_id), partial(place_of_run, state)
    found, more = cut(about, matching, place, limit, cursor, newest_first=True)
    return paged([run_info(state, run) for run in found], more)


@query("runtree")
def runtree_answer(
    state: State, run: Annotated[str, "The id of a run, in OpenLineage or in its orchestrator."]
) -> RunTree:
    """Return the tree of a run and its child runs, at most 100 levels deep (see `hasMore`)."""
    return run_tree(state, find_run(state, run))
