"""Rename datasets in the JSON of facets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headwater.events._event import Facets

Name = Callable[[str, str], tuple[str, str]]
"""A function that renames a dataset by namespace and name."""

LINEAGE_FACETS = ("columnLineage", "lineage")
"""The facets that name other datasets."""


def rename_datasets(part: Any, name: Name) -> Any:
    """Return JSON with every dataset renamed by a function of namespace and name.

    Any object with a namespace and a name is a dataset, at any depth, such as in facets, unless its
    type is JOB.
    """
    if isinstance(part, list):
        return [rename_datasets(item, name) for item in part]
    if not isinstance(part, dict):
        return part
    renamed = {key: rename_datasets(value, name) for key, value in part.items()}
    namespace, old_name = part.get("namespace"), part.get("name")
    if isinstance(namespace, str) and isinstance(old_name, str) and part.get("type") != "JOB":
        renamed["namespace"], renamed["name"] = name(namespace, old_name)
    return renamed


def with_renamed_lineage(facets: Facets, name: Name) -> Facets:
    """Return facets whose lineage names the renamed datasets."""
    return facets | {
        key: rename_datasets(facets[key], name) for key in LINEAGE_FACETS if key in facets
    }
