"""Statements of scripts that name columns or move rows without a query: ALTER TABLE, LET, SWAP."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.lineage.queries import tree_answer
from headwater.plugins.impact.queries import impact_answer
from headwater.plugins.sql.script import read_uncached
from headwater.projection import State
from headwater.sql.reader import Arguments, Script
from packages.headwater.tests.support.graphs import all_names

_FIELDS = {"a": ("id", "x", "y"), "b": ("id", "x", "y"), "c": ("id", "z"), "t": ("id", "addr")}
_SPACE = "snowflake://org-acct|d.s."


def _script(text: str, dialect: str = "snowflake") -> Script:
    known = tuple((("d", "s", table), fields) for table, fields in _FIELDS.items())
    script = read_uncached(text, Arguments(dialect, "d", "s", None, known))
    assert isinstance(script, Script)
    return script


def _sources(script: Script, table: str, column: str) -> set[str]:
    (written,) = (item for name, item in script.written if name[-1] == table)
    return {f"{origin.table[-1]}.{origin.column}" for origin in dict(written.columns)[column]}


@pytest.mark.parametrize(
    ("text", "dialect", "used"),
    [
        ("alter table a rename column x to w", "postgres", "w x"),
        ("ALTER TABLE a RENAME COLUMN x TO w;", "snowflake", "w x"),
        ("alter table a rename x to w", "postgres", "w x"),
        ("alter table a change column x w int", "mysql", "w x"),
        ("alter table a modify column x bigint", "mysql", "x"),
        ("alter table a alter column x type numeric(10, 2) using y::numeric", "postgres", "x y"),
        ("alter table a alter column x set not null", "postgres", "x"),
        ("alter table a alter column x comment 'by hand'", "spark", "x"),
        ("alter table a drop column x, add column k int", "postgres", ""),
        ("alter table a drop columns (x, y)", "spark", ""),
        ("alter table a rename to b", "postgres", ""),
    ],
)
def test_changes_of_columns_use_only_the_columns_that_they_name(
    text: str, dialect: str, used: str
) -> None:
    script = _script(text, dialect)
    assert script.is_complete
    assert {column for _, column in script.used} == set(used.split())
    assert script.written == ()


@pytest.mark.parametrize(
    "text",
    [
        "alter table a add constraint k check (x > 0)",
        "alter table a add column k int references c (id)",
        "alter table a alter column x set default (select max(z) from c)",
        "alter table a rename column x to w; call tidy()",
    ],
)
def test_change_that_may_use_other_columns_is_unknown(text: str) -> None:
    assert not _script(text, "postgres").is_complete


def test_renamed_column_of_a_table_does_not_hide_the_verdict_on_others(build: Any) -> None:
    state = _state(build, _run(build, "r", "03", [], ["a"], "alter table a rename column x to w"))
    drops = {field: impact_answer(state, "d.s.a", field)["drop"] for field in ("x", "y")}
    message = "1 job uses it in its SQL text: r."
    assert [reason["message"] for reason in drops["x"]["reasons"]] == [message]
    assert {name: drop["verdict"] for name, drop in drops.items()} == {"x": "unsafe", "y": "safe"}


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ("let m := (select max(x) from a); insert into b select id, :m, y from a", {"a.x"}),
        ("LET m NUMBER(10, 2) DEFAULT (select max(z) from c); insert into b(x) select :m", {"c.z"}),
        ("let m := 1; m := (select max(y) from a); insert into b(x) select :m + 1", {"a.y"}),
        ("let m := (select max(y) from a); m := 1; insert into b(x) select :m + 1", set()),
        ("let m := (select max(y) from a); let n := :m; insert into b(x) select :n", {"a.y"}),
        (
            "declare n int; begin let m int := (select max(z) from c);"
            " insert into b(x) select :m from a; end",
            {"c.z"},
        ),
    ],
)
def test_variable_of_a_snowflake_script_keeps_its_sources(text: str, sources: set[str]) -> None:
    script = _script(text)
    assert _sources(script, "b", "x") == sources
    assert script.is_complete
    assert script.skipped == ()


def test_result_set_of_a_snowflake_script_is_not_read() -> None:
    script = _script("let r resultset := (select x from a); insert into b(x) select y from a")
    assert (script.skipped, script.is_complete) == (("LET",), False)


@pytest.mark.parametrize("dialect", ["spark", "bigquery", "snowflake", "trino"])
@pytest.mark.parametrize(
    ("field", "sources"),
    [
        ("s['p']", {"a.x"}),
        ("q.s['p']", {"a.x"}),
        ("s['r']", {"a.x", "a.y"}),
        ("s.p", {"a.x"}),
        ("s[0]", {"a.x", "a.y"}),
    ],
)
def test_field_of_a_known_structure_has_its_own_source(
    field: str, sources: set[str], dialect: str
) -> None:
    struct = "(select struct(x as p, y as r0) as s from a) q"
    script = _script(f"insert into b(x) select {field} from {struct}", dialect)
    assert _sources(script, "b", "x") == sources
    assert script.is_complete


def test_field_of_an_unknown_structure_is_a_use_of_the_column() -> None:
    script = _script("insert into b(x) select addr['city'] from t", "spark")
    assert _sources(script, "b", "x") == {"t.addr"}


def _run(
    build: Any, job: str, hour: str, reads: list[str], writes: list[str], sql: str
) -> dict[str, Any]:
    event: dict[str, Any] = build.run("COMPLETE", job, job, f"{hour}:00:00")
    event["job"]["facets"]["sql"] = {"query": sql, "dialect": "snowflake"}
    for key, names in (("inputs", reads), ("outputs", writes)):
        event[key] = [
            build.dataset(
                _SPACE + name, schema={"fields": [{"name": f} for f in _FIELDS.get(name, "x")]}
            )
            for name in names
        ]
    return event


def _state(build: Any, *events: Any) -> State:
    return build.state(
        _run(build, "load_a", "01", ["old"], ["a"], "insert into a select * from old"),
        _run(
            build, "load_b", "02", ["new"], ["b"], "create or replace table b as select * from new"
        ),
        *events,
    )


def _upstream(state: State, table: str) -> set[str]:
    return all_names(tree_answer(state, f"d.s.{table}")["up"]) & {"d.s.old", "d.s.new"}


@pytest.mark.parametrize("reads", [["a", "b"], []])
def test_swapped_tables_exchange_their_lineage(reads: list[str], build: Any) -> None:
    swap = _run(build, "swap", "03", reads, ["a", "b"], "alter table a swap with b")
    state = _state(build, swap)
    assert (_upstream(state, "a"), _upstream(state, "b")) == ({"d.s.new"}, {"d.s.old"})
    drop = impact_answer(state, "d.s.new", "x")["drop"]
    assert (drop["verdict"], "d.s.a.x" in drop["reasons"][0]["message"]) == ("unsafe", True)


def test_table_that_is_filled_and_swapped_in_one_text_replaces_the_other(build: Any) -> None:
    text = "create or replace table b as select * from new; alter table a swap with b; drop table b"
    job = _run(build, "job", "03", ["new"], ["a", "b"], text)
    load = _run(build, "load_a", "01", ["old"], ["a"], "insert into a select * from old")
    assert _upstream(build.state(load, job), "a") == {"d.s.new"}
    assert _upstream(build.state(load, job), "b") == {"d.s.old"}


def test_swap_of_a_table_that_the_run_did_not_report_is_not_read(build: Any) -> None:
    text = "insert into b(x) select x from a; alter table b swap with hidden"
    assert _script(text).skipped == ("ALTER TABLE … SWAP",)
    state = _state(build, _run(build, "swap", "03", [], ["a"], "alter table a swap with b"))
    assert _upstream(state, "b") == {"d.s.new"}
