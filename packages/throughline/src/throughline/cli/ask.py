"""What every reading command has in common: whom it asks, as of when, and how it prints."""

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

from throughline.cli.source import Source, every, open_source
from throughline.config import Settings, resolve
from throughline.errors import ConfigError
from throughline.wire import http_name

Url = Annotated[
    str | None, typer.Option(help="Server to ask. [THROUGHLINE_URL, or http://localhost:9002]")
]
Database = Annotated[
    str | None, typer.Option(help="Ask this log (file or SQLAlchemy URL) instead of a server.")
]
Cursor = Annotated[
    str | None, typer.Option(help="What comes after an answer: its `next`, or what it named.")
]
Key = Annotated[str | None, typer.Option(help="API key of the server.")]

_LIKE_A_TIME = re.compile(r"\d{1,2}:|\d{4}-\d{1,2}\b")
_ALWAYS = {
    "url": Url,
    "database": Database,
    "api_key": Key,
    "as_json": Annotated[bool, typer.Option("--json", help="Print JSON.")],
}
_THEN = {
    "as_of": Annotated[
        str | None, typer.Option(help="As it was then: a time, or the id of a run for its end.")
    ],
    "known_at": Annotated[str | None, typer.Option(help="By what had been heard by then: a time.")],
}

_TYPED = {
    ("", "as_of"): "--as-of",
    ("", "known_at"): "--known-at",
    ("timeline", "from_"): "--since",
    ("timeline", "to"): "--until",
    ("diff", "from_"): "SINCE",
    ("diff", "to"): "UNTIL",
}
"""Names of options and arguments by query ("" for every query) and parameter, for errors."""


class LevelName(StrEnum):
    """How fine to look."""

    PIPELINE = "pipeline"
    TASK = "task"
    QUERY = "query"


class Condition(StrEnum):
    """How a run stands."""

    NEW = "NEW"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    ABORTED = "ABORTED"
    LOST = "LOST"


@dataclass(frozen=True)
class Ask:
    """Asks what a command line says, and prints the answer."""

    url: str | None = None
    database: str | None = None
    api_key: str | None = None
    as_json: bool = False
    as_of: str | None = None
    known_at: str | None = None

    @property
    def settings(self) -> Settings:
        """The settings with whom to ask."""
        return settings_of(self.url, self.database, self.api_key)

    def __call__(self, what: str, params: dict[str, Any]) -> Any:
        """Print the answer to a question; return it."""
        answer = self.answer(what, params)
        self.show(what, answer)
        if not self.as_json and isinstance(answer, dict) and answer.get("next"):
            from throughline.cli.render import print_line  # slow to import

            told = f"There are more: --limit, or --cursor {answer['next']}"
            print_line(told, is_error=True)
        return answer

    def answer(self, what: str, params: dict[str, Any]) -> Any:
        """The answer to a question, asked without the parameters that are None."""
        then = {"as_of": self.as_of, "known_at": self.known_at}
        for name, text in then.items():
            if text:
                params = params | {name: moment(text, _TYPED["", name])}
        given = {name: value for name, value in params.items() if value is not None}
        try:
            return self._source(what, given)
        except ConfigError as error:
            raise ConfigError(_as_typed(what, given, str(error))) from None

    def every(self, what: str, params: dict[str, Any]) -> Iterator[Any]:
        """All items of a question that is answered by pages."""
        return every(self.answer, what, params)

    @cached_property
    def _source(self) -> Source:
        return open_source(self.settings, is_local=self.database is not None)

    def show(self, what: str, answer: Any) -> None:
        """Print an answer."""
        from throughline.cli import printers, render  # what they need is slow to load

        (render.print_json if self.as_json else printers.PRINTERS[what])(answer)


def asks(*, then: bool = False) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of an `Ask`, which it gets first; `then`: also of the past."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, include_extras=True)
        own = list(inspect.signature(command).parameters.values())[1:]
        options = (_THEN if then else {}) | _ALWAYS

        @functools.wraps(command)
        def run(**values: Any) -> None:
            ask = Ask(**{name: values.pop(name) for name in options})
            command(ask, **values)

        kind = inspect.Parameter.KEYWORD_ONLY
        parameters = [each.replace(kind=kind, annotation=hints[each.name]) for each in own]
        for name, hint in options.items():
            default = getattr(Ask(), name)
            parameters.append(inspect.Parameter(name, kind, default=default, annotation=hint))
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        return run

    return decorate


def _as_typed(what: str, given: Iterable[str], message: str) -> str:
    """Replace the parameter's name at the start of an error by that of the option."""
    for name in given:
        option = _TYPED.get((what, name)) or _TYPED.get(("", name))
        if option and message.startswith(start := f"{http_name(name)}: "):
            return f"{option}: {message.removeprefix(start)}"
    return message


def moment(text: str, option: str) -> str:
    """A time as people write it, which is local, with its zone; the id of a run as it is.

    `option` is the name of the option or argument, for the error.

    Raises:
        ConfigError: it looks like a time and is none.
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
    """The settings with what the command line says of whom to ask."""
    return resolve({"url": url, "database": database, "api_key": api_key})
