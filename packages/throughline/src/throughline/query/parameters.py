"""Parameters that many queries share."""

from __future__ import annotations

from typing import Annotated, Literal

from annotated_types import Ge, Le

MOST_STEPS = 100
"""Largest depth of a tree: each step takes two levels of JSON, and JSON may have 254 levels."""


Name = Annotated[
    str, "A node: its id (dataset:NAMESPACE:NAME, job:NAMESPACE:NAME) or a short name."
]


Field = Annotated[str | None, "A column of the dataset."]


Depth = Annotated[int, Ge(0), Le(MOST_STEPS), "Maximum number of steps along edges."]


Limit = Annotated[int, Ge(1), Le(1_000), "Maximum number of items."]


Cursor = Annotated[str | None, "Value of `next` in the previous answer, to get the next page."]


LevelName = Annotated[Literal["pipeline", "task", "query"], "Level of detail."]
