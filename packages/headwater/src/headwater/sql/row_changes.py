"""Determine if a SQL text keeps the earlier rows of a table that it writes.

It keeps them if each of its statements about the table only adds rows or changes some, as INSERT
INTO, MERGE, UPDATE and DELETE with a condition do. A statement that empties, drops, creates or
overwrites the table replaces them, whatever the other statements do.

Only words are compared, so that texts of all dialects can be read, also those of Spark. Names are
compared without their schemas. A statement in a block, such as IF, may not run, so a block replaces
no rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

_LONGEST = 100_000
"""The length, in characters, of the longest texts that are read."""
_WRITES = re.compile(r"\b(?:insert|merge|update|delete|copy|load|into|append|create)\b", re.I)
_UNDECIDED = re.compile(r"\brollback\b(?!\s+(?:\w+\s+)?to\b)|\$\$|\{\{|\{%", re.I)
"""Signs of texts that are undone, quote code of any language, or are templates."""
_IGNORED = re.compile(r"('(?:[^']|'')*')|--[^\n]*|/\*.*?\*/", re.S)
_PART = r"""(?:[\w$#]++|"[^"]+"|`[^`]+`|\[[^]]+])"""
_DOTTED = rf"(?>{_PART}(?:\s*\.\s*{_PART})*)"
_NAME = rf"(?P<name>{_DOTTED})"
_NAMES = rf"(?P<name>(?>{_DOTTED}(?:\s*,\s*{_DOTTED})*))"
_TABLE = r"(?>(?:(?:transient|unlogged|external|multiset|dynamic|materialized)\s+)*)(?:table|view)"
_OVERWRITE = rf"\binsert\s+overwrite\s+(?:into\s+)?(?:table\s+)?{_NAME}"
_LOAD = rf"\bload\s+data\b.{{0,500}}?\boverwrite\s+(?:into\s+)?(?:table\s+)?{_NAME}"
_LISTED = r"\s*(?:\([^()]*\)\s*)?"
_NEXT = r"\s*(?:$|(?=(?:insert|merge|with|select|declare|set|exec|go|commit)\b))"


def _compiled(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.I | re.S) for pattern in patterns)


_REPLACING = _compiled(
    rf"truncate\s+(?:table\s+)?(?:only\s+)?(?:if\s+exists\s+)?{_NAMES}"
    r"(?!\s*(?:with\s*\(\s*)?partitions?\b)",
    rf"drop\s+{_TABLE}\s+(?:if\s+exists\s+)?{_NAMES}",
    rf"delete\s+(?:from\s+)?(?:only\s+)?{_NAME}(?:\s+where\s+(?:true\b|1\s*=\s*1))?{_NEXT}",
    rf"create\s+{_TABLE}\s+(?!if\s+not\s+exists\b){_NAME}",
    rf"create\s+or\s+replace\s+{_TABLE}\s+(?:if\s+not\s+exists\s+)?{_NAME}",
    rf"replace\s+table\s+{_NAME}",
    rf"select\b(?>.*?\b(?=(?:from|into)\b))into\s+(?:table\s+)?{_NAME}",
    rf"alter\s+{_TABLE}\s.*?\b(?:rename\s+to|swap\s+with)\s+{_NAME}",
    rf"alter\s+{_TABLE}\s+(?:if\s+exists\s+)?{_NAME}\s+(?:rename\s+to|swap\s+with)\b",
)
"""Whole statements after which no earlier row is left."""
_OVERWRITING = _compiled(
    rf"{_OVERWRITE}(?!{_LISTED}(?:partition|replace)\b)", rf"{_LOAD}(?!\s*partition\b)"
)
"""Parts of statements that replace all rows; with a partition, they replace some."""
_KEEPING = _compiled(
    rf"\b(?:insert|upsert)\s+(?:(?:or\s+\w+|ignore)\s+)?(?:into\s+)?(?:table\s+)?{_NAME}",
    rf"\breplace\s+into\s+{_NAME}",
    _OVERWRITE,
    rf"\bcreate\s+{_TABLE}\s+if\s+not\s+exists\s+{_NAME}.{{0,2000}}?\bas\s*\(?\s*(?:select|with)\b",
    rf"\b(?:update|delete)\s+(?:from\s+)?(?:only\s+)?{_NAME}",
    rf"\b(?:update|delete)\s+(?P<alias>\w+)\s.{{0,2000}}?"
    rf"\b(?:from|join)\s+{_NAME}\s+(?:as\s+)?(?P=alias)\b",
    rf"\bcopy\s+(?:into\s+)?{_NAME}{_LISTED}\bfrom\b",
    rf"\bload\s+data\b.{{0,500}}?\binto\s+(?:table\s+)?{_NAME}",
    _LOAD,
    rf"\balter\s+table\s+{_NAME}\s+append\s+from\b",
)
"""Parts of statements that add, change or remove some rows."""
_BEGIN = re.compile(r"\s*(?:begin\s+(?:(?:tran|transaction|work)\s+)?)?", re.I)
_MERGE = re.compile(rf"\bmerge\s+(?:into\s+)?{_NAME}(?P<clauses>.*)", re.I | re.S)
_REMOVES_OTHERS = re.compile(r"\bwhen\s+not\s+matched\s+by\s+source\s+then\s+delete\b", re.I)
_UPDATES_ALL = re.compile(r"\bwhen\s+matched\s+then\s+update\b", re.I)
_SEVERAL = re.compile(r"\binsert\s+(?P<overwrites>overwrite\s+)?(?:all|first)\b", re.I)
_INTO = re.compile(rf"\binto\s+{_NAME}", re.I)


def keeps_rows(text: object, dataset: str) -> bool | None:
    """Return True if a text keeps the earlier rows of a dataset, and False if it replaces them.

    Return None if the text is not known to write the dataset, or if it is no string: `text` is a
    value of an event. `dataset` is its name: the last part, after a dot or a slash, is that of the
    table.
    """
    if (
        not isinstance(text, str)
        or len(text) > _LONGEST
        or not _WRITES.search(text)
        or _UNDECIDED.search(text)
    ):
        return None
    return _kept_by_table(text).get(_last(re.split(r"[./]", dataset.rstrip("/"))[-1]))


@lru_cache(maxsize=64)
def _kept_by_table(text: str) -> dict[str, bool]:
    """Return the tables that a text writes; True for those of which it keeps rows.

    The keys are the last parts of names, in lower case.
    """
    found: dict[str, bool] = {}
    plain = _IGNORED.sub(lambda match: "''" if match[1] else " ", text)
    for statement in plain.split(";"):
        for name, is_kept in _changes(statement):
            found[name] = is_kept and found.get(name, True)
    return found


def _changes(statement: str) -> Iterator[tuple[str, bool]]:
    """Yield the tables that a statement changes, each with True if it keeps rows of it."""
    begin = _BEGIN.match(statement)
    start = begin.end() if begin else 0
    for pattern in _REPLACING:
        if match := pattern.match(statement, start):
            yield from ((_last(name), False) for name in match["name"].split(","))
    for pattern in _OVERWRITING:
        yield from ((_last(match["name"]), False) for match in pattern.finditer(statement))
    if match := _MERGE.search(statement):
        clauses = match["clauses"]
        is_replaced = _REMOVES_OTHERS.search(clauses) and _UPDATES_ALL.search(clauses)
        yield _last(match["name"]), not is_replaced
    if match := _SEVERAL.search(statement):
        is_kept = not match["overwrites"]
        yield from ((_last(into["name"]), is_kept) for into in _INTO.finditer(statement))
    for pattern in _KEEPING:
        yield from ((_last(match["name"]), True) for match in pattern.finditer(statement))


def _last(name: str) -> str:
    return name.rpartition(".")[2].strip(' "`[]\n\t\r').lower()
