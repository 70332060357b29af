"""History of a node: versions, schemas and checks of a dataset, or runs of a job.

A dataset has entries for the versions written (with outputStatistics), the failed attempts to write
it, the checks, the schema changes (see `drift`), and the changes that dropped, emptied or renamed
it; a job has one entry for each run. An attempt is a run that failed without having written.
"""

from __future__ import annotations

from functools import partial
from hashlib import blake2b
from typing import Literal

import orjson

from headwater.datasets.models import SchemaChange
from headwater.datasets.quality import checks_of
from headwater.datasets.removal import removals_of
from headwater.datasets.schemas import drift
from headwater.datasets.writes import failed_writes_of, writes_of
from headwater.events import shown_time
from headwater.graph.current import generations_of
from headwater.graph.generations import Generations
from headwater.graph.nodes import name_of, node_id
from headwater.identity import DatasetName
from headwater.lookup import find_node
from headwater.plugins.changes import models
from headwater.projection import Run, RunState, State, outcome
from headwater.projection.derived import descendants_of
from headwater.query.models import Name as NodeName
from headwater.query.pages import Place, cut
from headwater.query.parameters import Cursor, Limit, Name
from headwater.query.registry import Times, query
from headwater.runs.summary import code_of, place_of_run, run_line

_Compared = Literal["code", "inputs", "outputs"]
_COMPARED: tuple[_Compared, ...] = ("code", "inputs", "outputs")


@query("history", Times.THEN)
def history_answer(
    state: State, node: Name, limit: Limit = 20, cursor: Cursor = None
) -> models.HistoryAnswer:
    """Return the history of a node, newest first: a dataset's versions and checks, a job's runs."""
    found = find_node(state, node)
    about = ("history", found)
    entries: list[models.HistoryEntry]
    if found.type == "job":
        runs = [state.runs[key] for key in state.jobs[found.job_ref].runs]
        place = partial(place_of_run, state)
        newest, more = cut(about, runs, place, limit, cursor, newest_first=True)
        entries = [*_ran(state, newest, runs)]
    else:
        name = found.dataset_name
        entries = [*_wrote(generations_of(state), name), *_checked(state, name)]
        entries += _failed(generations_of(state), name)
        entries += [{"done": "schema", **change} for change in drift(state, name)]
        entries += [{"done": "removed", **removal} for removal in removals_of(state, name)]
        # A run that uses two names of a dataset reports the same entry twice.
        entries = list({place_of_entry(entry): entry for entry in entries}.values())
        entries, more = cut(about, entries, place_of_entry, limit, cursor, newest_first=True)
    return {"node": node_id(found), "items": entries, "next": more}


def place_of_entry(entry: models.HistoryEntry | SchemaChange) -> Place:
    """Return the sort key of an entry: its time, its kind and a hash of its contents."""
    digest = blake2b(orjson.dumps(entry, option=orjson.OPT_SORT_KEYS), digest_size=8)
    return (entry["at"] or "").removesuffix("Z"), str(entry.get("done", "")), digest.hexdigest()


def _wrote(generations: Generations, name: DatasetName) -> list[models.WrittenEntry]:
    """Return an entry per version that was written."""
    return [
        {
            "done": "wrote",
            "at": shown_time(write.at),
            "run": run_line(generations.state, write.run),
            "version": write.version,
            **write.statistics,
        }
        for write in writes_of(generations, name)
    ]


def _failed(generations: Generations, name: DatasetName) -> list[models.FailedEntry]:
    """Return an entry per attempt to write the dataset that failed."""
    return [
        {
            "done": "failed",
            "at": shown_time(attempt.at),
            "run": run_line(generations.state, attempt.run),
        }
        for attempt in failed_writes_of(generations, name)
    ]


def _checked(state: State, name: DatasetName) -> list[models.CheckedEntry]:
    """Return an entry per check of the dataset."""
    return [
        {
            "done": "checked",
            "at": shown_time(check.time),
            "run": run_line(state, check.run) if check.run else None,
            "version": check.version,
            "assertions": [assertion.reported for assertion in check.assertions],
            "metrics": check.metrics,
        }
        for check in checks_of(state, name)
    ]


def _ran(state: State, newest_first: list[Run], runs: list[Run]) -> list[models.RanEntry]:
    """Return the entries of some runs of a job, each compared with the one before it.

    `newest_first` are the runs of a page, and `runs` all runs of the job. A run is compared with
    the completed run before it (see `_differs`); `changed` is empty if there is none.
    """
    found: list[models.RanEntry] = []
    last = place_of_run(state, newest_first[-1]) if newest_first else ()
    older = (run for run in runs if place_of_run(state, run) < last and _is_good(state, run))
    compared = max(older, key=partial(place_of_run, state), default=None)
    before = _did(state, compared) if compared else None
    for run in reversed(newest_first):
        did = _did(state, run)
        line = run_line(state, run)
        is_good = _is_good(state, run)
        changed = [
            key
            for key in _COMPARED
            if before and _differs(before, did, key, is_partial=not is_good)
        ]
        found.append(
            {"done": "ran", "at": line["startedAt"], "run": line, **did, "changed": changed}
        )
        if is_good:
            before = did
    return found[::-1]


def _differs(
    before: models.RunWork, did: models.RunWork, key: _Compared, *, is_partial: bool
) -> bool:
    """Return True if the reports of a run and of the run before it differ.

    The report of a run that has not completed is partial, so only its additions count. A commit
    that one of the two did not report is unknown, and does not count as a difference.
    """
    if key == "code":
        return {} not in (before[key], did[key]) and before[key] != did[key]
    if is_partial:
        return any(name not in before[key] for name in did[key])
    return before[key] != did[key]


def _is_good(state: State, run: Run) -> bool:
    """Return True if a run completed: only such runs are compared with."""
    return outcome(state, run).state is RunState.COMPLETED


def _did(state: State, run: Run) -> models.RunWork:
    """Return the code, inputs and outputs of a run and the runs below it."""
    members = [run, *descendants_of(state, run)]
    reads = {name for member in members for name in member.inputs}
    writes = {name for member in members for name in member.outputs}
    return {
        "code": code_of(run),
        "inputs": _shown(state, reads),
        "outputs": _shown(state, writes),
    }


def _shown(state: State, names: set[DatasetName]) -> list[NodeName]:
    """Return the primary names of datasets, sorted and each once."""
    return [name_of(name) for name in sorted({state.identity.primary(name) for name in names})]
