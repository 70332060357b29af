"""The column lineage of what every job did last, which is Marquez's view, looked up as it is asked.

Only the facets of the datasets that a walk comes by are decoded: work grows with the question.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from throughline import deadline
from throughline.graph.columns import Column, Told, columns_told
from throughline.graph.generations import Generations
from throughline.identity import DatasetName
from throughline.projection import Run
from throughline.spec import JobRef

Inputs = dict[Column, Told]


class Made:
    """Which columns each column was made of, or decided on its rows, and what is made of it."""

    def __init__(self, known: Generations) -> None:
        self._known = known
        self._state = known.state
        self._up: dict[DatasetName, dict[Column, Inputs]] = {}
        self._down: dict[DatasetName, dict[Column, set[Column]]] = {}

    def columns(self, dataset: DatasetName) -> set[Column]:
        """The columns of a dataset that are made of others, or others of them."""
        return self._made(dataset).keys() | self._makes(dataset).keys()

    def of(self, column: Column) -> Inputs:
        """The columns that one is made of, and what is told of how."""
        return self._made(column.dataset).get(column, {})

    def around(self, starts: Iterable[Column], depth: int, *, downstream: bool) -> set[Column]:
        """The columns within `depth` steps up, and down within one less, as Marquez counts them."""
        starts = set(starts)
        found = _within(self.of, starts, depth)
        return found | _within(self._made_of, starts, depth - 1) if downstream else found

    def _counting(self, ref: JobRef) -> Iterator[Run]:
        deadline.check()
        return (run for generation in self._known.counting(ref) for run in generation.runs)

    def _made_from(self, dataset: DatasetName) -> set[DatasetName]:
        """The datasets that were written by those that may have read one."""
        runs = (run for ref in self._known.readers(dataset) for run in self._counting(ref))
        return {
            name
            for run in runs
            if dataset in self._known.reading(run)
            for name in self._known.own(run).writes
        }

    def _made(self, dataset: DatasetName) -> dict[Column, Inputs]:
        if dataset not in self._up:
            found: dict[Column, Inputs] = defaultdict(dict)
            writing = (run for ref in self._known.writers(dataset) for run in self._counting(ref))
            for run in writing:
                for name, use in run.outputs.items():
                    if self._state.identity.primary(name) != dataset:
                        continue
                    told = columns_told(self._state, use.about.get("columnLineage"))
                    for field, how, inputs in told:
                        found[Column(dataset, field)] |= dict.fromkeys(inputs, how)
            self._up[dataset] = dict(found)
        return self._up[dataset]

    def _makes(self, dataset: DatasetName) -> dict[Column, set[Column]]:
        if dataset not in self._down:
            found: dict[Column, set[Column]] = defaultdict(set)
            for written in self._made_from(dataset):
                for column, inputs in self._made(written).items():
                    for each in inputs:
                        if each.dataset == dataset:
                            found[each].add(column)
            self._down[dataset] = dict(found)
        return self._down[dataset]

    def _made_of(self, column: Column) -> Iterable[Column]:
        return self._makes(column.dataset).get(column, ())


def _within(
    nearest: Callable[[Column], Iterable[Column]], starts: set[Column], depth: int
) -> set[Column]:
    found, newest = set(starts), starts
    for _ in range(depth):
        deadline.check()
        newest = {each for column in newest for each in nearest(column)} - found
        if not newest:
            break
        found |= newest
    return found
