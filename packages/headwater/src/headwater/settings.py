"""Settings: argument, then environment, then default; an empty variable counts as not set.

1. An argument of the command or the call.
2. The environment: HEADWATER_ and the name in capitals, HEADWATER_API_KEY.
3. The default in the model below, from which the table in docs/reference/server.md is generated.

This module takes a tenth of a second to import, so commands import it when they run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from platformdirs import user_data_path
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    ValidationError,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from headwater.config import expected
from headwater.errors import ConfigError

__all__ = ["Settings", "default_database", "resolve", "variable_of"]

_PREFIX = "HEADWATER_"
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_MAX_QUERIES = 10_000
"""The largest number of queries that may run or wait."""


def _url(text: str) -> str:
    """Return a URL without a slash at the end. Raises ValueError, as pydantic expects."""
    with suppress(ValueError):  # the port is not a number
        parts = urlsplit(text)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return text.rstrip("/")
    raise ValueError("expected a URL such as http://localhost:9002")


def _origins(text: object) -> object:
    """Return origins as a list, from a text with spaces. Raises ValueError if one is invalid."""
    origins = text.split() if isinstance(text, str) else text
    for origin in origins if isinstance(origins, list) else ():
        if not re.fullmatch(r"https?://[\w.:\[\]-]+", origin):
            raise ValueError("expected origins such as http://localhost:9090")
    return origins


def _duration(text: object) -> object:
    """Return a time such as `30d` as a timedelta, and None for an empty text. Raises ValueError."""
    if not isinstance(text, str):
        return text
    found = re.fullmatch(r"([1-9]\d{0,7})([smhdw])", text)
    if text and found is None:
        raise ValueError("expected a time such as 30d or 12h")
    return timedelta(seconds=int(found[1]) * _SECONDS[found[2]]) if found else None


def default_database() -> str:
    """Return the path of the default log in the user's data folder.

    A log with the old name is not moved, because an old server may still write to it.
    """
    path = user_data_path("headwater", appauthor=False) / "headwater.db"
    old = user_data_path("throughline", appauthor=False) / "throughline.db"
    return str(old if old.exists() and not path.exists() else path)


def default_harvests() -> Path:
    """Return the default folder of harvest positions, beside the default log."""
    return Path(default_database()).with_name("harvests")


_EMPTY_IS_NONE = BeforeValidator(lambda value: None if value == "" else value)
_Path = Annotated[Path, AfterValidator(lambda path: path.expanduser().absolute())]
_OptionalPath = Annotated[_Path | None, _EMPTY_IS_NONE]


class Settings(BaseSettings):
    """Resolved settings."""

    model_config = SettingsConfigDict(
        frozen=True, env_prefix=_PREFIX, env_ignore_empty=True, use_attribute_docstrings=True
    )

    host: str = "127.0.0.1"
    """address to listen on; other than loopback requires an API key"""
    port: Annotated[int, Field(ge=0, le=65_535)] = 9002
    """port to listen on; 0: a free one"""
    database: Annotated[str, BeforeValidator(lambda text: text or default_database())] = Field(
        default="", validate_default=True
    )
    """file or SQLAlchemy URL of the log; empty: in the user's data folder, which is created. Other
    folders must exist. A locked SQLite file is retried for 10 s, or the `?timeout=` of its URL"""
    spool: _OptionalPath = None
    """folder of *.jsonl files that `serve` tails and `run` writes to"""
    spool_remove_after: NonNegativeFloat = 0
    """idle seconds before drained files are removed; 0: never"""
    lost_after: NonNegativeFloat = 86_400
    """seconds without events after which an open run is LOST"""
    largest_body: NonNegativeInt = 64 * 1024**2
    """largest accepted body in bytes, unzipped; a larger one gets a 413"""
    largest_event: NonNegativeInt = 10 * 1024**2
    """largest accepted event in a body, in bytes; a larger one gets a 413. Each character of an
    event counts as at least 2 bytes if one of them is outside Latin-1, and as 4 if one is an
    emoji"""
    body_memory: NonNegativeInt = 128 * 1024**2
    """bytes of all bodies being read at the same time; above it, a large body gets a 503 with
    `Retry-After`"""
    body_seconds: NonNegativeFloat = 60
    """seconds for a body to arrive; a slower one gets a 408. A client that reads less than 64 KiB
    of a response in that time is disconnected"""
    most_connections: NonNegativeInt = 500
    """open connections, half of them for event streams; others get a 503"""
    most_events: NonNegativeInt = 10_000
    """events read from one posted array; the response counts the unread ones"""
    kafka: str = ""
    """Kafka brokers to read events from, such as `kafka-1:9092,kafka-2:9092`; empty: none"""
    kafka_topics: str = "openlineage.events"
    """topics, separated by commas; a topic that begins with `^` is a regular expression"""
    kafka_group: str = "headwater"
    """consumer group; servers of one log share it"""
    kafka_properties: _OptionalPath = None
    """YAML file of other properties of librdkafka, such as `security.protocol`; the value of a
    property that ends in `_env` is the name of an environment variable"""
    deliver: _OptionalPath = None
    """YAML file of the backends that events are delivered to"""
    keep: Annotated[timedelta | None, BeforeValidator(_duration)] = None
    """time such as `30d` or `12h` after which events are deleted if no current answer needs them;
    empty: never"""
    horizon: Annotated[timedelta | None, BeforeValidator(_duration)] = None
    """time such as `400d` after which, with `keep`, runs are also deleted if current data depends
    on them only through loads that read or keep rows of their own table; answers then report that
    sources were deleted; empty: never"""
    alerts: _OptionalPath = None
    """YAML file of the alert rules"""
    redact: str = ""
    """YAML file of further `keys` and `patterns` (regular expressions) to mask, or `off`; empty:
    passwords, tokens and keys in SQL, URLs and properties are masked"""
    longest_query: NonNegativeFloat = 30
    """time limit of a query over HTTP in seconds; a longer one gets a 400, or a 503 if others
    ran at the same time"""
    running_queries: Annotated[int, Field(ge=1, le=_MAX_QUERIES)] = 4
    """queries over HTTP that run at once; others wait"""
    waiting_queries: Annotated[int, Field(ge=0, le=_MAX_QUERIES)] = 100
    """queries over HTTP that wait; others get a 503 with `Retry-After`, as do those that have
    waited for 1.5 s while more than 30 wait"""
    answer_memory: NonNegativeInt = 128 * 1024**2
    """estimated bytes of all answers that are being computed or sent; above it, a large one gets a
    503 with `Retry-After`, or a 400 if it alone needs more"""
    api_key: Annotated[str | None, _EMPTY_IS_NONE] = Field(default=None, repr=False)
    """key with all rights, sent as `Authorization: Bearer <key>`; empty: only the keys of
    `headwater keys`"""
    harvests: Annotated[_Path, BeforeValidator(lambda path: path or default_harvests())] = Field(
        default="", validate_default=True
    )
    """folder of harvest positions; empty: in the user's data folder"""
    frame_origins: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_origins)] = ()
    """origins that may embed the page in a frame, separated by spaces"""
    url: Annotated[str, AfterValidator(_url)] = "http://localhost:9002"
    """server that commands query"""
    program: str = "headwater"
    """program name in help and messages"""
    start_hint: str = "headwater serve"
    """command that starts the server, for messages"""


def variable_of(name: str) -> str:
    """Return the environment variable of a setting."""
    return _PREFIX + name.upper()


def resolve(given: Mapping[str, object] | None = None) -> Settings:
    """Return the settings from arguments (None: not given) and environment. Raises ConfigError.

    Arguments are by the name of the setting.
    """
    arguments: dict[str, Any] = {
        name: value for name, value in (given or {}).items() if value is not None
    }
    if arguments.keys() >= {"url", "database"}:
        raise ConfigError("received --url and --database, expected only one of them")
    try:
        return Settings(**arguments)
    except ValidationError as error:
        problem = error.errors()[0]
        name = str(problem["loc"][0])
        option = f"argument --{name.replace('_', '-')}"
        source = option if name in arguments else f"environment variable {variable_of(name)}"
        received = str(problem["input"])
        raise ConfigError(
            f"{name} ({source}): received {received!r}, {expected(problem)}"
        ) from None
