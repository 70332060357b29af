"""Names, pages, fields and tags, which many answers contain."""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict

Item = TypeVar("Item")
NodeType = Literal["job", "dataset"]
Json = dict[str, Any]
"""JSON of a producer, passed on as received."""


@with_config(ConfigDict(use_attribute_docstrings=True, extra="forbid"))
class Answer(TypedDict):
    """Base of all answers and their parts."""


class Page(Answer, Generic[Item]):
    """One page of a list."""

    items: list[Item]
    next: str | None
    """Cursor of the next page; null on the last one."""


class PartialPage(Page[Item], Generic[Item]):
    """One page of a list that may be partial, because the server started a short time ago."""

    uncounted: int
    """Number of jobs or datasets that are not determined yet, so that items are missing. Each query
    determines more of them."""


class ValueCount(Answer):
    """A value of a facet, and the number of items that have it."""

    value: str
    """Empty for items without a value."""
    count: int


class Facets(Answer):
    """The values by which a list can be filtered, most frequent first, at most 200 per facet.

    Each facet counts the items that match all other filters.
    """

    namespace: list[ValueCount]
    platform: list[ValueCount]
    """The reported integration or storage layer, or else the scheme of a dataset's namespace."""
    type: list[ValueCount]
    """Level of a job (pipeline, task, query), exposure or job; or kind of a dataset (table, …)."""
    owner: list[ValueCount]
    tag: list[ValueCount]
    state: list[ValueCount]
    """Of a run; empty for datasets."""


class FacetedPage(Page[Item], Generic[Item]):
    """One page of a list with the number of all matching items."""

    total: int | None
    facets: Facets | None
    """Null, like `total`, if they were not requested."""


class Name(Answer):
    """Namespace and name of a job or a dataset."""

    namespace: str
    name: str


class TypedName(Name):
    """A job or a dataset, without its id."""

    type: NodeType


class NodeRef(TypedName):
    """A job or a dataset."""

    id: str
    """`job:NAMESPACE:NAME` or `dataset:NAMESPACE:NAME`."""


class DatasetRef(Name):
    """A dataset with its id."""

    id: str
    """`dataset:NAMESPACE:NAME`."""


class FieldRef(Name):
    """A column of a dataset, or the dataset itself if `field` is null."""

    field: str | None


class CodeLocation(Answer, total=False):
    """The location of a run's code (sourceCodeLocation); empty if it was not reported."""

    repoUrl: str | None
    path: str | None
    version: str | None


class Link(Answer):
    """A page of the orchestrator."""

    name: str
    url: str


TagInfo = TypedDict(
    "TagInfo",
    {"field": str | None, "key": str, "value": str, "source": str, "from": FieldRef},
)
TagInfo.__doc__ = "A tag of a dataset or of its column `field`, and where it comes from."

DatasetTag = TypedDict(
    "DatasetTag",
    {
        "id": str,
        "namespace": str,
        "name": str,
        "field": str | None,
        "key": str,
        "value": str,
        "source": str,
        "from": FieldRef,
    },
)
DatasetTag.__doc__ = """A tag with the dataset that has it."""


class Field(Answer):
    """A field of a schema; nested ones have a dotted name."""

    name: str
    type: str
