"""Read and validate YAML files of settings."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from headwater.errors import ConfigError, shown
from headwater_client import errors as client_errors
from headwater_client import yaml_file

__all__ = ["expected", "filled", "name_value", "parse_yaml", "read_yaml"]

T = TypeVar("T")
_PYDANTIC_PREFIX = "Value error, "
"""The beginning of pydantic's message about a ValueError of a validator."""


def read_yaml(path: Path) -> object:
    """Load a YAML file like `parse_yaml`. Raises ConfigError."""
    try:
        return yaml_file.read_yaml(path)
    except client_errors.ConfigError as error:
        raise ConfigError(str(error)) from None


def parse_yaml(content: str | bytes, where: str, *, may_alias: bool = False) -> object:
    """Load a YAML text; with `may_alias`, aliases may stand for up to 100,000 values.

    `where` names the text in messages. Raises ConfigError.
    """
    try:
        return yaml_file.parse_yaml(content, where, may_alias=may_alias)
    except client_errors.ConfigError as error:
        raise ConfigError(str(error)) from None


def filled(class_: type[T], given: object, where: str) -> T:
    """Validate a mapping from a file and create a dataclass from it; `where` is for messages.

    Raises:
        ConfigError: a value is invalid or a key not allowed; names the key but not its value, which
            may be a secret.

    `given` is the decoded value, of any type. `where` is the place of the mapping in the file.
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
    """Return the expectation of a pydantic error in plain English, with the most similar option.

    `problem` is an item of pydantic's `errors()`.
    """
    text = str(problem["msg"]).removeprefix(_PYDANTIC_PREFIX).partition(", unable to parse")[0]
    text = text.replace("Input should be ", "expected ").replace("Field required", "it is required")
    received = str(problem["input"])[:80]
    words = [word for word in re.findall(r"'([^']+)'", text) if word != received]
    near = difflib.get_close_matches(received, words, n=1, cutoff=0.7)
    return text + (f" (did you mean {near[0]!r}?)" if near else "")


def name_value(error: Any) -> None:
    """Add the value received to a typer.BadParameter, because pydantic's messages leave it out."""
    problems: list[dict[str, Any]] = getattr(error.__cause__, "errors", list)()
    error.message = error.message.removeprefix(_PYDANTIC_PREFIX)
    if problems and (received := shown(problems[0]["input"])) not in error.message:
        error.message = f"received {received}, {expected(problems[0])}"
