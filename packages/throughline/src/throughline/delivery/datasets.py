"""Datasets as OpenLineage JSON, under their primary names, with all reported facets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from throughline.events import Facets
from throughline.identity import DatasetName, canonical_name, is_location
from throughline.projection import FacetBook, Stamp, State, Use, unpack

Body = dict[str, Any]
"""An event, a dataset or a facet as JSON, decoded."""

Name = Callable[[str, str], tuple[str, str]]
"""A function that renames a dataset or job by namespace and name."""

_RUN_SPECIFIC = {
    "columnLineage",
    "dataQualityAssertions",
    "dataQualityMetrics",
    "lifecycleStateChange",
    "version",
}
"""Facets that describe a dataset in one run; other facets describe the dataset itself."""


def datasets_of(state: State, sides: Iterable[dict[DatasetName, Use]], io: str) -> tuple[Body, ...]:
    """Return the distinct inputs or outputs of runs; `io` is `inputFacets` or `outputFacets`."""
    uses_by_name: dict[DatasetName, list[Use]] = defaultdict(list)
    for uses in sides:
        for name, use in uses.items():
            uses_by_name[state.identity.primary(name)].append(use)
    return tuple(dataset_of(state, name, uses_by_name[name], io) for name in sorted(uses_by_name))


def dataset_of(state: State, name: DatasetName, uses: list[Use], io: str) -> Body:
    """Return a dataset with its own facets and those of some uses of it."""
    names = state.identity.names(name)
    records = [state.datasets[alias] for alias in names if alias in state.datasets]
    own_facets = _newest(record.facets for record in records)
    facets = {key: facet for key, facet in own_facets.items() if key not in _RUN_SPECIFIC}
    facets |= _newest(use.dataset_facets for use in uses)
    versions = [use.version for use in uses if use.version]
    if versions and "version" not in facets:
        facets["version"] = {"datasetVersion": max(versions)[1]}
    if "columnLineage" in facets:
        column_facets = [
            use.dataset_facets.get("columnLineage")
            for use in sorted(uses, key=_column_lineage_stamp)
        ]
        facets["columnLineage"] = _columns(state, column_facets)
    facets.pop("symlinks", None)
    if aliases := [symlink(alias) for alias in names if alias != name]:
        facets["symlinks"] = {"identifiers": aliases}
    return {**name._asdict(), "facets": facets, io: _newest(use.facets for use in uses)}


def _column_lineage_stamp(use: Use) -> Stamp:
    return use.dataset_facets.stamp_of("columnLineage") or Stamp(0, "")


def symlink(name: DatasetName) -> Body:
    """Return an identifier of the symlinks facet."""
    return {**name._asdict(), "type": "LOCATION" if is_location(name) else "TABLE"}


def _newest(books: Iterable[FacetBook]) -> Facets:
    newest: dict[str, tuple[Stamp, bytes]] = {}
    for book in books:
        for name, stamped in book.stamped().items():
            if name not in newest or stamped[0] > newest[name][0]:
                newest[name] = stamped
    return {name: unpack(stamped) for name, (_, stamped) in sorted(newest.items())}


def _columns(state: State, facets: list[Body]) -> Body:
    """Merge columnLineage facets under primary names; later facets take precedence."""
    merged: Body = {}
    fields: Body = {}
    for facet in facets:
        renamed = rename_datasets(
            facet, lambda *name: state.identity.primary(canonical_name(*name))
        )
        fields |= renamed.get("fields") or {}
        merged |= renamed
    return {**merged, "fields": fields}


def rename_datasets(part: Any, name: Name) -> Any:
    """Return JSON with every dataset renamed by a function of namespace and name."""
    if isinstance(part, list):
        return [rename_datasets(item, name) for item in part]
    if not isinstance(part, dict):
        return part
    renamed = {key: rename_datasets(value, name) for key, value in part.items()}
    namespace, old_name = part.get("namespace"), part.get("name")
    if isinstance(namespace, str) and isinstance(old_name, str) and part.get("type") != "JOB":
        renamed["namespace"], renamed["name"] = name(namespace, old_name)
    return renamed
