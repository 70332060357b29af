"""Settings: argument, then environment, then default; an empty variable counts as not set.

1. An argument of the command or the call.
2. The environment: THROUGHLINE_ and the name in capitals, THROUGHLINE_API_KEY.
3. The default in the model below, from which the table in the README is generated.

This module takes a tenth of a second to import, so commands import it when they run.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    ValidationError,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from throughline.config import expected
from throughline.errors import ConfigError

__all__ = ["Settings", "default_database", "resolve", "variable_of"]

_PREFIX = "THROUGHLINE_"
_MAX_QUERIES = 10_000
"""The largest number of queries that may run or wait."""


def _url(text: str) -> str:
    error = ValueError("expected a URL such as http://localhost:9002")
    try:
        parts = urlsplit(text)
        is_valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # the port is not a number
        raise error from None
    if not is_valid:
        raise error
    return text.rstrip("/")


def _origins(text: object) -> object:
    origins = text.split() if isinstance(text, str) else text
    for origin in origins if isinstance(origins, list) else ():
        if not re.fullmatch(r"https?://[\w.:\[\]-]+", origin):
            raise ValueError("expected origins such as http://localhost:9090")
    return origins


def _data_folder() -> Path:
    if sys.platform == "darwin":
        return Path("~/Library/Application Support/throughline").expanduser()
    base = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_DATA_HOME")
    return Path(base or "~/.local/share").expanduser() / "throughline"


def default_database() -> str:
    """Return the path of the default log in the user's data folder."""
    return str(_data_folder() / "throughline.db")


_EMPTY_IS_NONE = BeforeValidator(lambda value: None if value == "" else value)
_Folder = Annotated[Path, AfterValidator(lambda path: path.expanduser().absolute())]
_File = Annotated[_Folder | None, _EMPTY_IS_NONE]


class Settings(BaseSettings):
    """Resolved settings."""

    model_config = SettingsConfigDict(frozen=True, env_prefix=_PREFIX, env_ignore_empty=True)

    host: str = Field(
        "127.0.0.1", description="address to listen on; other than loopback requires an API key"
    )
    port: int = Field(9002, ge=0, le=65_535, description="port to listen on; 0: a free one")
    database: Annotated[str, AfterValidator(lambda text: text or default_database())] = Field(
        "",
        validate_default=True,
        description="file or SQLAlchemy URL of the log; empty: in the user's data folder, which is"
        " created. Other folders must exist. A locked SQLite file is retried for 10 s, or the"
        " `?timeout=` of its URL",
    )
    spool: _File = Field(
        None, description="folder of *.jsonl files that `serve` tails and `run` writes to"
    )
    spool_remove_after: NonNegativeFloat = Field(
        0, description="idle seconds before drained files are removed; 0: never"
    )
    lost_after: NonNegativeFloat = Field(
        86_400, description="seconds without events after which an open run is LOST"
    )
    largest_body: NonNegativeInt = Field(
        64 * 1024**2,
        description="largest accepted body in bytes, unzipped; a larger one gets a 413",
    )
    body_memory: NonNegativeInt = Field(
        128 * 1024**2,
        description="bytes of all bodies being read at the same time; above it, a large body gets"
        " a 503 with `Retry-After`",
    )
    body_seconds: NonNegativeFloat = Field(
        60,
        description="seconds for a body to arrive; a slower one gets a 408. A client that reads"
        " less than 64 KiB of a response in that time is disconnected",
    )
    most_connections: NonNegativeInt = Field(
        500, description="open connections, half of them for event streams; others get a 503"
    )
    most_events: NonNegativeInt = Field(
        10_000, description="events read from one posted array; the response counts the unread ones"
    )
    deliver: _File = Field(
        None, description="YAML file of the backends that events are delivered to"
    )
    alerts: _File = Field(None, description="YAML file of the alert rules")
    redact: str = Field(
        "",
        description="YAML file of further `keys` and `patterns` (regular expressions) to mask, or"
        " `off`; empty: passwords, tokens and keys in SQL, URLs and properties are masked",
    )
    longest_query: NonNegativeFloat = Field(
        30, description="time limit of a query over HTTP in seconds; a longer one gets a 400"
    )
    running_queries: int = Field(
        4, ge=1, le=_MAX_QUERIES, description="queries over HTTP that run at once; others wait"
    )
    waiting_queries: int = Field(
        100,
        ge=0,
        le=_MAX_QUERIES,
        description="queries over HTTP that wait; others get a 503 with `Retry-After`",
    )
    api_key: Annotated[str | None, _EMPTY_IS_NONE] = Field(
        None,
        repr=False,
        description="key with all rights, sent as `Authorization: Bearer <key>`; empty: only the"
        " keys of `throughline keys`",
    )
    harvests: Annotated[
        _Folder, BeforeValidator(lambda value: value or _data_folder() / "harvests")
    ] = Field(
        Path(),
        validate_default=True,
        description="folder of harvest positions; empty: in the user's data folder",
    )
    frame_origins: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_origins)] = Field(
        (), description="origins that may embed the page in a frame, separated by spaces"
    )
    url: Annotated[str, AfterValidator(_url)] = Field(
        "http://localhost:9002", description="server that commands query"
    )
    program: str = Field("throughline", description="program name in help and messages")
    start_hint: str = Field(
        "throughline serve", description="command that starts the server, for messages"
    )


def variable_of(name: str) -> str:
    """Return the environment variable of a setting."""
    return _PREFIX + name.upper()


def resolve(given: Mapping[str, object] | None = None) -> Settings:
    """Resolve the settings from arguments (None: not given) and the environment.

    Raises:
        ConfigError: a setting is invalid.
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
