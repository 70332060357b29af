"""Split a SQL text into statements and tokens."""

from __future__ import annotations

import re
from typing import NamedTuple

_TOKEN = re.compile(
    r"(?P<skip>\s+|--[^\n]*|/\*.*?\*/)"
    r"|(?P<string>[eE]?'(?:[^']|'')*'|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$)"
    r"|(?P<quoted>\"(?:[^\"]|\"\")*\"|`[^`]*`)"
    r"|(?P<word>[\w$@#]+)"
    r"|(?P<sign>.)",
    re.DOTALL,
)
_BRACKETS = re.compile(r"\[([^\]]*)\]")
_UPPER = ("snowflake", "oracle")
_AS_WRITTEN = ("duckdb", "sqlite", "mysql", "mssql", "bigquery", "clickhouse")


class Token(NamedTuple):
    """A token of a SQL text: its kind, such as word or quoted, and its text."""

    kind: str
    text: str

    @property
    def word(self) -> str:
        """Return a word in upper case; an empty text for other tokens."""
        return self.text.upper() if self.kind == "word" else ""


def statements_of(sql: str, dialect: str) -> list[list[Token]]:
    """Return the tokens of each statement, without comments and the rows of INSERT … VALUES."""
    if dialect == "mssql":
        sql = _BRACKETS.sub(r'"\1"', sql)
    statements: list[list[Token]] = [[]]
    is_skipping = False  # the rows of INSERT … VALUES
    for match in _TOKEN.finditer(sql):
        token = Token(match.lastgroup or "", match[0])
        if token.kind == "tag":
            token = Token("string", match[0])
        if token.text == ";":
            statements.append([])
            is_skipping = False
        elif token.kind != "skip" and not is_skipping:
            statements[-1].append(token)
            is_skipping = token.word == "VALUES" and statements[-1][0].word == "INSERT"
    return statements


def folded(token: Token, dialect: str) -> str:
    """Return a name as the database spells it."""
    if token.kind != "word":
        return unquoted(token.text)
    if dialect in _UPPER:
        return token.text.upper()
    return token.text if not dialect or dialect in _AS_WRITTEN else token.text.lower()


def unquoted(text: str) -> str:
    """Return the content of a quoted name or string."""
    quote = text[-1]
    return text.lstrip("eE")[1:-1].replace(quote * 2, quote)


def split(sql: str, dialect: str) -> list[str]:
    """Return the statements of a text; those that are only comments are left out."""
    ends = [place.start() for place in _TOKEN.finditer(sql) if place[0] == ";"]
    starts = [0, *(end + 1 for end in ends)]
    texts = [sql[start:end].strip() for start, end in zip(starts, [*ends, len(sql)], strict=True)]
    return [text for text in texts if statements_of(text, dialect)[0]]
