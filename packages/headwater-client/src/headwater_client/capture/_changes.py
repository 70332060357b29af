"""Statements that change whole tables or a session: DROP, TRUNCATE, RENAME, USE, BEGIN.

A *table* is given by the parts of its name, such as `("shop", "orders")`. `folded` returns a name
as the database spells it: an unquoted one in lower or upper case, depending on the database.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from headwater_client.capture._tokens import Token, folded

Table = tuple[str, ...]
"""The parts of the name of a table."""
_TRANSACTIONS = {
    **dict.fromkeys(("BEGIN", "START"), "BEGIN"),
    **dict.fromkeys(("COMMIT", "END"), "COMMIT"),
    **dict.fromkeys(("ROLLBACK", "ABORT"), "ROLLBACK"),
}
_WHOLE: tuple[list[str], ...] = ([], ["WHERE", "TRUE"], ["WHERE", "1", "=", "1"])
"""The ends of a DELETE that removes all rows."""


@dataclass(frozen=True, slots=True)
class TableChange:
    """A change of a whole table or view."""

    kind: Literal["DROP", "TRUNCATE", "RENAME"]
    table: Table
    """The changed table; for RENAME, the new name."""
    former: Table | None = None
    """The name before a RENAME."""
    is_conditional: bool = False
    """True if the statement also succeeds if there is no such table."""

    @property
    def target(self) -> Table:
        """Return the name of the changed table before the statement."""
        return self.former or self.table


@dataclass
class Tables:
    """Tables, by the parts of their names, and files, by path, that a text reads and writes."""

    reads: list[Table] = field(default_factory=list)
    writes: list[Table] = field(default_factory=list)
    files_read: list[str] = field(default_factory=list)
    files_written: list[str] = field(default_factory=list)
    temporary: list[Table] = field(default_factory=list)
    """Temporary tables and views that the text creates."""
    changes: list[TableChange] = field(default_factory=list)
    """Tables and views that the text drops, empties or renames."""
    conditional: list[Table] = field(default_factory=list)
    """Tables and views that the text creates if they do not exist."""
    created: list[Table] = field(default_factory=list)
    """Tables that the text creates without rows."""
    replaced: list[Table] = field(default_factory=list)
    """Written tables of which the text replaces all rows."""
    used: list[Table] = field(default_factory=list)
    """The databases or schemas in USE; an empty name for a SET that may change them."""
    transactions: list[str] = field(default_factory=list)
    """BEGIN, COMMIT and ROLLBACK, in order."""

    @property
    def depends_on_order(self) -> bool:
        """Return True if the effect of the text depends on the order of its statements."""
        return bool(self.used or self.transactions or self.changes_tables)

    @property
    def changes_tables(self) -> bool:
        """Return True if the text changes whole tables."""
        return bool(self.changes or self.conditional or self.replaced)

    @property
    def looked_up(self) -> list[Table]:
        """Return the tables whose existence before the text decides about its effect."""
        return [*self.conditional, *(item.target for item in self.changes if item.is_conditional)]


def read_command(tokens: Sequence[Token], dialect: str, found: Tables) -> bool:
    """Add the effect of a statement that reads and writes no rows; return False for others.

    A DELETE without a condition (or with a true one) is a TRUNCATE. A SET of the schema or the
    search path may change what names mean: `used` gets an empty name.
    """
    words = [token.word for token in tokens] or [""]
    first, rest = words[0], tokens[1:]
    if first == "SET":
        found.used += [()] if {"SCHEMA", "SEARCH_PATH"} & {*words} else []
    elif first == "USE":
        found.used += _names(rest, dialect)
    elif first in _TRANSACTIONS:
        found.transactions.append(_TRANSACTIONS[first])
    elif first in ("DROP", "ALTER") and not {"TABLE", "VIEW"}.isdisjoint(words[1:3]):
        rest = _after(rest, "TEMPORARY", "MATERIALIZED", "TABLE", "VIEW", "IF", "EXISTS", "ONLY")
        if first == "ALTER":
            _read_renames(rest, ("RENAME", "TO"), dialect, found, words)
        else:
            _add(found, "DROP", _names(rest, dialect), words)
    elif first == "RENAME":
        _read_renames(_after(rest, "TABLE", "IF", "EXISTS"), ("TO",), dialect, found, words)
    elif first == "TRUNCATE" and "PARTITION" not in words:
        _add(
            found, "TRUNCATE", _names(_after(rest, "TABLE", "IF", "EXISTS", "ONLY"), dialect), words
        )
    elif words[:2] == ["DELETE", "FROM"]:
        rest = _after(rest[1:], "ONLY")
        name, end = _named(rest, dialect)
        if not name or [token.text.upper() for token in rest[end:]] not in _WHOLE:
            return False
        _add(found, "TRUNCATE", [name], words)
    else:
        return False
    return True


def _read_renames(
    rest: Sequence[Token], verb: tuple[str, ...], dialect: str, found: Tables, words: list[str]
) -> None:
    """Add the renames in a list, such as `a RENAME TO b`, and those of `a SET SCHEMA s`."""
    while rest:
        former, end = _named(rest, dialect)
        is_moved = [token.word for token in rest[end : end + 2]] == ["SET", "SCHEMA"]
        start = end + (2 if is_moved else len(verb))
        new, length = _named(rest[start:], dialect)
        is_renamed = tuple(token.word for token in rest[end:start]) == verb
        if not (former and new and (is_moved or is_renamed)):
            return
        if is_moved:
            new = *new, former[-1]
        elif len(verb) > 1:  # the new name of ALTER TABLE is in the same schema
            new = *former[: -len(new)], *new
        found.changes.append(TableChange("RENAME", new, former, "EXISTS" in words))
        rest = rest[start + length + 1 :]


def _add(
    found: Tables, kind: Literal["DROP", "TRUNCATE"], tables: list[Table], words: list[str]
) -> None:
    is_conditional = "EXISTS" in words
    found.changes += [TableChange(kind, t, is_conditional=is_conditional) for t in tables if t]


def _after(tokens: Sequence[Token], *options: str) -> Sequence[Token]:
    """Return the tokens after the options at their start."""
    while tokens and tokens[0].word in options:
        tokens = tokens[1:]
    return tokens


def _names(tokens: Sequence[Token], dialect: str) -> list[Table]:
    """Return the names in a list, up to the first token that belongs to none."""
    names: list[Table] = []
    while tokens:
        name, end = _named(tokens, dialect)
        names += [name] if name else []
        if [token.text for token in tokens[end : end + 1]] != [","]:
            break
        tokens = tokens[end + 1 :]
    return names


def _named(tokens: Sequence[Token], dialect: str) -> tuple[Table, int]:
    """Return the name at the start of tokens and the number of its tokens; () and 0 if none."""
    parts: list[str] = []
    for place in range(0, len(tokens), 2):
        if tokens[place].kind not in ("word", "quoted"):
            break
        parts.append(folded(tokens[place], dialect))
        if [token.text for token in tokens[place + 1 : place + 2]] != ["."]:
            return tuple(parts), place + 1
    return (), 0
