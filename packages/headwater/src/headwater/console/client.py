"""Options of the commands that query lineage: the server or log, the moment and the output.

A command gets a `Client` as its first argument, which hides whether it queries a server or a log.
The server reports errors by the names of parameters; a user has typed options. `_as_typed` replaces
one by the other, so it needs that messages begin with the name of the parameter, a colon and a
space (`asOf: received ...`), as those of ConfigError do.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_type_hints

import typer

from headwater.console.render import count_ages_to, present, print_json, print_line
from headwater.console.source import Params, Source, every, open_source, request
from headwater.errors import AmbiguousError, ConfigError, OptionError
from headwater.wire import http_name

if TYPE_CHECKING:
    from headwater.log import EventLog
    from headwater.settings import Settings

Url = Annotated[
    str | None, typer.Option(help="Server to query. [HEADWATER_URL, or http://localhost:9002]")
]
Database = Annotated[
    str | None, typer.Option(help="Log to query instead of a server: file or SQLAlchemy URL.")
]
Key = Annotated[str | None, typer.Option(help="API key of the server.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

_LIKE_A_TIME = re.compile(r"\d{1,2}:|\d{4}-\d{1,2}\b")
_PAST = {
    "as_of": Annotated[
        str | None,
        typer.Option(help="State to show: a time, or the id of a run for its end."),
    ],
    "known_at": Annotated[
        str | None, typer.Option(help="Use only events received before this time.")
    ],
}
_WHERE = {"url": Url, "database": Database, "api_key": Key}

_TYPED = {
    ("", "as_of"): "--as-of",
    ("", "known_at"): "--known-at",
    ("timeline", "from_"): "--since",
    ("timeline", "to"): "--until",
    ("diff", "from_"): "SINCE",
    ("diff", "to"): "UNTIL",
}
"""Names of the options and arguments that are moments, by query ("" for all) and parameter."""


@dataclass(frozen=True)
class Client:
    """Queries the server or log that the options name, and prints answers.

    `url`, `database` and `api_key` are None if not given; the settings then decide. `as_of` and
    `known_at` are texts as typed: a time, or the id of a run.
    """

    url: str | None = None
    database: str | None = None
    api_key: str | None = None
    as_json: bool = False
    as_of: str | None = None
    known_at: str | None = None

    @property
    def is_local(self) -> bool:
        """Return True if a log is queried, not a server."""
        return self.database is not None

    @cached_property
    def settings(self) -> Settings:
        """Return the settings with the options."""
        return self.settings_with()

    def settings_with(self, **options: object) -> Settings:
        """Return the settings with the options of the client and the given ones."""
        return settings_of(url=self.url, database=self.database, api_key=self.api_key, **options)

    def print(self, name: str, params: Params, printer: Callable[[Any], None]) -> Any:
        """Print the answer to a query, as JSON or by `printer`; return it.

        `params` are the parameters of the query by their Python names. On paged answers, a hint to
        the next page is printed to stderr.
        """
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
        """Return the answer to a query; parameters that are None or False are not sent.

        An older server therefore does not reject a switch that it does not know and that is off. A
        name of one dataset and of jobs, such as that of a dbt model, means the dataset; a line on
        stderr says so.

        Raises:
            ConfigError: a parameter is invalid; the message names the option that the user typed.
            NotFoundError: no node has the name.
            ServerError: no server responds, or it failed.
        """
        given = {k: v for k, v in params.items() if v is not None and v is not False}
        for key, text in (("as_of", self.as_of), ("known_at", self.known_at)):
            if text:
                given[key] = text
        for key, value in given.items():
            if option := _option_of(name, key):
                given[key] = moment(str(value), option)
        count_ages_to(lambda: self.shown_moment)
        try:
            return self.source(name, given)
        except ConfigError as error:
            raise _as_typed(name, given, error) from None
        except AmbiguousError as error:
            if (meant := _dataset_meant(params, error)) is None:
                raise
            key, dataset, jobs = meant
            text = (
                f"{params[key]!r} is a dataset and a job; using {dataset}. For the job: {jobs[0]}"
            )
            print_line(text, is_error=True)
            return self.query(name, {**params, key: dataset})

    @property
    def shown_moment(self) -> datetime:
        """Return the moment of the answers: the earlier of the two options, or the present."""
        texts = [text for text in (self.as_of, self.known_at) if text]
        return min((self._time_of(text) for text in texts), default=present())

    def _time_of(self, text: str) -> datetime:
        """Return the time of an option, or the end of a run, if the option is a run id.

        For a run that has not ended, this is the present.
        """
        text = moment(text, "--as-of")
        with suppress(ValueError):
            return datetime.fromisoformat(text)
        ended = self.source("runtree", {"run": text})["endedAt"]
        return datetime.fromisoformat(ended) if ended else present()

    def items(self, name: str, params: Params) -> Iterator[Any]:
        """Yield all items of a query with pages."""
        return every(self.query, name, params)

    def request(self, path: str, body: object = None, method: str | None = None) -> Any:
        """Send a GET, or a POST with a JSON body, to the server; return the decoded response.

        `path` begins with a slash. `method` is only needed for others, such as DELETE. Raises
        ConfigError, NotFoundError or ServerError, see `console.source`.
        """
        import json

        content = None if body is None else json.dumps(body).encode()
        return request(self.settings, path, content, method)

    def log(self, *, must_exist: bool = True) -> closing[EventLog]:
        """Open the log; use it in a `with` statement."""
        from headwater.log import EventLog

        return closing(EventLog.of(self.settings, must_exist=must_exist))

    @cached_property
    def source(self) -> Source:
        """Return the function that queries the server or log."""
        return open_source(self.settings, is_local=self.is_local)


def with_client(
    *, past: bool = False, as_json: bool = True
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the options of a `Client` to a command, as its first argument.

    `past` adds the options that select a past state, `as_json` the option --json.

    `url`, `database` and `api_key` are always added. typer reads the options from the signature of
    the returned function.
    """
    options: Mapping[str, Any] = (
        (_PAST if past else {}) | _WHERE | ({"as_json": AsJson} if as_json else {})
    )

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        """Return the command with the options of `Client` in place of its parameter `client`.

        Typer reads the signature, so it is set to have the options of both.
        """
        hints = get_type_hints(command, include_extras=True)
        own = [p for p in inspect.signature(command).parameters.values() if p.name != "client"]

        @functools.wraps(command)
        def run(**values: Any) -> None:
            client = Client(**{name: values.pop(name) for name in options})
            command(client, **values)

        kind = inspect.Parameter.KEYWORD_ONLY
        parameters = [
            item.replace(kind=kind, annotation=_as_option(hints[item.name])) for item in own
        ]
        for name, hint in options.items():
            default = getattr(Client, name)
            parameters.append(inspect.Parameter(name, kind, default=default, annotation=hint))
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {item.name: item.annotation for item in parameters}
        return run

    return decorate


