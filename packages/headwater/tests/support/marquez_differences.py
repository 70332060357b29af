"""The kinds of reasons for differences from Marquez, and predicates of differences."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .marquez import ABSENT, Difference

DEFECT, CHOICE, MORE = "Defects of Marquez", "Our own choices", "Additions"
SIDES = {
    DEFECT: "Marquez returns wrong or incomplete data. headwater behaves as described here.",
    CHOICE: "Both behaviors are reasonable.",
    MORE: "headwater returns additional fields, which clients of Marquez ignore.",
}


@dataclass(frozen=True)
class Reason:
    """A reason: its side, its text, and a predicate for the differences that it explains."""

    side: str
    text: str
    explains: Callable[[Difference], bool]


def on_field(pattern: str) -> Callable[[Difference], bool]:
    """Match a field, at any depth."""
    whole = re.compile(rf"(.*\.|.*\[\]\.)?({pattern})")
    return lambda d: whole.fullmatch(d.field) is not None


def is_added(d: Difference) -> bool:
    """Return True for a version or a count that only headwater returns."""
    return d.theirs is ABSENT and d.field.rpartition(".")[2] in ("datasetVersion", "totalCount")


def has_status(kind: str, theirs: int, ours: int, path: str = "") -> Callable[[Difference], bool]:
    """Match the status codes of a kind of response, of paths with a text."""
    return lambda d: (
        d.field == "status"
        and re.fullmatch(kind, d.kind) is not None
        and (d.theirs, d.ours) == (theirs, ours)
        and path in d.path
    )


def is_less(d: Difference) -> bool:
    """Return True if Marquez has no value."""
    return d.theirs in (ABSENT, None, "")


def is_earlier(d: Difference) -> bool:
    """Return True if the value of headwater is less, such as an earlier time."""
    return isinstance(d.theirs, str) and isinstance(d.ours, str) and d.ours < d.theirs


def any_of(*checks: Callable[[Difference], bool]) -> Callable[[Difference], bool]:
    """Match if one of several predicates does."""
    return lambda d: any(check(d) for check in checks)


def all_of(*checks: Callable[[Difference], bool]) -> Callable[[Difference], bool]:
    """Match if all of several predicates do."""
    return lambda d: all(check(d) for check in checks)


def in_scenarios(*scenarios: str) -> Callable[[Difference], bool]:
    """Match the differences of scenarios, by the first two characters of their names."""
    return lambda d: d.scenario[:2] in scenarios


def of_kind(pattern: str) -> Callable[[Difference], bool]:
    """Match a kind of response."""
    return lambda d: re.fullmatch(pattern, d.kind) is not None


def with_theirs(*values: Any) -> Callable[[Difference], bool]:
    """Match if the value of Marquez is one of several."""
    return lambda d: d.theirs in values
