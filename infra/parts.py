"""The stacks that `create-infra` makes: the lakehouse, and what may be added to it."""

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
    """A stack of its own, made of one template."""

    name: str
    stack: str
    template: Path
    settings: Mapping[str, str]
    """What to put into settings.yaml: the setting's name, and the output that is its value."""
    idle: str
    """What it costs while nothing runs, for a person to read."""

    @property
    def command(self) -> str:
        """What makes or updates it."""
        return "./run create-infra" + ("" if self.stack == STACK else f" --with {self.name}")

    @cached_property
    def defaults(self) -> dict[str, str]:
        """The template's parameters with their defaults, empty where there is none."""
        given = yaml.load(self.template.read_text(), _Loader)["Parameters"]
        return {name: str(each.get("Default", "")) for name, each in given.items()}


class _Loader(yaml.SafeLoader):
    """YAML whose !Ref, !Sub and so on are passed over."""


def _passed_over(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> Any:
    return suffix


_Loader.add_multi_constructor("!", _passed_over)

LAKEHOUSE = Part(
    "lakehouse",
    STACK,
    TEMPLATES / "lakehouse.yaml",
    {"bucket": "BucketName"},
    "what is in the bucket, by the gigabyte; an empty one nothing",
)
EMR_SERVERLESS = Part(
    "emr-serverless",
    f"{STACK}-emr-serverless",
    TEMPLATES / "emr-serverless.yaml",
    {"emr_application_id": "ApplicationId", "emr_role_arn": "RoleArn"},
    "nothing but the logs kept: workers are paid while jobs run and five minutes after",
)
DATAZONE = Part(
    "datazone",
    f"{STACK}-datazone",
    TEMPLATES / "datazone.yaml",
    {"datazone_domain_id": "DomainId"},
    "metadata and requests above DataZone's free share; users once they log in, by its plan",
)

OPTIONAL = {part.name: part for part in (EMR_SERVERLESS, DATAZONE)}
PARTS = (LAKEHOUSE, *OPTIONAL.values())
"""In the order in which they are made; they go in the opposite one."""
