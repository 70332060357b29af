"""A union-find over names, with the primary name of each class of joined names.

A *class* is a set of joined names; `find` returns the name that represents it internally. A *local*
name may be one of several datasets, see `identity._names`.
"""

from __future__ import annotations

from collections.abc import Set

from headwater.identity._names import UNIQUE, DatasetName, locality

TABLE, NAME, LOCATION = range(3)
"""The ranks of a name: a TABLE symlink, another logical name, a location."""

Order = tuple[int, int, DatasetName]
"""The locality of a name, its rank, and the name: the least in a class is the primary name."""


class Union:
    """The names that are joined without condition.

    The rank of a name only improves, and the primary name of a class is its least name: local
    names last, then by rank, then by text. Neither depends on the order of events.
    """

    def __init__(self, housed: Set[DatasetName] = frozenset()) -> None:
        self._housed = housed
        """Local names that are unique, because a location in their warehouse has them."""
        self._parent: dict[DatasetName, DatasetName] = {}
        self._members: dict[DatasetName, list[DatasetName]] = {}
        self._rank: dict[DatasetName, int] = {}
        self._primary: dict[DatasetName, DatasetName] = {}
        self.unique_count = 0
        """The number of classes with a name that is not local."""
        self.renamed: set[DatasetName] = set()
        """Names that got another primary name since the set was last cleared."""

    def __contains__(self, name: DatasetName) -> bool:
        return name in self._parent

    def locality(self, name: DatasetName) -> int:
        """Return where a name is unique, given the locations that have it."""
        return UNIQUE if name in self._housed else locality(name)

    def is_local(self, name: DatasetName) -> bool:
        """Return True if a name may be one of several datasets."""
        return self.locality(name) > UNIQUE

    def find(self, name: DatasetName) -> DatasetName:
        """Return the name that represents the class of a name; shorten the path to it."""
        root = name
        while (above := self._parent[root]) != root:
            root = above
        while self._parent[name] != root:
            self._parent[name], name = root, self._parent[name]
        return root

    def primary(self, name: DatasetName) -> DatasetName:
        """Return the least name of the class of a name."""
        return self._primary[self.find(name)]

    def members(self, name: DatasetName) -> list[DatasetName]:
        """Return all names of the class of a name."""
        return self._members[self.find(name)]

    def is_unique(self, name: DatasetName) -> bool:
        """Return True if the class of a name has a name that is not local."""
        return not self.is_local(self.primary(name))

    def rank(self, name: DatasetName) -> int:
        """Return the best rank of a name."""
        return self._rank[name]

    def order(self, name: DatasetName) -> Order:
        """Return the sort key of a name within its dataset."""
        return self.locality(name), self._rank[name], name

    def primaries(self) -> list[DatasetName]:
        """Return the primary name of every class."""
        return list(self._primary.values())

    def place(self, name: DatasetName, rank: int) -> None:
        """Add a name, or improve its rank.

        The primary name of its class may change with the rank.
        """
        if name not in self._parent:
            self._parent[name] = name
            self._members[name] = [name]
            self._rank[name] = rank
            self._primary[name] = name
            self.unique_count += not self.is_local(name)
            return
        self._rank[name] = min(rank, self._rank[name])
        root = self.find(name)
        self._set_primary(root, min(self._primary[root], name, key=self.order))

    def join(self, one: DatasetName, other: DatasetName) -> list[DatasetName]:
        """Join two classes; return the names of the smaller one, or none if it is one class.

        Both must have been added by `place`. The caller updates what depends on the returned names.
        """
        big, small = self.find(one), self.find(other)
        if big == small:
            return []
        if len(self._members[big]) < len(self._members[small]):
            big, small = small, big
        self.unique_count -= self.is_unique(big) and self.is_unique(small)
        primary = min(self._primary[big], self._primary[small], key=self.order)
        for root in (big, small):
            self._set_primary(root, primary)
        self._parent[small] = big
        moved = self._members.pop(small)
        self._members[big] += moved
        del self._primary[small]
        return moved

    def _set_primary(self, root: DatasetName, name: DatasetName) -> None:
        if name != self._primary[root]:
            self.renamed.update(self._members[root])
            self._primary[root] = name
