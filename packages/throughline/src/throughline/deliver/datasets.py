"""Datasets as JSON, under their shown names, with all that is known of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from throughline.identity import DatasetName, canonical_name, is_location
from throughline.projection import FacetBook, Stamp, State, Use, unpack
from throughline.spec import Facets

Body = dict[str, Any]
"""An event, a dataset or a facet as JSON, decoded."""

_OF_RUN = {
    "columnLineage",
    "dataQualityAssertions",
    "dataQualityMetrics",
    "lifecycleStateChange",
    "version",
}
"""Facets of a dataset that tell what one run did or met; others say what it is, whoever says it."""


def datasets_of(state: State, sides: Iterable[dict[DatasetName, Use]], io: str) -> tuple[Body, ...]:
    """The datasets of one side of runs, each once; `io` is the name of that side's own facets."""
    found: dict[DatasetName, list[Use]] = defaultdict(list)
    for uses in sides:
        for name, use in uses.items():
            found[state.identity.primary(name)].append(use)
    return tuple(dataset_of(state, name, found[name], io) for name in sorted(found))


def dataset_of(state: State, name: DatasetName, uses: list[Use], io: str) -> Body:
    """A dataset with what it is, and what those uses of it told."""
    names = state.identity.names(name)
    records = [state.datasets[each] for each in names if each in state.datasets]
    lasting = _newest(record.facets for record in records)
    facets = {each: facet for each, facet in lasting.items() if each not in _OF_RUN}
    facets |= _newest(use.dataset_facets for use in uses)
    versions = [use.version for use in uses if use.version]
    if versions and "version" not in facets:
        facets["version"] = {"datasetVersion": max(versions)[1]}
    if "columnLineage" in facets:
        told = [use.dataset_facets.get("columnLineage") for use in sorted(uses, key=_told_at)]
        facets["columnLineage"] = _columns(state, told)
    facets.pop("symlinks", None)
    if others := [_symlink(each) for each in names if each != name]:
        facets["symlinks"] = {"identifiers": others}
    return {**name._asdict(), "facets": facets, io: _newest(use.facets for use in uses)}


def _told_at(use: Use) -> Stamp:
    return use.dataset_facets.stamp_of("columnLineage") or Stamp(0, "")


def _symlink(name: DatasetName) -> Body:
    return {**name._asdict(), "type": "LOCATION" if is_location(name) else "TABLE"}


def _newest(books: Iterable[FacetBook]) -> Facets:
    newest: dict[str, tuple[Stamp, bytes]] = {}
    for book in books:
        for name, held in book.stamped().items():
            if name not in newest or held[0] > newest[name][0]:
                newest[name] = held
    return {name: unpack(held) for name, (_, held) in sorted(newest.items())}


def _columns(state: State, told: list[Body]) -> Body:
    """Column lineage of several runs in one facet, under the shown names; the last of it counts."""
    united: Body = {}
    fields: Body = {}
    for facet in told:
        shown = named(facet, lambda *name: state.identity.primary(canonical_name(*name)))
        fields |= shown.get("fields") or {}
        united |= shown
    return {**united, "fields": fields}


def named(part: Any, name: Callable[[str, str], tuple[str, str]]) -> Any:
    """JSON in which every dataset, by its namespace and name, is called as a function says."""
    if isinstance(part, list):
        return [named(each, name) for each in part]
    if not isinstance(part, dict):
        return part
    shown = {key: named(value, name) for key, value in part.items()}
    namespace, own = part.get("namespace"), part.get("name")
    if isinstance(namespace, str) and isinstance(own, str) and part.get("type") != "JOB":
        shown["namespace"], shown["name"] = name(namespace, own)
    return shown
