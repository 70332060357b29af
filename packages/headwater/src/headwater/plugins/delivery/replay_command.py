"""`headwater replay`: send stored events to a server or backend, or show what would change."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from headwater.console.client import AsJson, settings_of, time_of
from headwater.console.render import MARKS, new_console, print_json, print_line
from headwater.errors import ConfigError, ServerError
from headwater.query.parameters import LevelName
from headwater.text import counted, escaped

if TYPE_CHECKING:
    from headwater.plugins.delivery.backend import Backend
    from headwater.plugins.delivery.models import BackendPreview, GraphPreview
    from headwater.projection.live import Live

_MOST_NAMED = 5
_SERVER = ("http://", "https://")
commands = typer.Typer()


@commands.command(rich_help_panel="Collect")
def replay(
    source: Annotated[
        str,
        typer.Option("--from", help="Log, event files, or URL of headwater or Marquez."),
    ],
    target: Annotated[
        str, typer.Option("--to", help="URL of a server, or name of a backend in --config.")
    ],
    config: Annotated[Path | None, typer.Option(help="YAML file of the backends.")] = None,
    since: Annotated[
        str | None, typer.Option(help="Earliest event: 2026-11-21T08:30 or 08:30.")
    ] = None,
    after: Annotated[int, typer.Option(help="Position in the log to continue after.", min=0)] = 0,
    diff: Annotated[
        bool, typer.Option("--diff", help="Send nothing; show what would change.")
    ] = False,
    level: Annotated[LevelName, typer.Option(help="With --diff: level of detail.")] = "task",
    columns: Annotated[
        bool, typer.Option("--columns", help="With --diff: also compare columns of a server.")
    ] = False,
    from_key: Annotated[
        str | None,
        typer.Option(metavar="VARIABLE", help="Environment variable with the key of --from."),
    ] = None,
    to_key: Annotated[
        str | None,
        typer.Option(metavar="VARIABLE", help="Environment variable with the key of --to."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Send stored events to another server or backend.

    Aliases, recalls and mutes are not sent. Exit code 1: the target rejected an event.

    Example: headwater replay --from lineage.db --to http://localhost:9002 --diff
    """
    from headwater.events import to_micros
    from headwater.plugins.delivery._replay import opened_events

    if columns and not diff:
        raise ConfigError("--columns has no effect without --diff; pass it with --diff")
    is_server = target.startswith(_SERVER)
    if not is_server and config is None:
        raise ConfigError(
            f"--to: received {target!r}, expected a URL such as http://localhost:9002, or the name"
            " of a backend together with --config FILE"
        )
    key = _key(to_key, "--to-key")
    backend = _server(target, to_key) if is_server else _backend(config, target)
    time = time_of(since, "--since")
    with (
        closing(backend),
        opened_events(source, _key(from_key, "--from-key")) as events,
    ):
        if events.invalid:
            text = f"{counted(events.invalid, 'invalid event')} left out; the first: "
            print_line(escaped(text + events.reason), is_error=True)
        earliest = to_micros(time) if time else 0
        if not diff:
            _send(events.live, backend, earliest, after, as_json=as_json)
        elif is_server:
            from headwater.console.source import OTHER_SOURCE, open_source
            from headwater.plugins.delivery._preview import graph_preview

            settings = settings_of(url=target, api_key=key)
            ask = open_source(settings, is_local=False)
            try:
                graph = graph_preview(
                    events.live, ask, target, since=earliest, level=level, columns=columns
                )
            except ServerError as error:
                advice = "pass the URL of another server with --to"
                raise ServerError(str(error).replace(OTHER_SOURCE, advice)) from None
            (print_json if as_json else _print_graph)(graph)
        else:
            from headwater.plugins.delivery._preview import backend_preview

            preview = backend_preview(events.live, target, backend, since=earliest)
            (print_json if as_json else _print_backend)(preview)


def _key(variable: str | None, option: str) -> str:
    """Return the key in a variable; empty without one, so that no other key is sent."""
    if variable is None:
        return ""
    if not (value := os.environ.get(variable)):
        raise ConfigError(f"{option}: the variable {variable!r} is not set; set it to the API key")
    return value


def _server(url: str, key: str | None) -> Backend:
    """Return a server as a backend; `key` is the name of the variable with its API key.

    Raises ConfigError if the URL is invalid.
    """
    from pydantic import ValidationError

    from headwater.plugins.delivery.backends import Http
    from headwater.plugins.delivery.models import HttpSettings

    try:
        return Http(HttpSettings(name="replay", url=url, api_key_env=key))
    except ValidationError as error:
        raise ConfigError(f"--to: {error.errors()[0]['ctx']['error']}") from None


