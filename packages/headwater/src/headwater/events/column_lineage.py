"""Column lineage of one columnLineage facet, parsed into typed links.

The facet has two parts (OpenLineage, ColumnLineageDatasetFacet 1-2-0). `fields` maps each column of
the dataset to the columns that it is computed from. `dataset` lists columns that affect every row
of the dataset: filters, joins, groupings and sorts. Spark's listener also puts entries of type
DIRECT into `dataset`. No single column takes its value from them, so they count as indirect.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from typing import Any, Literal, NamedTuple, TypeGuard

from headwater.events._event import Json

__all__ = [
    "EVERY_ROW",
    "ColumnLineage",
    "ColumnLink",
    "Evidence",
    "Legacy",
    "Transformation",
    "UNKNOWN_COLUMN",
    "parse_columns",
    "source_datasets",
]

EVERY_ROW = ""
"""The target field of a link that affects the dataset as a whole rather than one column."""

UNKNOWN_COLUMN = ""
"""The source field of a link that names only its source dataset."""

DIRECT, INDIRECT = "DIRECT", "INDIRECT"


Evidence = Literal["reported", "sql", "verified"]
"""By the producer alone, read from the SQL text alone, or by both."""


class Transformation(NamedTuple):
    """One transformation between a source column and its target."""

    type: str
    subtype: str | None = None
    description: str | None = None
    is_masking: bool = False

    @property
    def is_direct(self) -> bool:
        """True unless the source only filters, joins, groups or sorts."""
        return self.type != INDIRECT

    @property
    def label(self) -> str:
        """The subtype, or the type if there is no subtype."""
        return self.subtype or self.type


class Legacy(NamedTuple):
    """The transformation of a whole column, as older versions of the facet report it."""

    type: str | None = None
    description: str | None = None


class ColumnLink(NamedTuple):
    """A column of the facet's dataset (or EVERY_ROW) with one of its source columns."""

    target: str
    namespace: str
    name: str
    field: str
    transformations: tuple[Transformation, ...]
    is_masked: bool
    evidence: Evidence = "reported"

    @property
    def is_direct(self) -> bool:
        """True if the target takes its value from the source, or if the link has no details."""
        return not self.transformations or any(item.is_direct for item in self.transformations)


class ColumnLineage(NamedTuple):
    """The contents of one facet: the columns that it describes, and their links."""

    columns: dict[str, Legacy]
    links: tuple[ColumnLink, ...]

    def without(self, names: Set[str]) -> ColumnLineage:
        """Return the lineage of the other columns; `names` are in lower case."""
        columns = {name: kind for name, kind in self.columns.items() if name.lower() not in names}
        links = (link for link in self.links if link.target.lower() not in names)
        return ColumnLineage(columns, tuple(links))


def parse_columns(facet: Json) -> ColumnLineage:
    """Parse a columnLineage facet; ignore parts of an unexpected shape.

    `{"fields": {"total": {"inputFields": [{"namespace": N, "name": T, "field": "fare"}]}}}` is the
    column `total` with one link, from `fare` of the dataset (N, T).
    """
    columns: dict[str, Legacy] = {}
    links: list[ColumnLink] = []
    fields = facet.get("fields")
    for name, field in fields.items() if isinstance(fields, dict) else ():
        if isinstance(field, dict):
            legacy = Legacy(
                _text(field.get("transformationType")),
                _text(field.get("transformationDescription")),
            )
            columns[str(name)] = legacy
            links += _links(str(name), field.get("inputFields"), legacy)
    links += _links(EVERY_ROW, facet.get("dataset"), Legacy())
    return ColumnLineage(columns, tuple(links))


def source_datasets(facet: Json) -> set[tuple[str, str]]:
    """Return (namespace, name) of every source dataset of a facet.

    Called for each event received, so it builds no links.
    """
    return {
        (item["namespace"], item["name"])
        for inputs in (*_inputs_of_fields(facet), facet.get("dataset"))
        for item in objects(inputs)
        if is_name(item.get("namespace")) and is_name(item.get("name"))
    }


def has_indirect_links(facet: Json) -> bool:
    """Return True if a facet has a link that is not direct, without building links."""
    of_fields = (item for inputs in _inputs_of_fields(facet) for item in objects(inputs))
    return any(map(_is_link, objects(facet.get("dataset")))) or any(map(_is_indirect, of_fields))


def _is_indirect(item: Json) -> bool:
    kinds = {str(kind.get("type") or DIRECT) for kind in objects(item.get("transformations"))}
    return kinds == {INDIRECT} and _is_link(item)


def _inputs_of_fields(facet: Json) -> list[Any]:
    """Return the `inputFields` of each column of a facet, which may be of any type."""
    fields = facet.get("fields")
    columns = objects(list(fields.values())) if isinstance(fields, dict) else []
    return [column.get("inputFields") for column in columns]


def _is_link(item: Json) -> bool:
    return all(is_name(item.get(key)) for key in ("namespace", "name", "field"))


def _links(target: str, inputs: Any, legacy: Legacy) -> Iterator[ColumnLink]:
    """Yield the links of a target, whose whole column may have the transformation `legacy`.

    Links of EVERY_ROW are indirect, whatever type the facet has. `inputs` may be of any type.
    """
    for item in objects(inputs):
        if not _is_link(item):
            continue
        namespace, name, field = item["namespace"], item["name"], item["field"]
        kinds = transformations_of(item)
        if target == EVERY_ROW:
            kinds = tuple(kind._replace(type=INDIRECT) for kind in kinds or (_NO_TRANSFORMATION,))
        is_masked = str(legacy.type).upper() == "MASKED" or masks(kinds)
        yield ColumnLink(target, namespace, name, field, kinds, is_masked)


_NO_TRANSFORMATION = Transformation(INDIRECT)


def transformations_of(item: Json) -> tuple[Transformation, ...]:
    """Return the transformations of an input of a facet."""
    return tuple(_transformation(kind) for kind in objects(item.get("transformations")))


def masks(kinds: Iterable[Transformation]) -> bool:
    """Return True if all direct transformations mask the value."""
    direct = [kind for kind in kinds if kind.is_direct]
    return bool(direct) and all(kind.is_masking for kind in direct)


def _transformation(item: Json) -> Transformation:
    return Transformation(
        str(item.get("type") or DIRECT),
        _text(item.get("subtype")),
        _text(item.get("description")),
        item.get("masking") is True,
    )


def is_name(value: Any) -> TypeGuard[str]:
    """Return True for a non-empty string."""
    return isinstance(value, str) and value != ""


def objects(value: Any) -> list[Json]:
    """Return the objects in a list; an empty list for a value that is not a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _text(value: Any) -> str | None:
    return str(value) if value else None
