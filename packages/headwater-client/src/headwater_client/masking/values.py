"""Decide whether the text of a value can be a secret."""

from __future__ import annotations

import re

from .names import is_secret_name

TYPES = (
    "any|big(?:int|num)|binary|bool(?:ean)?|bytes?|char|date(?:time)?|decimal|double|float|int(?:eger)?"
    "|long|nil|none|null(?:able)?|num(?:ber|eric)|object|optional|secretstr|str(?:ing)?|text"
    "|timestamp|true|false|undefined|uuid|varchar|variant"
)
"""Names of types and values that are never secret."""

_PLAIN = re.compile(
    rf"(?:{TYPES})?(?:\(\d{{1,5}}\))?|\*{{3}}|\$\{{[\w.:-]{{1,128}}\}}|\{{\{{[^{{}}]{{1,256}}\}}\}}"
    r"|(?:(?:bearer|basic|token)\s)?\{[a-z_][\w.]{0,64}\}|%s|%\(\w{1,64}\)s|\?|:\w{1,64}",
    re.IGNORECASE | re.ASCII,
)
_NAME = re.compile(r"[a-z_][a-z_. /]*|[A-Z_]+|[a-z]+(?:[A-Z][a-z]+)+", re.ASCII)


def is_plain(text: str) -> bool:
    """Return True for an empty text, a type, a truth value, a placeholder or the mask."""
    return _PLAIN.fullmatch(text) is not None


def looks_like_name(text: str) -> bool:
    """Return True if a text may be the name of a column or a variable."""
    return _NAME.fullmatch(text) is not None


def is_no_secret(text: str) -> bool:
    """Return True for plain values, names of secrets, placeholders, and texts with a mask."""
    text = text.strip()
    return (
        is_plain(text)
        or is_secret_name(text)
        or "***" in text
        or text.startswith(("${", "$(", "{{", "#{", "%"))
    )
