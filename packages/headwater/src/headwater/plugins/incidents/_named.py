"""Find the version of a dataset that a text names.

A version is what a run reported, such as an Iceberg snapshot or a file hash, or else the id of the
run that wrote it. A generation is the runs of a task under one parent run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from headwater.datasets.writes import Write, writes_of
from headwater.errors import AmbiguousError, NotFoundError
from headwater.events import run_id_of
from headwater.events.facets import DbtRun
from headwater.graph.current import generations_of
from headwater.graph.generation import Generation
from headwater.graph.nodes import Node, node_id
from headwater.identity import DatasetName
from headwater.lineage.provenance import writing_version
from headwater.lookup import find_dataset
from headwater.nodes.versions import datasets_with_version, has_version, versions_read
from headwater.projection import Run, State
from headwater.projection.derived import ancestry_of

_NEAREST = 5


class Version(NamedTuple):
    """A version of a dataset, with the generations that wrote it."""

    name: DatasetName
    version: str
    is_reported: bool
    """False for the id of a run that wrote without reporting a version."""
    writers: tuple[Generation, ...]

    @property
    def node(self) -> Node:
        """The node of the dataset."""
        return Node.of_dataset(self.name)


def find_version(state: State, text: str) -> Version:
    """Return the version that `DATASET@VERSION` names, or a version alone if one dataset has it.

    After `DATASET@`, the id of a run above the writer, or of a dbt invocation, is accepted too.

    Raises:
        NotFoundError: there is no such dataset or version.
        AmbiguousError: several datasets have the version, or the name of the dataset is ambiguous.

    A name may contain `@`, so each `@` is tried, the last one first.
    """
    missing: NotFoundError | None = None
    for at in reversed([place for place, char in enumerate(text) if char == "@"]):
        try:
            name = find_dataset(state, text[:at]).dataset_name
        except AmbiguousError:  # a NotFoundError, but the user must choose
            raise
        except NotFoundError as error:
            missing = missing or error
            continue
        if (found := _of_dataset(state, name, text[at + 1 :])) is not None:
            return found
        known = [f"{text[:at]}@{version}" for version in _newest(state, name)]
        raise NotFoundError(
            f"no run reported version {text[at + 1 :]!r} of {name.name}", known[:_NEAREST]
        )
    names = datasets_with_version(state, text)
    if len(names) > 1:
        ids = [f"{node_id(Node.of_dataset(name))}@{text}" for name in names]
        raise AmbiguousError(
            text, f"is a version of {len(ids)} datasets; pass DATASET@VERSION", ids[:10]
        )
    if names and (found := _of_dataset(state, names[0], text)) is not None:
        return found
    raise missing or _not_a_version(state, text)


def version_of(state: State, name: DatasetName, version: str) -> Version:
    """Return a version that a run wrote or read."""
    generations = generations_of(state)
    writers = writing_version(generations, name, version)
    stated = {write.version for write in writes_of(generations, name) if write.is_stated}
    is_reported = version in stated or version in versions_read(state, name)
    return Version(name, version, is_reported, tuple(writers))


def _of_dataset(state: State, name: DatasetName, version: str) -> Version | None:
    """Return a version of a dataset, or the newest write below a run; None if there is neither.

    `version` may also be the id of a run above the writer, or of an invocation of dbt.
    """
    if has_version(state, name, version):
        return version_of(state, name, version)
    run_id = run_id_of(version)
    writes = writes_of(generations_of(state), name)
    below = [write for write in writes if run_id in _ids_above(state, write.run)]
    newest = max(below, key=lambda write: (write.at, write.version), default=None)
    return None if newest is None else version_of(state, name, newest.version)


def _ids_above(state: State, run: Run) -> Iterator[str | None]:
    """Yield the ids of a run and of those above it, with those of their invocations of dbt."""
    for ancestor in ancestry_of(state, run):
        yield ancestor.key.run_id
        yield ancestor.facets.parsed(DbtRun).invocation_id


def _newest(state: State, name: DatasetName) -> list[str]:
    """Return the written versions of a dataset, newest first, then those that were only read.

    The order of versions that were only read is by name.
    """

    def place(write: Write) -> tuple[int, str]:
        return write.at, write.version

    writes = sorted(writes_of(generations_of(state), name), key=place, reverse=True)
    return list(
        dict.fromkeys([*(write.version for write in writes), *sorted(versions_read(state, name))])
    )


def _not_a_version(state: State, text: str) -> NotFoundError:
    """Return the error for a text that is no version. For a dataset, suggest its versions."""
    try:
        name = find_dataset(state, text).dataset_name
    except NotFoundError:
        return NotFoundError(f"no dataset has the version {text!r}; expected DATASET@VERSION")
    known = [f"{text}@{version}" for version in _newest(state, name)]
    return NotFoundError(f"{text!r} is a dataset; pass DATASET@VERSION", known[:_NEAREST])
