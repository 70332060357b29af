"""Read facets of jobs and datasets, whose values may have any type."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from throughline.events.column_lineage import objects
from throughline.projection.facets import FacetBook

_NO_VALUE = {"", "true", "none"}


def tagged(facet: dict[str, Any]) -> Iterator[tuple[str | None, str]]:
    """Yield field and tag of a tags facet; the field is None for tags of the whole.

    A tag is its key, followed by `:VALUE` unless the value only means "yes".
    """
    for item in objects(facet.get("tags")):
        if item.get("key"):
            key, value = str(item["key"]), str(item.get("value", ""))
            tag = key if value.lower() in _NO_VALUE else f"{key}:{value}"
            yield (str(item["field"]) if item.get("field") else None), tag


def tags_of(facet: dict[str, Any]) -> dict[str | None, list[str]]:
    """Return sorted tags by field; those of the job or dataset itself are under None."""
    found: dict[str | None, set[str]] = defaultdict(set)
    for field, tag in tagged(facet):
        found[field].add(tag)
    return {field: sorted(tags) for field, tags in found.items()}


def fields_of(facet: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the valid fields of a schema facet."""
    return objects(facet.get("fields"))


def text_of(facet: dict[str, Any], key: str) -> str | None:
    """Return a value of a facet as text."""
    value = facet.get(key)
    return None if value is None else str(value)


def location_of(book: FacetBook) -> str | None:
    """Return the URL of the code of a job or run."""
    return text_of(book.get("sourceCodeLocation"), "url")
