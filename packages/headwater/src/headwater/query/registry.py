"""Registry of the queries of /api/v2, shared by the HTTP API and the command line.

A query is a function of a state (`BETWEEN` two moments: of two states) and of named, typed
parameters with defaults; `Annotated` types may carry a description and bounds.

A moment is a time of events (`as_of`), of their arrival (`known_at`), or both.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import cache, partial
from importlib import import_module
from typing import Annotated, Any, NamedTuple, Protocol, get_args, get_type_hints

from headwater import deadline
from headwater.errors import ConfigError, MissingQueryError
from headwater.events import parse_time, run_id_of, to_micros
from headwater.log import EventLog
from headwater.plugin import load_all
from headwater.projection import State, outcome
from headwater.projection.past import Moment
from headwater.wire import http_name


class Times:
    """Parameters that select the states a query reads: the present, a moment, or two moments."""

    NOW = ()
    THEN = ("as_of", "known_at")
    BETWEEN = ("from_", "to")


_AS_OF = "Only use events up to this time, or up to the end of the run with this id."
_MOMENTS: dict[str, Any] = {
    "as_of": Annotated[str | None, _AS_OF],
    "known_at": Annotated[str | None, "Only use events received up to this time."],
    "from_": Annotated[str, "Start: a time, or the id of a run for its end."],
    "to": Annotated[str | None, "End: a time, or the id of a run for its end; by default now."],
}

Load = Callable[[EventLog], Any]


class ApiQuery(NamedTuple):
    """A query: its name below /api/v2, the function that answers it, and its states.

    `load` reads data that only the log's database has; the query gets it as the argument `stored`.
    A query that `searches_sql` gets the argument `may_read_sql`. Neither is a parameter of the API.

    `times` is one of the values of `Times`. `answer` gets one state per moment as its first
    arguments.
    """

    name: str
    answer: Callable[..., Any]
    times: tuple[str, ...]
    load: Load | None = None
    searches_sql: bool = False

    @property
    def model(self) -> Any:
        """Return the type of the query's answers."""
        return get_type_hints(self.answer)["return"]

    @property
    def parameters(self) -> list[inspect.Parameter]:
        """Return the parameters with their types resolved, those of the moments last.

        These become the parameters of the endpoint and, with their descriptions, of the
        documentation. The states, which come first in the function, are left out.
        """
        hints = get_type_hints(self.answer, include_extras=True)
        count = 2 if self.times == Times.BETWEEN else 1
        kind = inspect.Parameter.KEYWORD_ONLY
        found: list[inspect.Parameter] = []
        for parameter in list(inspect.signature(self.answer).parameters.values())[count:]:
            if parameter.name in _INTERNAL_ARGUMENTS:
                continue
            hint = hints[parameter.name]
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:  # **filters: Unpack[Filters]
                fields = get_type_hints(get_args(hint)[0], include_extras=True)
                found += [
                    inspect.Parameter(name, kind, default=None, annotation=field)
                    for name, field in fields.items()
                ]
            else:
                found.append(parameter.replace(annotation=hint, kind=kind))
        for name in self.times:
            default = inspect.Parameter.empty if name == "from_" else None
            hint = _MOMENTS[name]
            found.append(inspect.Parameter(name, kind, default=default, annotation=hint))
        return found


_FEATURES = ("lineage", "nodes", "runs")
_QUERIES: dict[str, ApiQuery] = {}
_MAY_READ_SQL, _STORED, _ = _INTERNAL_ARGUMENTS = ("may_read_sql", "stored", "present")
"""Arguments of queries that are not parameters of the API.

A query about two moments gets the present state as `present` if one of its states is partial.
"""


