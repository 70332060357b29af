"""Compare the types of columns, whose names differ between engines."""

from __future__ import annotations

import re

_FAMILIES = {
    "string": r"string|str|text|(n?var)?char\w*|character( varying)?|n?var?char2|clob|uuid|utf8",
    "integer": r"(tiny|small|medium|big|large)?int(eger)?\d*|long|short|byte|u?int(8|16|32|64)",
    "number": r"number|numeric|decimal\d*|dec|float\d*|double( precision)?|real|bignumeric|money",
    "timestamp": r"timestamp\w*( with(out)? .*)?|datetime2?",
    "date": r"date(32|64)?",
    "time": r"time\d*( with(out)? .*)?",
    "boolean": r"bool(ean)?|bit",
    "object": r"object|struct|record|row|json\w*|variant",
    "array": r"array|list|repeated",
    "map": r"map",
}
_PATTERNS = {family: re.compile(pattern) for family, pattern in _FAMILIES.items()}
_ACCEPTED = {"number": {"integer"}, "date": {"timestamp"}}
"""Families that a declared one includes: before v3.1, the only time type of ODCS was `date`."""


def is_same_type(declared: str, captured: str) -> bool:
    """Return True unless two types are known to differ; lengths and precisions do not count."""
    wanted, found = _family(declared), _family(captured)
    if wanted is None or found is None or wanted == found:
        return True
    return found in _ACCEPTED.get(wanted, ())


def _family(text: str) -> str | None:
    """Return the family of a type; None for any other type."""
    name = re.split(r"[(<\[{:]", text.lower(), maxsplit=1)[0].strip()
    return next((key for key, pattern in _PATTERNS.items() if pattern.fullmatch(name)), None)
