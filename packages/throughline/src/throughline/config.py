"""Settings: argument, then environment, then default; an empty variable counts as not set.

1. An argument of the command or the call.
2. The environment: THROUGHLINE_ and the name in capitals, THROUGHLINE_API_KEY.
3. The default in the table below.
"""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from throughline.errors import ConfigError

__all__ = [
    "SETTINGS",
    "Setting",
    "Settings",
    "default_database",
    "expected",
    "filled",
    "read_yaml",
    "resolve",
]

T = TypeVar("T")

_MAX_QUERIES = 10_000
"""The largest number of queries that may run or wait."""


class _Value(NamedTuple):
    """The text of a setting, and its name and source for messages."""

    text: str
    label: str


class Setting(NamedTuple):
    """A setting with its default as text."""

    name: str
    default: str
    help: str

    @property
    def variable(self) -> str:
        """The environment variable of the setting."""
        return f"THROUGHLINE_{self.name.upper()}"


SETTINGS = (
    Setting("host", "127.0.0.1", "address to listen on; other than loopback requires an API key"),
    Setting("port", "9002", "port to listen on; 0: a free one"),
    Setting("database", "", "file or SQLAlchemy URL of the log; empty: in the user's data folder"),
    Setting("spool", "", "folder of *.jsonl that `serve` tails, `run` fills; empty: none"),
    Setting("spool_remove_after", "0", "idle seconds before drained files are removed; 0: never"),
    Setting("lost_after", "86400", "seconds without events after which an open run is LOST"),
    Setting("largest_body", "67108864", "largest accepted body in bytes, unzipped"),
    Setting("body_memory", "134217728", "bytes of all bodies being read at the same time"),
    Setting("body_seconds", "60", "seconds for a body to arrive, or for a response to be read"),
    Setting("most_connections", "500", "open connections; half of them may be event streams"),
    Setting("most_events", "10000", "events read from one posted array"),
    Setting("deliver", "", "YAML file of the backends that events are delivered to; empty: none"),
    Setting("alerts", "", "YAML file of the alert rules; empty: none"),
    Setting("redact", "", "YAML file of further secrets in events, or `off`; empty: built-in"),
    Setting("longest_query", "30", "time limit of a query over HTTP in seconds"),
    Setting("running_queries", "4", "queries over HTTP that run at once; further ones wait"),
    Setting("waiting_queries", "100", "queries over HTTP that wait; further ones get a 503"),
    Setting("api_key", "", "bearer token with all rights; empty: only `throughline keys`"),
    Setting("harvests", "", "folder of harvest positions; empty: in the user's data folder"),
    Setting("frame_origins", "", "origins that may embed the page in a frame, separated by spaces"),
    Setting("url", "http://localhost:9002", "server that commands query"),
    Setting("program", "throughline", "program name in help and messages"),
    Setting("start_hint", "throughline serve", "command that starts the server, for messages"),
)


@dataclass(frozen=True, slots=True)
class Settings:
    """Resolved settings."""

    host: str
    port: int
    database: str
    spool: Path | None
    deliver: Path | None
    alerts: Path | None
    spool_remove_after: float
    lost_after: float
    largest_body: int
    body_memory: int
    body_seconds: float
    most_events: int
    most_connections: int
    longest_query: float
    running_queries: int
    waiting_queries: int
    redact: str
    url: str
    program: str
    start_hint: str
    harvests: Path
    frame_origins: tuple[str, ...]
    api_key: str | None = field(repr=False)


def resolve(
    given: Mapping[str, object] | None = None, environment: Mapping[str, str] | None = None
) -> Settings:
    """Resolve the settings from arguments (None: not given) and the environment.

    Raises:
        ConfigError: a setting is invalid.
    """
    source = os.environ if environment is None else environment
    if given and given.get("url") is not None and given.get("database") is not None:
        raise ConfigError("received --url and --database, expected only one of them")
    found = {setting.name: _found(setting, given or {}, source) for setting in SETTINGS}
    values = {name: value.text for name, value in found.items()}
    return Settings(
        host=values["host"],
        port=int(_number(found["port"], most=65_535)),
        database=values["database"] or default_database(source),
        spool=_path(values["spool"]),
        deliver=_path(values["deliver"]),
        alerts=_path(values["alerts"]),
        spool_remove_after=_number(found["spool_remove_after"]),
        lost_after=_number(found["lost_after"]),
        largest_body=int(_number(found["largest_body"])),
        body_memory=int(_number(found["body_memory"])),
        body_seconds=_number(found["body_seconds"]),
        most_events=int(_number(found["most_events"])),
        most_connections=int(_number(found["most_connections"])),
        redact=values["redact"],
        longest_query=_number(found["longest_query"]),
        running_queries=_count(found["running_queries"], least=1),
        waiting_queries=_count(found["waiting_queries"]),
        url=_url(found["url"]),
        program=values["program"],
        start_hint=values["start_hint"],
        harvests=_path(values["harvests"]) or _data_folder(source) / "harvests",
        frame_origins=_origins(found["frame_origins"]),
        api_key=values["api_key"] or None,
    )


