"""The present generations: the effective ones, and all that their data comes from.

A *generation* is the runs of a task under one parent run; graph/generations.py defines which are
*effective*. A *flow* is data that a generation gets from another through a dataset. A generation is
*present* if it is effective, or if flows lead from it to an effective one. Such flows only pass
through tasks downstream of it. The present generations of a task are therefore found by following
the flows upstream from the effective generations of all tasks downstream. Queries add the tasks
they need.

Where events state which input feeds which output, only some outputs of a generation may be needed,
and only the flows into these count. The needed parts of a generation are therefore tracked: the
names of the outputs, or WHOLE. Effective generations are needed as a whole.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from headwater import deadline
from headwater.events import JobRef
from headwater.graph.generation import Flow, Generation, History
from headwater.graph.placeholders import is_job
from headwater.graph.run_edges import Edges
from headwater.graph.times import Times
from headwater.identity import DatasetName
from headwater.projection import State

WHOLE = None
"""Stands for all outputs of a generation, instead of the name of one."""


class Tasks(Protocol):
    """The tasks of a state and their generations; see `generations.Generations`."""

    state: State

    def jobs(self) -> Iterable[JobRef]:
        """Return every task."""

    def readers(self, name: DatasetName) -> Iterable[JobRef]:
        """Return the tasks that may have read a dataset."""

    def writers(self, name: DatasetName) -> Iterable[JobRef]:
        """Return the tasks that may have written a dataset."""

    def effective(self, ref: JobRef) -> Sequence[Generation]:
        """Return the effective generations of a task."""

    def superseded(self, ref: JobRef) -> Iterable[DatasetName]:
        """Return the datasets written by generations of a task that are not effective."""


class _Part(NamedTuple):
    """An output of a generation, or all of it (WHOLE)."""

    generation: Generation
    output: DatasetName | None

    def is_fed_by(self, flow: Flow) -> bool:
        """Return True if a flow into the generation feeds this part; kept rows feed one output."""
        if self.output is WHOLE:
            return True
        if flow.is_kept:
            return flow.dataset == self.output
        return flow.dataset in self.generation.edges.sources_of(self.output)


class Flows:
    """The flows into generations, kept until a generation that wrote their datasets changes.

    `_using` has the generations with kept flows by each dataset that they read or kept rows of.
    """

    def __init__(self, determine: Callable[[Generation], list[Flow]], times: Times) -> None:
        """Use a function that determines the flows into a generation, and its times of reads."""
        self._determine, self._times = determine, times
        self._into: dict[Generation, list[Flow]] = {}
        self._using: dict[DatasetName, set[Generation]] = defaultdict(set)

    def into(self, generation: Generation) -> list[Flow]:
        """Return the flows into a generation."""
        flows = self._into.get(generation)
        if flows is None:
            flows = self._into[generation] = self._determine(generation)
            for name in _used(generation):
                self._using[name].add(generation)
        return flows

    def update(
        self,
        changed: dict[JobRef, History | None],
        history_of: Callable[[JobRef], History],
    ) -> None:
        """Drop the flows into and from generations of changed tasks, and clear `changed`.

        `changed` has the former history of each task; None if it was not determined. Unchanged
        generations are the same objects in both histories.
        """
        while changed:
            ref, former = next(iter(changed.items()))
            before = former.oldest_first if former else ()
            self._drop({*before} ^ {*history_of(ref).oldest_first})
            del changed[ref]  # a deadline may interrupt the loop

    def _drop(self, changed: Iterable[Generation]) -> None:
        """Drop the flows into and from generations that are new or no longer exist."""
        for generation in changed:
            for copy in (generation, *generation.queries.values(), *generation.split):
                self._into.pop(copy, None)
                for name in _used(copy):
                    self._using[name].discard(copy)
            for name in generation.edges.writes | generation.changed:
                for reader in tuple(self._using.get(name, ())):
                    if self._times.may_use(reader, name, generation.started):
                        self._using[name].discard(reader)
                        self._into.pop(reader, None)


def _used(generation: Generation) -> set[DatasetName]:
    """Return the datasets that a generation read, or whose rows it kept."""
    return generation.edges.reads | generation.kept


class Present:
    """The present generations of the tasks that queries needed; valid until the next event."""

    def __init__(self, generations: Tasks, flows: Flows) -> None:
        self._generations, self._flows_into = generations, flows.into
        self._clear()

    def _clear(self) -> None:
        """Forget everything.

        By dataset, `_users` has the generations that use it, `_using` those whose needed part does,
        and `_through` and `_consumers` the flows.
        """
        self._tasks: set[JobRef] = set()  # with every task downstream of one
        self._of: dict[JobRef, list[Generation]] = defaultdict(list)
        self._outputs: dict[Generation, set[DatasetName | None]] = {}  # the needed ones
        self._waiting: dict[JobRef, list[_Part]] = defaultdict(list)  # of tasks not yet added
        self._users: dict[DatasetName, dict[JobRef, list[Generation]]] = {}
        self._using: dict[DatasetName, list[Generation]] = {}
        self._through: dict[Generation, dict[DatasetName, list[Flow]]] = {}
        self._consumers: dict[DatasetName, dict[Generation, list[tuple[Generation, Flow]]]] = {}

    def of(self, ref: JobRef) -> Sequence[Generation]:
        """Return the present generations of a task; empty for an unknown task."""
        if ref in self._generations.state.jobs or not is_job(ref):
            self._add([ref])
        return self._of.get(ref, ())

    def parts(self) -> dict[Generation, Edges]:
        """Return every present generation with the edges of its needed outputs."""
        self._add(self._generations.jobs())
        return {generation: self.part_of(generation) for generation in self._outputs}

    def part_of(self, generation: Generation) -> Edges:
        """Return the edges of the needed outputs of a present generation; all edges for WHOLE."""
        outputs = self._outputs[generation]
        if WHOLE in outputs:
            return generation.edges
        edges, names = generation.edges, {name for name in outputs if name is not WHOLE}
        return edges.within(Edges(set().union(*map(edges.sources_of, names)), names))

    def using(self, name: DatasetName) -> Sequence[Generation]:
        """Return the present generations whose needed part reads a dataset or kept rows of it."""
        if name not in self._using:
            generations = self._generations
            users = dict.fromkeys((*generations.readers(name), *generations.writers(name)))
            self._add(users)
            found = self._users.get(name, {})
            near = ((g, self.part_of(g)) for ref in users for g in found.get(ref, ()))
            self._using[name] = [
                g for g, part in near if name in part.reads or name in g.kept & part.writes
            ]
        return self._using[name]

    def is_used(self, name: DatasetName) -> bool:
        """Return True if a task derived another dataset from this one."""
        parts = map(self.part_of, self.using(name))
        return any(name in part.reads and part.writes - {name} for part in parts)

    def flows_from(self, generation: Generation) -> Iterator[tuple[Generation, Flow]]:
        """Yield the flows from a generation, each with the present generation that consumes it."""
        for name in generation.edges.writes:
            yield from self._consumers_of(name).get(generation, ())

    def _consumers_of(
        self, name: DatasetName
    ) -> Mapping[Generation, list[tuple[Generation, Flow]]]:
        """Return the flows through a dataset with their present consumers, by source."""
        if name not in self._consumers:
            found: dict[Generation, list[tuple[Generation, Flow]]] = defaultdict(list)
            for consumer in self.using(name):
                for flow in self._flows_through(consumer, name):
                    found[flow.source].append((consumer, flow))
            self._consumers[name] = found
        return self._consumers[name]

    def _flows_through(self, consumer: Generation, name: DatasetName) -> Iterable[Flow]:
        """Return the flows into a generation through a dataset; all of its flows are indexed."""
        if consumer not in self._through:
            found: dict[DatasetName, list[Flow]] = defaultdict(list)
            for flow in self._flows_into(consumer):
                found[flow.dataset].append(flow)
            self._through[consumer] = found
        return self._through[consumer].get(name, ())

    def _add(self, refs: Iterable[JobRef]) -> None:
        """Add the present generations of some tasks, and of the tasks downstream of them.

        Effective generations are needed as a whole; `_waiting` has other parts that are needed.
        """
        new = self._downstream(refs)
        self._tasks |= new.keys()
        found = [g for ref in new for g in self._generations.effective(ref)]
        parts = [_Part(part, WHOLE) for g in found for part in (g, *g.current_views)]
        for ref in new:
            parts += self._waiting.pop(ref, ())
        try:
            self._follow([part for part in parts if self._is_new(part)])
        except BaseException:
            self._clear()  # a deadline interrupted it
            raise

    def _downstream(self, refs: Iterable[JobRef]) -> dict[JobRef, None]:
        """Return the tasks not yet added: of these, and downstream of their superseded data."""
        generations, tasks = self._generations, self._tasks
        new = {ref: None for ref in refs if ref not in tasks}
        open_ = list(new)
        while open_:
            deadline.check()
            for name in generations.superseded(open_.pop()):
                for users in (generations.readers(name), generations.writers(name)):
                    for ref in users:
                        if ref not in new and ref not in tasks:
                            new[ref] = None
                            open_.append(ref)
        return new

    def _follow(self, parts: list[_Part]) -> None:
        """Add the parts that feed some parts; keep parts of tasks not yet added in `_waiting`.

        A source without stated sources is needed as a whole.
        """
        while parts:
            deadline.check()
            part = parts.pop()
            for flow in filter(part.is_fed_by, self._flows_into(part.generation)):
                source = flow.source
                if WHOLE in self._outputs.get(source, ()):
                    continue
                origin = _Part(source, WHOLE if source.edges.is_cross_product else flow.dataset)
                if source.job not in self._tasks:
                    self._waiting[source.job].append(origin)
                elif self._is_new(origin):
                    parts.append(origin)

    def _is_new(self, part: _Part) -> bool:
        """Add a part; return False if it was added before."""
        outputs = self._outputs.get(part.generation)
        if outputs is None:
            outputs = self._outputs[part.generation] = set()
            ref = part.generation.job
            self._of[ref].append(part.generation)
            for name in _used(part.generation):
                self._users.setdefault(name, {}).setdefault(ref, []).append(part.generation)
        if part.output in outputs:
            return False
        outputs.add(part.output)
        return True
