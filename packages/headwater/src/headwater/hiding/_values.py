"""SQL and source code in decoded JSON, replaced by null.

Access to SQL and code needs the scope `sql` of an API key; answers to other keys pass through here.
An *expression* is the SQL of one column, such as `a + b`.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import orjson

from headwater.hiding._text import reads_as_expression, reads_as_sql

REASON = "hidden: the API key needs the scope sql"
"""Value of `hidden` next to each value that is null because the key lacks the scope."""

_TEXTS = frozenset(
    (
        *("sql", "hql", "query", "queries", "querylist", "querytext", "normalizedquery"),
        *("sourcecode", "bashcommand", "rawcode", "compiledcode", "rawsql", "compiledsql"),
        *("sqltext", "sqlquery", "sqlstatement", "sqlstatements", "statementtext", "sqls"),
    )
)
"""Names of values with SQL or code, in answers and in facets, without separators."""
_EXPRESSIONS = frozenset({"transformationdescription"})
"""Names of texts that may be an expression."""
_TRANSFORMATIONS = ("DIRECT", "INDIRECT")
"""Types of transformations of columns, whose `description` may be an expression."""
_KEPT = frozenset({"dialect", "language", "hidden"})
"""Fields next to SQL that are shown."""
_FACETS = {"spark.logicalPlan", "spark_unknown", "extractionError"}
"""Facets that contain a query in another form."""
_CODE = {"sql", "source", "language"}
"""Fields of an answer whose `source` is code; a tag has a `source`, too."""
_LINE = {"source", "reason", "line"}
"""Fields of a rejected line."""


def json_without_sql(body: bytes) -> bytes:
    """Return a JSON text without SQL and code."""
    return orjson.dumps(without_sql(orjson.loads(body)))


def without_sql(value: Any) -> Any:
    """Return decoded JSON in which SQL and code are null, with the reason in `hidden`.

    The value is not changed. It is the body of a response, or a part of it, as JSON. A key that
    reads as SQL is replaced by the reason.
    """
    if isinstance(value, list):
        return [None if _is_sql(item) else without_sql(item) for item in value]
    if isinstance(value, str):
        return _text_without_sql(value)
    if not isinstance(value, dict):
        return value
    result: dict[str, Any] = {}
    is_hidden = False
    is_code = value.keys() >= _CODE
    is_line = value.keys() == _LINE
    is_transformation = value.get("type") in _TRANSFORMATIONS
    expressions = _EXPRESSIONS | {"description"} if is_transformation else _EXPRESSIONS
    for key, item in value.items():
        shown = _shown(key, item, expressions, is_code=is_code and key == "source", is_line=is_line)
        is_hidden = is_hidden or _loses(item, shown)
        result[REASON if reads_as_sql(key) else key] = shown
    return {**result, "hidden": REASON} if is_hidden else result


def _shown(
    key: str, item: Any, expressions: frozenset[str], *, is_code: bool, is_line: bool
) -> Any:
    """Return the value of a key without SQL and code.

    `expressions` are the names of texts that may be expressions. `is_code` is True for the `source`
    of an answer with code, and `is_line` for the fields of a rejected line.
    """
    if not item:
        return item
    if key in _FACETS or (isinstance(item, str) and (is_code or (is_line and key == "line"))):
        return None
    name = key.replace("_", "").replace("-", "").lower()
    if name in _TEXTS:
        return _without_texts(item)
    if isinstance(item, str) and name in expressions and reads_as_expression(item):
        return None
    return None if _is_sql(item) else without_sql(item)


def _without_texts(value: Any) -> Any:
    """Return the value of a field for SQL with all its texts set to null, at any depth.

    Fields such as the dialect stay.
    """
    if isinstance(value, str):
        return None
    if isinstance(value, list):
        return [_without_texts(item) for item in value]
    if isinstance(value, dict):
        shown = {
            key: without_sql(item) if key in _KEPT or key.startswith("_") else _without_texts(item)
            for key, item in value.items()
        }
        return {**shown, "hidden": REASON} if _loses(value, shown) else shown
    return value


def _loses(before: Any, after: Any) -> bool:
    """Return True if a text, or one of a list of texts, became null."""
    if isinstance(before, list) and isinstance(after, list):
        return any(map(_loses, before, after))
    if isinstance(before, dict) and isinstance(after, dict):
        return any(key in after and _is_lost(before[key], after[key]) for key in before)
    return _is_lost(before, after)


def _is_lost(before: Any, after: Any) -> bool:
    return after is None and before is not None


def _is_sql(value: Any) -> bool:
    """Return True for a text that reads as SQL; the values of JSON are checked instead."""
    return isinstance(value, str) and value[:1] not in "{[" and reads_as_sql(value)


def _text_without_sql(text: str) -> Any:
    """Return a text of JSON, such as a tool's answer, without SQL.

    A text that begins like JSON and is none, such as a truncated one, is None if it reads as SQL.
    Other texts are returned unchanged.
    """
    if text[:1] not in ("{", "["):
        return text
    with suppress(orjson.JSONDecodeError):
        decoded = orjson.loads(text)
        shown = without_sql(decoded)
        return text if shown == decoded else orjson.dumps(shown).decode()
    return None if reads_as_sql(text) else text
