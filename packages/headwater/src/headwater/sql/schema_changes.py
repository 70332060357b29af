"""The columns of a table after statements that change them, and texts with such statements.

*Columns* are the names of all columns of a table in their order, spelled as in the catalog. They
are None if they are unknown, and empty (MISSING) if there is no such table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from headwater.sql.facet import text_of
from headwater.sql.reader import ColumnChange

Columns = tuple[str, ...] | None
MISSING: Columns = ()

_MAY_CHANGE = re.compile(
    r"\b(?:create|alter|drop|rename|replace|undrop|restore|swap|exchange|call|exec(?:ute)?"
    r"|evolution|overwrite)\b|\bdo\s+(?:\w+\s+)*\$"
    r"|(?<!\binsert)(?<!\bmerge)(?<!\bcopy)(?<!\bignore)(?<!\bupsert)\s+into\b"
    r"|\{\{|\{%",
    re.I,
)
"""Words of statements that may change the columns of tables, such as SELECT … INTO."""
_WRITES = re.compile(
    r"(?>(?:\s+|--[^\n]*\n|/\*.*?\*/|;|\bbegin\b(?:\s+(?:tran|transaction|work)\b)?|\bset\b[^;]*;"
    r"|\buse\b[^;]*;)*)(?:insert|update|delete|merge|copy|truncate)\b",
    re.I | re.S,
)
"""The beginning of a text whose first statement writes rows of an existing table."""


def may_change_columns(facet: Mapping[str, Any]) -> bool:
    """Return False if a run with a sql facet only wrote rows of existing tables.

    True if it has no text that can be read, because the run may then have created its outputs.
    """
    text = text_of(facet)
    return text is None or not _WRITES.match(text) or _MAY_CHANGE.search(text) is not None


def after_change(before: Columns, change: ColumnChange) -> Columns:
    """Return the columns of a table after a statement that changes them."""
    after = _after(before, change)
    return after if change.is_certain or after == before else None


def _after(before: Columns, change: ColumnChange) -> Columns:
    names = change.names
    if change.kind == "CREATE":
        return names or None
    if change.kind == "CREATE IF MISSING":
        return before if before != MISSING else names or None
    if change.kind == "DROP":
        return MISSING
    if change.kind == "UNKNOWN" or not before:
        return None
    known, changed = [name.lower() for name in before], [name.lower() for name in names]
    if change.kind == "ADD":
        return (*before, *(name for name in names if name.lower() not in known))
    if changed[0] not in known:
        return None  # the table has other columns than those that are known
    if change.kind == "REMOVE":
        return tuple(name for name in before if name.lower() not in changed) or None
    return tuple(names[1] if name.lower() == changed[0] else name for name in before)
