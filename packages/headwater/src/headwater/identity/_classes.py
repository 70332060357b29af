"""Join names into datasets, independently of the order of events.

Symlinks between names that are unique, and pairs that users declare, join without condition. A
local name, such as one of a session or of the metastore of one cluster, is an alias of the dataset
that it is reported for, and never joins two of them: with several, it is a dataset of its own if
producers report it as one, and else only an alias of each.

Joins can be removed; because a union-find cannot split, all names are then joined again.

- *own name*: the name under which an event lists a dataset, not as a symlink.
- *anchor*: a name that a local name is a symlink of. The local name is its *guest*.
- *unit*: local names that stand for one thing, because each is joined with another.
- *settle*: to determine the dataset of a local name, after one of its anchors changed.
- *housed*: a local name that is unique, because a location in its warehouse folder has it, such as
  `file:/warehouse` + `db.t` with a location `/warehouse/...`.
- *rank*: TABLE symlink, other logical name, location; the least one is shown (`primary`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

from headwater.events import Dataset
from headwater.events.facets import Symlinks
from headwater.identity._names import (
    DatasetName,
    canonical_name,
    is_in_warehouse,
    is_local,
    is_location,
    locality,
)
from headwater.identity._union import LOCATION, NAME, TABLE, Union
from headwater.name_rules import mates

Pair = tuple[DatasetName, DatasetName]


class Identity:
    """The names of each dataset."""

    def __init__(self) -> None:
        self._ranks_reported: dict[DatasetName, int] = {}
        self._own: set[DatasetName] = set()
        """Local names under which producers reported datasets, not only as symlinks."""
        self._symlinks: set[Pair] = set()
        self._joined: set[Pair] = set()
        self._rules: Set[Pair] = frozenset()
        self._separated: Set[Pair] = frozenset()
        self.rebuilds = 0
        """The number of times that all names were joined again because a join was removed."""
        self.renamed: set[DatasetName] = set()
        """Names whose dataset got a new primary name, and that name, since the set was cleared."""
        self.regrouped: set[DatasetName] = set()
        """Names that are new or that sort differently, and those attached to others, likewise."""
        self._housed: set[DatasetName] = set()
        """Local names that are unique, because a location in their warehouse has them."""
        self._clear()

    def _clear(self) -> None:
        """Forget how names are joined; what was reported about them stays."""
        self._union = Union(self._housed)
        self._anchors: dict[DatasetName, set[DatasetName]] = {}
        """The names that each local name is a symlink of."""
        self._guests: dict[DatasetName, set[DatasetName]] = {}
        """The local names that are symlinks of a name."""
        self._shown: dict[DatasetName, DatasetName] = {}
        """The primary name of each local name that is not joined by a user."""
        self._local_datasets: set[DatasetName] = set()
        """The primary names of the datasets that have only local names."""

    def __contains__(self, name: DatasetName) -> bool:
        return name in self._union

    def __iter__(self) -> Iterator[DatasetName]:
        """Iterate over the primary names of all datasets."""
        yield from (name for name in self._union.primaries() if not self.is_local(name))
        yield from self._local_datasets

    def __len__(self) -> int:
        """Return the number of datasets."""
        return self._union.unique_count + len(self._local_datasets)

    @property
    def symlinks(self) -> Set[Pair]:
        """The pairs of names that producers reported for one dataset."""
        return self._symlinks

    def add(self, dataset: Dataset) -> DatasetName:
        """Add a dataset with its symlinks; return its own name in canonical spelling."""
        own = canonical_name(dataset.namespace, dataset.name)
        changed = self._house(own, symlinks_of(dataset))
        changed |= self._note(own, LOCATION if is_location(own) else NAME)
        if self.is_local(own) and own not in self._own:
            self._own.add(own)
            changed.add(own)
        for other, rank in _links(dataset):
            changed |= self._note(other, rank)
            pair = own, other
            if own != other and pair not in self._symlinks:
                self._symlinks.add(pair)
                changed |= self._link(pair)
        self._settle(changed)
        return own

    def set_manual(
        self, joined: Set[Pair], separated: Set[Pair], rules: Set[Pair] = frozenset()
    ) -> set[DatasetName]:
        """Set the pairs that users joined, those that users separated, and the rules.

        A symlink of a separated pair does not count. Return the names of the pairs that changed.
        """
        before, self._rules = self._joined, rules
        self._joined = {*joined, *(p for name in self._ranks_reported for p in self._ruled(name))}
        changed = (before ^ self._joined) | (self._separated ^ separated)
        is_split = not before <= self._joined or self._separated != separated
        self._separated = separated
        self._settle(self._join_all() if is_split else self._join_stated())
        return {name for pair in changed for name in pair}

    def primary(self, name: DatasetName) -> DatasetName:
        """Return the primary name of a dataset, under which it is shown."""
        shown = self._shown.get(name)
        if shown is None:
            return self._union.primary(name) if name in self._union else name
        return shown

    def table_name(self, name: DatasetName) -> DatasetName | None:
        """Return the primary name of a dataset if a TABLE symlink reports it, else None."""
        primary = self.primary(name)
        if primary not in self._union or self.is_local(primary):
            return None
        return primary if self._union.rank(primary) == TABLE else None

    def names(self, name: DatasetName) -> list[DatasetName]:
        """Return all names of a dataset, with local ones of several; the primary one first."""
        if name not in self._union:
            return [name]
        primary = self.primary(name)
        is_unique = not self.is_local(primary)
        names = set(self._union.members(primary) if is_unique else self._unit(primary))
        for anchor in list(names):
            for guest in self._guests.get(anchor, ()):
                if self.primary(guest) == primary or self._is_only_alias(guest):
                    names |= self._unit(guest)
        return sorted(names, key=lambda alias: (alias != primary, self._union.order(alias)))

    def datasets(self, name: DatasetName) -> list[DatasetName]:
        """Return the primary names of the datasets with a name: several if it is a shared alias."""
        if name not in self._union:
            return []
        if not self._is_only_alias(name):
            return [self.primary(name)]
        anchors = {anchor for mate in self._unit(name) for anchor in self._anchors.get(mate, ())}
        return sorted({self.primary(anchor) for anchor in anchors - self._unit(name)})

    def is_local(self, name: DatasetName) -> bool:
        """Return True for a local name, unless a location in its warehouse makes it unique."""
        return self._union.is_local(name)

    def links(self) -> Iterator[Pair]:
        """Yield the pairs of names that producers reported, without those that users separated."""
        yield from (p for p in self._symlinks if tuple(sorted(p)) not in self._separated)

    def is_stated(self, one: DatasetName, other: DatasetName) -> bool:
        """Return True if a user or a rule joined two names, or a user separated them."""
        pair = min(one, other), max(one, other)
        return pair in self._joined or pair in self._separated

    def anchors(self, name: DatasetName) -> Set[DatasetName]:
        """Return the names that a local name is a symlink of."""
        return self._anchors.get(name, frozenset())

    def places(self, name: DatasetName) -> list[DatasetName]:
        """Return the primary names of the datasets that report a local name as a symlink."""
        anchors = self.anchors(name) | {name} & self._housed
        return sorted({self.primary(anchor) for anchor in anchors})

    def shared_names(self) -> list[DatasetName]:
        """Return the local names that several datasets report as a symlink."""
        return sorted(name for name in self._anchors if len(self.places(name)) > 1)

    def _is_only_alias(self, name: DatasetName) -> bool:
        """Return True for a local name that is no dataset, because it may be one of several."""
        shown = self._shown.get(name)
        return shown is not None and self.is_local(shown) and shown not in self._local_datasets

    def _house(self, own: DatasetName, links: list[DatasetName]) -> set[DatasetName]:
        """Record *housed* names of a location; return the local names to be settled again."""
        pairs = [pair for link in links for pair in ((own, link), (link, own))]
        added = {pair[1] for pair in pairs if is_in_warehouse(*pair)} - self._housed
        self._housed |= added
        return self._join_all() if any(name in self._union for name in added) else set()

    def _join_all(self) -> set[DatasetName]:
        """Join all names again; return the local names to be settled again."""
        self.rebuilds += 1
        self._clear()
        for name, rank in self._ranks_reported.items():
            self._union.place(name, rank)
        for pair in self._symlinks:
            self._link(pair)
        return self._join_stated() | set(filter(self.is_local, self._ranks_reported))

    def _join_stated(self) -> set[DatasetName]:
        """Join the names that users joined; return the local names to be settled again."""
        changed: set[DatasetName] = set()
        for pair in self._joined:
            for name in pair:
                if name not in self._union:
                    self._union.place(name, LOCATION if is_location(name) else NAME)
                    self.regrouped.add(name)
            changed |= self._join(*pair)
        return changed

    def _note(self, name: DatasetName, rank: int) -> set[DatasetName]:
        """Add a name, or lower its rank; return the local names to be settled again."""
        before = self._ranks_reported.get(name)
        if before is not None and before <= rank:
            return set()
        self._ranks_reported[name] = rank
        self._union.place(name, rank)
        self.regrouped.add(name)
        changed = {name} if self.is_local(name) else self._guests_of_renamed()
        for pair in self._ruled(name):
            self._joined.add(pair)
            changed |= self._join(*pair)
        return changed

    def _ruled(self, name: DatasetName) -> Iterator[Pair]:
        """Yield the pairs of a name and another reported one that rules join."""
        for mate in map(DatasetName._make, mates(self._rules, name)):
            if mate in self._ranks_reported and mate != name:
                yield min(name, mate), max(name, mate)

    def _link(self, pair: Pair) -> set[DatasetName]:
        """Join the names of a symlink; return the local names to be settled again.

        Two unique names are joined. Otherwise, the more local one becomes the guest of the other,
        because it may mean something else elsewhere.
        """
        own, other = pair
        if tuple(sorted(pair)) in self._separated:
            return set()
        is_placed = is_in_warehouse(own, other) or is_in_warehouse(other, own)
        if is_placed or not (is_local(own) or is_local(other)):
            return self._join(own, other)
        local = max(other, own, key=lambda name: (self._union.locality(name), locality(name)))
        anchor = own if local == other else other
        changed = self._unit(local)
        self._anchors.setdefault(local, set()).add(anchor)
        self._guests.setdefault(anchor, set()).add(local)
        return changed | {local}

    def _join(self, one: DatasetName, other: DatasetName) -> set[DatasetName]:
        """Join two names without condition; return the local names to be settled again.

        These are local names that are joined with either, and guests of names whose class changed.
        """
        changed = {
            mate for name in (one, other) if self.is_local(name) for mate in self._unit(name)
        }
        moved = self._union.join(one, other)
        changed.update(filter(self.is_local, moved))
        return changed | self._guests_of(moved) | self._guests_of_renamed()

    def _guests_of_renamed(self) -> set[DatasetName]:
        """Record the names with another primary name; return the local names attached to them."""
        names, self._union.renamed = self._union.renamed, set()
        self.renamed |= names
        return self._guests_of(names)

    def _guests_of(self, names: Iterable[DatasetName]) -> set[DatasetName]:
        """Return the local names that are symlinks of some names."""
        return {guest for name in names for guest in self._guests.get(name, ())}

    def _unit(self, name: DatasetName) -> set[DatasetName]:
        """Return the local names that are joined with a local name.

        A local name is joined with another that it is a symlink of if it is one of no other name.
        """
        unit: set[DatasetName] = set()
        open_ = [name]
        while open_:
            mate = open_.pop()
            if mate in unit or self._union.is_unique(mate):
                continue
            unit.add(mate)
            open_ += self._union.members(mate)
            open_ += self._only_anchor(mate)
            open_ += (g for g in self._guests.get(mate, ()) if self._only_anchor(g))
        return unit

    def _only_anchor(self, name: DatasetName) -> Set[DatasetName]:
        """Return the local name that a name is a symlink of, if it is one of no other name."""
        anchors = self.anchors(name)
        return anchors if len(anchors) == 1 and self.is_local(next(iter(anchors))) else frozenset()

    def _settle(self, names: set[DatasetName]) -> None:
        """Determine the datasets of local names again.

        All names of a unit are shown under the one dataset that they are aliases of, or else under
        the first name of the unit. It is a dataset if an event listed one of its names as such.
        """
        open_ = set(names)
        while open_:
            name = open_.pop()
            unit = self._unit(name)
            open_ -= unit
            self._local_datasets -= unit | {name}
            self.regrouped |= {name}.union(unit, *map(self.anchors, unit))
            if not unit:  # joined by a user with a name that is unique
                self._show(name, None)
                continue
            place = self._place_of(unit)
            if place is None:
                place = min(unit, key=self._local_order)
                if not self._own.isdisjoint(unit):
                    self._local_datasets.add(place)
            for mate in unit:
                self._show(mate, place)

    def _place_of(self, unit: Set[DatasetName]) -> DatasetName | None:
        """Return the primary name of the only dataset that local names are aliases of; else None.

        None, too, if one of the `unit` is an alias of another local name: that may be any of
        several.
        """
        places: set[DatasetName] = set()
        for mate in unit:
            if self._only_anchor(mate) & unit:
                continue
            for anchor in self.anchors(mate):
                if not self._union.is_unique(anchor):
                    return None
                places.add(self._union.primary(anchor))
                if len(places) > 1:
                    return None
        return next(iter(places), None)

    def _show(self, name: DatasetName, primary: DatasetName | None) -> None:
        """Set the primary name of a local name (None: the union has it); note if it changed."""
        before = self.primary(name)
        if primary is None:
            self._shown.pop(name, None)
        else:
            self._shown[name] = primary
        if self.primary(name) != before:
            self.renamed |= {name, before}

    def _local_order(self, name: DatasetName) -> tuple[bool, int, int, DatasetName]:
        """Return the sort key in a unit: reported datasets first, then the least local names."""
        return name not in self._own, self._union.locality(name), self._union.rank(name), name


def symlinks_of(dataset: Dataset) -> list[DatasetName]:
    """Return the symlinks of a dataset in an event."""
    return [other for other, _ in _links(dataset)]


def _links(dataset: Dataset) -> Iterator[tuple[DatasetName, int]]:
    """Yield every symlink with its rank: the type TABLE first, then other names, then locations."""
    if facet := dataset.facets.get(Symlinks.KEY):
        for namespace, name, kind in Symlinks.parse(facet).identifiers:
            other = canonical_name(namespace, name)
            is_place = kind == "LOCATION" or is_location(other)
            yield other, TABLE if kind == "TABLE" else LOCATION if is_place else NAME
