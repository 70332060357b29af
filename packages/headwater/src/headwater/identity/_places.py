"""Replace the local names in an event by the names of the places that the event reports for them.

Within one event a local name has one meaning: the dataset that has it as a symlink, or the location
in its own symlinks facet. Elsewhere the same name may be another dataset.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from headwater.events import Dataset, DatasetEvent, Event, Facets
from headwater.events.facets import Symlinks
from headwater.events.renaming import LINEAGE_FACETS, with_renamed_lineage
from headwater.identity._names import DatasetName, canonical_name, is_local

_Places = Mapping[DatasetName, DatasetName]


def with_places(event: Event) -> Event:
    """Return an event without the local names for which it reports one place.

    Spark lists `file:/warehouse` + `db.t` with the symlink `s3://bucket` + `t`: the event then
    lists the latter. A name that stands for two places stays local.
    """
    if isinstance(event, DatasetEvent):
        places = _places([event.dataset])
        return replace(event, dataset=_placed(event.dataset, places)) if places else event
    places = _places([*event.inputs, *event.outputs])
    if not places:
        return event
    return replace(
        event,
        inputs=tuple(_placed(item, places) for item in event.inputs),
        outputs=tuple(_placed(item, places) for item in event.outputs),
        job_facets=_renamed(event.job_facets, places),
    )


def _places(datasets: Iterable[Dataset]) -> _Places:
    """Return the place of each local name that is a name of only one.

    The place of a dataset is its first name that is not local: its own name, or else the first
    symlink in the order of names.
    """
    found: defaultdict[DatasetName, set[DatasetName]] = defaultdict(set)
    for item in datasets:
        if Symlinks.KEY not in item.facets:
            continue
        names = _names_of(item)
        place = min(names, key=lambda name: (is_local(name), name != names[0], name))
        for name in names:
            if is_local(name):
                found[name].add(place)
    return {
        name: place for name, (place, *others) in found.items() if not others and (place != name)
    }


def _names_of(item: Dataset) -> list[DatasetName]:
    """Return the own name of a dataset in an event, then its symlinks, in canonical spelling."""
    links = Symlinks.parse(item.facets.get(Symlinks.KEY, {})).identifiers
    return [
        canonical_name(item.namespace, item.name),
        *(canonical_name(*link[:2]) for link in links),
    ]


def _placed(item: Dataset, places: _Places) -> Dataset:
    """Return a dataset under the name of its place, with its local name as a symlink.

    Its lineage facets name the places of the other datasets of the event.
    """
    own = canonical_name(item.namespace, item.name)
    facets = _renamed(item.facets, places)
    if own not in places:
        return replace(item, facets=facets) if facets is not item.facets else item
    identifiers = list((facets.get(Symlinks.KEY) or {}).get("identifiers") or ())
    symlinks = {"identifiers": [*identifiers, {**own._asdict(), "type": "TABLE"}]}
    return replace(
        item,
        namespace=places[own].namespace,
        name=places[own].name,
        facets={**facets, Symlinks.KEY: symlinks},
    )


def _renamed(facets: Facets, places: _Places) -> Facets:
    """Return facets with the datasets in their lineage renamed; `places` has the new names."""
    if not any(key in facets for key in LINEAGE_FACETS):
        return facets

    def rename(namespace: str, name: str) -> tuple[str, str]:
        return places.get(canonical_name(namespace, name), (namespace, name))

    return with_renamed_lineage(facets, rename)
