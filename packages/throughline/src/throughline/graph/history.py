"""What became of a node over time: a dataset's versions, schemas and checks, or a job's runs."""

from __future__ import annotations

from functools import partial
from hashlib import blake2b
from typing import Any

import orjson

from throughline.graph.generations import Generations
from throughline.graph.nodes import Node
from throughline.graph.pages import Place, cut, paged
from throughline.graph.provenance import code_of
from throughline.graph.quality import checks_of
from throughline.graph.schemas import drift
from throughline.graph.walk import place_of_run, run_line
from throughline.graph.writes import writes_of
from throughline.identity import DatasetName
from throughline.projection import Run, RunState, State, outcome
from throughline.projection.derived import descendants_of
from throughline.spec import JobRef, shown_time


def history(known: Generations, node: Node, limit: int, cursor: str | None) -> dict[str, Any]:
    """What became of a node, the newest first, as a page.

    Each entry says `at` which time what was `done`: of a dataset `wrote` (a version, with the
    statistics of its outputStatistics facet), `checked` (assertions and metrics) and `schema` (a
    change, see `drift`); of a job `ran`, with its code and what it and the runs below it read and
    wrote, and which of these were `changed` since the last completed run.
    """
    state, about = known.state, ("history", node)
    if node.type == "job":
        runs = [state.runs[key] for key in state.jobs[JobRef(node.namespace, node.name)].runs]
        place = partial(place_of_run, state)
        newest, more = cut(about, runs, place, limit, cursor, newest_first=True)
        return paged(_ran(state, newest, runs), more)
    name = DatasetName(node.namespace, node.name)
    entries = _wrote(known, name) + _checked(state, name)
    entries += [{"done": "schema", **change} for change in drift(state, name)]
    # A run that names a dataset by two of its names says the same twice.
    entries = list({place_of_entry(each): each for each in entries}.values())
    return paged(*cut(about, entries, place_of_entry, limit, cursor, newest_first=True))


def place_of_entry(entry: dict[str, Any]) -> Place:
    """The place of an entry among others: when it was, what was done, and all that it says."""
    said = blake2b(orjson.dumps(entry, option=orjson.OPT_SORT_KEYS), digest_size=8)
    return entry["at"].removesuffix("Z"), entry.get("done", ""), said.hexdigest()


def _wrote(known: Generations, name: DatasetName) -> list[dict[str, Any]]:
    return [
        {
            "done": "wrote",
            "at": shown_time(write.at),
            "run": run_line(known.state, write.run),
            "version": write.version,
            **write.statistics,
        }
        for write in writes_of(known, name)
    ]


def _checked(state: State, name: DatasetName) -> list[dict[str, Any]]:
    return [
        {
            "done": "checked",
            "at": shown_time(check.time),
            "run": run_line(state, check.run) if check.run else None,
            "version": check.version,
            "assertions": check.assertions,
            "metrics": check.metrics,
        }
        for check in checks_of(state, name)
    ]


def _ran(state: State, newest_first: list[Run], runs: list[Run]) -> list[dict[str, Any]]:
    """Some runs of a job, which has more of them to compare the oldest of these with."""
    found: list[dict[str, Any]] = []
    last = place_of_run(state, newest_first[-1]) if newest_first else ()
    older = (run for run in runs if place_of_run(state, run) < last and _is_good(state, run))
    compared = max(older, key=partial(place_of_run, state), default=None)
    before = _did(state, compared) if compared else None
    for run in reversed(newest_first):
        did = _did(state, run)
        line = run_line(state, run)
        changed = [key for key in did if before and before[key] != did[key]]
        found.append(
            {"done": "ran", "at": line["startedAt"], "run": line, **did, "changed": changed}
        )
        if _is_good(state, run):
            before = did
    return found[::-1]


def _is_good(state: State, run: Run) -> bool:
    return outcome(state, run).state is RunState.COMPLETED


def _did(state: State, run: Run) -> dict[str, Any]:
    members = [run, *descendants_of(state, run)]
    reads = {name for each in members for name in each.inputs}
    writes = {name for each in members for name in each.outputs}
    return {
        "code": code_of(run),
        "inputs": _shown(state, reads),
        "outputs": _shown(state, writes),
    }


def _shown(state: State, names: set[DatasetName]) -> list[dict[str, Any]]:
    return [name._asdict() for name in sorted({state.identity.primary(each) for each in names})]
