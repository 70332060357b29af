"""Delete rows of the log in one transaction, except those that plugins still need."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, func, select

from headwater.errors import LogError
from headwater.events import RunEvent
from headwater.events.facets import Parent
from headwater.log import EventLog, read_logged, schema
from headwater.plugin import load_all

_PAGE = 1_000


def held(log: EventLog) -> tuple[int, set[int]]:
    """Return the last `seq` that may be deleted, and those before it that plugins still need.

    `seq` is the number that the log gives an event on arrival. Plugins state what they need as
    `Plugin.holds`, such as the events that are not delivered yet.
    """
    newest = log.value(select(func.max(schema.events.c.seq))) or 0
    # The newest row stays: an append compares `seq` with the last one that the process has read.
    last, needed = newest - 1, set[int]()
    for hold in load_all("holds"):
        passed, others = hold(log)
        last = last if passed is None else min(last, passed)
        needed |= others
    return last, needed


def remove(
    log: EventLog,
    seqs: Sequence[int],
    runs: set[str],
    newest: int,
    cutoff: int,
    horizon: int | None,
) -> None:
    """Delete events and all snapshots, and store the time before which the log is incomplete.

    A horizon is stored too, unless it is None.

    Raises:
        LogError: since the event `newest`, one arrived that belongs to a deleted run.

    `seqs` and `runs` are to be deleted, `newest` is the last `seq` that was considered, and
    `cutoff` and `horizon` are in microseconds.
    """
    c = schema.events.c
    later = select(c.kind, c.body).where(c.seq > newest)  # arrived since the plan was made
    with log.writing() as connection:
        for row in connection.execute(later):
            if runs & run_ids(read_logged(row.kind, row.body)):
                raise LogError("nothing was deleted: an event of an old run arrived; try again")
        for start in range(0, len(seqs), _PAGE):
            part = c.seq.in_(seqs[start : start + _PAGE])
            connection.execute(delete(schema.events).where(part))
        connection.execute(delete(schema.snapshots))
        log.set_pruned_until(connection, cutoff)
        if horizon is not None:
            log.set_horizon(connection, horizon)


def run_ids(event: object) -> set[str]:
    """Return the ids of an event's run, and of the parent and root that it names."""
    if not isinstance(event, RunEvent):
        return set()
    parent = Parent.parse(event.run_facets.get(Parent.KEY, {}))
    named = {reference.run_id for reference in (parent.run, parent.root) if reference}
    return {event.run_id, *(run_id for run_id in named if run_id)}