def query_command(
    query: str, printer: Callable[[Any], None], *, past: bool = False, **names: str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Create a command that prints the answer to a query from a function with its options.

    The function is not called. Its parameters are those of the query; `names` maps a parameter to
    its name in the query if the two differ.

    `query` is the name of the query and `printer` prints its answer. `past` adds the options of a
    past state, as in `with_client`.
    """

    def decorate(declared: Callable[..., None]) -> Callable[..., None]:
        """Return a command that runs the query and prints its answer.

        `declared` has no body: only its parameters and docstring are used.
        """

        @functools.wraps(declared)
        def command(client: Client, **values: Any) -> None:
            params = {names.get(name, name): value for name, value in values.items()}
            client.print(query, params, printer)

        made = with_client(past=past)(command)
        made.query = query, names  # type: ignore[attr-defined]  # for tests
        return made

    return decorate


def _as_option(hint: Any) -> Any:
    """Return the type of a query's parameter as the type of an option, with help and bounds.

    `hint` is the annotation of a parameter of a query. A hint without a text is already that of an
    option or argument.
    """
    type_, *details = get_args(hint) or (hint,)
    texts = [detail for detail in details if isinstance(detail, str)]
    if not texts:
        return hint
    bounds = {
        option: getattr(detail, bound)
        for detail in details
        for option, bound in (("min", "ge"), ("max", "le"))
        if hasattr(detail, bound)
    }
    return Annotated[type_, typer.Option(help=texts[0], **bounds)]


def _option_of(query: str, name: str) -> str | None:
    """Return the name of the option for a parameter that is a moment; None for others."""
    return _TYPED.get((query, name)) or _TYPED.get(("", name))


def _dataset_meant(params: Params, error: AmbiguousError) -> tuple[str, str, list[str]] | None:
    """Return the parameter whose name fits one dataset and some jobs, with their ids.

    The second item is the id of the dataset, and the third has those of the jobs. Return None if
    the name fits several datasets, or runs.
    """
    jobs = [node for node in error.nearest if node.startswith("job:")]
    datasets = [node for node in error.nearest if node.startswith("dataset:")]
    keys = [key for key, value in params.items() if value == error.name]
    if not keys or not jobs or len(datasets) != 1:
        return None
    return keys[0], datasets[0], jobs


def _as_typed(query: str, params: Iterable[str], error: ConfigError) -> ConfigError:
    """Return an error about a moment under the name of its option; any other error unchanged.

    `query` is the name of the query and `params` the names of its parameters.
    """
    message = str(error)
    for name in params:
        option = _option_of(query, name)
        if option and message.startswith(start := f"{http_name(name)}: "):
            return OptionError(f"{option}: {message.removeprefix(start)}")
    return error


def moment(text: str, option: str) -> str:
    """Return a local time in ISO 8601 with its zone, or the id of a run unchanged.

    `option` is the name of the option or argument, for the error.

    Raises:
        OptionError: the text looks like a time but is not valid.
    """
    for written in (text, f"{date.today()}T{text}"):  # a time without a date refers to today
        with suppress(ValueError):
            return datetime.fromisoformat(written).astimezone().isoformat()
    if _LIKE_A_TIME.match(text):
        raise OptionError(
            f"{option}: received {text!r}, expected a time such as 2026-11-21T08:30, or 08:30 of"
            " today, or the id of a run"
        )
    return text


def time_of(text: str | None, option: str) -> datetime | None:
    """Return the time of an option, which is local time unless it has a zone; None if not given.

    Raises OptionError for another text, also for the id of a run.
    """
    if text is None:
        return None
    from headwater.events import parse_time

    try:
        return parse_time(moment(text, option))
    except (ValueError, OverflowError, ConfigError):
        raise OptionError(
            f"{option}: received {text!r}, expected a time such as 2026-11-21T08:30"
        ) from None


def settings_of(**options: object) -> Settings:
    """Return the settings with the options of a command that are not None."""
    from headwater.settings import resolve  # slow to import

    return resolve(options)
