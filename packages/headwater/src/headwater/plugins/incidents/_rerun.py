"""The commands that run pipelines again.

A write is a dataset with the generation (the runs of a task under one parent run) that wrote it.
The top run is that of the pipeline, which the command repeats as a whole.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from headwater.events import JobRef
from headwater.graph.generation import Generation
from headwater.graph.generations import Generations
from headwater.graph.levels import Level
from headwater.graph.nodes import Node, name_of, node_id
from headwater.graph.placeholders import is_job
from headwater.identity import DatasetName
from headwater.node_facets import platform_of
from headwater.plugins.incidents.models import Rerun
from headwater.projection import Run, State
from headwater.runs.service import parameters_of
from headwater.runs.summary import code_of, place_of_run

_SECRET = "***"


class _Part(NamedTuple):
    """A write to repeat: the top run of its pipeline, the dataset, the start (microseconds)."""

    run: Run
    name: DatasetName
    started: int
    materialized: str | None
    """The materialization of dbt, such as `incremental`; None if it was not reported."""


def reruns(
    generations: Generations, writes: Iterable[tuple[Generation, DatasetName]]
) -> list[Rerun]:
    """Return the pipelines that write some datasets again, in the order in which they ran.

    `writes` are the datasets with the generations that wrote them.

    A pipeline is listed once. Its command repeats the newest of the top runs.
    """
    parts: dict[object, list[_Part]] = {}
    for generation, name in writes:
        for run in generation.runs:
            top = generations.levels.owner(run, Level.PIPELINE)
            part = _Part(top, name, generation.started, _materialized(generations, run, name))
            parts.setdefault(top.key.job, []).append(part)
    ordered = sorted(parts.values(), key=lambda found: min(part.started for part in found))
    return [_rerun(generations.state, found) for found in ordered]


def _rerun(state: State, parts: Sequence[_Part]) -> Rerun:
    """Return how to repeat a pipeline. `parts` are its writes and not empty."""
    top = max((part.run for part in parts), key=lambda run: place_of_run(state, run))
    names = sorted({part.name for part in parts})
    tool = platform_of(state, Node.of_job(top.key.job))
    return {
        "job": name_of(top.key.job),
        "tool": tool,
        "command": _command(tool, top, parts),
        "writes": [node_id(Node.of_dataset(name)) for name in names],
    }


def _materialized(generations: Generations, run: Run, name: DatasetName) -> str | None:
    """Return the materialization of a dataset that a run of dbt reported."""
    primary = generations.state.identity.primary
    uses = (use for spelled, use in run.outputs.items() if primary(spelled) == name)
    configs = (use.dataset_facets.get("dbt_model").get("config") for use in uses)
    kinds = (config.get("materialized") for config in configs if isinstance(config, dict))
    return next((kind for kind in kinds if isinstance(kind, str)), None)


def jobs_that_keep_rows(
    generations: Generations, writes: Iterable[tuple[Generation, DatasetName]]
) -> list[JobRef]:
    """Return the jobs whose next run may keep the bad rows of a dataset.

    They read the dataset that they write, or kept its rows, as a MERGE or an INSERT does; or they
    are snapshots of dbt, or its models with a materialization that was not reported. Incremental
    models are built anew by the command.
    """
    found: set[JobRef] = set()
    for generation, name in writes:
        kinds = {_materialized(generations, run, name) for run in generation.runs}
        is_of_dbt = (platform_of(generations.state, Node.of_job(generation.job)) or "") == "DBT"
        own = generation.edges.reads | generation.kept
        is_kept = not kinds <= _REBUILT if is_of_dbt else name in own
        if is_kept and is_job(generation.job):
            found.add(generation.job)
    return sorted(found)


_REBUILT = {"table", "view", "materialized_view", "incremental"}


def _command(tool: str | None, top: Run, parts: Sequence[_Part]) -> str | None:
    """Return the command that repeats a run of a pipeline; None if it is unknown.

    `tool` is the integration, such as AIRFLOW. `parts` are the writes to repeat: dbt selects their
    models and builds incremental ones anew, because they keep their rows otherwise. The other tools
    repeat the whole pipeline. The command is quoted for a shell.
    """
    parameters = parameters_of(top)
    if _SECRET in json.dumps(parameters):  # masked when it was stored
        return None
    match (tool or "").upper():
        case "AIRFLOW":
            words = ["airflow", "dags", "trigger", top.key.job.name]
            return shlex.join([*words, *(["--conf", json.dumps(parameters)] if parameters else [])])
        case "METAFLOW":
            path = code_of(top).get("path") or ""
            if not path.endswith(".py"):
                return None
            options = [word for key, value in parameters.items() for word in _option(key, value)]
            return shlex.join(["python", path, "run", *options])
        case "DBT":
            models = sorted({part.name.name.rpartition(".")[2] for part in parts})
            is_kept = any(part.materialized == "incremental" for part in parts)
            return shlex.join(
                ["dbt", "build", "--select", *models, *(["--full-refresh"] if is_kept else [])]
            )
    return None


def _option(name: str, value: object) -> list[str]:
    """Return a parameter of a Metaflow flow as words of a command, or none for a null."""
    return (
        []
        if value is None
        else [f"--{name}", value if isinstance(value, str) else json.dumps(value)]
    )
