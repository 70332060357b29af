"""Read a lineage.yaml, which declares a job. That of this package explains every key."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headwater_client.errors import ConfigError
from headwater_client.yaml_file import read_yaml

_ABOUT = ("namespace", "name", "description", "owner", "classification")
_CHECK = "check"


@dataclass(frozen=True, slots=True)
class Declaration:
    """A declared job or dataset; a classification is a tag, `key` or `key:value`."""

    namespace: str
    name: str
    description: str | None = None
    owners: tuple[str, ...] = ()
    classification: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Declared:
    """A declared job with its inputs and outputs; `path` is the file that declares it."""

    path: Path
    job: Declaration
    inputs: tuple[Declaration, ...]
    outputs: tuple[Declaration, ...]
    is_check: bool = False
    """True if the job checks its inputs: the failure of a run is a failed check of them."""


def read_declared(path: Path, environment: Mapping[str, str]) -> Declared:
    """Read the file. Raises ConfigError with the key, the value received and the allowed ones.

    The namespace of a job defaults to OPENLINEAGE_NAMESPACE, or else to `default`.
    """
    body = read_yaml(path, as_texts=True)  # 007, no, 2025-11
    try:
        whole = _object(body, "the file", ("job", "inputs", "outputs"))
        own = _object(whole.get("job"), "job", (*_ABOUT, "type"))
        if (type_ := own.get("type")) not in (None, _CHECK):
            raise _wrong("job.type", type_, f"{_CHECK!r} or no type")
        about = {key: value for key, value in own.items() if key != "type"}
        job = _about(about, "job", environment.get("OPENLINEAGE_NAMESPACE") or "default")
        if "/" in job.name:  # children name their parent as namespace/job/runId
            raise _wrong("job.name", job.name, "a name without a slash")
        inputs, outputs = (_datasets(whole.get(key), key) for key in ("inputs", "outputs"))
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    return Declared(path, job, inputs, outputs, is_check=type_ == _CHECK)


def _datasets(value: Any, path: str) -> tuple[Declaration, ...]:
    if not isinstance(value or [], list):
        raise _wrong(path, value, "a list of datasets, each with a namespace and a name")
    return tuple(_about(item, f"{path}[{nth}]") for nth, item in enumerate(value or ()))


def _about(value: Any, path: str, namespace: str | None = None) -> Declaration:
    """Return a job or dataset; `namespace` is the default, `path` the place in the file."""
    fields = _object(value, path, _ABOUT)
    description = fields.get("description") or None
    return Declaration(
        _text(fields.get("namespace") or namespace, f"{path}.namespace"),
        _text(fields.get("name"), f"{path}.name"),
        None if description is None else _text(description, f"{path}.description").strip(),
        _texts(fields.get("owner"), f"{path}.owner"),
        _texts(fields.get("classification"), f"{path}.classification"),
    )


def _object(value: Any, path: str, allowed: tuple[str, ...]) -> dict[str, Any]:
    """Return a value that is an object with allowed keys only. Raises ConfigError."""
    expected = ", ".join(allowed)
    if not isinstance(value, dict):
        raise _wrong(path, value, f"an object with {expected}")
    for key in value:
        if key not in allowed:
            matches = difflib.get_close_matches(str(key), allowed, n=1)
            hint = f" (did you mean {matches[0]!r}?)" if matches else ""
            raise ConfigError(f"{path}: received the key {key!r}, expected only {expected}{hint}")
    return value


def _texts(value: Any, path: str) -> tuple[str, ...]:
    """Return a text, or a list of texts, as a tuple; empty if there is none."""
    if isinstance(value, list):
        return tuple(_text(item, f"{path}[{nth}]") for nth, item in enumerate(value))
    return (_text(value, path),) if value else ()


def _text(value: Any, path: str) -> str:
    if isinstance(value, str) and value.strip():
        return value
    raise _wrong(path, value, "a non-empty string")


def _wrong(path: str, received: Any, expected: str) -> ConfigError:
    shown = repr(received) if received else "nothing"
    return ConfigError(f"{path}: received {shown}, expected {expected}")
