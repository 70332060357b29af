"""Tags, and how they flow: what a column is made of hands its tags on to it.

A tag of a dataset is one of each of its columns. It flows along direct column edges, because what
only filters or groups leaves no value behind. PII (a tag `pii` that is not `false`) ends where the
transformation masks. What a run wrote without any column lineage may hold all that the run read:
there the tags of the inputs go to the dataset as a whole.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from throughline import deadline
from throughline.graph.columns import Column, fields_of_run, inputs_of
from throughline.graph.generations import Generation
from throughline.graph.nodes import Node, facets_of, node_id
from throughline.identity import DatasetName
from throughline.projection import State

_WHOLE = ""
"""The field of the column that stands for a whole dataset."""


class Tag(NamedTuple):
    """A tag as the tags facet of a dataset has it."""

    key: str
    value: str
    source: str

    @property
    def is_pii(self) -> bool:
        """Whether it says that there is personal data."""
        return self.key.lower() == "pii" and self.value.lower() not in ("false", "no", "0")


class Held(NamedTuple):
    """A tag that a column holds, and the column that it came from."""

    column: Column
    tag: Tag
    origin: Column

    def place(self) -> tuple[str, ...]:
        """Its place among all tags."""
        of, origin = ((*each.dataset, each.field) for each in (self.column, self.origin))
        return *of, *self.tag, *origin


class Tags:
    """The tags of all that some generations read and wrote."""

    def __init__(self, state: State, generations: Iterable[Generation]) -> None:
        self._state = state
        self._own: dict[Column, set[Tag]] = defaultdict(set)
        self._fields: dict[DatasetName, set[str]] = defaultdict(set)
        self._above: dict[Column, set[Column]] = defaultdict(set)
        self._masked: dict[Column, set[Column]] = defaultdict(set)
        for name in set(state.identity):
            for field, tag in _own_tags(state, name):
                self._own[Column(name, field)].add(tag)
                self._fields[name].add(field)
        generations = list(generations)
        bare = [(generation, self._note(generation)) for generation in generations]
        for generation, names in bare:
            inputs = [Column(n, f) for n in generation.edges.reads for f in self._all_of(n)]
            for name in names:
                self._above[Column(name, _WHOLE)].update(inputs)

    def of(self, name: DatasetName) -> list[Held]:
        """Every tag of a dataset and of its columns, own and inherited."""
        found = {held for field in self._all_of(name) for held in self._held(Column(name, field))}
        return sorted(found)

    def _all_of(self, name: DatasetName) -> set[str]:
        return self._fields[name] | {_WHOLE}

    def _note(self, generation: Generation) -> set[DatasetName]:
        """Note the column edges of a generation; answers what it wrote without any."""
        deadline.check()
        covered: set[DatasetName] = set()
        for run in generation.runs:
            for name, field, told in fields_of_run(self._state, run):
                covered.add(name)
                self._fields[name].add(field)
                is_masked = str(told.get("transformationType")).upper() == "MASKED"
                for of, kinds in inputs_of(self._state, told):
                    self._fields[of.dataset].add(of.field)
                    direct = [kind for kind in kinds if kind.get("type") != "INDIRECT"]
                    if kinds and not direct:
                        continue
                    masks = is_masked or (
                        bool(direct) and all(each.get("masking") is True for each in direct)
                    )
                    (self._masked if masks else self._above)[Column(name, field)].add(of)
        return generation.edges.writes - covered

    def _held(self, column: Column) -> Iterator[Held]:
        open_ = self._reached(column, is_masked_too=False)
        yield from (Held(column, tag, each) for each in open_ for tag in self._own[each])
        for each in self._reached(column, is_masked_too=True) - open_:
            yield from (Held(column, t, each) for t in self._own[each] if not t.is_pii)

    def _reached(self, column: Column, *, is_masked_too: bool) -> set[Column]:
        found = {column}
        open_ = [column]
        while open_:
            deadline.check()
            each = open_.pop()
            above = self._above[each] | {Column(each.dataset, _WHOLE)}
            new = (above | self._masked[each] if is_masked_too else above) - found
            found |= new
            open_ += new
        return found


def shown(held: Held) -> dict[str, Any]:
    """A tag as JSON: what holds it, the tag, and where it came from."""
    return {
        "id": node_id(Node.of_dataset(held.column.dataset)),
        **held.column.dataset._asdict(),
        "field": held.column.field or None,
        **held.tag._asdict(),
        "from": {**held.origin.dataset._asdict(), "field": held.origin.field or None},
    }


def _own_tags(state: State, name: DatasetName) -> Iterator[tuple[str, Tag]]:
    for book in facets_of(state, Node.of_dataset(name)):
        listed = book.get("tags").get("tags")
        for each in listed if isinstance(listed, list) else ():
            if isinstance(each, dict) and each.get("key"):
                key, value, source = (str(each.get(k) or "") for k in ("key", "value", "source"))
                yield str(each.get("field") or _WHOLE), Tag(key, value, source)
