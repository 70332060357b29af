"""Answers to the questions of the command line and of /api/v2, as JSON-ready values."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from throughline.errors import ConfigError, NotFoundError
from throughline.graph.columns import Made, columns, made_of
from throughline.graph.control import control_edges
from throughline.graph.diff import diff
from throughline.graph.edges import LevelGraph
from throughline.graph.generations import Generations
from throughline.graph.impact import column_impact, impact, path
from throughline.graph.levels import Level
from throughline.graph.nodes import Node, find_node, node_id
from throughline.graph.search import search
from throughline.graph.walk import run_line, tree
from throughline.identity import DatasetName
from throughline.projection import Run, State, outcome, start_of
from throughline.projection.derived import begin_of, descendants_of, version_of
from throughline.projection.past import Moment
from throughline.projection.state import Use
from throughline.spec import JobRef, parse_time, run_id_of, to_micros

DIRECTIONS = ("up", "down", "both")


def level_of(text: str) -> Level:
    """The level of a name."""
    try:
        return Level[text.upper()]
    except KeyError:
        names = ", ".join(level.name.lower() for level in reversed(Level))
        raise ConfigError(f"level: received {text!r}, expected one of {names}") from None


def graph_of(state: State, level: Level | None) -> LevelGraph:
    """What all that is there at present comes from, at a level, or what each job did last.

    Built once for each revision of the state.
    """
    return _graph(_ById(state), state.revision, level)


def generations_of(state: State) -> Generations:
    """The generations of a state, found once for each revision."""
    return _generations(_ById(state), state.revision)


def tree_answer(
    state: State, node: str, direction: str, depth: int, level: str | None = None
) -> dict[str, Any]:
    """The tree around the node of an id or a short name.

    Without a level it shows tasks, or for a job that does nothing as a task the job's own level.
    """
    if direction not in DIRECTIONS:
        raise ConfigError(f"direction: received {direction!r}, expected one of up, down, both")
    found = find_node(state, node)
    chosen = _fitting(state, found) if level is None else level_of(level)
    return tree(generations_of(state), found, direction, depth, chosen)


def diff_answer(before: State, after: State, level: str) -> dict[str, Any]:
    """What is different between two states, at a level."""
    chosen = level_of(level)
    changes = diff(before, graph_of(before, chosen), after, graph_of(after, chosen))
    return {"level": chosen.name.lower(), **changes}


def moment_of(state: State, as_of: str | None, known_at: str | None = None) -> Moment | None:
    """The moment of two texts: a time, or for `as_of` also a run, which means when it ended."""
    if as_of is None and known_at is None:
        return None
    return Moment(
        None if as_of is None else _micros(state, as_of, "asOf"),
        None if known_at is None else _micros(None, known_at, "knownAt"),
    )


def _micros(state: State | None, text: str, what: str) -> int:
    if state is not None and (known := state.runs_by_id.get(run_id_of(text))):
        ends = [outcome(state, state.runs[key]).ended for key in known]
        over = [ended for ended in ends if ended is not None]
        if over:
            return max(over)
        raise ConfigError(f"{what}: run {text} has not ended; give a time or another run")
    try:
        return to_micros(parse_time(text))
    except (ValueError, OverflowError):
        runs = " or the id of a run" if state is not None else ""
        raise ConfigError(
            f"{what}: received {text!r}, expected a time such as 2026-11-21T08:30:00Z{runs}"
        ) from None


def columns_answer(
    state: State,
    node: str,
    field: str | None = None,
    direction: str = "up",
    depth: int = 20,
    *,
    indirect: bool = False,
) -> dict[str, Any]:
    """What the columns of a dataset, or one of them, are made of or make."""
    if direction not in DIRECTIONS[:2]:
        raise ConfigError(f"direction: received {direction!r}, expected one of up, down")
    found = find_node(state, node, "dataset")
    if found.type != "dataset":
        raise NotFoundError(f"{node!r} is a job, and only datasets have columns")
    known = generations_of(state)
    return columns(known, found, field, direction, depth=depth, indirect=indirect)


def impact_answer(
    state: State,
    node: str,
    field: str | None = None,
    level: str = "task",
    depth: int = 20,
) -> dict[str, Any]:
    """What a change of a node, or of one column of a dataset, reaches."""
    found = find_node(state, node, "dataset" if field is not None else None)
    known = generations_of(state)
    answer: dict[str, Any] = {"node": node_id(found), "depth": depth}
    if field is None:
        chosen = level_of(level)
        reached = impact(known, found, chosen, depth)
        return {**answer, "level": chosen.name.lower(), "affected": reached}
    return {**answer, "field": field, "affected": column_impact(known, found, field, depth)}


def search_answer(state: State, text: str, limit: int = 20) -> list[dict[str, Any]]:
    """The nodes in whose names, columns, tags, owners, descriptions or queries a text is."""
    if not text.strip():
        raise ConfigError("text: received nothing, expected a word or a part of one")
    return search(state, text.strip(), limit)


def path_answer(state: State, start: str, end: str, level: str = "task") -> dict[str, Any]:
    """A shortest way of the data between two nodes, whichever of them comes first."""
    chosen = level_of(level)
    nodes = path(generations_of(state), find_node(state, start), find_node(state, end), chosen)
    shown = [{"id": node_id(node), **node._asdict()} for node in nodes]
    return {"level": chosen.name.lower(), "path": shown}


def edges_answer(state: State, level: str, kind: str) -> list[dict[str, Any]]:
    """Every edge of the graph at a level."""
    if kind == "data":
        return _data_edges(state, level_of(level))
    if kind == "control":
        pairs = sorted(control_edges(state, level_of(level)))
        return [{"upstream": up._asdict(), "downstream": down._asdict()} for up, down in pairs]
    raise ConfigError(f"kind: received {kind!r}, expected data or control")


def runs_answer(state: State, job: str | None = None, limit: int = 20) -> list[dict[str, Any]]:
    """The newest runs, of one job or of all."""
    if job is None:
        runs = [run for run in state.runs.values() if run.is_known]
    else:
        node = find_node(state, job)
        if node.type != "job":
            raise NotFoundError(f"{job!r} is a dataset, and only jobs have runs")
        ref = JobRef(node.namespace, node.name)
        runs = [state.runs[key] for key in state.jobs[ref].runs]
    runs.sort(key=lambda run: (begin_of(state, run) or 0, run.key), reverse=True)
    return [run_line(state, run) for run in runs[:limit]]


def _fitting(state: State, node: Node) -> Level:
    ref = JobRef(node.namespace, node.name)
    if node.type == "dataset" or ref in graph_of(state, Level.TASK).jobs:
        return Level.TASK
    return generations_of(state).levels.of(ref)


def run_answer(state: State, run_id: str) -> dict[str, Any]:
    """A run with its parameters, code and dataset versions, and every run below it likewise."""
    known = [state.runs[key] for key in state.runs_by_id.get(run_id_of(run_id), ())]
    if not known:
        raise NotFoundError(f"no run has the id {run_id!r}")
    run = max(known, key=lambda each: (each.is_known, each.last or 0, each.key))
    below = sorted(descendants_of(state, run), key=lambda each: (start_of(each) or 0, each.key))
    return {**_run_in_full(state, run), "below": [_run_in_full(state, each) for each in below]}


def _run_in_full(state: State, run: Run) -> dict[str, Any]:
    parameters = run.facets.get("executionParameters").get("parameters", [])
    location = run.code.get("sourceCodeLocation")
    return {
        **run_line(state, run),
        "parameters": {each["name"]: each.get("value") for each in parameters if "name" in each},
        "code": {key: location.get(key) for key in ("repoUrl", "path", "version") if location},
        "inputs": _versions(state, run, run.inputs),
        "outputs": _versions(state, run, run.outputs),
    }


def _versions(state: State, run: Run, uses: dict[DatasetName, Use]) -> list[dict[str, Any]]:
    return [
        {**state.identity.primary(name)._asdict(), "version": version_of(run, use)}
        for name, use in sorted(uses.items())
    ]


def _data_edges(state: State, level: Level) -> list[dict[str, Any]]:
    graph = graph_of(state, level)
    answer: list[dict[str, Any]] = []
    for ref in sorted(graph.jobs):
        for direction, names in (
            ("reads", graph.jobs[ref].reads),
            ("writes", graph.jobs[ref].writes),
        ):
            answer += [_edge(state, ref, name, direction) for name in sorted(names)]
    return answer


def _edge(state: State, ref: JobRef, name: DatasetName, direction: str) -> dict[str, Any]:
    aliases = [alias._asdict() for alias in state.identity.names(name)[1:]]
    dataset = {**name._asdict(), "aliases": aliases}
    return {"job": ref._asdict(), "dataset": dataset, "direction": direction}


class _ById:
    """A state as a key: the same object, at the revision given beside it."""

    def __init__(self, state: State) -> None:
        self.state = state

    def __hash__(self) -> int:
        return id(self.state)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ById) and other.state is self.state


def made_of_columns(state: State) -> Made:
    """The column lineage of what every job did last, found once for each revision."""
    return _made(_ById(state), state.revision)


@lru_cache(maxsize=2)
def _made(key: _ById, revision: int) -> Made:
    return made_of(_generations(key, revision))


@lru_cache(maxsize=8)
def _graph(key: _ById, revision: int, level: Level | None) -> LevelGraph:
    known = _generations(key, revision)
    return LevelGraph.build(known, level, known.current() if level is None else known.present)


@lru_cache(maxsize=4)
def _generations(key: _ById, revision: int) -> Generations:
    return Generations(key.state)
