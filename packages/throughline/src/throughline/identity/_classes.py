"""Join names into datasets, independently of the order of events.

A union-find over canonical names. The rank of a name only improves (it was a TABLE symlink, a
producer used it), and the primary name of a dataset is its least name by rank, then by text.
Neither depends on the order of events. Aliases can be removed; because a union-find cannot split,
it is then rebuilt.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from throughline.events import Dataset
from throughline.events.facets import Symlinks
from throughline.identity._names import DatasetName, canonical_name, is_location

_TABLE, _NAME, _LOCATION = range(3)


class Identity:
    """The names of each dataset."""

    def __init__(self) -> None:
        self._ranks_reported: dict[DatasetName, int] = {}
        self._symlinks: set[tuple[DatasetName, DatasetName]] = set()
        self._manual_pairs: Set[tuple[DatasetName, DatasetName]] = frozenset()
        self.rebuilds = 0
        """The number of times that all names were joined again because an alias was removed."""
        self.renamed: set[DatasetName] = set()
        """Names whose dataset got another primary name since the set was last cleared."""
        self._clear()

    def _clear(self) -> None:
        self._parent: dict[DatasetName, DatasetName] = {}
        self._members: dict[DatasetName, list[DatasetName]] = {}
        self._rank: dict[DatasetName, int] = {}
        self._primary: dict[DatasetName, DatasetName] = {}

    def __contains__(self, name: DatasetName) -> bool:
        return name in self._parent

    def __iter__(self) -> Iterator[DatasetName]:
        """Iterate over the primary names of all datasets."""
        return iter(self._primary.values())

    def __len__(self) -> int:
        """Return the number of datasets."""
        return len(self._primary)

    def add(self, dataset: Dataset) -> DatasetName:
        """Add a dataset with its symlinks; return its own name in canonical spelling."""
        own = canonical_name(dataset.namespace, dataset.name)
        self._note(own, _LOCATION if is_location(own) else _NAME)
        for other, rank in _links(dataset):
            self._note(other, rank)
            self._symlinks.add((own, other))
            self._join(own, other)
        return own

    def join_manually(self, pairs: Set[tuple[DatasetName, DatasetName]]) -> None:
        """Set the pairs that are joined in addition to those of symlinks."""
        if not self._manual_pairs <= pairs:
            self.rebuilds += 1
            self._clear()
            for name, rank in self._ranks_reported.items():
                self._place(name, rank)
            for pair in self._symlinks:
                self._join(*pair)
        self._manual_pairs = pairs
        for pair in pairs:
            for name in pair:
                self._place(name, _LOCATION if is_location(name) else _NAME)
            self._join(*pair)

    def primary(self, name: DatasetName) -> DatasetName:
        """Return the primary name of a dataset, under which it is shown."""
        return self._primary[self._find(name)] if name in self._parent else name

    def table_name(self, name: DatasetName) -> DatasetName | None:
        """Return the primary name of a dataset if a TABLE symlink reports it, else None."""
        primary = self.primary(name)
        return primary if self._rank.get(primary) == _TABLE else None

    def names(self, name: DatasetName) -> list[DatasetName]:
        """Return all names of a dataset, the primary one first."""
        if name not in self._parent:
            return [name]
        root = self._find(name)
        return sorted(self._members[root], key=self._order)

    def _note(self, name: DatasetName, rank: int) -> None:
        self._ranks_reported[name] = min(rank, self._ranks_reported.get(name, rank))
        self._place(name, rank)

    def _place(self, name: DatasetName, rank: int) -> None:
        if name not in self._parent:
            self._parent[name] = name
            self._members[name] = [name]
            self._rank[name] = rank
            self._primary[name] = name
            return
        self._rank[name] = min(rank, self._rank[name])
        root = self._find(name)
        self._set_primary(root, min(self._primary[root], name, key=self._order))

    def _join(self, one: DatasetName, other: DatasetName) -> None:
        big, small = self._find(one), self._find(other)
        if big == small:
            return
        if len(self._members[big]) < len(self._members[small]):
            big, small = small, big
        primary = min(self._primary[big], self._primary[small], key=self._order)
        for root in (big, small):
            self._set_primary(root, primary)
        self._parent[small] = big
        self._members[big] += self._members.pop(small)
        del self._primary[small]

    def _set_primary(self, root: DatasetName, name: DatasetName) -> None:
        if name != self._primary[root]:
            self.renamed.update(self._members[root])
            self._primary[root] = name

    def _find(self, name: DatasetName) -> DatasetName:
        root = name
        while (above := self._parent[root]) != root:
            root = above
        while self._parent[name] != root:
            self._parent[name], name = root, self._parent[name]
        return root

    def _order(self, name: DatasetName) -> tuple[int, DatasetName]:
        return self._rank[name], name


def symlinks_of(dataset: Dataset) -> list[DatasetName]:
    """Return the symlinks of a dataset in an event."""
    return [other for other, _ in _links(dataset)]


def _links(dataset: Dataset) -> Iterator[tuple[DatasetName, int]]:
    """Yield every symlink with its rank."""
    if facet := dataset.facets.get(Symlinks.KEY):
        for namespace, name, kind in Symlinks.parse(facet).identifiers:
            other = canonical_name(namespace, name)
            is_place = kind == "LOCATION" or is_location(other)
            yield other, _TABLE if kind == "TABLE" else _LOCATION if is_place else _NAME
