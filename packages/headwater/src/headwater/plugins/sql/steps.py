"""The limit on the work of reading one text, and the parser that observes it.

The limit counts steps instead of time, so that a text is read or not read on every machine alike.
"""

from __future__ import annotations

import re
from functools import cache

from sqlglot import Token, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.parser import Parser

LONGEST = 100_000
"""Characters of a text. Longer ones are not read."""

MOST_STEPS = 200_000
"""Tokens, expressions and columns that may be handled to read a text: about 2 s of CPU time. A text
of `LONGEST` characters without deep nesting needs a third of it."""


TOO_DEEP = "it is nested too deeply"
"""The only reason that depends on the caller: on the size of the remaining stack."""


class UnreadError(Exception):
    """A statement that may move data cannot be read; the message is the reason."""


class Steps:
    """The steps that remain for reading one text."""

    def __init__(self, limit: int = MOST_STEPS) -> None:
        self._left = limit
        self.tokens: dict[str, list[Token]] = {}
        """Tokens by statement, for statements that were tokenized but not parsed yet."""

    def take(self, count: int = 1) -> None:
        """Count some steps.

        Raises:
            UnreadError: there were too many.
        """
        self._left -= count
        if self._left < 0:
            raise UnreadError("it takes too long to read")


_TOKEN = re.compile(r"<Token token_type: \S+, text: (.*?), line: \d+.*?>")


def reason_of(error: Exception) -> str:
    """Return why a text could not be read; sqlglot prints tokens as Python objects."""
    if isinstance(error, RecursionError):
        return TOO_DEEP
    line = str(error).splitlines()[0]
    return _TOKEN.sub(lambda token: "the end" if token[1] == "SENTINEL" else repr(token[1]), line)


def parse_statements(sql: str, dialect: str, steps: Steps) -> list[exp.Expr]:
    """Return the statements of a text that are not empty.

    Raises:
        SqlglotError: a statement cannot be parsed.
        UnreadError: it takes too long.
    """
    found = Dialect.get_or_raise(dialect)
    parser = _limited(found.parser_class)(dialect=found)
    parser.steps = steps
    tokens = steps.tokens.pop(sql, None) or found.tokenize(sql)
    return [item for item in parser.parse(tokens, sql) if item is not None]


def parse_statement(sql: str, dialect: str, steps: Steps) -> exp.Expr:
    """Return a single statement.

    Raises:
        SqlglotError: it cannot be parsed.
        UnreadError: it is empty, has several statements or takes too long.
    """
    parsed = parse_statements(sql, dialect, steps)
    if len(parsed) != 1:
        raise UnreadError(f"it has {len(parsed)} statements")
    return parsed[0]


class _Limited(Parser):
    """A parser that counts its steps, also those that it tries and takes back."""

    steps: Steps

    def _advance(self, times: int = 1) -> None:
        self.steps.take()
        super()._advance(times)


@cache
def _limited(parser: type[Parser]) -> type[_Limited]:
    """Return the parser of a dialect with a limit."""
    return type(f"Limited{parser.__name__}", (_Limited, parser), {})
