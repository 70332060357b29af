"""Read Open Data Contract Standard files (ODCS v3) as contracts.

https://bitol-io.github.io/open-data-contract-standard: an object of `schema` is a dataset, its
properties are columns. Everything that lineage cannot answer is ignored; docs/trust.md lists it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from throughline.trust.contract import ColumnContract, Contract, DatasetContract
from throughline.trust.documents import Text, validated

_KIND = "DataContract"


class _Part(BaseModel):
    """A part of the file, of which other keys are ignored."""

    model_config = ConfigDict(alias_generator=to_camel)


class _Items(_Part):
    """The elements of an array."""

    properties: list[_Property] | None = None


class _Property(_Part):
    """A column, or a field of one."""

    name: Text
    physical_name: Text | None = None
    logical_type: Text | None = None
    physical_type: Text | None = None
    properties: list[_Property] | None = None
    items: _Items | None = None
    transform_source_objects: list[Text] | None = None


class _Object(_Part):
    """A table, file or topic."""

    name: Text
    physical_name: Text | None = None
    properties: list[_Property] | None = None


class _DataContract(_Part):
    """The whole file."""

    api_version: Annotated[str, Field(pattern=r"^v3\.")]
    objects: Annotated[list[_Object], Field(alias="schema")] = []


def contract_of(body: Any) -> Contract:
    """Return the contract of a decoded file, in our form or in that of ODCS v3.

    Raises:
        ConfigError: a key or a value is invalid.
    """
    if not isinstance(body, dict) or body.get("kind") != _KIND:
        return validated(Contract, body, "contract")
    file = validated(_DataContract, body, "contract")
    datasets = {
        item.physical_name or item.name: DatasetContract(
            columns=dict(_columns(item.properties or []))
        )
        for item in file.objects
    }
    return Contract(datasets=datasets)


def _columns(
    properties: list[_Property], above: tuple[str, ...] = ()
) -> Iterator[tuple[str, ColumnContract]]:
    """Yield the columns with their nested fields, whose names are joined by dots."""
    for item in properties:
        path = (*above, item.physical_name or item.name)
        yield (
            ".".join(path),
            ColumnContract(
                type=item.logical_type or item.physical_type,
                sources=item.transform_source_objects,
            ),
        )
        nested = item.properties or (item.items.properties if item.items else None)
        yield from _columns(nested or [], path)
