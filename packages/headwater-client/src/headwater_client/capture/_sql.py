"""Find the tables and files that a SQL text names, without a SQL parser.

The server reads the text with a parser and corrects the result; this finds the datasets that an
event must list for that. A statement that is not understood names nothing.

A statement is read token by token. Keywords decide what a name after them is (`_expects`): `read`
after FROM, `write` after INTO, `create` after CREATE TABLE, `copy` after COPY, `file` after its TO,
`loaded file` after its FROM. Parentheses open a level of their own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from headwater_client.capture._changes import Table, TableChange, Tables, read_command
from headwater_client.capture._tokens import Token, folded, statements_of, unquoted

_LONGEST_TEXT = 100_000  # characters
# fmt: off
_NO_FUNCTION = frozenset(
    (
        "IN", "EXISTS", "FROM", "JOIN", "AS", "ON", "AND", "OR", "NOT", "WHERE", "SELECT",
        "UNION", "ALL", "ANY", "SOME", "EXCEPT", "INTERSECT", "VALUES", "USING", "MATERIALIZED",
        "LATERAL", "BY", "CASE", "WHEN", "THEN", "ELSE", "HAVING", "INTO", "DISTINCT", "OVER",
    )
)
_ENDS_FROM = frozenset(
    (
        "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "UNION", "INTERSECT", "EXCEPT", "SET",
        "RETURNING", "WINDOW", "QUALIFY", "VALUES", "FETCH", "OFFSET", "FOR", "SELECT",
    )
)
_MODIFIERS = frozenset(
    (
        "ONLY", "LATERAL", "TABLE", "IF", "NOT", "EXISTS",
    )
)
_STARTS_QUERY = frozenset(
    (
        "SELECT", "WITH", "VALUES", "FROM", "INSERT", "UPDATE", "DELETE",
    )
)
_NO_DATA = frozenset(
    (
        "DROP", "ALTER", "TRUNCATE", "RENAME", "SET", "PRAGMA", "USE", "ATTACH", "DETACH", "GRANT",
        "REVOKE", "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "EXPLAIN", "DESCRIBE",
        "DESC", "SHOW", "ANALYZE", "VACUUM", "INSTALL", "LOAD", "CALL", "EXPORT", "IMPORT",
    )
)
# fmt: on
_FILE_FUNCTION = re.compile(
    r"(?:read_(?:parquet|csv|csv_auto|json|json_auto|ndjson|ndjson_auto|json_objects|text|blob)"
    r"|parquet_scan|iceberg_scan|delta_scan)$",
    re.IGNORECASE,
)
_FILE = re.compile(r"[/*]|\.(?:parquet|csv|tsv|json|jsonl|ndjson|gz|zst|arrow|feather|xlsx)$")
_SYSTEM = re.compile(
    r"(?:sqlite_\w+|information_schema|pg_\w+|sys|mysql|performance_schema|dual|duckdb_\w+"
    r"|iceberg_tables|iceberg_namespace_properties)$",
    re.IGNORECASE,
)


@dataclass
class _Level:
    """A level of parentheses."""

    is_function: bool = False
    has_select: bool = False
    is_in_from: bool = False
    has_with: bool = False


@lru_cache(maxsize=1_024)
def tables_of(sql: str, dialect: str) -> Tables:
    """Return the tables and files that a text names, without those of system catalogs.

    Statements of _NO_DATA, such as ALTER, name nothing, apart from changes of whole tables, USE and
    transactions (see `_changes.py`).
    A text that is too long names nothing.
    """
    found = Tables()
    if len(sql) <= _LONGEST_TEXT:
        for statement in statements_of(sql, dialect):
            if read_command(statement, dialect, found):
                continue
            if statement and statement[0].word not in _NO_DATA:
                _Statement(statement, dialect, found).read()
    for name in ("reads", "writes", "files_read", "files_written", "temporary"):
        setattr(found, name, list(dict.fromkeys(getattr(found, name))))
    return found


class _Statement:
    """A reader of one statement, from left to right.

    Names are kept until its end, because a common table expression may be defined after a name.
    """

    def __init__(self, tokens: list[Token], dialect: str, found: Tables) -> None:
        self._tokens = tokens
        self._dialect = dialect
        self._found = found
        self._kind = tokens[0].word
        self._levels = [_Level()]
        self._expects: str | None = None
        self._names: list[tuple[int, str, Table]] = []  # position, read or write, name
        self._bodies: dict[str, tuple[int, int]] = {}  # the common table expressions
        self._is_temporary = False

    def read(self) -> None:
        """Add what the statement names to the result.

        A name of a common table expression is no table, except within its own body unless that is
        recursive. System catalogs are left out.
        """
        position = 0
        while position < len(self._tokens):
            position = self._step(position)
        is_recursive = any(token.word == "RECURSIVE" for token in self._tokens[:3])
        for position, direction, name in self._names:
            body = self._bodies.get(name[0].lower()) if len(name) == 1 else None
            is_in_itself = body is not None and body[0] < position < body[1] and not is_recursive
            if direction == "read" and body is not None and not is_in_itself:
                continue
            if any(_SYSTEM.match(part) for part in name[:2]):
                continue
            side = self._found.reads if direction == "read" else self._found.writes
            side.append(name)

    def _word(self, position: int) -> str:
        return self._tokens[position].word if 0 <= position < len(self._tokens) else ""

    def _text(self, position: int) -> str:
        return self._tokens[position].text if 0 <= position < len(self._tokens) else ""

    def _step(self, position: int) -> int:
        """Read the token at a position; return the position of the next one."""
        token, level = self._tokens[position], self._levels[-1]
        if token.text == "(":
            self._open(position)
        elif token.text == ")":
            self._levels = self._levels[:-1] or [_Level()]
            self._expects = None
        elif token.text == "," and level.is_in_from:
            self._expects = "read"
        elif self._expects and (token.kind == "quoted" or not self._is_keyword(position)):
            return self._name(position)
        elif token.word:
            self._keyword(position, token.word, level)
        return position + 1

    def _is_keyword(self, position: int) -> bool:
        """Return True if a token, where a name is expected, is no name."""
        token = self._tokens[position]
        if token.kind not in ("word", "string"):
            return True
        if token.word in ("TEMP", "TEMPORARY") and self._expects == "write":  # SELECT … INTO TEMP
            return (
                self._tokens[position + 1 : position + 2] != []
                and self._text(position + 1).isidentifier()
            )
        return token.word in _MODIFIERS or token.word in _STARTS_QUERY or token.word == "OVERWRITE"

    def _open(self, position: int) -> None:
        """Open a level of parentheses: of a function, a query, or names after FROM.

        A query may be the body of a common table expression, whose range is kept.
        """
        before = self._tokens[position - 1] if position else Token("sign", "")
        starts_query = self._word(position + 1) in _STARTS_QUERY
        is_named = before.kind in ("word", "quoted") and before.word not in _NO_FUNCTION
        is_named = is_named and not starts_query
        self._levels.append(_Level(is_function=is_named))
        if _FILE_FUNCTION.match(before.text) and self._dialect == "duckdb":
            self._files_of_call(position + 1)
        if starts_query and (name := self._name_of_body(position)):
            self._bodies[name.lower()] = (position, self._end_of(position))
        if not (self._expects == "read" and not is_named):
            self._expects = None

    def _name_of_body(self, position: int) -> str | None:
        """Return the name of the common table expression whose body starts here."""
        before = position - 1
        while self._word(before) in ("MATERIALIZED", "NOT"):
            before -= 1
        if self._word(before) != "AS" or not self._levels[-2].has_with:
            return None
        before -= 1
        if self._text(before) == ")":  # the names of its columns
            depth = 0
            while before >= 0:
                depth += (self._text(before) == ")") - (self._text(before) == "(")
                before -= 1
                if depth == 0:
                    break
        return folded(self._tokens[before], "") if before >= 0 else None

    def _end_of(self, position: int) -> int:
        """Return the position of the parenthesis that closes the one at a position."""
        depth = 0
        for place in range(position, len(self._tokens)):
            text = self._text(place)
            depth += (text == "(") - (text == ")")
            if depth == 0:
                return place
        return len(self._tokens)

    def _files_of_call(self, position: int) -> None:
        """Add the file names in a call such as `read_csv(['a.csv', 'b.csv'])`."""
        position += self._text(position) == "["
        while position < len(self._tokens) and self._tokens[position].kind == "string":
            self._found.files_read.append(unquoted(self._text(position)))
            position += 2 if self._text(position + 1) == "," else 1

    def _keyword(self, position: int, word: str, level: _Level) -> None:
        """Read a keyword, which decides what the next name is; see the top of this file."""
        before = self._word(position - 1)
        level.has_select |= word == "SELECT"
        level.has_with |= word == "WITH"
        if word in _ENDS_FROM:
            level.is_in_from, self._expects = False, None
        if word in ("TEMP", "TEMPORARY") and (self._kind == "CREATE" or before == "INTO"):
            self._is_temporary = True
        elif word == "FROM":
            self._from(before, self._word(position - 2), level)
        elif word == "JOIN" or (word == "USING" and self._kind in ("MERGE", "DELETE")):
            self._expects = "read"
        elif self._is_before_target(word, before):
            self._expects = "write"
        elif word in ("TABLE", "VIEW") and self._kind == "CREATE" and len(self._levels) == 1:
            self._expects = "create"
        elif word == "COPY" and position == 0:
            self._expects = "copy"
        elif word == "TO" and self._kind == "COPY" and self._dialect == "duckdb":
            self._expects = "file"

    def _is_before_target(self, word: str, before: str) -> bool:
        if word == "UPDATE":
            return before not in ("FOR", "DO", "THEN", "ON", "KEY")
        return word == "INTO" or (word == "OVERWRITE" and self._kind == "INSERT")

    def _from(self, before: str, before_that: str, level: _Level) -> None:
        """Read FROM; in `IS DISTINCT FROM` and `EXTRACT(YEAR FROM …)`, no table follows it."""
        if before == "DISTINCT" and before_that in ("IS", "NOT"):
            return
        if level.is_function and not level.has_select:  # EXTRACT(YEAR FROM …)
            return
        if before == "DELETE":
            self._expects = "write"
        elif self._kind == "COPY" and len(self._levels) == 1:
            self._expects = "loaded file"
        else:
            self._expects, level.is_in_from = "read", True

    def _name(self, position: int) -> int:
        """Read the name at a position; return the position after it.

        What the keyword before it expects decides where it is added: a table that is read or
        written, or a file. A name before a parenthesis is a function.
        """
        direction, self._expects = self._expects or "", None
        start, token = position, self._tokens[position]
        parts = [folded(token, self._dialect)]
        while self._text(position + 1) == "." and position + 2 < len(self._tokens):
            position += 2
            parts.append(folded(self._tokens[position], self._dialect))
        text, after = ".".join(parts), self._text(position + 1)
        is_file = self._dialect == "duckdb" and token.kind != "word" and bool(_FILE.search(text))
        if direction in ("file", "loaded file"):
            if token.kind == "string" and self._dialect == "duckdb":
                to_file = direction == "file"
                (self._found.files_written if to_file else self._found.files_read).append(text)
                self._copied(to_file=to_file)
        elif is_file and direction == "read":
            self._found.files_read.append(text)
        elif token.kind == "string" or (direction == "read" and after == "("):
            pass  # a function, or no name
        elif direction == "create":
            self._created(tuple(parts), start, position + 1)
        elif direction == "copy":
            self._names.append((start, "copy", tuple(parts)))
        else:
            if direction == "write" and self._is_temporary:  # SELECT … INTO TEMP
                self._found.temporary.append(tuple(parts))
            self._names.append((start, direction, tuple(parts)))
        return position + 1

    def _copied(self, *, to_file: bool) -> None:
        """Set the direction of the table of a COPY: read to write a file, else written."""
        direction = "read" if to_file else "write"
        self._names = [
            (place, direction if kind == "copy" else kind, name)
            for place, kind, name in self._names
        ]

    def _created(self, name: Table, start: int, position: int) -> None:
        """Add a table or view that is created by a query; one that is only defined has no data."""
        before = [self._word(place) for place in range(start)]
        while position < len(self._tokens) and self._word(position) != "AS":
            position += 1
        while self._text(position + 1) == "(":
            position += 1
        is_replaced = "REPLACE" in before and "VIEW" not in before
        has_rows = self._word(position + 1) in _STARTS_QUERY
        if self._is_temporary:
            self._found.temporary.append(name)
        elif "EXISTS" in before and has_rows:
            self._found.conditional.append(name)
        elif is_replaced and has_rows:
            self._found.replaced.append(name)
        elif is_replaced:
            self._found.changes.append(TableChange("TRUNCATE", name, is_conditional=True))
        if has_rows:
            self._names.append((position, "write", name))
        else:
            self._found.created.append(name)
