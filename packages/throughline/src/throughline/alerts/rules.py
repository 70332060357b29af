"""The alerts file: rules and their actions."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Literal

from annotated_types import Ge, Le, Len
from pydantic import model_validator

from throughline.alerts.actions import Action
from throughline.config import read_yaml
from throughline.errors import ConfigError
from throughline.events import JobRef
from throughline.identity import DatasetName
from throughline.trust.documents import Document, validated
from throughline.trust.models import Measure

Kind = Literal["failed", "lost", "late", "quality", "schema", "completeness"]


class Rule(Document):
    """A rule. A glob pattern matches a name or `namespace/name`; no patterns match everything."""

    name: Annotated[str, Len(1, 64)]
    kind: Kind
    actions: list[Action]
    jobs: list[str] = []
    datasets: list[str] = []
    below: Annotated[float, Ge(0), Le(1)] | None = None
    measure: Measure | None = None

    @model_validator(mode="after")
    def _check_below(self) -> Rule:
        if (self.below is None) == (self.kind == "completeness"):
            raise ValueError(
                f"below: received {self.below} with kind {self.kind},"
                " expected a share from 0 to 1 with kind completeness, and with no other"
            )
        return self

    def matches_job(self, job: JobRef) -> bool:
        """Return True if the rule applies to a job."""
        return _matches(self.jobs, [job])

    def matches_dataset(self, names: Iterable[DatasetName]) -> bool:
        """Return True if the rule applies to a dataset with these names."""
        return _matches(self.datasets, names)


class _Alerts(Document):
    """The whole file."""

    rules: list[Rule]

    @model_validator(mode="after")
    def _check_names(self) -> _Alerts:
        names = [rule.name for rule in self.rules]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"rules: received {twice[0]!r} twice, expected unique names")
        return self


def read_rules(path: Path) -> list[Rule]:
    """Return the rules of an alerts file.

    Raises:
        ConfigError: the file is invalid.
    """
    try:
        return validated(_Alerts, read_yaml(path), "alerts").rules
    except ConfigError as error:
        raise ConfigError(f"{path}: {str(error).removeprefix(f'{path}: ')}") from None


def _matches(patterns: list[str], names: Iterable[tuple[str, str]]) -> bool:
    if not patterns:
        return True
    texts = [text for namespace, name in names for text in (name, f"{namespace}/{name}")]
    return any(fnmatchcase(text, pattern) for text in texts for pattern in patterns)
