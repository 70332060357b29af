"""Tags, and their propagation along column lineage.

A tag of a dataset applies to all its columns. Tags follow direct column edges only, because a
column that only filters or groups passes on no value. PII (a tag `pii` that is not `false`) does
not pass through a masking transformation. Output of a run without column lineage may contain all
data that the run read: the dataset as a whole inherits the tags of the inputs.

A *generation* is the runs of a task under one parent run. A *walk* maps the generations that it
reached to their edges on the way. A *facet book* has the newest facet of each kind, for a job or
for one name of a dataset.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from headwater import deadline
from headwater.events.facets import Tag
from headwater.events.facets import Tags as ReportedTags
from headwater.graph.column_graph import Column, described_by, edges_of_run
from headwater.graph.frontier import Walked, upstream_of
from headwater.graph.generation import Generation
from headwater.graph.generations import Generations
from headwater.graph.levels import Level
from headwater.graph.nodes import Node, dataset_ref, facets_of, name_of
from headwater.graph.walk import reached
from headwater.identity import DatasetName
from headwater.projection import Run
from headwater.query.models import DatasetTag, TagInfo

WHOLE = ""
"""The field of the column that represents a whole dataset."""


InputKind = Literal["direct", "masked", "unspecified"]


class ColumnTag(NamedTuple):
    """A tag of a column, with the column that it comes from."""

    column: Column
    tag: Tag
    origin: Column

    def place(self) -> tuple[str, ...]:
        """Return the sort key among all tags."""
        of, origin = ((*column.dataset, column.field) for column in (self.column, self.origin))
        return *of, *self.tag[:3], *origin


class _Origins:
    """The reported origins of one dataset: by column, or only as a whole.

    `above` has the source columns of each column, `masked` those behind a masking transformation,
    and `fields` the columns that column lineage describes.
    """

    def __init__(self) -> None:
        self.above: dict[str, set[Column]] = defaultdict(set)
        self.masked: dict[str, set[Column]] = defaultdict(set)
        self.fields: set[str] = set()
        self.unspecified: set[DatasetName] = set()
        """The inputs where no column lineage was reported."""


class Tags:
    """The tags of all datasets that generations, or parts of them, used; decoded on request.

    If no event ever had a tag, nothing is determined. `selected` are generations, or a walk that
    maps each to its edges on the way.
    """

    def __init__(self, generations: Generations, selected: Iterable[Generation] | Walked) -> None:
        """Take the generations whose edges tags follow; with a walk, only the edges on its way.

        `_own`, `_origins` and `_cache` are filled on request.
        """
        self._generations = generations
        self._own: dict[DatasetName, dict[str, set[Tag]]] = {}
        self._origins: dict[DatasetName, _Origins] = {}
        self._cache: dict[Column, set[tuple[Tag, Column]]] = {}
        self._writing: dict[DatasetName, list[Generation]] = defaultdict(list)
        self._reading: dict[DatasetName, list[Run]] = defaultdict(list)
        if not generations.state.has_tags:
            return
        parts = selected if isinstance(selected, dict) else {g: g.edges for g in selected}
        for generation, part in deadline.watched(parts.items()):
            for name in part.writes:
                self._writing[name].append(generation)
            for run in generation.runs:
                for name in generations.own(run).reads & part.reads:
                    self._reading[name].append(run)

    def of(self, name: DatasetName) -> list[ColumnTag]:
        """Return every tag of a dataset and of its columns, own and inherited."""
        read = (
            edge.source.field
            for run in self._reading[name]
            for edge in edges_of_run(self._generations.state, run, run.key.job)
            if edge.source.dataset == name
        )
        columns = (Column(name, field) for field in self.fields_of(name).union(read))
        return sorted(column_tag for column in columns for column_tag in self._column_tags(column))

    def as_info(self, name: DatasetName, field: str | None = None) -> list[TagInfo]:
        """Return the tags of a dataset, or of one of its columns.

        The result is a part of an answer. None for `field` includes the tags of all columns.
        """
        if field is None:
            return [_tag(column_tag) for column_tag in self.of(name)]
        return [_tag(column_tag) for column_tag in sorted(self._column_tags(Column(name, field)))]

    def fields_of(self, name: DatasetName) -> set[str]:
        """Return the columns with tags or column lineage, and that of the whole dataset."""
        return self._own_of(name).keys() | self._origins_of(name).fields | {WHOLE}

    def _own_of(self, name: DatasetName) -> dict[str, set[Tag]]:
        """Return the reported tags of a dataset by column, WHOLE for those of itself; cached."""
        if name not in self._own:
            self._own[name] = defaultdict(set)
            for book in facets_of(self._generations.state, Node.of_dataset(name)):
                for tag in book.parsed(ReportedTags).tags:
                    self._own[name][tag.field or WHOLE].add(tag)
        return self._own[name]

    def _origins_of(self, name: DatasetName) -> _Origins:
        """Return the origins of a dataset; cached.

        Where no run of a generation has column lineage, every input of the generation is an origin.
        """
        origins = self._origins.get(name)
        if origins is None:
            origins = self._origins[name] = _Origins()
            for generation in self._writing[name]:
                is_reported = [self._record(origins, name, run) for run in generation.runs]
                if not any(is_reported):
                    origins.unspecified |= generation.edges.sources_of(name)
        return origins

    def _record(self, origins: _Origins, name: DatasetName, run: Run) -> bool:
        """Record the column edges of a run to a dataset; return False if there are none."""
        deadline.check()
        state = self._generations.state
        described = {column.field for column in described_by(state, run) if column.dataset == name}
        origins.fields |= described
        for edge in edges_of_run(state, run, run.key.job):
            if edge.target.dataset == name and edge.is_direct:
                sources = origins.masked if edge.is_masked else origins.above
                sources[edge.target.field].add(edge.source)
        return bool(described)

    def _column_tags(self, column: Column) -> Iterator[ColumnTag]:
        """Yield the tags of a column, own and inherited, with the columns that they come from."""
        if column not in self._cache:
            self._cache |= self._inherited(column)
        yield from (ColumnTag(column, tag, origin) for tag, origin in self._cache[column])

    def _inherited(self, column: Column) -> dict[Column, set[tuple[Tag, Column]]]:
        """Return the tags, with origins, of a column and all unvisited columns upstream.

        The result is added to the cache. Tags are passed downstream until nothing changes, since
        columns may depend on each other in a circle.
        """
        tags_of: dict[Column, set[tuple[Tag, Column]]] = {}
        feeds: dict[Column, list[tuple[Column, bool]]] = defaultdict(list)
        open_ = [column]
        for current in deadline.popped(open_):
            if current not in tags_of and current not in self._cache:
                own = self._own_of(current.dataset).get(current.field, ())
                tags_of[current] = {(tag, current) for tag in own}
                for above, how in self.inputs(current):
                    feeds[above].append((current, how == "masked"))
                    open_.append(above)
        open_ = list(feeds)  # the farthest is popped first
        for above in deadline.popped(open_):
            tags = tags_of[above] if above in tags_of else self._cache[above]
            for target, is_masked in feeds[above]:
                inherited = (
                    {(t, origin) for t, origin in tags if not t.is_pii} if is_masked else tags
                )
                if not inherited <= tags_of[target]:
                    tags_of[target] |= inherited
                    open_.append(target)
        return tags_of

    def inputs(self, column: Column) -> Iterator[tuple[Column, InputKind]]:
        """Yield the inputs of a column, each with its kind.

        The input of every column includes its dataset as a whole, so that a column also has the
        tags of its dataset. Where no column lineage was reported, all columns of the inputs are
        `unspecified` inputs of the dataset as a whole.
        """
        origins = self._origins_of(column.dataset)
        kinds: tuple[tuple[dict[str, set[Column]], InputKind], ...] = (
            (origins.above, "direct"),
            (origins.masked, "masked"),
        )
        for sources, kind in kinds:
            for above in sources.get(column.field, ()):
                fields = self.fields_of(above.dataset) if above.field == WHOLE else (above.field,)
                yield from ((above._replace(field=field), kind) for field in fields)
        if column.field != WHOLE:
            yield Column(column.dataset, WHOLE), "direct"
            return
        for name in origins.unspecified:
            for field in self.fields_of(name):
                yield Column(name, field), "unspecified"


def tags_of_tree(generations: Generations, root: Node, way: str, level: Level) -> Tags:
    """Return the tags of the nodes in a node's tree, including those inherited from upstream.

    A tree downstream shows datasets that also have other sources, so the generations upstream of
    all nodes are needed, including those whose rows were kept: these are upstream of the dataset
    that has them, but not of the generation that kept them.
    """

    def selected() -> Iterator[Generation]:  # walked only if there is any tag
        """Yield the generations that a tree shows, and those upstream of them."""
        walked = reached(generations, root, way, level)
        yield from upstream_of(generations, walked)
        for name in {name for generation in walked for name in generation.kept}:
            yield from upstream_of(generations, (g for g in walked if name in g.kept), name)
        for generation in walked:
            for name in generation.partial:
                yield from upstream_of(generations, generations.contents(generation, name), name)

    return Tags(generations, selected())


def dataset_tag(column_tag: ColumnTag) -> DatasetTag:
    """Return a tag with the dataset that has it."""
    return {**dataset_ref(column_tag.column.dataset), **_tag(column_tag)}


def _tag(column_tag: ColumnTag) -> TagInfo:
    """Return a tag of a column as part of an answer."""
    return {
        "field": column_tag.column.field or None,
        "key": column_tag.tag.key,
        "value": column_tag.tag.value,
        "source": column_tag.tag.source,
        "from": {**name_of(column_tag.origin.dataset), "field": column_tag.origin.field or None},
    }
