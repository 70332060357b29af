"""Facts about table formats (Delta Lake, Hudi) that events need before they are stored.

A table format keeps its log in a folder of the table. Spark reports this folder like a table of its
own whenever it reads the log, for example to find the newest files.

The version of a Delta table in an event is the newest one at the time of the event. At the start
of a run, that is the version before its write, and at the end, the version of the write. A run that
changes rows reads the table too, and its last event gives the written version for the read as well.
CREATE TABLE IF NOT EXISTS of an existing table reports a version that another run wrote.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol, TypeVar

_IF_NEW = re.compile(r"\s*create\s+(?:external\s+)?table\s+if\s+not\s+exists\b", re.IGNORECASE)
_LOG = re.compile(r"/(?:_delta_log|\.hoodie|_spark_metadata)(?:/|$)")


class _Dataset(Protocol):
    """A dataset of an event: a dataclass with these fields."""

    @property
    def namespace(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def facets(self) -> Mapping[str, Any]: ...


Item = TypeVar("Item", bound=_Dataset)
_Version = tuple[str, str, object]


def without_logs(items: tuple[Item, ...]) -> tuple[Item, ...]:
    """Return datasets without the logs of tables, which are parts of the tables."""
    return tuple(item for item in items if not _LOG.search(item.name))


def with_true_versions(
    job_facets: Mapping[str, Any],
    inputs: tuple[Item, ...],
    outputs: tuple[Item, ...],
    is_start: bool,
) -> tuple[tuple[Item, ...], tuple[Item, ...]]:
    """Return the datasets of an event without versions that the run neither read nor wrote.

    An output of a START event has the version before the write, and one of CREATE TABLE IF NOT
    EXISTS perhaps an older version, too. Later, an input with the version of the same dataset as an
    output has the written one, which the run cannot have read.
    """
    text = job_facets.get("sql", {}).get("query")
    if is_start or (isinstance(text, str) and _IF_NEW.match(text)):
        return inputs, tuple(map(_without_version, outputs))
    written = {version for item in outputs if (version := _version_of(item))}
    if not written:
        return inputs, outputs
    return tuple(_without_version(i) if _version_of(i) in written else i for i in inputs), outputs


def _version_of(item: _Dataset) -> _Version | None:
    version = item.facets.get("version")
    return (item.namespace, item.name, version.get("datasetVersion")) if version else None


def _without_version(item: Item) -> Item:
    if "version" not in item.facets:
        return item
    kept = {name: facet for name, facet in item.facets.items() if name != "version"}
    return replace(item, facets=kept)  # type: ignore[type-var]  # a protocol cannot say dataclass
