"""Read Open Data Contract Standard files (ODCS v3) as contracts.

https://bitol-io.github.io/open-data-contract-standard: an object of `schema` is a dataset, its
properties are columns. Keys without a counterpart in lineage are ignored; docs/how-to/trust.md
lists them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BaseModel, Field

from headwater.documents import Text, validated
from headwater.plugins.trust._contract import ColumnContract, Contract, DatasetContract

_Name = Annotated[Text | None, Field(alias="physicalName")]


class _Items(BaseModel):
    """The items of an array."""

    properties: list[_Property] | None = None


class _Object(BaseModel):
    """A table, file or topic."""

    name: Text
    physical_name: _Name = None
    properties: list[_Property] | None = None


class _Property(_Object):
    """A column, or a field of one."""

    logical_type: Annotated[Text | None, Field(alias="logicalType")] = None
    physical_type: Annotated[Text | None, Field(alias="physicalType")] = None
    items: _Items | None = None
    sources: Annotated[list[Text] | None, Field(alias="transformSourceObjects")] = None


class _DataContract(BaseModel):
    """The whole file."""

    api_version: Annotated[str, Field(pattern=r"^v3\.", alias="apiVersion")]
    objects: Annotated[list[_Object], Field(alias="schema")] = []


def contract_of(body: Any) -> Contract:
    """Return the contract of a file in headwater's format or in ODCS v3. Raises ConfigError.

    `body` is the file, decoded from YAML or JSON.
    """
    if not isinstance(body, dict) or body.get("kind") != "DataContract":
        return validated(Contract, body, "contract")
    datasets = {
        item.physical_name or item.name: DatasetContract(columns=dict(_columns(item.properties)))
        for item in validated(_DataContract, body, "contract").objects
    }
    return Contract(datasets=datasets)


def _columns(
    properties: list[_Property] | None, above: str = ""
) -> Iterator[tuple[str, ColumnContract]]:
    """Yield the columns with their nested fields, whose names are joined by dots."""
    for item in properties or ():
        name = above + (item.physical_name or item.name)
        type_ = item.logical_type or item.physical_type
        yield name, ColumnContract(type=type_, sources=item.sources)
        nested = item.properties or (item.items.properties if item.items else None)
        yield from _columns(nested, f"{name}.")
