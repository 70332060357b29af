"""The stacks that `create-infra` creates: the lakehouse and optional parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from infra.names import STACK

TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Part:
    """A part of the infrastructure: one stack from one template."""

    name: str
    stack: str
    template: Path
    settings: Mapping[str, str]
    """Settings for settings.yaml: name of the stack output by name of the setting."""
    idle: str
    """Description of the costs while nothing runs."""

    @property
    def command(self) -> str:
        """The command that creates or updates it."""
        return "./run create-infra" + ("" if self.stack == STACK else f" --with {self.name}")

    @cached_property
    def defaults(self) -> dict[str, str]:
        """The template's parameters with their defaults; empty without a default."""
        parameters = yaml.load(self.template.read_text(), _Loader)["Parameters"]
        return {name: str(options.get("Default", "")) for name, options in parameters.items()}


class _Loader(yaml.SafeLoader):
    """YAML loader that ignores !Ref, !Sub and other functions."""


def _ignore_function(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> Any:
    return suffix


_Loader.add_multi_constructor("!", _ignore_function)

LAKEHOUSE = Part(
    "lakehouse",
    STACK,
    TEMPLATES / "lakehouse.yaml",
    {"bucket": "BucketName"},
    "storage in the bucket per GB; none if it is empty",
)
EMR_SERVERLESS = Part(
    "emr-serverless",
    f"{STACK}-emr-serverless",
    TEMPLATES / "emr-serverless.yaml",
    {"emr_application_id": "ApplicationId", "emr_role_arn": "RoleArn"},
    "stored logs only; workers cost while jobs run and for five minutes after",
)
DATAZONE = Part(
    "datazone",
    f"{STACK}-datazone",
    TEMPLATES / "datazone.yaml",
    {"datazone_domain_id": "DomainId"},
    "metadata and requests above DataZone's free tier; users after their first login, by its plan",
)

OPTIONAL = {part.name: part for part in (EMR_SERVERLESS, DATAZONE)}
PARTS = (LAKEHOUSE, *OPTIONAL.values())
"""All parts in the order of creation; they are deleted in reverse order."""