def query(
    name: str,
    times: tuple[str, ...] = Times.NOW,
    *,
    load: Load | None = None,
    searches_sql: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as a query. Raises ValueError if another one has its name.

    `times` selects the states that the query gets. `load` and `searches_sql` are those of
    `ApiQuery`.
    """

    def register(answer: Callable[..., Any]) -> Callable[..., Any]:
        """Add the query. Raises ValueError if another one has its name."""
        if name in _QUERIES:
            other = _QUERIES[name].answer.__module__
            raise ValueError(
                f"query {name!r} of {answer.__module__}: {other} already has this name; rename one"
            )
        _QUERIES[name] = ApiQuery(name, answer, times, load, searches_sql)
        return answer

    return register


@cache
def load_queries() -> Mapping[str, ApiQuery]:
    """Return all queries by name: those of headwater and of the plugins."""
    for feature in _FEATURES:
        import_module(f"headwater.{feature}.queries")
    load_all("queries")
    return dict(sorted(_QUERIES.items()))


def find_query(name: str) -> ApiQuery:
    """Return a query by its name. Raises MissingQueryError."""
    if name not in (queries := load_queries()):
        raise MissingQueryError(f"there is no query {name!r}: no installed plugin adds it")
    return queries[name]


class Readable(Protocol):
    """A log with states to read."""

    log: EventLog

    def reading(self, moment: Moment | None = None) -> AbstractContextManager[State]:
        """Return the state, now or at a moment."""


def ask(
    live: Readable, query: ApiQuery, parameters: Mapping[str, Any], *, may_read_sql: bool = True
) -> Any:
    """Run a query; parameters have their Python names.

    Without `may_read_sql`, SQL takes no part in matching, counting or ranking. A query as of a past
    moment is first offered to the plugins (`_pasts`), which may answer it from a part of the log.

    Raises ConfigError for an invalid moment, and whatever the query raises, such as NotFoundError.
    """
    values = dict(parameters)
    if query.searches_sql:
        values[_MAY_READ_SQL] = may_read_sql
    if query.load is not None:
        values[_STORED] = query.load(live.log)
    with ExitStack() as stack:
        # The past is opened first, so that the present is not held while waiting for the past.
        texts = [values.pop(name, None) for name in query.times]
        moments = list(_moments(live, query.times, texts))
        found = _answer_in_part(live, query, moments, partial(query.answer, **values))
        if found is not None:
            return found
        states = [stack.enter_context(live.reading(moment)) for moment in moments]
        found = query.answer(*states, **values)
    deadline.check()  # whatever took the time
    return found


def _answer_in_part(
    live: Readable, query: ApiQuery, moments: Sequence[Moment | None], answer: Callable[..., Any]
) -> Any:
    """Return an answer from parts of states of the past; None if it needs whole states."""

    def answer_at(moment: Moment, of_state: Callable[[State], Any]) -> Any:
        """Return an answer from a part of the state at a moment, or None."""
        found = (plugin(live, query.name, moment, of_state) for plugin in _pasts())
        return next((answer for answer in found if answer is not None), None)

    def compare(before: State) -> Any:
        """Return an answer about a past moment and the second one."""
        with live.reading() as present:
            in_part = partial(answer, before, present=present)
            return answer_at(second, in_part) if second else in_part(present)

    if not moments or moments[0] is None:
        return None
    second = moments[-1]
    return answer_at(moments[0], compare if query.times == Times.BETWEEN else answer)


@cache
def _pasts() -> list[Callable[..., Any]]:
    """Return the functions of plugins that may answer a query about the past."""
    return load_all("pasts")


def _moments(
    live: Readable, times: Sequence[str], texts: Sequence[str | None]
) -> Iterator[Moment | None]:
    """Yield the moments of a query's parameters; None stands for the present.

    `texts` are the values of `times`, in the same order, None if not given. Raises ConfigError for
    an invalid text, and for a start in the future.
    """
    with live.reading() as state:
        if times == Times.BETWEEN:
            names = map(http_name, times)
            for name, text in zip(names, texts, strict=True):
                moment = None if text is None else Moment(micros_of(text, name, state))
                if name == "from" and moment and (moment.as_of or 0) > state.now:
                    raise ConfigError(f"{name}: received {text!r}, expected a time before now")
                yield moment
        else:
            yield moment_of(state, *texts) if texts else None


def moment_of(state: State, as_of: str | None, known_at: str | None = None) -> Moment | None:
    """Return the moment of two parameters; `as_of` may be a run's id, which means its end."""
    if as_of is None and known_at is None:
        return None
    return Moment(
        None if as_of is None else micros_of(as_of, "asOf", state),
        None if known_at is None else micros_of(known_at, "knownAt"),
    )


def micros_of(text: str, what: str, state: State | None = None) -> int:
    """Return a time in microseconds; with a state, the text may be a run's id (its end).

    Raises:
        ConfigError: it is neither a time nor a run that has ended.
    """
    if state is not None and (keys := state.runs_by_id.get(run_id_of(text))):
        ends = [outcome(state, state.runs[key]).ended for key in keys]
        over = [ended for ended in ends if ended is not None]
        if over:
            return max(over)
        raise ConfigError(f"{what}: run {text} has not ended; give a time or another run")
    try:
        return to_micros(parse_time(text))
    except (ValueError, OverflowError):
        runs = " or the id of a run" if state is not None else ""
        raise ConfigError(
            f"{what}: received {text!r}, expected a time such as 2026-11-21T08:30:00Z{runs}"
        ) from None