def _backend(config: Path | None, name: str) -> Backend:
    """Return a backend of a deliver file; close the others.

    Raises ConfigError if the file has no backend of that name.
    """
    from headwater.plugins.delivery.backends import read_backends

    assert config is not None
    backends = read_backends(config)
    for other in backends.keys() - {name}:
        backends[other].close()
    if name not in backends:
        raise ConfigError(f"--to: {config} has no backend {name!r}, only {', '.join(backends)}")
    return backends[name]


def _send(live: Live, backend: Backend, since: int, after: int, *, as_json: bool) -> None:
    """Send the events and print the result; exit with 1 if some were rejected.

    `since` is in microseconds, and `after` the `seq` of the last event that is not sent.
    """
    from headwater.plugins.delivery._replay import replay_events

    result = replay_events(live, backend, since=since, after=after)
    if as_json:
        print_json(asdict(result))
    else:
        older = f", {result.older:,} older left out" if result.older else ""
        text = f"{counted(result.sent, 'event')} sent, {result.rejected:,} rejected{older}"
        print_line(text, is_error=True)  # a backend of the type console writes to stdout
        for reason in result.reasons:
            print_line(escaped(f"  {reason}"), is_error=True)
        if result.rejected > len(result.reasons):
            print_line(f"  and {result.rejected - len(result.reasons):,} more", is_error=True)
    if result.rejected:
        raise typer.Exit(1)


def _print_graph(answer: GraphPreview) -> None:
    """Print the differences, then what was compared."""
    changes = list(_changes(answer))
    for mark, text in changes:
        _print_mark(mark, text)
    if not changes:
        print_line("No differences.")
    compared = f"{counted(answer['jobs'], 'job')} compared, {answer['same']:,} equal edges"
    if answer["columnsCompared"] is not None:
        compared += f", columns of {counted(answer['columnsCompared'], 'dataset')}"
    if answer["otherJobs"]:
        compared += f"; {counted(answer['otherJobs'], 'other job')} only at {answer['target']}"
    print_line(escaped(compared))
    if newer := answer["newerJobs"]:
        jobs = ", ".join(newer[:_MOST_NAMED]) + (" and others" if newer[_MOST_NAMED:] else "")
        text = f"{counted(len(newer), 'job')} with a newer run at the target, not compared: {jobs}"
        print_line(escaped(text))
    if answer["aliases"]:
        text = f"The log has aliases of users ({answer['aliases']:,}), which are not sent"
        print_line(text, is_error=True)


def _changes(answer: GraphPreview) -> Iterator[tuple[str, str]]:
    """Yield the mark and the text of each difference.

    A replay would add `+` to the target and remove `-` from it. `~` is a name at the target and the
    one in the log. Arrows have the direction of the data; `⇢` is an indirect edge of columns, and
    `*` stands for all rows.
    """
    for old, new in answer["renamed"]:
        yield "~", f"{old} → {new}"
    for mark, edges in (("+", answer["edgesAdded"]), ("-", answer["edgesRemoved"])):
        yield from ((mark, f"{above} → {below}") for above, below in edges)
    for mark, pairs in (("+", answer["columnsAdded"]), ("-", answer["columnsRemoved"])):
        for pair in pairs:
            source = f"{pair['source']}.{pair['sourceColumn'] or '*'}"
            arrow = "→" if pair["isDirect"] else "⇢"
            yield mark, f"{source} {arrow} {pair['dataset']}.{pair['column']}"


def _print_backend(answer: BackendPreview) -> None:
    """Print the names, the lost facts and the rejected events, then the number of events."""
    for old, new in answer["renamed"]:
        _print_mark("~", f"{old} → {new}")
    for lost in answer["lost"]:
        _print_mark("-", f"{lost['kind']}: {lost['arrived']:,} of {lost['reported']:,} arrive")
    for reason in answer["reasons"]:
        _print_mark("-", reason)
    rejected = f", {answer['rejected']:,} of them rejected" if answer["rejected"] else ""
    print_line(f"{counted(answer['events'], 'event')} to send{rejected}")


def _print_mark(mark: str, text: str) -> None:
    new_console().print(Text(f"{mark} {text}", MARKS[mark]), soft_wrap=True)
