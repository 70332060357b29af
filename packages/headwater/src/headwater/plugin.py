"""Plugins, by which features and other packages add parts to headwater.

A plugin is one object of the class `Plugin`. A package registers it as an entry point in the group
`headwater.plugins`, as headwater does for its own features:

    [project.entry-points."headwater.plugins"]
    acme = "acme_lineage:plugin"

    # acme_lineage/__init__.py
    plugin = Plugin(backends={"acme": "acme_lineage.backend:Acme"})

The parts of a plugin are import paths (`module:name`), which are imported when they are used. The
module with the plugin should therefore import nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from headwater.errors import ConfigError

GROUP = "headwater.plugins"


@dataclass(frozen=True, kw_only=True, slots=True)
class Plugin:
    """The parts that a package adds to headwater, as import paths."""

    alerts: Mapping[str, str] = field(default_factory=dict)
    """Functions that find violations of rules of the alerts file, by the `kind` of the rule. Each
    receives a `State`, the `Rule` and a `Changed`, and yields the key and the finding of each
    violation; see `plugins.alerts._causes`. A rule is checked every minute. It fires again for a
    key that was missing in an earlier check."""
    backends: Mapping[str, str] = field(default_factory=dict)
    """Classes of backends, by their `type` in the deliver file; see `plugins.delivery.backend`."""
    before_restore: Sequence[str] = ()
    """Functions that receive the `EventLog` before a server restores the projection from it."""
    harvesters: Mapping[str, str] = field(default_factory=dict)
    """Functions that create a harvester, by their command below `headwater harvest`; see
    `plugins.harvest.harvester`."""
    commands: Sequence[str] = ()
    """Typer apps whose commands are added to the command line. The `rich_help_panel` of a command
    is its group in the help."""
    findings: Sequence[str] = ()
    """Functions that receive a `State` and yield warnings of health; see `health.findings`. Their
    kind must be one of headwater's, such as `quality`. Every query about health calls them, so they
    must be fast. Warnings do not change the states of nodes."""
    holds: Sequence[str] = ()
    """Functions that receive the `EventLog` and return the `seq` of the last event that the plugin
    no longer needs (None: it needs none), and a set of earlier ones that it needs. Pruning does not
    delete the events that a plugin needs."""
    metrics: Sequence[str] = ()
    """Functions that receive the `Live` log and yield metrics of prometheus-client."""
    mutes: Sequence[str] = ()
    """Functions that receive the `EventLog` and a time in microseconds, and return the kinds and
    subjects of muted findings, for which no alert is sent."""
    pasts: Sequence[str] = ()
    """Functions that answer a query about a past time without the whole state of it. Each
    receives the `Live` log, the name of the query, a `Moment` and a function that answers the query
    from a `State`. It returns None for a query that needs the whole state."""
    queries: Sequence[str] = ()
    """Modules (import paths without `:NAME`) that declare queries of the API with
    `query.registry.query`."""
    routers: Sequence[str] = ()
    """FastAPI routers of the server."""
    sql: Sequence[str] = ()
    """Modules (import paths without `:NAME`) with the functions of `sql.reader.SqlReader`. Only one
    module reads SQL texts: that of headwater's own plugin `sql` if it is installed."""
    tables: Sequence[str] = ()
    """SQLAlchemy's `MetaData` with the plugin's tables, which are created when a log is opened."""
    unknown_paths: Sequence[str] = ()
    """Functions that receive a request whose path no router has. They return a response, or None,
    which leads to the error 404."""
    workers: Sequence[str] = ()
    """Functions that receive the server's `Settings` and check them before the log is opened. Each
    returns a function that receives the `Live` log and returns the background workers, which have
    the methods `start` and `stop`; see `headwater.worker`."""


def parts(kind: str, installed: Iterable[EntryPoint] | None = None) -> dict[str, EntryPoint]:
    """Return the parts of a kind in all plugins, by name; `load` imports one.

    `kind` is a field of `Plugin` with named parts. `installed` are the entry points of the plugins,
    by default those of all installed packages. headwater's own parts come first.

    Raises:
        ConfigError: a plugin cannot be imported or is not a `Plugin`, or two have a part of the
            same name; the message names them.
    """
    found: dict[str, EntryPoint] = {}
    for point in _installed(tuple(sys.path)) if installed is None else _sorted(installed):
        for name, path in getattr(_load(point), kind).items():
            if name in found and found[name].value != path:
                raise ConfigError(
                    f"plugin {point.name}: {kind}: {name!r} is already defined by "
                    f"{found[name].value}. Uninstall one of the two packages."
                )
            found[name] = EntryPoint(name, path, GROUP)
    return found


def load_all(kind: str) -> list[Any]:
    """Return the imported parts of a kind without names; those of headwater come first.

    Raises:
        ConfigError: a plugin cannot be imported or is not a `Plugin`; the message names it.
    """
    return [part for _, part in load_named(kind)]


def load_named(kind: str) -> list[tuple[str, Any]]:
    """Return the parts like `load_all`, each with the name of its plugin."""
    points = _installed(tuple(sys.path))
    paths = [(point.name, path) for point in points for path in getattr(_load(point), kind)]
    return [(name, _imported(EntryPoint(name, path, GROUP))) for name, path in paths]


@cache
def _installed(path: tuple[str, ...]) -> Sequence[EntryPoint]:
    """Return the entry points of the plugins on a path; reading them takes about 20 ms."""
    return _sorted(entry_points(group=GROUP))


def _sorted(points: Iterable[EntryPoint]) -> list[EntryPoint]:
    """Return entry points by name, those of headwater first."""
    return sorted(points, key=lambda point: (not point.value.startswith("headwater."), point.name))


def _load(point: EntryPoint) -> Plugin:
    """Return the plugin of an entry point. Raises ConfigError if it is none."""
    plugin = _imported(point)
    if not isinstance(plugin, Plugin):
        raise ConfigError(
            f"plugin {point.name}: {point.value} is a {type(plugin).__name__}, expected a "
            "headwater.plugin.Plugin"
        )
    return plugin


def _imported(point: EntryPoint) -> Any:
    """Return what an entry point names. Raises ConfigError for any error of its code."""
    try:
        return point.load()
    except Exception as error:  # code of others
        raise ConfigError(
            f"plugin {point.name} ({point.value}) cannot be imported: "
            f"{type(error).__name__}: {error}. Update or uninstall its package."
        ) from error
