"""The interface of harvesters, which import events from a source.

A harvester yields portions of events, each with a cursor to continue from. The events of a source
object are always the same, including run ids, so that reading it twice is harmless and cursors may
overlap. Plugins (`headwater.plugin`) register harvesters. Those of other packages may require
further libraries, such as boto3.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from headwater.errors import ConfigError, how_to_install
from headwater.events import JobRef
from headwater.plugin import parts

if TYPE_CHECKING:
    from headwater.collect.lines import Lines
    from headwater.redaction import Redactor

_OF_AWS = ("glue-job-logs", "mwaa-logs", "glue-tables", "redshift")

Cursor = dict[str, Any]
"""The read position in a source: JSON in the harvester's own format, empty at first."""


@dataclass(frozen=True, slots=True)
class Portion:
    """Some events and rejected lines of a source, and the cursor to continue from."""

    lines: Lines
    cursor: Cursor


RunsOf = Callable[[str], Iterable[tuple[JobRef, str]]]
"""A function from the id of a run in its orchestrator to the stored runs with it: (job, run id)."""


@runtime_checkable
class JoinsRuns(Protocol):
    """A harvester that uses the run ids under which another producer reported the same runs."""

    def joining(self, runs_of: RunsOf) -> Harvester:
        """Return the harvester with a function that finds the runs in the target."""


class Harvester(Protocol):
    """Reads events from one source."""

    @property
    def source(self) -> str:
        """The identity of the source, under which its cursor is stored."""

    def harvest(
        self, cursor: Cursor, since: datetime | None, redactor: Redactor
    ) -> Iterator[Portion]:
        """Yield the events after a cursor or a time; the caller drops older events.

        Create the `Lines` of the portions with `redactor`.

        Raises:
            ConfigError: the source does not exist.
            ServerError: the source does not respond.
        """


def load_harvester(
    name: str, installed: Iterable[EntryPoint] | None = None
) -> Callable[..., Harvester] | None:
    """Return the function that creates a harvester; None if there is none of this name.

    The function's parameters are the options of a command. `installed` are the entry points of
    plugins, by default those of all installed packages.

    Raises:
        ConfigError: the package of the harvester, or a package that it needs, is missing; also
            raised by the function.

    `name` is the command below `headwater harvest`.
    """
    point = parts("harvesters", installed).get(name)
    if point is not None:
        return _naming_missing(name, point.load())
    if name in _OF_AWS:
        raise ConfigError(
            f"harvest {name}: the package headwater-aws is missing."
            f" {how_to_install(package='headwater-aws')}"
        )
    return None


def _naming_missing(name: str, create: Callable[..., Harvester]) -> Callable[..., Harvester]:
    """Return the function, with an error that names the package to install if an import fails."""
    package = create.__module__.partition(".")[0].replace("_", "-")

    @functools.wraps(create)
    def checked(*args: Any, **kwargs: Any) -> Harvester:
        try:
            return create(*args, **kwargs)
        except ModuleNotFoundError as error:
            missing = f"the package {error.name} is missing. {how_to_install(name, package)}"
            raise ConfigError(f"harvest {name}: {missing}") from None

    return checked