def _found(setting: Setting, given: Mapping[str, object], environment: Mapping[str, str]) -> _Value:
    """Return the value of a setting from the first source that has one."""
    argument, variable = given.get(setting.name), environment.get(setting.variable)
    if argument is not None:
        option = setting.name.replace("_", "-")
        return _Value(str(argument), f"{setting.name} (argument --{option})")
    if variable:
        return _Value(variable, f"{setting.name} (environment variable {setting.variable})")
    return _Value(setting.default, f"{setting.name} (default)")


def default_database(source: Mapping[str, str] = os.environ) -> str:
    """Return the path of the default log in the user's data folder."""
    return str(_data_folder(source) / "throughline.db")


def read_yaml(path: Path, *, as_texts: bool = False) -> object:
    """Load a YAML file, with `as_texts` without converting values.

    Raises:
        ConfigError: the file cannot be read, or is not valid YAML.
    """
    import yaml

    try:
        return yaml.load(path.read_bytes(), yaml.BaseLoader if as_texts else yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ConfigError(f"{path}{place}: invalid YAML: {error.problem}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: invalid YAML: {getattr(error, 'reason', error)}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"{path}: cannot read the file: {reason}") from None


def filled(class_: type[T], given: object, where: str) -> T:
    """Validate a mapping from a file and create a dataclass from it; `where` is for messages.

    Raises:
        ConfigError: a value is invalid or a key not allowed; names the key but not its value, which
            may be a secret.
    """
    from pydantic import TypeAdapter, ValidationError

    names = [field.name for field in fields(class_) if field.init]  # type: ignore[arg-type]
    if not isinstance(given, dict) or (unknown := [key for key in given if key not in names]):
        received = ", ".join(map(str, unknown)) if isinstance(given, dict) else type(given).__name__
        allowed = ", ".join(names) or "none"
        raise ConfigError(f"{where}: received {received}, allowed keys: {allowed}")
    try:
        return TypeAdapter(class_).validate_python(given)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, (where, *first["loc"])))
        received = "nothing" if first["type"] == "missing" else repr(first["input"])[:80]
        raise ConfigError(f"{place}: received {received}, {expected(first)}") from None
    except ConfigError as error:
        raise ConfigError(f"{where}.{error}") from None


def expected(problem: Mapping[str, Any]) -> str:
    """Return the expectation of a pydantic error in our terms, with the most similar option."""
    text = str(problem["msg"]).removeprefix("Value error, ").partition(", unable to parse")[0]
    text = text.replace("Input should be ", "expected ").replace("Field required", "it is required")
    words = re.findall(r"'([^']+)'", text)
    near = difflib.get_close_matches(str(problem["input"])[:80], words, n=1, cutoff=0.7)
    return text + (f" (did you mean {near[0]!r}?)" if near else "")


def _path(text: str) -> Path | None:
    return Path(text).expanduser().absolute() if text else None


def _number(value: _Value, most: float = float("inf")) -> float:
    try:
        number = float(value.text)
    except ValueError:
        number = -1
    if 0 <= number <= most:
        return number
    raise _invalid(value, f"expected a number from 0 to {most:g}")


def _count(value: _Value, least: int = 0) -> int:
    if value.text.isdecimal() and least <= int(value.text) <= _MAX_QUERIES:
        return int(value.text)
    raise _invalid(value, f"expected a whole number from {least} to {_MAX_QUERIES}")


def _url(value: _Value) -> str:
    with suppress(ValueError):  # the port is not a number
        parts = urlsplit(value.text)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return value.text.rstrip("/")
    raise _invalid(value, "expected a URL such as http://localhost:9002")


def _origins(value: _Value) -> tuple[str, ...]:
    origins = tuple(value.text.split())
    for origin in origins:
        if not re.fullmatch(r"https?://[\w.:\[\]-]+", origin):
            expectation = "expected an origin such as http://localhost:9090"
            raise _invalid(value._replace(text=origin), expectation)
    return origins


def _invalid(value: _Value, expectation: str) -> ConfigError:
    return ConfigError(f"{value.label}: received {value.text!r}, {expectation}")


def _data_folder(source: Mapping[str, str]) -> Path:
    if sys.platform == "darwin":
        return Path("~/Library/Application Support/throughline").expanduser()
    base = source.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_DATA_HOME")
    return Path(base or "~/.local/share").expanduser() / "throughline"
