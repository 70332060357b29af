"""The query for unused datasets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Annotated, Literal, NamedTuple, Unpack

from annotated_types import Ge, Le

from headwater import deadline, memory
from headwater.datasets.removal import is_gone
from headwater.events import shown_time
from headwater.filter_values import job_owners
from headwater.graph.current import generations_of
from headwater.graph.generation import Generation
from headwater.graph.levels import Level
from headwater.graph.nodes import Node, name_of
from headwater.graph.placeholders import is_job
from headwater.health.models import HealthState
from headwater.identity import DatasetName
from headwater.log import EventLog
from headwater.nodes.listed import values_with_state
from headwater.nodes.rows import active_at, node_row, place_by_name, written_at
from headwater.plugins.unused._reads import runs_reading, uses_of
from headwater.plugins.unused._reasons import Window
from headwater.plugins.unused.models import (
    LastRead,
    UnknownReason,
    UnusedAnswer,
    UnusedDataset,
    Verdict,
)
from headwater.projection import Run, RunKey, State, outcome
from headwater.projection.derived import began_at, is_lost, last_event_time
from headwater.query.filters import choose, wanted_values
from headwater.query.models import Facets
from headwater.query.pages import Place, cut
from headwater.query.parameters import Cursor, Filters, Limit
from headwater.query.registry import Times, query

_DAY = 86_400_000_000  # microseconds
Days = Annotated[int, Ge(1), Le(3_650), "Days without a read."]
Sort = Literal["cost", "name", "read"]


def deleted_before(log: EventLog) -> int:
    """Return the time (microseconds) before which events were deleted; 0 if none were.

    The query gets it as `stored`, because only the database of the log has it.
    """
    return log.pruned_until()


class _Candidate(NamedTuple):
    """A dataset that was not read, with the durations of the runs that wrote it."""

    node: Node
    reasons: list[UnknownReason]
    writers: Mapping[RunKey, int]
    """Milliseconds by run of a task."""
    last_read: int

    @property
    def verdict(self) -> Verdict:
        return "unknown" if self.reasons else "unused"


@query("unused", Times.THEN, load=deleted_before)
def unused_answer(
    state: State,
    text: Annotated[str | None, "Only datasets with this text in a name."] = None,
    days: Days = 30,
    verdict: Annotated[Verdict | None, "Only datasets with this verdict."] = None,
    sort: Annotated[
        Sort, "By run time (most first), by name, or by last read (oldest first)."
    ] = "cost",
    limit: Limit = 50,
    cursor: Cursor = None,
    *,
    reverse: Annotated[bool, "In the opposite order."] = False,
    stored: int = 0,
    state_: Annotated[HealthState | None, "Only datasets whose `health` has this state."] = None,
    **filters: Unpack[Filters],
) -> UnusedAnswer:
    """Return datasets that jobs write and nothing was reported to read for some days.

    Checks of a dataset, and reads that only write it again, do not count as reads. The verdict is
    `unknown`, with the reasons, if a reader may not report. Exposed datasets and views in use count
    as read. `counts` has the number of results by verdict, before the filter `verdict`.
    """
    since = state.now - days * _DAY
    window = Window(state, since, stored)
    with deadline.resumable("the list of unused datasets", "raise HEADWATER_LONGEST_QUERY"):
        found = list(_candidates(window, (text or "").strip().casefold()))
    wanted = wanted_values(filters, state_)

    def filtered(items: list[_Candidate]) -> tuple[list[_Candidate], Facets]:
        return choose(items, lambda item: values_with_state(state, item.node), wanted)

    chosen, facets = filtered([item for item in found if verdict in (None, item.verdict)])
    about = ("unused", text, days, verdict, *wanted.items(), sort, reverse)
    place: Callable[[_Candidate], Place] = partial(_place, state, sort)
    newest_first = (sort == "cost") is not reverse
    items, more = cut(about, chosen, place, limit, cursor, newest_first=newest_first)
    counts = Counter(item.verdict for item in filtered(found)[0])
    times = {key: ms for item in chosen for key, ms in item.writers.items()}
    return {
        "items": [_answer(state, item) for item in items],
        "next": more,
        "total": len(chosen),
        "facets": facets,
        "since": shown_time(since),
        "counts": {"unused": counts["unused"], "unknown": counts["unknown"]},
        "runTimeMs": sum(times.values()),
    }


def _candidates(window: Window, text: str) -> Iterator[_Candidate]:
    """Yield the datasets with a text in a name that were written and not read in the time."""
    state = window.state
    generations = generations_of(state)
    for name in deadline.watched(list(set(state.identity))):
        if text and not any(text in alias.name.casefold() for alias in state.identity.names(name)):
            continue
        node = Node.of_dataset(name)
        if window.is_used(name) or written_at(state, node) is None or is_gone(state, name):
            continue
        writing = [
            generation
            for ref in generations.writers(name)
            for generation in generations.history(ref)
            if generation.runs and name in generation.edges.writes
        ]
        if not writing:
            continue
        memory.charge()
        first = min(generations.times.of_writes(g, name).start for g in writing)
        reads = window.uses.by_dataset.get(name, {}).values()
        yield _Candidate(
            node,
            list(window.reasons(name, first)),
            _durations(state, name, writing, window.since),
            int(max((use.last for use in reads), default=0)),
        )


def _durations(
    state: State, name: DatasetName, writing: list[Generation], since: int
) -> dict[RunKey, int]:
    """Return the milliseconds since a time of each task run that wrote a dataset."""
    generations = generations_of(state)
    found: dict[RunKey, int] = {}
    for generation in deadline.watched(writing):
        for run in generation.runs if generation.ended >= since else ():
            owner = generations.levels.owner(run, Level.TASK)
            if owner.key not in found and name in generations.own(run).writes:
                begin, end = _span(state, owner)
                if end >= since:
                    found[owner.key] = max(0, min(end, state.now) - max(begin, since)) // 1_000
    return found


def _span(state: State, run: Run) -> tuple[int, int]:
    """Return the start and the end of a run; an open run ends now, a stale one with its events."""
    begin, end = began_at(state, run) or 0, outcome(state, run).ended
    if end is None:
        end = last_event_time(state, run) if is_lost(state, run) else state.now
    return begin, end


def _place(state: State, sort: Sort, item: _Candidate) -> Place:
    """Return the sort key: the run time, nothing, or the last read; then the name."""
    first = {"cost": sum(item.writers.values()), "name": 0, "read": item.last_read}[sort]
    return first, *place_by_name(state, item.node)


def _answer(state: State, item: _Candidate) -> UnusedDataset:
    """Return a dataset as part of the answer."""
    node = item.node
    refs = generations_of(state).writers(node.dataset_name)
    return {
        **node_row(state, node),
        "verdict": item.verdict,
        "reasons": item.reasons,
        "jobOwners": job_owners(state, node),
        "writtenAt": active_at(state, node),
        "lastRead": _last_read(state, node.dataset_name),
        "writers": [name_of(ref) for ref in refs if is_job(ref)],
        "runCount": len(item.writers),
        "runTimeMs": sum(item.writers.values()),
    }


def _last_read(state: State, name: DatasetName) -> LastRead | None:
    """Return the last read of a dataset; None if none was reported."""
    uses = uses_of(state).by_dataset.get(name)
    if not uses:
        return None
    generations = generations_of(state)
    last = max(uses.values(), key=lambda use: (use.last, use.generation.order))
    reading = list(runs_reading(generations, last.generation, name)) or last.generation.runs
    owners = [generations.levels.owner(run, Level.TASK) for run in reading]
    run = max(owners, key=lambda owner: (_span(state, owner)[1], owner.key))
    return {
        "at": shown_time(int(last.last)),
        "job": name_of(run.key.job),
        "runId": run.key.run_id,
    }
