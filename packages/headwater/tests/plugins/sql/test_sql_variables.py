"""Variables of a script carry the lineage of their values."""

from __future__ import annotations

import pytest

from headwater.plugins.sql.script import read_script
from headwater.sql.reader import Arguments, Script

_FROM_A = "declare cut date default (select max(d) from s.a)"
_USE = "insert into s.t (id) select id from s.o where day > cut"
_BOTH = "if c then set cut = (select max(d) from s.a); else {}; end if"


def _script(text: str, dialect: str = "bigquery") -> Script:
    found = read_script(text, Arguments(dialect, "p", "s", None, ()))
    assert isinstance(found, Script)
    return found


def _sources(text: str, dialect: str = "bigquery") -> tuple[set[str], set[str]]:
    """Return the tables that decide the rows of `t`, and all sources of `t`, both without `o`."""
    (written,) = (uses for table, uses in _script(text, dialect).written if table[-1] == "t")
    rows = {origin.table[-1] for origin in written.rows}
    return rows - {"o"}, {table[-1] for table in written.sources} - {"o"}


@pytest.mark.parametrize(
    ("before", "tables"),
    [
        (_FROM_A, "a"),
        (f"{_FROM_A}; set cut = date_sub(cut, interval 1 day)", "a"),
        (f"{_FROM_A.replace('cut', 'x')}; declare cut date default x", "a"),
        (f"{_FROM_A}; set cut = (select max(d) from s.b)", "b"),
        (f"{_FROM_A}; set cut = greatest(cut, (select max(d) from s.b))", "ab"),
        (f"{_FROM_A}; set cut = (select max(d) from s.b where k < cut)", "ab"),
        (f"{_FROM_A}; set cut = '2026-01-01'", ""),
        ("declare cut date; " + _BOTH.format("set cut = '2026-01-01'"), "a"),
        ("declare cut date; " + _BOTH.format("set x = 1; set cut = '2026-01-01'"), "a"),
        ("declare cut date; " + _BOTH.format("set cut = (select max(d) from s.b)"), "ab"),
        (f"{_FROM_A}; while c do set cut = (select max(d) from s.b); end while", "ab"),
        (f"{_FROM_A}; if c then select 1; end if; set cut = '2026-01-01'", ""),
        (f"begin {_FROM_A}; set cut = '2026-01-01'; end", ""),
        ("declare cut, y date; set (y, cut) = (select as struct 1, max(d) from s.a)", "a"),
    ],
)
def test_variables_have_the_sources_of_their_values(before: str, tables: str) -> None:
    assert _sources(f"{before}; {_USE}") == (set(tables), set(tables))


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("snowflake", "set cut = (select max(d) from a); insert into t (id) "
         "select id from o where day > $cut"),
        ("tsql", "declare @cut date = (select max(d) from a); set @cut = dateadd(day, -1, @cut); "
         "insert into t (id) select id from o where day > @cut"),
        ("databricks", "declare cut date default (select max(d) from a); "
         "insert into t (id) select id from o where day > cut"),
    ],
)  # fmt: skip
def test_variables_of_other_dialects_have_sources(dialect: str, text: str) -> None:
    assert _sources(text, dialect) == ({"a"}, {"a"})


def test_temporary_tables_of_both_branches_count() -> None:
    text = (
        "if c then create temp table x as select id from s.a; "
        "else create temp table x as select id from s.b; end if; "
        "insert into s.t (id) select id from x"
    )
    assert _sources(text)[1] == {"a", "b"}


def test_script_with_assigned_variables_is_complete() -> None:
    script = _script(f"{_FROM_A}; set cut = (select max(e) from s.b where k > 1); {_USE}")
    assert script.is_complete
    assert not script.skipped
    used = {(table[-1], column) for table, column in script.used}
    assert {("a", "d"), ("b", "e"), ("b", "k")} <= used


def test_script_whose_value_has_unknown_columns_is_incomplete() -> None:
    script = _script(f"declare n int64 default (select max(d) from s.a, s.b); {_USE}")
    assert not script.is_complete
    assert not script.skipped
