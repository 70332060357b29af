"""What a gate asks for. `examples/policy.yaml` has every key with its meaning."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from typing import Any, Literal

from throughline.errors import ConfigError, shown
from throughline.trust.models import PolicyInfo

Measure = Literal["inputs", "outputs", "columns", "code", "ends"]
MEASURES: tuple[Measure, ...] = ("inputs", "outputs", "columns", "code", "ends")
"""Measures of completeness (see throughline.trust.completeness)."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of a gate; as it comes, those that need no number and no name to be decided."""

    no_failed_runs: bool = True
    quality_passed: bool = True
    no_pii: bool = True
    fresh: bool = False
    sources: tuple[str, ...] | None = None
    completeness: dict[Measure, float] = field(default_factory=dict)

    def knows(self, id_: str) -> bool:
        """Whether the id of a source, `NAMESPACE:NAME`, fits one of the patterns."""
        return any(fnmatchcase(id_, pattern) for pattern in self.sources or ())

    def info(self) -> PolicyInfo:
        """Return the policy in the form that `policy_of` accepts."""
        return {
            "no_failed_runs": self.no_failed_runs,
            "quality_passed": self.quality_passed,
            "no_pii": self.no_pii,
            "fresh": self.fresh,
            "sources": None if self.sources is None else list(self.sources),
            "completeness": dict(self.completeness.items()),
        }


def policy_of(body: Any) -> Policy:
    """The policy of a decoded file; a key that is not in it is as in `Policy()`.

    Raises:
        ConfigError: naming the key, what was received and what is allowed.
    """
    allowed = [each.name for each in fields(Policy)]
    given: dict[str, Any] = {}
    for key, value in _object({} if body is None else body, "policy", allowed).items():
        if key == "sources":
            given[key] = None if value is None else _patterns(value)
        elif key == "completeness":
            told = _object(value, key, list(MEASURES))
            given[key] = {each: _share(told[each], f"{key}.{each}") for each in told}
        elif isinstance(value, bool):
            given[key] = value
        else:
            raise ConfigError(f"{key}: received {shown(value)}, expected true or false")
    return Policy(**given)


def _object(value: Any, path: str, allowed: list[str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(f"{path}: received {shown(value)}, expected {', '.join(allowed)}")
    for key in value:
        if key not in allowed:
            near = difflib.get_close_matches(str(key), allowed, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            listed = ", ".join(allowed)
            raise ConfigError(f"{path}: received the key {key!r}, expected only {listed}{hint}")
    return value


def _patterns(value: Any) -> tuple[str, ...]:
    if isinstance(value, list) and all(isinstance(each, str) and each for each in value):
        return tuple(value)
    raise ConfigError(
        f"sources: received {shown(value)}, expected a list of patterns such as 'https://example.org:*'"
    )


def _share(value: Any, path: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    raise ConfigError(f"{path}: received {shown(value)}, expected a number from 0 to 1")
