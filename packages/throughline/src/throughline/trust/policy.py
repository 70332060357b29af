"""Policies of the gate. `examples/policy.yaml` documents every key."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from annotated_types import Ge, Le

from throughline.trust.documents import Document, Text

Measure = Literal["inputs", "outputs", "columns", "code", "ends"]
MEASURES: tuple[Measure, ...] = get_args(Measure)
"""Measures of completeness (see throughline.trust.completeness)."""


class Policy(Document):
    """The rules of a gate; by default those that need no parameters."""

    no_failed_runs: bool = True
    quality_passed: bool = True
    no_pii: bool = True
    fresh: bool = False
    sources: list[Text] | None = None
    """Patterns of `NAMESPACE:NAME`."""
    completeness: dict[Measure, Annotated[float, Ge(0), Le(1)]] = {}
