"""Read and validate YAML files of settings."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from headwater.errors import ConfigError, shown

__all__ = ["expected", "filled", "name_value", "read_yaml"]

T = TypeVar("T")


_DEEPEST_YAML = 100
"""Levels of lists and mappings; the files of settings have at most 6."""


def read_yaml(path: Path, *, as_texts: bool = False) -> object:
    """Load a YAML file, with `as_texts` without converting values. Raises ConfigError.

    Aliases are rejected, because a few lines of them can stand for gigabytes.
    """
    import yaml

    try:
        content = path.read_bytes()
        _check_size(content, path)
        return yaml.load(content, yaml.BaseLoader if as_texts else yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ConfigError(f"{path}{place}: invalid YAML: {error.problem}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: invalid YAML: {getattr(error, 'reason', error)}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"{path}: cannot read the file: {reason}") from None


def _check_size(content: bytes, path: Path) -> None:
    """Raise ConfigError if a YAML text has aliases, or more than `_DEEPEST_YAML` levels."""
    import yaml

    depth = 0
    for event in yaml.parse(content, yaml.SafeLoader):
        place = f"{path}, line {event.start_mark.line + 1 if event.start_mark else 1}"
        if isinstance(event, yaml.AliasEvent):
            raise ConfigError(
                f"{place}: received the alias *{event.anchor}, expected its value:"
                " aliases are not allowed"
            )
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST_YAML:
            raise ConfigError(
                f"{place}: received more than {_DEEPEST_YAML} levels of lists and mappings,"
                f" allowed are {_DEEPEST_YAML}"
            )


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
    """Return the expectation of a pydantic error in plain English, with the most similar option."""
    text = str(problem["msg"]).removeprefix("Value error, ").partition(", unable to parse")[0]
    text = text.replace("Input should be ", "expected ").replace("Field required", "it is required")
    received = str(problem["input"])[:80]
    words = [word for word in re.findall(r"'([^']+)'", text) if word != received]
    near = difflib.get_close_matches(received, words, n=1, cutoff=0.7)
    return text + (f" (did you mean {near[0]!r}?)" if near else "")


def name_value(error: Any) -> None:
    """Add the value received to a typer.BadParameter, because pydantic's messages leave it out."""
    problems: list[dict[str, Any]] = getattr(error.__cause__, "errors", list)()
    error.message = error.message.removeprefix("Value error, ")
    if problems and (received := shown(problems[0]["input"])) not in error.message:
        error.message = f"received {received}, {expected(problems[0])}"
