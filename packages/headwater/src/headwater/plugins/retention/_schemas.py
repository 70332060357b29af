"""Find the runs that the reported schema changes depend on."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from headwater.datasets.schemas import ReportedSchema, compared, reported_schemas
from headwater.identity import DatasetName
from headwater.projection import State


def compared_runs(state: State, is_kept: Callable[[str], bool]) -> Iterator[str]:
    """Yield the ids of the runs to keep so that the reported schema changes stay the same.

    `is_kept` is True for the id of a run that stays. These are the runs of each change and those it
    was compared with; the runs that a kept run was compared with, if the difference would change
    without them; and the newest run with a schema, because the schemas of readers count if no
    writer has one. The caller repeats it with these runs kept, until it yields no new ones.
    """
    for name in set(map(state.identity.primary, state.identity)):
        reported = reported_schemas(state, name)
        if len(reported) > 1:
            yield from _needed(name, reported, is_kept)


def _needed(
    name: DatasetName, reported: list[ReportedSchema], is_kept: Callable[[str], bool]
) -> Iterator[str]:
    """Yield the ids of the runs to keep for one dataset; `reported` are its schemas in order."""
    # Of each reported schema: itself (`current`), the one before it (`last`), the last one of the
    # same producer (`same`), and the change between them, if any.
    found = list(compared(name, reported))
    needed: list[ReportedSchema | None] = [*[item for item in reported if item.run][-1:]]
    for item in found:
        needed += [item.current, item.last, item.same] if item.change else []
    kept = [
        place
        for place, item in enumerate(reported)
        if item.run is None or is_kept(item.run.key.run_id)
    ]
    # Without the deleted ones, the schemas that stay are compared with others.
    remaining = compared(name, [reported[place] for place in kept])
    for place, item in zip(kept, remaining, strict=True):
        if item.change != found[place].change:
            needed += [found[place].last, found[place].same]
    yield from (item.run.key.run_id for item in needed if item and item.run)
