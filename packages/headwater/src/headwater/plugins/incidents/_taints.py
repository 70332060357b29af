"""Recall versions of datasets, and list the recalled ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import orjson

from headwater.datasets.taints import Taint, facet_of, stated_at, tainted_datasets, taints_of
from headwater.errors import ConfigError, NotFoundError
from headwater.events import shown_time
from headwater.graph.current import generations_of
from headwater.graph.nodes import dataset_ref, node_id
from headwater.identity import DatasetName
from headwater.lineage.taints import taints_in
from headwater.log import Entry, entry_of
from headwater.lookup import find_dataset
from headwater.plugins.incidents._named import find_version
from headwater.plugins.incidents.models import RecalledVersions, TaintedVersion
from headwater.projection import State
from headwater.query.pages import Place, cut
from headwater.query.parameters import Cursor, Limit
from headwater.query.registry import Times, query
from headwater.redaction import Redactor
from headwater_client.events import PRODUCER

_SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/"
_SCHEMA, _FACET_SCHEMA = f"{_SPEC}DatasetEvent", f"{_SPEC}DatasetFacet"


@query("taints", Times.THEN)
def taints_answer(
    state: State,
    node: Annotated[
        str | None, "A dataset: only recalled versions whose data it contains now. [all]"
    ] = None,
    limit: Limit = 1_000,
    cursor: Cursor = None,
) -> RecalledVersions:
    """Return the recalled versions by dataset. Gates refuse their data by default."""
    found = list(_all(state) if node is None else _in(state, node))
    items, more = cut(("taints", node), found, _place, limit, cursor)
    versions = [_answer(name, taint) for name, taint in items]
    return {"items": versions, "next": more, "total": len(found)}


def taint_entry(
    state: State,
    text: str,
    reason: str,
    now: int,
    redactor: Redactor,
    *,
    is_cleared: bool = False,
) -> Entry:
    """Return the log entry that recalls a version or clears it; `now` is in microseconds.

    Raises:
        NotFoundError: there is no such version, or it was not recalled.
        ConfigError: there is no reason.

    The entry is an OpenLineage event of the dataset with a facet per version. The caller stores it.
    The latest statement about a version counts, so the new one gets a later time than all before.
    """
    if not reason.strip():
        raise ConfigError("reason: received an empty text, expected a non-empty string")
    named = find_version(state, text)
    recalled = [taint.version for taint in taints_of(state, named.name)]
    if is_cleared and named.version not in recalled:
        known = [f"{node_id(named.node)}@{version}" for version in recalled[:5]]
        raise NotFoundError(
            f"version {named.version!r} of {named.name.name} is not recalled", known
        )
    # Later than the statement before, even if another clock was ahead.
    time = max(now, stated_at(state, named.name, named.version) + 1)
    facet = {
        "_producer": PRODUCER,
        "_schemaURL": _FACET_SCHEMA,
        "version": named.version,
        "reason": reason,
        "isTainted": not is_cleared,
    }
    event = {
        "eventTime": shown_time(time),
        "producer": PRODUCER,
        "schemaURL": _SCHEMA,
        "dataset": {
            "namespace": named.name.namespace,
            "name": named.name.name,
            "facets": {facet_of(named.version): facet},
        },
    }
    return entry_of(orjson.dumps(event), redactor=redactor)


def _all(state: State) -> Iterator[tuple[DatasetName, Taint]]:
    """Yield all recalled versions with their datasets."""
    for name in tainted_datasets(state):
        yield from ((name, taint) for taint in taints_of(state, name))


def _in(state: State, node: str) -> Iterator[tuple[DatasetName, Taint]]:
    """Return the recalled versions whose data a dataset contains now. Raises NotFoundError."""
    return taints_in(generations_of(state), find_dataset(state, node).dataset_name)


def _place(item: tuple[DatasetName, Taint]) -> Place:
    """Return the place of a recalled version in the order of the pages."""
    name, taint = item
    return *name, taint.version


def _answer(name: DatasetName, taint: Taint) -> TaintedVersion:
    """Return a recalled version as part of an answer."""
    return {
        **dataset_ref(name),
        "version": taint.version,
        "reason": taint.reason,
        "at": shown_time(taint.at),
    }
