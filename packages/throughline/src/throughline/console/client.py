"""Options of the commands that query lineage: the server or log, the moment and the output."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any, get_type_hints

import typer

from throughline.config import Settings, resolve
from throughline.console.render import print_json, print_line
from throughline.console.source import Params, Source, every, open_source
from throughline.errors import ConfigError
from throughline.wire import http_name

Url = Annotated[
    str | None, typer.Option(help="Server to query. [THROUGHLINE_URL, or http://localhost:9002]")
]
Database = Annotated[
    str | None, typer.Option(help="Log to query instead of a server: file or SQLAlchemy URL.")
]
Cursor = Annotated[
    str | None, typer.Option(help="Next page: the `next` of an answer, or the cursor it printed.")
]
Key = Annotated[str | None, typer.Option(help="API key of the server.")]

_LIKE_A_TIME = re.compile(r"\d{1,2}:|\d{4}-\d{1,2}\b")
_ALWAYS = {
    "url": Url,
    "database": Database,
    "api_key": Key,
    "as_json": Annotated[bool, typer.Option("--json", help="Print JSON.")],
}
_PAST = {
    "as_of": Annotated[
        str | None,
        typer.Option(help="State to show: a time, or the id of a run for its end."),
    ],
    "known_at": Annotated[
        str | None, typer.Option(help="Use only events received before this time.")
    ],
}

_TYPED = {
    ("", "as_of"): "--as-of",
    ("", "known_at"): "--known-at",
    ("timeline", "from_"): "--since",
    ("timeline", "to"): "--until",
    ("diff", "from_"): "SINCE",
    ("diff", "to"): "UNTIL",
}
"""Names of options and arguments by query ("" for all) and parameter, for errors."""


class LevelName(StrEnum):
    """Levels of detail."""

    PIPELINE = "pipeline"
    TASK = "task"
    QUERY = "query"


class StateName(StrEnum):
    """States of runs."""

    NEW = "NEW"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    ABORTED = "ABORTED"
    LOST = "LOST"


@dataclass(frozen=True)
class Client:
    """Queries the server or log that the options name, and prints answers."""

    url: str | None = None
    database: str | None = None
    api_key: str | None = None
    as_json: bool = False
    as_of: str | None = None
    known_at: str | None = None

    @property
    def settings(self) -> Settings:
        """Return the settings with the options."""
        return settings_of(self.url, self.database, self.api_key)

    def print(self, name: str, params: Params, printer: Callable[[Any], None]) -> Any:
        """Print the answer to a query, as JSON or by `printer`; return it."""
        answer = self.query(name, params)
        self.show(answer, printer)
        if not self.as_json and isinstance(answer, dict) and answer.get("next"):
            hint = f"More results: raise --limit, or pass --cursor {answer['next']}"
            print_line(hint, is_error=True)
        return answer

    def show(self, answer: Any, printer: Callable[[Any], None]) -> None:
        """Print an answer as JSON or by `printer`."""
        (print_json if self.as_json else printer)(answer)

    def query(self, name: str, params: Params) -> Any:
        """Return the answer to a query; parameters that are None are not sent."""
        present = {key: value for key, value in params.items() if value is not None}
        for key, text in (("as_of", self.as_of), ("known_at", self.known_at)):
            if text:
                present[key] = moment(text, _TYPED["", key])
        try:
            return self._source(name, present)
        except ConfigError as error:
            raise ConfigError(_as_typed(name, present, str(error))) from None

    def items(self, name: str, params: Params) -> Iterator[Any]:
        """Yield all items of a query with pages."""
        return every(self.query, name, params)

    @cached_property
    def _source(self) -> Source:
        return open_source(self.settings, is_local=self.database is not None)


def with_client(*, past: bool = False) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the options of a `Client` to a command, whose first argument it is.

    `past` adds the options that select a past state.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, include_extras=True)
        own = list(inspect.signature(command).parameters.values())[1:]
        options = (_PAST if past else {}) | _ALWAYS

        @functools.wraps(command)
        def run(**values: Any) -> None:
            client = Client(**{name: values.pop(name) for name in options})
            command(client, **values)

        kind = inspect.Parameter.KEYWORD_ONLY
        parameters = [item.replace(kind=kind, annotation=hints[item.name]) for item in own]
        for name, hint in options.items():
            default = getattr(Client(), name)
            parameters.append(inspect.Parameter(name, kind, default=default, annotation=hint))
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {item.name: item.annotation for item in parameters}
        return run

    return decorate


def _as_typed(query: str, params: Iterable[str], message: str) -> str:
    """Replace the parameter's name at the start of an error by that of the option."""
    for name in params:
        option = _TYPED.get((query, name)) or _TYPED.get(("", name))
        if option and message.startswith(start := f"{http_name(name)}: "):
            return f"{option}: {message.removeprefix(start)}"
    return message


def moment(text: str, option: str) -> str:
    """Return a local time in ISO 8601 with its zone, or the id of a run unchanged.

    `option` is the name of the option or argument, for the error.

    Raises:
        ConfigError: the text looks like a time but is not valid.
    """
    from datetime import date, datetime

    for written in (text, f"{date.today()}T{text}"):  # a time alone is one of today
        with suppress(ValueError):
            return datetime.fromisoformat(written).astimezone().isoformat()
    if _LIKE_A_TIME.match(text):
        raise ConfigError(
            f"{option}: received {text!r}, expected a time such as 2026-11-21T08:30, or 08:30 of"
            " today, or the id of a run"
        )
    return text


def settings_of(url: str | None, database: str | None, api_key: str | None) -> Settings:
    """Return the settings with the options that select a server or log."""
    return resolve({"url": url, "database": database, "api_key": api_key})
