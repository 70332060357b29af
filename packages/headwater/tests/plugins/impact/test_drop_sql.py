"""A column is safe to drop only if no SQL text names it, and every text was read completely."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.plugins.impact.queries import impact_answer
from headwater.projection import State

_AIRFLOW = "https://github.com/apache/airflow/tree/providers-openlineage/2.20.3"
_SPACE = "postgres://shop:5432|shop.public."
_FIELDS = {"a": ("id", "x", "y", "k"), "c": ("id", "z", "k"), "b": ("id", "x")}


def _schema(build: Any, table: str, **facets: Any) -> dict[str, Any]:
    fields = [{"name": name} for name in _FIELDS[table]]
    return build.dataset(_SPACE + table, schema={"fields": fields}, **facets)


def _state(build: Any, sql: str, reads: str = "a", writes: str = "b") -> State:
    """Return the state after a load of some tables, and a job that writes b by a SQL text."""
    load = build.run("COMPLETE", "0", "load", "00:30:00")
    load["outputs"] = [_schema(build, table) for table in "ac"]
    source = {"namespace": "postgres://shop:5432", "name": "shop.public.a", "field": "id"}
    columns = {"_producer": _AIRFLOW, "fields": {"id": {"inputFields": [source]}}}
    event = build.run("COMPLETE", "1", "job", "01:00:00")
    event["job"]["facets"]["sql"] = {"query": sql}
    event["inputs"] = [_schema(build, table) for table in reads]
    event["outputs"] = [
        _schema(build, table, **({"columnLineage": columns} if reads else {})) for table in writes
    ]
    return build.state(load, event)


def _verdicts(state: State, table: str) -> dict[str, str]:
    return {
        field: impact_answer(state, f"shop.public.{table}", field)["drop"]["verdict"]
        for field in _FIELDS[table]
    }


_READ = [
    ("insert into b select id, x from (select id, x, y from a) q", "id x y"),
    ("with t as (select * from a) insert into b select id, x from t", "id x"),
    ("insert into b select id, a from a", "id x y k"),
    ("insert into b select id, count(distinct a.*) from a group by id", "id x y k"),
    ("insert into b select id, count(*) from (select distinct * from a) q group by id", "id x y k"),
    ("insert into b select id, count(*) from a group by id", "id"),
    ("select max(y) from a; insert into b select id, x from a", "id x y"),
    ("insert into b select id, x from (select * replace (1 as y) from a) q", "id x y"),
    ("insert into b select p, q from a as t(p, q, r, s)", "id x y k"),
    ("insert into b with t(p, q, r, s) as (select * from a) select p, q from t", "id x y k"),
    ("begin; insert into b select id, x from a; commit;", "id x"),
    (
        "insert into b select id, x from a; vacuum (full, analyze) a; grant select on a to reader;"
        " alter table a add column if not exists price numeric(10, 2)",
        "id x",
    ),
    ("insert into b select id, x from a /* where {{ y }} */", "id x"),
    ("delete from b using a where a.k = b.id", "k"),
    ("merge into b using a on b.id = a.k when not matched then insert values (a.id, 1)", "id k"),
]
"""SQL texts, and the columns of a that they use."""


_MAINTENANCE = (
    "optimize a zorder by (y)",
    "analyze a (y)",
    "alter table a add constraint positive check (y > 0)",
    "alter table a cluster by (y)",
    "comment on column a.y is 'text'",
    "grant select (y) on a to reader",
)
"""Statements that name y, and that read and write no rows."""


@pytest.mark.parametrize(("sql", "used"), _READ)
def test_columns_that_a_text_names_are_not_safe_to_drop(sql: str, used: str, build: Any) -> None:
    assert _verdicts(_state(build, sql), "a") == {
        field: "unsafe" if field in used.split() else "safe" for field in _FIELDS["a"]
    }


@pytest.mark.parametrize(
    "sql",
    [
        "insert into b select r.id, r.x from c, json_populate_record(null::a, c.z) r",
        "call refresh(); insert into b select id, x from a",
        "do $$ begin perform 1 from a where y = 1; end $$; insert into b select id, x from a",
        "set v = (select max(y) from a); insert into b select id, x from a",
        "create function f() as 'select y from a'; insert into b select id, x from a",
        "insert into b select id, x from a where {{ condition }}",
        "insert into b select id, x from a {% if all %} where y = 1 {% endif %}",
        "insert into b select id, x from a where ${condition}",
        "insert into b select id, x from crosstab('select id, k, y from a') as ct(id int, x int)",
        "insert into b select id, query_to_xml('select y from a', true, true, '') from a",
        "insert into b select id, x from a natural join unknown",
        "insert into b select id, x from a where k in (select * from unknown)",
        "insert into b select id, x from a where exists (select 1 from unknown u where y = u.y)",
        *(f"insert into b select id, x from a; {statement}" for statement in _MAINTENANCE),
    ],
)
def test_column_is_unknown_if_the_text_may_use_it(sql: str, build: Any) -> None:
    assert _verdicts(_state(build, sql), "a")["y"] in ("unknown", "unsafe")


def test_column_of_an_inner_table_without_a_whole_schema_is_unknown(build: Any) -> None:
    """dbt reports only the columns of its YAML files, so that k may belong to a or to c."""
    schema = {"fields": [{"name": "id"}, {"name": "k"}]}
    of_dbt = build.dataset(_SPACE + "a", schema=schema, dbt_model={"materialized": "table"})
    load = build.run("COMPLETE", "0", "load", "00:30:00")
    load["outputs"] = [of_dbt, _schema(build, "c")]
    event = build.run("COMPLETE", "1", "job", "01:00:00", reads=(_SPACE + "a", _SPACE + "c"))
    text = "insert into b select id, z from c where k in (select k from a)"
    event["job"]["facets"]["sql"] = {"query": text}
    event["outputs"] = [_schema(build, "b")]
    drop = impact_answer(build.state(load, event), "shop.public.a", "k")["drop"]
    assert drop["verdict"] == "unknown"


@pytest.mark.parametrize(
    ("sql", "reads", "used"),
    [
        ("delete from b where x = 1", "", "x"),
        ("update b set x = a.x from a where a.id = b.id", "a", "id"),
        ("merge into b using a on b.id = a.id when matched then update set x = a.x", "a", "id"),
        ("insert into b (id, x) select id, x from a on conflict (id) do nothing", "a", "id"),
        ("create index i on b (x)", "", "x"),
        ("create unique index if not exists i on shop.public.b (lower(x))", "", "x"),
        ("insert into b (id) select id from a; create index i on b (id) where x > 1", "a", "id x"),
    ],
)
def test_column_that_selects_the_rows_to_change_is_not_safe(
    sql: str, reads: str, used: str, build: Any
) -> None:
    assert _verdicts(_state(build, sql, reads), "b") == {
        field: "unsafe" if field in used.split() else "safe" for field in _FIELDS["b"]
    }


@pytest.mark.parametrize(
    "sql",
    [
        "delete from b where (",
        "insert into b values (1, 2); optimize b zorder by (x)",
        "comment on column b.x is 'text'",
        "create policy p on b using (x = 1)",
        "create or replace trigger t before insert on b execute function f()",
    ],
)
def test_unread_change_of_the_dataset_is_unknown(sql: str, build: Any) -> None:
    drop = impact_answer(_state(build, sql, ""), "shop.public.b", "x")["drop"]
    assert drop == {
        "verdict": "unknown",
        "reasons": [
            {
                "kind": "unread_change",
                "message": "1 job changes the dataset by SQL that could not be read: job.",
            }
        ],
    }


def test_columns_of_a_query_without_a_result_are_known(build: Any) -> None:
    state = _state(build, "select count(*) from a where y is null", writes="")
    assert _verdicts(state, "a") == {"id": "safe", "x": "safe", "y": "unsafe", "k": "safe"}


def test_query_beside_other_statements_gives_no_columns(build: Any) -> None:
    state = _state(build, "select max(y) as latest from a; insert into b (id) select id from a")
    assert impact_answer(state, "shop.public.a", "y")["affected"] == []


_UNLISTED = [
    ("create index i on public.a (y)", "unknown"),
    ("comment on column public.a.y is 'text'", "unknown"),
    ("alter table public.a add check (y > 0)", "unknown"),
    ("create policy p on public.a using (y = 1)", "unknown"),
    ("call clean('public.a', 'y')", "unknown"),
    ('create index i on "public"."a" ("y")', "unknown"),
    ("create index i on public.a (k)", "safe"),
    ("create index i on other.a (y)", "safe"),
    ("create index i on public.aa (y)", "safe"),
    ("insert into public.a (id, y) values (1, 2)", "safe"),
    ("create table if not exists public.a (id int, y int)", "safe"),
    ("copy public.a (id, y) from 's3://lake/x'", "safe"),
]
"""SQL texts of a job that reports no dataset, and the verdict on dropping y of a."""


@pytest.mark.parametrize(("sql", "verdict"), _UNLISTED)
def test_statement_of_a_job_without_datasets_may_use_a_column_it_names(
    sql: str, verdict: str, build: Any
) -> None:
    assert _verdicts(_state(build, sql, "", ""), "a")["y"] == verdict
