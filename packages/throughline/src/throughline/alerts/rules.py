"""The alerts file: what to look out for, and what to do then."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from throughline.alerts.actions import ACTIONS, Action
from throughline.config import filled, read_yaml
from throughline.errors import ConfigError
from throughline.identity import DatasetName
from throughline.spec import JobRef

Kind = Literal["failed", "lost", "late", "quality", "schema", "completeness"]
Measure = Literal["inputs", "outputs", "columns", "code", "ends"]


@dataclass(frozen=True, slots=True)
class _Alerts:
    rules: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. A pattern is a shell's, of a name or of `namespace/name`; without any, all fit."""

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

    def is_about_job(self, job: JobRef) -> bool:
        """Whether the rule looks at a job."""
        return _fits(self.jobs, [job])

    def is_about_dataset(self, names: Iterable[DatasetName]) -> bool:
        """Whether the rule looks at a dataset, by any of its names."""
        return _fits(self.datasets, names)


def read_rules(path: Path) -> list[Rule]:
    """The rules of an alerts file. Raises ConfigError."""
    rules: list[Rule] = []
    for index, given in enumerate(filled(_Alerts, read_yaml(path), str(path)).rules):
        where = f"{path}: rules[{index}]"
        rule = filled(Rule, given, where)
        if not 0 < len(rule.name) <= 64 or rule.name in (each.name for each in rules):
            raise ConfigError(
                f"{where}.name: received {rule.name!r}, expected 1 to 64 characters that are the"
                " name of no other rule"
            )
        actions = [_action(each, f"{where}.actions[{n}]") for n, each in enumerate(rule.actions)]
        rules.append(replace(rule, actions=actions))
    return rules


def _action(given: Any, where: str) -> Action:
    kind = given.get("type") if isinstance(given, dict) else None
    if (class_ := ACTIONS.get(str(kind))) is None:
        known = ", ".join(ACTIONS)
        raise ConfigError(f"{where}.type: received {kind!r}, expected one of {known}")
    action: Action = filled(class_, {k: v for k, v in given.items() if k != "type"}, where)
    return action


def _fits(patterns: list[str], names: Iterable[tuple[str, str]]) -> bool:
    if not patterns:
        return True
    shown = [text for namespace, name in names for text in (name, f"{namespace}/{name}")]
    return any(fnmatchcase(text, pattern) for text in shown for pattern in patterns)
