"""The interface of harvesters, which import events from a source.

A harvester yields portions of events, each with a cursor to continue from. The events of a source
object are always the same, including run ids, so that reading it twice is harmless and cursors may
overlap. A harvester with more dependencies, such as boto3, is an entry point
`throughline.harvesters` of another package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import entry_points
from typing import Any, Protocol

from throughline.collect.lines import Lines
from throughline.errors import ConfigError

Cursor = dict[str, Any]
"""The read position in a source: JSON in the harvester's own format, empty at first."""


@dataclass(frozen=True, slots=True)
class Portion:
    """Some events and rejected lines of a source, and the cursor to continue from."""

    lines: Lines
    cursor: Cursor


class Harvester(Protocol):
    """Reads events from one source."""

    @property
    def source(self) -> str:
        """The identity of the source, under which its cursor is stored."""

    def harvest(self, cursor: Cursor, since: datetime | None) -> Iterator[Portion]:
        """Yield the events after a cursor or a time; the caller drops older events.

        Raises:
            ConfigError: the source does not exist.
            ServerError: the source does not respond.
        """


def find_harvester(kind: str) -> Callable[..., Harvester]:
    """Return the class of the harvesters of a kind. Raises ConfigError."""
    for point in entry_points(group="throughline.harvesters"):
        if point.name == kind:
            try:
                class_: Callable[..., Harvester] = point.load()
            except ModuleNotFoundError as error:
                raise ConfigError(
                    f"harvest {kind}: the package {error.name} is missing. In a clone, run:"
                    f" pip install './packages/throughline-aws[{kind}]'"
                ) from None
            return class_
    raise ConfigError(
        f"harvest {kind}: the package throughline-aws is missing. In a clone, run:"
        " pip install ./packages/throughline-aws"
    )
