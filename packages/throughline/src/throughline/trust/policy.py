"""Policies of the gate. `examples/policy.yaml` documents every key."""

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
    """The rules of a gate; by default those that need no parameters."""

    no_failed_runs: bool = True
    quality_passed: bool = True
    no_pii: bool = True
    fresh: bool = False
    sources: tuple[str, ...] | None = None
    completeness: dict[Measure, float] = field(default_factory=dict)

    def allows_source(self, id_: str) -> bool:
        """Return True if the id of a source, `NAMESPACE:NAME`, matches one of the patterns."""
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
    """Return the policy of a decoded file; missing keys have the values of `Policy()`.

    Raises:
        ConfigError: a key or a value is invalid.
    """
    allowed = [field.name for field in fields(Policy)]
    given: dict[str, Any] = {}
    for key, value in _object({} if body is None else body, "policy", allowed).items():
        if key == "sources":
            given[key] = None if value is None else _patterns(value)
        elif key == "completeness":
            shares = _object(value, key, list(MEASURES))
            given[key] = {name: _share(share, f"{key}.{name}") for name, share in shares.items()}
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
    if isinstance(value, list) and all(isinstance(text, str) and text for text in value):
        return tuple(value)
    raise ConfigError(
        f"sources: received {shown(value)}, expected a list of patterns such as 'https://example.org:*'"
    )


def _share(value: Any, path: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    raise ConfigError(f"{path}: received {shown(value)}, expected a number from 0 to 1")
