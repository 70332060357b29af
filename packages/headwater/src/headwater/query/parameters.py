"""Parameters that many queries share."""

from __future__ import annotations

from typing import Annotated, Literal

from annotated_types import Ge, Le
from typing_extensions import TypedDict

MOST_STEPS = 100
"""Largest depth of a tree: each step takes two levels of JSON, and JSON may have 254 levels."""

Name = Annotated[
    str, "A node: its id (dataset:NAMESPACE:NAME, job:NAMESPACE:NAME) or a short name."
]

Field = Annotated[str | None, "A column of the dataset."]

Depth = Annotated[int, Ge(0), Le(MOST_STEPS), "Maximum number of steps along edges."]

Limit = Annotated[int, Ge(1), Le(1_000), "Maximum number of items."]

Cursor = Annotated[str | None, "Value of `next` in the previous answer, to get the next page."]

Level = Literal["pipeline", "task", "query"]

LevelName = Annotated[Level, "Level of detail."]

Grade = Literal["verified", "reported", "possible", "contradicted", "stale"]
"""Grade of the evidence of an edge: `verified` if two independent sources state it, `reported` if
one does, `possible` if a run lists the input and the output and no source states that one feeds the
other, or if another job later overwrote some or all of the output with Spark, `contradicted` if
only the producer does and the SQL text, read completely, does not name the dataset, `stale` if the
three newest finished runs of the task do not have it."""

WithGrade = Annotated[Grade | None, "Only edges of this grade, and what they lead to."]

WithControl = Annotated[
    bool, "Follow control dependencies between jobs, such as triggers, besides data dependencies."
]

Condition = Literal["NEW", "RUNNING", "COMPLETED", "FAILED", "ABORTED", "LOST"]
"""The state of a run; LOST if it is stale."""

WithFacets = Annotated[bool, "Also count the matching items, and those of each facet."]


class Filters(TypedDict, total=False):
    """Parameters that filter a list by facets; a query takes them as `**filters`."""

    namespace: Annotated[str | None, "Only items in this namespace."]
    platform: Annotated[
        str | None,
        "Only items of this platform: the reported integration or storage layer in lower case, or"
        " else the scheme of a dataset's namespace. Empty: unknown.",
    ]
    type_: Annotated[
        str | None,
        "Only items of this type: pipeline, task or query; table, file, model and so on.",
    ]
    owner: Annotated[
        str | None,
        "Only items of this owner. A dataset without owners has the owners of the jobs that write"
        " it. Empty: no owner.",
    ]
    tag: Annotated[
        str | None,
        "Only items with this reported tag, of a column too: KEY or KEY:VALUE. Empty: none.",
    ]
