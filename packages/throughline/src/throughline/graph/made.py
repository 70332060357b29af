"""The column lineage of what every job did last, which is Marquez's view, looked up as it is asked.

Only the facets of the datasets that a walk comes by are decoded: work grows with the question.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

from throughline import deadline
from throughline.graph.columns import Column, Told, columns_told, fields_of_run
from throughline.graph.generations import Generations
from throughline.identity import DatasetName
from throughline.projection import Run

Inputs = dict[Column, Told]


class Made:
    """Which columns each column was made of, or decided on its rows, and what is made of it."""

    def __init__(self, known: Generations) -> None:
        self._state = known.state
        self._writing: dict[DatasetName, list[Run]] = defaultdict(list)
        self._reading: dict[DatasetName, set[DatasetName]] = defaultdict(set)
        self._up: dict[DatasetName, dict[Column, Inputs]] = {}
        self._down: dict[DatasetName, dict[Column, set[Column]]] = {}
        for generation in known.current():
            for run in generation.runs:
                self._note(run, known)

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

    def _note(self, run: Run, known: Generations) -> None:
        edges = known.own.get(run.key)
        reads = set(edges.reads) if edges else set()
        for name in edges.writes if edges else ():
            self._writing[name].append(run)
        if not reads:  # a producer that names its inputs in the columns only
            for _, _, told in fields_of_run(self._state, run):
                inputs = columns_told(self._state, {"fields": {"": told}})
                reads |= {column.dataset for _, _, listed in inputs for column in listed}
        for name in reads:
            self._reading[name] |= edges.writes if edges else set()

    def _made(self, dataset: DatasetName) -> dict[Column, Inputs]:
        if dataset not in self._up:
            found: dict[Column, Inputs] = defaultdict(dict)
            for run in self._writing.get(dataset, ()):
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
            for written in self._reading.get(dataset, ()):
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
