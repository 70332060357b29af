"""The seam that harvesters are plugged into.

A harvester reads one source and hands on portions, each with the cursor that goes on after it. What
it makes of one thing is always the same, run ids included, so that a thing read twice is one event:
cursors may overlap. One that needs more than throughline does (boto3) is an entry point
`throughline.harvesters` of another package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import entry_points
from typing import Any, Protocol

from throughline.collect import Lines
from throughline.errors import ConfigError

Cursor = dict[str, Any]
"""How far a source was read: JSON that only its harvester understands; empty at first."""


@dataclass(frozen=True, slots=True)
class Portion:
    """Some events of a source, what of it was not understood, and where to go on after it."""

    lines: Lines
    cursor: Cursor


class Harvester(Protocol):
    """Reads one source."""

    @property
    def source(self) -> str:
        """What tells this source from others; cursors are kept by it."""

    def harvest(self, cursor: Cursor, since: datetime | None) -> Iterator[Portion]:
        """Read on from a cursor, or from a time; the runner drops what is older all the same.

        Raises:
            ConfigError: what was asked for is not there.
            ServerError: the source does not answer.
        """


def find_harvester(kind: str) -> Callable[..., Harvester]:
    """What makes the harvester of a kind. Raises ConfigError."""
    for point in entry_points(group="throughline.harvesters"):
        if point.name == kind:
            try:
                make: Callable[..., Harvester] = point.load()
            except ModuleNotFoundError as error:
                raise ConfigError(
                    f"harvest {kind}: it needs the package {error.name}: pip install"
                    f" './packages/throughline-aws[{kind}]', from a clone"
                ) from None
            return make
    raise ConfigError(
        f"harvest {kind}: it needs the package throughline-aws, which is not installed:"
        " pip install ./packages/throughline-aws, from a clone"
    )
