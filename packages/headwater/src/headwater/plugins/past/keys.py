"""Determine the keys of an event: the parts of a state that it contributes to.

A record of a state, such as that of a job, depends only on the events that contribute to it. The
records that one event contributes to are those in the state of this event alone. Names of datasets,
folders and schemas depend on a few distinct facts that many events repeat, so the facts are stored
instead of the events.

A key names a record: ("job", "shop", "daily"), ("name", "hive://lake", "shop.orders"). The last
part of a name is an ending, by which short names are found.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import blake2b
from typing import NamedTuple

from headwater.events import AliasEvent, Dataset, DatasetEvent, Logged, RunEvent
from headwater.events.facets import Symlinks
from headwater.identity import canonical_name, symlinks_of
from headwater.partial import (
    Key,
    dataset_key,
    ending_key,
    folder_key,
    job_key,
    name_key,
    own_key,
    run_key,
    schemas_key,
    table_key,
)
from headwater.projection import State, apply

WHOLE: Key = ("whole",)
"""Events with values that are read for all jobs at once: aliases, handoffs and derivations."""

TAGS: Key = ("tags",)
"""The fact that a dataset has a tag."""


class Fact(NamedTuple):
    """A part of a state that is stored as a value instead of the events; `value` is JSON."""

    key: Key
    value: str

    @property
    def digest(self) -> bytes:
        """The identity of the fact, 16 bytes."""
        return _digest((*self.key, self.value), 16)


class Parts(NamedTuple):
    """The keys and facts of an event."""

    keys: set[Key]
    facts: set[Fact]


def number_of(key: Key) -> int:
    """Return the number of a key in the database. Two keys with one number only cost time."""
    return int.from_bytes(_digest(key, 8), signed=True)


def _digest(texts: tuple[str, ...], size: int) -> bytes:
    return blake2b(repr(texts).encode(), digest_size=size).digest()


def parts_of(event: Logged) -> Parts:
    """Return the keys and facts of an event."""
    state = State()
    apply(state, event)
    keys = {
        *map(job_key, state.jobs),
        *map(job_key, state.named_by),
        *map(dataset_key, state.datasets),
        *map(run_key, state.runs_by_id),
        *map(table_key, state.changes_by_table),
    }
    if isinstance(event, RunEvent):
        keys.add(own_key(event.run_id))
    if isinstance(event, AliasEvent) or state.handoffs or state.derived_from or state.derivations():
        keys.add(WHOLE)
    return Parts(keys, {*_facts(event, state)})


def _facts(event: Logged, state: State) -> Iterator[Fact]:
    """Yield the facts of an event, given the state of this event alone.

    These are the names that it reports together for a dataset, the files in a folder, the schemas
    of a namespace, the presence of tags, and the endings of names.
    """
    for item in _datasets_of(event):
        links = Symlinks.parse(item.facets.get(Symlinks.KEY, {})).identifiers
        value = _json([item.namespace, item.name, *sorted(map(list, links))])
        for name in (canonical_name(item.namespace, item.name), *symlinks_of(item)):
            yield Fact(name_key(name), value)
    for name in state.datasets:  # some are only named by facets
        yield Fact(name_key(name), _json([*name]))
    for folder, names in state.files.items():
        for name in names:
            yield Fact(folder_key(folder), _json([*name]))
    for namespace, schemas in state.schemas.items():
        for schema in schemas:
            yield Fact(schemas_key(namespace), _json([*schema]))
    if state.has_tags:
        yield Fact(TAGS, "")
    yield from _endings(event, state)


def _endings(event: Logged, state: State) -> Iterator[Fact]:
    """Yield the jobs and names of datasets, each under the key of the ending of its name."""
    links = (link for item in _datasets_of(event) for link in symlinks_of(item))
    names = {*state.datasets, *links, *(name for pair in state.aliases for name in pair)}
    for kind, found in (("job", {*state.jobs}), ("dataset", names)):
        for named in found:
            yield Fact(ending_key(named.name), _json([kind, *named]))


def _datasets_of(event: Logged) -> tuple[Dataset, ...]:
    if isinstance(event, AliasEvent):
        return ()
    return (event.dataset,) if isinstance(event, DatasetEvent) else (*event.inputs, *event.outputs)


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))  # only ASCII, which every database can store
