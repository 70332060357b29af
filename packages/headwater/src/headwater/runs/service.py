"""Runs: lookup by the orchestrator's id, parameters, errors and trees.

The *external id* of a run is the one that its orchestrator gave it, such as Airflow's
`scheduled__2026-01-01`. A *generation* is the runs of a task under one parent run. A *flow* is data
that a generation gets from another through a dataset.
"""

from __future__ import annotations

from typing import Literal

from headwater import deadline
from headwater.datasets.writes import has_written, written_by
from headwater.errors import AmbiguousError, NotFoundError
from headwater.events import Json, run_id_of
from headwater.events.facets import (
    Airflow,
    AirflowDagRun,
    DbtRun,
    ErrorMessage,
    ExecutionParameters,
    SparkApplication,
    Tags,
)
from headwater.graph.generations import Generations
from headwater.graph.nodes import Node, name_of
from headwater.identity import DatasetName
from headwater.node_facets import platform_of
from headwater.projection import Run, State, start_of
from headwater.projection.derived import ancestry_of, children_of, descendants_of, ended_at
from headwater.projection.state import RunKey
from headwater.query.parameters import MOST_STEPS
from headwater.runs import models
from headwater.runs.failures import causes_of, is_failed, map_index_of
from headwater.runs.links import links_of_run
from headwater.runs.summary import code_of, run_line

_MOST_CAUSES = 20


def find_run(state: State, text: str) -> Run:
    """Return the run with an OpenLineage id, or the topmost with an external id.

    Raises:
        NotFoundError: there is no such run.
        AmbiguousError: several runs have the external id.

    `text` is what a user typed. An OpenLineage run id may belong to several jobs: the run with the
    newest event is returned.
    """
    matching = [state.runs[key] for key in state.runs_by_id.get(run_id_of(text), ())]
    if matching:
        return max(matching, key=lambda run: (run.has_events, run.last or 0, run.key))
    runs = deadline.watched(state.runs.values())
    named = {run.key: run for run in runs if external_id_of(run) == text}
    tops = [
        run for run in named.values()
        if not any(above.key in named for above in list(ancestry_of(state, run))[1:])
    ]  # fmt: skip
    if not tops:
        raise NotFoundError(f"no run has the id {text!r}")
    if len(tops) > 1:
        ids = sorted(f"{run.key.run_id} of {run.key.job.name}" for run in tops)
        raise AmbiguousError(text, f"is the id of {len(ids)} runs", ids[:10])
    return tops[0]


def external_id_of(run: Run) -> str | None:
    """Return the external id: the one that the orchestrator gave the run.

    Return None if the orchestrator reports none, or is none of those that are known here.
    """
    facets = run.facets
    return (
        facets.parsed(Airflow).run_id
        or facets.parsed(AirflowDagRun).run_id
        or facets.parsed(DbtRun).invocation_id
        or facets.parsed(SparkApplication).applicationId
        or next((t.value for t in facets.parsed(Tags).tags if t.key == "run_id" and t.value), None)
    )


def parameters_of(run: Run) -> Json:
    """Return the parameters of a run, and those that Airflow gave it.

    These are the configuration and partition of a DAG run, and the map index of a mapped task.
    """
    parameters = run.facets.parsed(ExecutionParameters).parameters
    dag_run, index = run.facets.parsed(AirflowDagRun), map_index_of(run)
    element = {} if index is None else {"map_index": index}
    return {**(parameters or dag_run.conf), **dag_run.partition, **element}


def run_info(state: State, run: Run) -> models.RunInfo:
    """Return a run in one line, with its orchestrator's id, its parameters and its error."""
    return {
        **run_line(state, run),
        "ownId": external_id_of(run),
        "platform": platform_of(state, Node.of_job(run.key.job)),
        "parameters": parameters_of(run),
        "error": _error_of(run),
    }


def _error_of(run: Run) -> str | None:
    return run.facets.parsed(ErrorMessage).message


