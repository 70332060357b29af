"""Find names that may join too much or too little, each with the command that corrects it.

Each remedy is a `headwater alias` command, and pairs that a user joined or separated before (the
stated ones) are left out.

- place: a location, such as `s3://bucket/path`, in contrast to a name in a catalog
- local name: one that identifies nothing, such as a table of Spark's session catalog; it joins no
  two locations
- joined: names of one dataset, such as a table and its location by a symlink
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from headwater.graph.nodes import Node, node_id
from headwater.health.findings import some, warning
from headwater.health.models import Finding
from headwater.identity import DatasetName, Identity, is_location
from headwater.lineage.name_rules import joined_pairs, listed, rules_of
from headwater.name_rules import WILDCARD
from headwater.projection import State
from headwater.text import counted

_Names = dict[DatasetName, set[DatasetName]]


def names_of_several_locations(state: State) -> Iterator[Finding]:
    """Find names that were reported for several locations.

    A local name joins none of them; a name that is unique joins all, which may be a mistake.
    """
    identity = state.identity
    for name in identity.shared_names():
        places = identity.places(name)
        yield warning(
            "one name, two locations",
            name,
            f"is a local name of {counted(len(places), 'dataset')}, which it does not join:"
            f" {some(map(_id, places))}",
            f"if they are one dataset: {_command(places[0], places[1])}; if not:"
            f" {_command(name, _link_of(identity, name, places[1]), '--separate')}",
        )
    places_of, _ = _links(identity)
    for name, joined in sorted(places_of.items()):
        first, *others = sorted(joined)
        stated = {  # a user decided about the place and the first one, or the name
            place for place in others for one in (first, name) if identity.is_stated(one, place)
        }
        if others := [other for other in others if other not in stated]:
            yield warning(
                "one name, two locations",
                name,
                f"joins {counted(len(others) + 1, 'location')} into one dataset:"
                f" {some(map(_id, (first, *others)))}",
                f"if it moved: {_command(first, others[0])}; if they are two datasets:"
                f" {_command(name, others[0], '--separate')}",
            )


def locations_with_several_names(state: State) -> Iterator[Finding]:
    """Find locations that have several names in one catalog."""
    identity = state.identity
    _, names_of = _links(identity)
    for place, names in sorted(names_of.items()):
        for group in _by_namespace(names):
            first, *others = group
            if others := [other for other in others if not identity.is_stated(first, other)]:
                yield warning(
                    "one location, two names",
                    place,
                    f"joins {counted(len(others) + 1, 'name')} of one catalog into one dataset:"
                    f" {some(map(_id, (first, *others)))}",
                    f"if it was renamed: {_command(first, others[0])}; if they are two datasets:"
                    f" {_command(others[0], place, '--separate')}",
                )


def rules_that_join_several_pairs(state: State) -> Iterator[Finding]:
    """Find datasets that have the names of several pairs of a rule."""
    for rule in rules_of(state):
        if joined := joined_pairs(state, rule):
            one, other = map(_id, rule)
            yield warning(
                "one name, two locations",
                state.identity.primary(joined[0][1]),
                f"has the names of several pairs of the rule {one} = {other}: {WILDCARD} ="
                f" {listed(joined)}",
                f"if they are several datasets: {_command(*rule, '--rule --remove')}",
            )


def _links(identity: Identity) -> tuple[_Names, _Names]:
    """Return the locations of each name that is unique, and the names of each location.

    Only pairs whose names are one dataset now count.
    """
    places_of: defaultdict[DatasetName, set[DatasetName]] = defaultdict(set)
    names_of: defaultdict[DatasetName, set[DatasetName]] = defaultdict(set)
    for own, link in identity.links():
        is_joined = identity.primary(own) == identity.primary(link)
        if identity.is_local(own) or identity.is_local(link) or not is_joined:
            continue
        name, place = (own, link) if is_location(link) and not is_location(own) else (link, own)
        if name != place:
            places_of[name].add(place)
            names_of[place].add(name)
    return places_of, names_of


def _by_namespace(names: Iterable[DatasetName]) -> Iterator[list[DatasetName]]:
    """Yield the names of each namespace, without those of parts such as branches: `table.part`."""
    groups: defaultdict[str, list[DatasetName]] = defaultdict(list)
    for name in sorted(names):
        group = groups[name.namespace]
        if not any(name.name.startswith(f"{other.name}.") for other in group):
            group.append(name)
    yield from groups.values()


def _link_of(identity: Identity, name: DatasetName, dataset: DatasetName) -> DatasetName:
    """Return the name of a dataset of which a local name is a symlink."""
    return min(anchor for anchor in identity.anchors(name) if identity.primary(anchor) == dataset)


def _command(one: DatasetName, other: DatasetName, option: str = "") -> str:
    return f"headwater alias {option}{' ' if option else ''}'{_id(one)}' '{_id(other)}'"


def _id(name: DatasetName) -> str:
    return node_id(Node.of_dataset(name))
