"""What the facets of jobs and datasets say, in values that may be of any shape."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from throughline.projection.facets import FacetBook

_SAYS_ONLY_YES = {"", "true", "none"}


def tagged(facet: dict[str, Any]) -> Iterator[tuple[str | None, str]]:
    """Each tag of a tags facet, after the field that it is of; None: of the whole.

    A tag is its key, with `:VALUE` unless the value only says that the tag is there.
    """
    for each in _objects(facet.get("tags")):
        if each.get("key"):
            key, value = str(each["key"]), str(each.get("value", ""))
            tag = key if value.lower() in _SAYS_ONLY_YES else f"{key}:{value}"
            yield (str(each["field"]) if each.get("field") else None), tag


def tags_of(facet: dict[str, Any]) -> dict[str | None, list[str]]:
    """The tags of each field, and under None those of the job or dataset itself, in their order."""
    found: dict[str | None, set[str]] = defaultdict(set)
    for field, tag in tagged(facet):
        found[field].add(tag)
    return {field: sorted(tags) for field, tags in found.items()}


def fields_of(facet: dict[str, Any]) -> list[dict[str, Any]]:
    """The fields of a schema facet, as it names them; what is no field is left out."""
    return list(_objects(facet.get("fields")))


def text_of(facet: dict[str, Any], key: str) -> str | None:
    """A text in a facet, whatever stands in its place."""
    value = facet.get(key)
    return None if value is None else str(value)


def location_of(book: FacetBook) -> str | None:
    """Where the code of a job is."""
    return text_of(book.get("sourceCodeLocation"), "url")


def _objects(listed: Any) -> Iterator[dict[str, Any]]:
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, dict):
            yield each
