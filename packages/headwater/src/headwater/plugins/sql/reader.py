"""The functions of `headwater.sql.reader.SqlReader`, based on sqlglot.

They import sqlglot only when a text is read, because the import is slow and it may be missing.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headwater.sql.reader import Arguments, LocalNames, Script, SqlFile, TableParts, Unread


@cache
def missing() -> tuple[str, str] | None:
    """Return why no text can be read on this machine, and what to do; None if texts can.

    The compiled parser of sqlglot, which `sqlglot[c]` and `sqlglot[rs]` install, is not used: its
    steps cannot be counted, so the time for a text would be unlimited.
    """
    if find_spec("sqlglot") is None:
        return "is not installed", "pip install 'headwater[sql]'"
    try:
        distribution("sqlglotc")
    except PackageNotFoundError:
        return None
    return "does not work with the compiled parser of sqlglot", "pip uninstall sqlglotc"


def dialect_of(reported: str | None, namespace: str) -> str | None:
    """Return sqlglot's name of the reported dialect, or else of a namespace; None if unknown."""
    from headwater.plugins.sql import dialects

    return dialects.dialect_of(reported, namespace)


def read_script(text: str, arguments: Arguments) -> Script | Unread:
    """Return what one or more statements read and write, or why one cannot be read."""
    from headwater.plugins.sql import script

    return script.read_script(text, arguments)


def local_names(text: str, dialect: str) -> LocalNames:
    """Return the names of the common table expressions and temporary tables of a text."""
    from headwater.plugins.sql import script

    return script.local_names(text, dialect)


def scalar_tables(text: str, dialect: str) -> tuple[frozenset[TableParts], frozenset[TableParts]]:
    """Return the tables of a text in scalar subqueries, and all others; both may be empty."""
    from headwater.plugins.sql import scalars

    return scalars.scalar_tables(text, dialect)


def read_file(text: str, name: str, dialect: str) -> SqlFile:
    """Return the edges that a file states. Raises ImportError if sqlglot is missing."""
    from headwater.plugins.sql import files

    return files.read_file(text, name, dialect)
