"""Follow the data of the datasets upstream, to find the runs that they come from.

- generation: the runs of a task under one parent run; `original`: the whole one of a part of it
- flow: data that a generation gets from its `source`, another generation, through a dataset; it
  read the data, or kept the rows that were in a table before it wrote (`is_kept`)
- own rows: rows of a table that the generation writes itself, as an incremental load reads or keeps
- horizon: a time; sources of own rows before it are deleted, unless another run needs them
- to spare: to keep such a source, because its deletion or presence would change an answer
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator
from operator import itemgetter

from headwater.events import JobRef
from headwater.graph.current import generations_of
from headwater.graph.generation import Generation
from headwater.identity import DatasetName
from headwater.lineage.provenance import has_own_rows_before, last_use
from headwater.projection import State, outcome
from headwater.projection.derived import began_at


class Walk:
    """The runs that are effective, or from which a dataset's contents come.

    With a horizon, older rows of a load's own table are not followed.

    Alternate `runs` and `spare` until `spare` finds nothing. `horizon` is a time in
    microseconds; None follows all rows.
    """

    def __init__(self, state: State, horizon: int | None) -> None:
        self._state, self._horizon = state, horizon
        self._generations = generations_of(state)
        self._found: set[Generation] = set()
        self._spared: set[Generation] = set()

    def runs(self) -> Iterator[str]:
        """Yield the ids of the runs.

        Also yield the newest run of each upstream job before its reader ended, by which a gate
        judges the job, even if that run wrote nothing.
        """
        generations, newest = self._generations, _NewestBefore(self._state)
        open_ = [g for ref in generations.jobs() for g in generations.effective(ref)]
        open_ += [
            g for name in sorted(set(self._state.identity)) for g in generations.writing(name)
        ]
        open_ += self._spared
        self._found = found = set()
        while open_:
            if (generation := open_.pop()) in found:
                continue
            found.add(generation)
            yield from (run.key.run_id for run in generation.runs)
            for flow in generations.flows_into(generation):
                is_before = self._horizon is not None and has_own_rows_before(
                    flow, generation, self._horizon
                )
                if not is_before or flow.source in self._spared:
                    open_.append(flow.source)
                    yield from newest.of(flow.source.job, last_use(generations, flow, generation))

    def spare(self, is_kept: Callable[[Generation], bool]) -> bool:
        """Also follow sources of own rows whose deletion or presence changes an answer.

        Return True if there are any that were not followed before. There are two kinds:

        - After its deletion, a generation no longer replaces the older ones of its task. One of
          these can stay for another reason, and its rows were not part of the table.
        - A generation that stays for another reason stays upstream, so its sources must stay too.

        `is_kept` is True for a generation of which a run stays.
        """
        generations = self._generations
        places: dict[tuple[Generation, DatasetName, bool], list[Generation]] = defaultdict(list)
        for generation in self._found if self._horizon is not None else ():
            for flow in generations.flows_into(generation):
                if has_own_rows_before(flow, generation, self._horizon or 0):
                    places[generation, flow.dataset, flow.is_kept].append(flow.source.original)
        older = self._own_sources({source for sources in places.values() for source in sources})
        spared = set(filter(is_kept, older))
        spared.update(self._replacing(places, is_kept))
        added = spared - self._found
        self._spared |= added
        return bool(added)

    def _replacing(
        self,
        places: dict[tuple[Generation, DatasetName, bool], list[Generation]],
        is_kept: Callable[[Generation], bool],
    ) -> Iterator[Generation]:
        """Yield the deleted sources of own rows that replaced data of a generation that stays.

        `places` has the sources of own rows by generation, dataset and `Flow.is_kept`: True if it
        kept the rows, False if it read them. Without the deleted sources, the generations in `left`
        would count for the same reading; their rows must be among the own rows that it had.
        """
        generations = self._generations
        for (generation, name, is_kept_rows), sources in places.items():
            older = self._own_sources(set(sources), name)
            # when the generation read the dataset; rows can only be kept from before it began
            reading = generations.reading(name, generation, only_earlier=is_kept_rows)
            for source in sources:
                if is_kept(source):
                    continue
                staying = [
                    other
                    for other in generations.history(source.job)
                    if name in other.edges.writes and is_kept(other)
                ]
                # the writes of these generations that would be the contents at that time
                left = generations.times.counted(staying, name, reading, generation)
                if not older.issuperset(slice_.original for slice_ in left):
                    yield source

    def _own_sources(
        self, sources: set[Generation], name: DatasetName | None = None
    ) -> set[Generation]:
        """Return the generations and those that wrote older rows of their tables, or of one.

        The sources of the sources are included. `name` limits it to the rows of one dataset.
        """
        found, open_ = set[Generation](), list(sources)
        while open_:
            if (generation := open_.pop()) not in found:
                found.add(generation)
                open_ += (
                    flow.source.original
                    for flow in self._generations.flows_into(generation)
                    if name in (None, flow.dataset)
                    if flow.is_kept or flow.dataset in generation.edges.writes
                )
        return found


class _NewestBefore:
    """The newest runs of jobs before a time: of all runs, and of those that ended."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._runs: dict[JobRef, list[list[tuple[float, str]]]] = {}

    def of(self, ref: JobRef, time: float) -> Iterator[str]:
        """Yield the ids of the newest runs of a job that began by a time.

        `time` is in microseconds. There are at most two: the newest run, and the newest that ended.
        """
        if ref not in self._runs:
            state = self._state
            runs = [state.runs[key] for key in state.jobs[ref].runs] if ref in state.jobs else []
            begun = [run for run in runs if run.has_events]
            ended = [run for run in begun if outcome(state, run).ended is not None]
            self._runs[ref] = [
                sorted((began_at(state, run) or 0, run.key.run_id) for run in some)
                for some in (begun, ended)
            ]
        for places in self._runs[ref]:
            if position := bisect_right(places, time, key=itemgetter(0)):
                yield places[position - 1][1]
