"""Tags, and their propagation along column lineage.

A tag of a dataset applies to all its columns. Tags follow direct column edges only, because a
column that only filters or groups passes on no value. PII (a tag `pii` that is not `false`) ends
where the transformation masks. Output of a run without column lineage may contain all data that the
run read: the dataset as a whole inherits the tags of the inputs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from throughline import deadline
from throughline.graph.column_graph import Column, described_by, edges_of_run
from throughline.graph.generations import Generation, Generations
from throughline.graph.levels import Level
from throughline.graph.models import DatasetTag, TagInfo
from throughline.graph.nodes import Node, dataset_ref, facets_of, name_of
from throughline.graph.walk import reached
from throughline.identity import DatasetName
from throughline.projection import Run, State

_WHOLE = ""
"""The field of the column that represents a whole dataset."""


class Tag(NamedTuple):
    """A tag in the tags facet of a dataset."""

    key: str
    value: str
    source: str

    @property
    def is_pii(self) -> bool:
        """Return True if the tag marks personal data."""
        return self.key.lower() == "pii" and self.value.lower() not in ("false", "no", "0")


class Held(NamedTuple):
    """A tag of a column, with the column that it comes from."""

    column: Column
    tag: Tag
    origin: Column

    def place(self) -> tuple[str, ...]:
        """Return the sort key among all tags."""
        of, origin = ((*each.dataset, each.field) for each in (self.column, self.origin))
        return *of, *self.tag, *origin


class _Made:
    """The reported origins of one dataset: by column, or only as a whole."""

    def __init__(self) -> None:
        self.above: dict[str, set[Column]] = defaultdict(set)
        self.masked: dict[str, set[Column]] = defaultdict(set)
        self.fields: set[str] = set()
        self.bare: set[DatasetName] = set()
        """The inputs where no column lineage was reported."""


class Tags:
    """The tags of all datasets that some generations used, decoded on request."""

    def __init__(self, known: Generations, generations: Iterable[Generation]) -> None:
        self._known = known
        self._own: dict[DatasetName, dict[str, set[Tag]]] = {}
        self._made: dict[DatasetName, _Made] = {}
        self._found: dict[Column, set[tuple[Tag, Column]]] = {}
        self._writing: dict[DatasetName, list[Generation]] = defaultdict(list)
        self._reading: dict[DatasetName, list[Run]] = defaultdict(list)
        records = known.state.datasets.values()
        if not any(record.facets.stamp_of("tags") for record in records):
            return
        for generation in deadline.watched(generations):
            for name in generation.edges.writes:
                self._writing[name].append(generation)
            for run in generation.runs:
                for name in known.reading(run):
                    self._reading[name].append(run)

    def of(self, name: DatasetName) -> list[Held]:
        """Return every tag of a dataset and of its columns, own and inherited."""
        read = (
            edge.source.field
            for run in self._reading[name]
            for edge in edges_of_run(self._known.state, run, run.key.job)
            if edge.source.dataset == name
        )
        columns = (Column(name, field) for field in self._all_of(name).union(read))
        return sorted(held for column in columns for held in self._held(column))

    def told(self, name: DatasetName, field: str | None = None) -> list[TagInfo]:
        """Return the tags of a dataset, or of one of its columns."""
        held = self.of(name) if field is None else sorted(self._held(Column(name, field)))
        return [_tag(each) for each in held]

    def _all_of(self, name: DatasetName) -> set[str]:
        return self._own_of(name).keys() | self._made_of(name).fields | {_WHOLE}

    def _own_of(self, name: DatasetName) -> dict[str, set[Tag]]:
        if name not in self._own:
            self._own[name] = defaultdict(set)
            for field, tag in _own_tags(self._known.state, name):
                self._own[name][field].add(tag)
        return self._own[name]

    def _made_of(self, name: DatasetName) -> _Made:
        made = self._made.get(name)
        if made is None:
            made = self._made[name] = _Made()
            for generation in self._writing[name]:
                told = [self._note(made, name, run) for run in generation.runs]
                if not any(told):
                    made.bare |= generation.edges.sources_of(name)
        return made

    def _note(self, made: _Made, name: DatasetName, run: Run) -> bool:
        """Record the column edges of a run to a dataset; return False if there are none."""
        deadline.check()
        state = self._known.state
        described = {each.field for each in described_by(state, run) if each.dataset == name}
        made.fields |= described
        for edge in edges_of_run(state, run, run.key.job):
            if edge.target.dataset == name and edge.is_direct:
                sources = made.masked if edge.is_masked else made.above
                sources[edge.target.field].add(edge.source)
        return bool(described)

    def _held(self, column: Column) -> Iterator[Held]:
        if column not in self._found:
            self._found |= self._handed(column)
        yield from (Held(column, tag, origin) for tag, origin in self._found[column])

    def _handed(self, column: Column) -> dict[Column, set[tuple[Tag, Column]]]:
        """Return the tags, with origins, of a column and all unvisited columns upstream."""
        held: dict[Column, set[tuple[Tag, Column]]] = {}
        feeds: dict[Column, list[tuple[Column, bool]]] = defaultdict(list)
        open_ = [column]
        while open_:
            deadline.check()
            each = open_.pop()
            if each not in held and each not in self._found:
                own = self._own_of(each.dataset).get(each.field, ())
                held[each] = {(tag, each) for tag in own}
                for above, is_masked in self._inputs(each):
                    feeds[above].append((each, is_masked))
                    open_.append(above)
        open_ = list(feeds)  # the farthest last: what it hands on goes all the way down first
        while open_:
            deadline.check()
            above = open_.pop()
            tags = held[above] if above in held else self._found[above]
            for each, is_masked in feeds[above]:
                handed = {(t, origin) for t, origin in tags if not t.is_pii} if is_masked else tags
                if not handed <= held[each]:
                    held[each] |= handed
                    open_.append(each)
        return held

    def _inputs(self, column: Column) -> Iterator[tuple[Column, bool]]:
        """Yield the inputs of a column, each with True if its value is masked."""
        made = self._made_of(column.dataset)
        for sources, is_masked in ((made.above, False), (made.masked, True)):
            for above in sources.get(column.field, ()):
                fields = self._all_of(above.dataset) if above.field == _WHOLE else (above.field,)
                yield from ((above._replace(field=field), is_masked) for field in fields)
        if column.field != _WHOLE:
            yield Column(column.dataset, _WHOLE), False
            return
        for name in made.bare:
            yield from ((Column(name, field), False) for field in self._all_of(name))


def around(known: Generations, root: Node, way: str, level: Level) -> Tags:
    """Return the tags of the nodes in a node's tree, including those inherited from upstream."""

    def generations() -> Iterator[Generation]:  # walked only if there is any tag
        yield from known.behind(reached(known, root, way, level))

    return Tags(known, generations())


def shown(held: Held) -> DatasetTag:
    """Return a tag with the dataset that has it."""
    return {**dataset_ref(held.column.dataset), **_tag(held)}


def _tag(held: Held) -> TagInfo:
    return {
        "field": held.column.field or None,
        "key": held.tag.key,
        "value": held.tag.value,
        "source": held.tag.source,
        "from": {**name_of(held.origin.dataset), "field": held.origin.field or None},
    }


def _own_tags(state: State, name: DatasetName) -> Iterator[tuple[str, Tag]]:
    for book in facets_of(state, Node.of_dataset(name)):
        listed = book.get("tags").get("tags")
        for each in listed if isinstance(listed, list) else ():
            if isinstance(each, dict) and each.get("key"):
                key, value, source = (str(each.get(k) or "") for k in ("key", "value", "source"))
                yield str(each.get("field") or _WHOLE), Tag(key, value, source)