def run_answer(generations: Generations, run_id: str) -> models.RunAnswer:
    """Return a run and its descendants with their parameters, code and dataset versions."""
    state = generations.state
    run = find_run(state, run_id)
    below = sorted(
        descendants_of(state, run), key=lambda member: (start_of(member) or 0, member.key)
    )
    return {
        **_run_in_full(generations, run),
        "facets": run.facets.plain(),
        "links": links_of_run(state, run),
        "above": [run_line(state, ancestor) for ancestor in list(ancestry_of(state, run))[1:]],
        "below": [_run_in_full(generations, member) for member in below],
        "causes": _causes(state, run),
    }


def _causes(state: State, run: Run) -> list[models.FailedRun]:
    """Return the causes of a failed run below it, as part of an answer; at most 20."""
    causes = causes_of(state, run)[:_MOST_CAUSES] if is_failed(state, run) else []
    return [
        {**run_line(state, cause), "error": _error_of(cause), "links": links_of_run(state, cause)}
        for cause in causes
        if cause is not run
    ]


def _run_in_full(generations: Generations, run: Run) -> models.RunDetail:
    return {
        **run_info(generations.state, run),
        "code": code_of(run),
        "inputs": _versions(generations, run, "inputs"),
        "outputs": _outputs(generations, run),
    }


def _outputs(generations: Generations, run: Run) -> list[models.WrittenVersion]:
    """Return the outputs of a run and of those below it, marked if they were not written.

    A failed run that reported neither a version nor rows of an output has not written it.
    """
    state = generations.state
    written = {
        state.identity.primary(spelled)
        for member in deadline.watched([run, *descendants_of(state, run)])
        for spelled, use in member.outputs.items()
        if has_written(state, member, use)
    }
    return [
        {**version, "hasFailed": DatasetName(version["namespace"], version["name"]) not in written}
        for version in _versions(generations, run, "outputs")
    ]


def _versions(
    generations: Generations, run: Run, side: Literal["inputs", "outputs"]
) -> list[models.DatasetVersion]:
    """Return the datasets that a run and those below it used, with the last reported version.

    An input without a reported version has the version that earlier runs wrote; an output has None.

    A version that the run itself reports counts more than one of a run below it; of these, the one
    that started last (`rank`).
    """
    state = generations.state
    found: dict[DatasetName, tuple[tuple[bool, bool, int, RunKey], str | None]] = {}
    for member in deadline.watched([run, *descendants_of(state, run)]):
        for spelled, use in getattr(member, side).items():
            name = state.identity.primary(spelled)
            stated = use.version
            rank = stated is not None, member is run, start_of(member) or 0, member.key
            if name not in found or rank > found[name][0]:
                found[name] = rank, stated
    return [
        {
            **name_of(name),
            "version": _version_at_start(generations, state.runs[rank[-1]], name)
            if version is None and side == "inputs"
            else version,
        }
        for name, (rank, version) in sorted(found.items())
    ]


def _version_at_start(generations: Generations, reader: Run, name: DatasetName) -> str | None:
    """Return the reported version that a dataset had when a run read it; None if unknown.

    It is the last version that an earlier run wrote before the end of the reader; if all ended
    later, the last one.
    """
    generation, moment = generations.generation_of(reader), ended_at(generations.state, reader)
    flows = generations.flows_into(generation) if generation else ()
    found = [
        (write.at <= moment, write.at, write.version)
        for flow in flows
        for write in written_by(generations, flow.source, name)
        if write.is_stated
    ]
    return max(found)[-1] if found else None


def run_tree(state: State, root: Run) -> models.RunTree:
    """Return a run with its `children`, recursively, earliest first.

    MOST_STEPS below the root, `hasMore` marks a run whose children are not shown.
    """
    top = _run_leaf(state, root)
    open_, seen = [(root, top, 0)], {root.key}
    for run, leaf, steps in deadline.popped(open_):
        children = [child for child in children_of(state, run) if child.key not in seen]
        if steps == MOST_STEPS:
            leaf["hasMore"] = bool(children)
            continue
        for child in sorted(children, key=lambda child: (start_of(child) or 0, child.key)):
            seen.add(child.key)
            leaf["children"].append(_run_leaf(state, child))
            open_.append((child, leaf["children"][-1], steps + 1))
    return top


def _run_leaf(state: State, run: Run) -> models.RunTree:
    return {**run_info(state, run), "hasMore": False, "children": []}
