"""Mask secrets in the facets of an OpenLineage event."""

from __future__ import annotations

from typing import Any

from .names import is_secret_name
from .text import mask_text
from .values import is_plain

_MASK = "***"
_NAMES = ("name", "key")


def mask_facets(event: dict[str, Any]) -> dict[str, Any]:
    """Return an event with masked secrets in its facets; names and ids are unchanged."""
    result = dict(event)
    for key in ("run", "job", "dataset"):
        if key in event:
            result[key] = _with_masked_facets(event[key])
    for key in ("inputs", "outputs"):
        if key in event:
            result[key] = [_with_masked_facets(dataset) for dataset in event[key]]
    return result


def _with_masked_facets(holder: dict[str, Any]) -> dict[str, Any]:
    return {
        key: _masked(value) if key.lower().endswith("facets") else value
        for key, value in holder.items()
    }


def _masked(value: Any) -> Any:
    """Return a value with its secrets masked, at any depth.

    Texts are masked by their syntax, and values by their keys; in `{"name": "password", "value":
    "x"}`, the value next to a secret name.
    """
    if isinstance(value, str):
        return mask_text(value)
    if isinstance(value, list):
        return [_masked(item) for item in value]
    if isinstance(value, dict):
        names = [value.get(name) for name in _NAMES]
        has_secret = any(isinstance(name, str) and is_secret_name(name) for name in names)
        return {
            key: _masked_value(item)
            if is_secret_name(key) or (has_secret and key == "value")
            else _masked(item)
            for key, item in value.items()
        }
    return value


def _masked_value(value: Any) -> Any:
    """Mask the value of a secret name, unless its text cannot be a secret."""
    return _MASK if isinstance(value, str) and not is_plain(value) else _masked(value)
