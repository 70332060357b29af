"""The alerts file: rules and their actions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from throughline.alerts.actions import ACTIONS, Action
from throughline.config import filled, read_yaml
from throughline.errors import ConfigError
from throughline.events import JobRef
from throughline.identity import DatasetName

Kind = Literal["failed", "lost", "late", "quality", "schema", "completeness"]
Measure = Literal["inputs", "outputs", "columns", "code", "ends"]


@dataclass(frozen=True, slots=True)
class _Alerts:
    rules: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule. A glob pattern matches a name or `namespace/name`; no patterns match everything."""

    name: str
    kind: Kind
    actions: list[Any]
    jobs: list[str] = field(default_factory=list)
    datasets: list[str] = field(default_factory=list)
    below: float | None = None
    measure: Measure | None = None

    def __post_init__(self) -> None:
        is_share = self.below is not None and 0 <= self.below <= 1
        if is_share != (self.kind == "completeness"):
            raise ConfigError(
                f"below: received {self.below} with kind {self.kind},"
                " expected a share from 0 to 1 with kind completeness, and with no other"
            )

    def matches_job(self, job: JobRef) -> bool:
        """Return True if the rule applies to a job."""
        return _matches(self.jobs, [job])

    def matches_dataset(self, names: Iterable[DatasetName]) -> bool:
        """Return True if the rule applies to a dataset with these names."""
        return _matches(self.datasets, names)


def read_rules(path: Path) -> list[Rule]:
    """Return the rules of an alerts file.

    Raises:
        ConfigError: the file is invalid.
    """
    rules: list[Rule] = []
    for index, body in enumerate(filled(_Alerts, read_yaml(path), str(path)).rules):
        where = f"{path}: rules[{index}]"
        rule = filled(Rule, body, where)
        if not 0 < len(rule.name) <= 64 or rule.name in (other.name for other in rules):
            raise ConfigError(
                f"{where}.name: received {rule.name!r}, expected a unique name of 1 to 64"
                " characters"
            )
        actions = [_action(body, f"{where}.actions[{n}]") for n, body in enumerate(rule.actions)]
        rules.append(replace(rule, actions=actions))
    return rules


def _action(body: Any, where: str) -> Action:
    kind = body.get("type") if isinstance(body, dict) else None
    if (class_ := ACTIONS.get(str(kind))) is None:
        allowed = ", ".join(ACTIONS)
        raise ConfigError(f"{where}.type: received {kind!r}, expected one of {allowed}")
    action: Action = filled(class_, {k: v for k, v in body.items() if k != "type"}, where)
    return action


def _matches(patterns: list[str], names: Iterable[tuple[str, str]]) -> bool:
    if not patterns:
        return True
    texts = [text for namespace, name in names for text in (name, f"{namespace}/{name}")]
    return any(fnmatchcase(text, pattern) for text in texts for pattern in patterns)
