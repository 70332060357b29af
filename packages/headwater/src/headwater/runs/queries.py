"""Queries of runs.

A *generation* is the runs of a task under one parent run. A run counts as *effective* here if its
generation is present: it is effective, or data flows from it to an effective one. Its *owner* at a
level (pipelines, tasks or queries) is the run of that level that it is part of.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Annotated, Literal, NamedTuple, Unpack

from headwater import deadline
from headwater.events import JobRef
from headwater.filter_values import values_of
from headwater.graph.current import generations_of, level_of
from headwater.graph.nodes import Node
from headwater.lookup import find_node, of_type
from headwater.projection import Run, RunState, State, outcome
from headwater.projection.derived import has_reported_ancestor
from headwater.query.filters import Values, choose, wanted_values
from headwater.query.models import FacetedPage
from headwater.query.pages import Place, cut
from headwater.query.parameters import Condition, Cursor, Filters, LevelName, Limit, WithFacets
from headwater.query.registry import query
from headwater.runs.models import RunInfo, RunTree
from headwater.runs.service import external_id_of, find_run, run_info, run_tree
from headwater.runs.summary import condition_of, duration, place_of_run


@query("runs")
def runs_answer(
    state: State,
    job: Annotated[str | None, "A job; by default all."] = None,
    limit: Limit = 20,
    condition: Annotated[Condition | None, "Only runs in this state."] = None,
    effective: Annotated[LevelName | None, "Only effective runs at this level."] = None,
    cursor: Cursor = None,
    *,
    roots: Annotated[bool, "Only runs without a parent."] = False,
    text: Annotated[str | None, "Only runs whose job has this text in its name."] = None,
    own_id: Annotated[str | None, "Only runs with this id in their orchestrator."] = None,
    sort: Annotated[Literal["started", "duration"], "Newest or longest first."] = "started",
    reverse: Annotated[bool, "Oldest or shortest first."] = False,
    facets: WithFacets = False,
    **filters: Unpack[Filters],
) -> FacetedPage[RunInfo]:
    """Return the runs of one job or of all, with parameters, external ids and errors.

    Namespace, platform, type, owner and tag are those of the job.
    """
    jobs = _jobs_of(state, job, text)
    runs: Iterable[Run] = state.runs.values()
    if len(jobs) < len(state.jobs):
        runs = (state.runs[key] for ref in jobs for key in state.jobs[ref].runs)
    runs = (run for run in runs if job is not None or run.has_events)
    # Then the cached groups of all runs can be used to count and to filter.
    is_whole = job is None and own_id is None and effective is None and not roots
    if roots:
        runs = [run for run in runs if not has_reported_ancestor(state, run)]
    if own_id is not None:
        runs = [run for run in deadline.watched(runs) if external_id_of(run) == own_id]
    if effective is not None:
        generations, level = generations_of(state), level_of(effective)
        members = (run for generation in generations.present.parts() for run in generation.runs)
        keys = {generations.levels.owner(run, level).key for run in members}
        runs = [run for run in runs if run.key in keys]
    wanted = wanted_values(filters, condition)
    total, counts = None, None
    if facets or wanted:
        groups = _groups_of_all(state, jobs) if is_whole else _groups_of(state, runs)
        values = partial(_values_of, state)
        chosen, found_counts = choose(groups, values, wanted, lambda group: len(group.runs))
        runs = [run for group in chosen for run in group.runs]
        if facets:
            total, counts = len(runs), found_counts
    about = ("runs", job, text, effective, roots, own_id, *wanted.items(), sort, reverse)
    place = partial(place_of_run if sort == "started" else _place_by_duration, state)
    found, more = cut(about, runs, place, limit, cursor, newest_first=not reverse)
    items = [run_info(state, run) for run in found]
    return {"items": items, "next": more, "total": total, "facets": counts}


def _jobs_of(state: State, job: str | None, text: str | None) -> list[JobRef]:
    """Return the jobs, or only the given one, whose names contain a text.

    The match ignores case. Raises NotFoundError if there is no such job.
    """
    wanted = (text or "").strip().casefold()
    if job is None:
        return [ref for ref in state.jobs if wanted in ref.name.casefold()]
    node = of_type(find_node(state, job, "job"), job, "job")
    return [node.job_ref] if wanted in node.name.casefold() else []


class _Group(NamedTuple):
    """Runs of a job that are in the same state."""

    job: JobRef
    condition: RunState
    runs: list[Run]


def _groups_of(state: State, runs: Iterable[Run]) -> Iterator[_Group]:
    """Return runs grouped by their job and state: these have the same values of all facets."""
    found: dict[tuple[JobRef, RunState], list[Run]] = defaultdict(list)
    for run in deadline.watched(runs):
        found[run.key.job, condition_of(state, run)].append(run)
    return (_Group(*key, members) for key, members in found.items())


def _groups_of_all(state: State, jobs: Iterable[JobRef]) -> Iterator[_Group]:
    """Yield the runs of jobs in groups; ended runs are grouped again only after a change.

    The groups of ended runs are cached by job, because a store has millions of them.
    """

    def split(runs: list[Run]) -> tuple[list[_Group], list[Run]]:
        reported = [run for run in runs if run.has_events]
        ended = [run for run in reported if outcome(state, run).ended is not None]
        open_ = [run for run in reported if outcome(state, run).ended is None]
        return list(_groups_of(state, ended)), open_

    generations = generations_of(state)
    for ref in jobs:
        groups, open_ = generations.of_runs(ref, "runs by state", split)
        yield from groups
        yield from _groups_of(state, open_)


def _values_of(state: State, group: _Group) -> Values:
    return {**values_of(state, Node.of_job(group.job)), "state": (group.condition.value,)}


def _place_by_duration(state: State, run: Run) -> Place:
    lasted = duration(state, run)
    return (0 if lasted is None else max(lasted, 0) + 1), *place_of_run(state, run)


@query("runtree")
def runtree_answer(
    state: State, run: Annotated[str, "The id of a run, in OpenLineage or in its orchestrator."]
) -> RunTree:
    """Return the tree of a run and its child runs, at most 100 levels deep (see `hasMore`)."""
    return run_tree(state, find_run(state, run))
