"""The columns that `*` with a pattern, or COLUMNS, chooses by name."""

from __future__ import annotations

import re

from sqlglot import exp


def chooses_columns(projection: exp.Expr) -> bool:
    """Return True for COLUMNS(…) and DuckDB's `* LIKE 'a%'`, which choose columns by name."""
    is_like = isinstance(projection, exp.Like | exp.ILike)
    return isinstance(projection, exp.Columns) or (
        is_like and isinstance(projection.this, exp.Star)
    )


def name_pattern(projection: exp.Expr) -> re.Pattern[str] | None:
    """Return the pattern of the names of the columns that `*` has, if it states one."""
    if isinstance(projection, exp.Columns):
        literal = projection.this
        is_pattern = isinstance(literal, exp.Literal)
        return re.compile(literal.name, re.I) if is_pattern else _ANY.get(type(literal))
    like = projection.args.get("ilike") if isinstance(projection, exp.Star) else None
    if isinstance(projection, exp.Like | exp.ILike):
        like = projection.expression
    if not isinstance(like, exp.Literal):
        return None
    parts = ({"%": ".*", "_": "."}.get(letter, re.escape(letter)) for letter in like.name)
    return re.compile("^" + "".join(parts) + "$", re.I)


_ANY = {exp.Star: re.compile("")}

PSEUDO_COLUMNS = {
    "bigquery": {"_table_suffix", "_partitiontime", "_partitiondate", "_file_name"},
    "duckdb": {"rowid"},
    "oracle": {"level", "rownum", "rowid"},
    "postgres": {"ctid", "tableoid", "xmin", "xmax"},
    "snowflake": {"level"},
    "spark": {"_metadata"},
}
"""Names that are no columns of a table, unless the table has one of this name."""


def is_hidden(name: str, dialect: str) -> bool:
    """Return True for a name of metadata, such as Snowflake's METADATA$ACTION of a stream."""
    if dialect == "snowflake":
        return name.startswith("metadata$")
    return dialect in ("athena", "presto", "trino") and name.startswith("$")
