"""A SQL text that only creates, drops, empties or renames a table writes no rows to it."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.graph.current import generations_of
from headwater.identity import DatasetName
from headwater.lineage.queries import tree_answer
from headwater.nodes.queries import node_answer
from headwater.projection import State, apply
from packages.headwater.tests.support.graphs import all_names


def _sql(build: Any, text: str, *, reads: tuple[str, ...] = (), name: str = "shop.t") -> Any:
    """Return the event that openlineage-sql makes of a text: it has no facet of the change."""
    writes = (f"postgres://db:5432|{name}",)
    event = build.run("COMPLETE", "ddl", "ddl", "11:00:00", reads=reads, writes=writes)
    event["job"]["facets"]["sql"] = {"query": text}
    return event


def _change(build: Any, text: str, **more: Any) -> Any:
    (item,) = build.entry(_sql(build, text, **more)).event.outputs
    return item.facets.get("lifecycleStateChange", {}).get("lifecycleStateChange")


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("CREATE TABLE IF NOT EXISTS t (a int)", "CREATE"),
        ('create table "shop"."T" (id bigint generated always as identity, "from" int)', None),
        (
            "-- as\nCREATE TABLE shop.t (id int GENERATED ALWAYS AS IDENTITY);",
            "CREATE",
        ),
        ("CREATE TABLE t (a text DEFAULT 'copied from x'); CREATE INDEX i ON u (a)", "CREATE"),
        ("ALTER TABLE shop.t ADD COLUMN b int", "ALTER"),
        ("DROP TABLE IF EXISTS u, shop.t CASCADE", "DROP"),
        ("TRUNCATE t", "TRUNCATE"),
        ("DROP TABLE t; CREATE TABLE t (a int)", "TRUNCATE"),
        ("CREATE OR REPLACE TABLE t (a int)", "TRUNCATE"),
        ("CREATE TABLE t (a int); DROP TABLE t", "DROP"),
        ("CREATE TABLE t AS SELECT 1 AS a", None),
        ("CREATE TABLE t CLONE u", None),
        ("CREATE TABLE t (a int); INSERT INTO t VALUES (1)", None),
        ("TRUNCATE t; INSERT INTO t SELECT * FROM u", None),
        ("CREATE TABLE t USING parquet LOCATION 's3://x'", None),
        ("ALTER TABLE t EXCHANGE PARTITION (d = 1) WITH TABLE u", None),
        ("CREATE INDEX i ON t (a)", None),
        ("DROP TABLE ts", None),
        ("DROP VIEW IF EXISTS t", "DROP"),
        ("DROP MATERIALIZED VIEW t", "DROP"),
        ("DELETE FROM t", "TRUNCATE"),
        ("DELETE FROM t WHERE a = 1", None),
    ],
)
def test_text_states_a_change_unless_it_may_write_rows(
    text: str, change: str | None, build: Any
) -> None:
    assert _change(build, text) == change


def test_table_renamed_to_its_own_name_is_not_written(build: Any) -> None:
    read = build.run("COMPLETE", "r", "reader", "10:00:00", reads=("db|a", "db|d"))
    rename = build.run("COMPLETE", "ddl", "ddl", "11:00:00")
    rename["job"]["facets"]["sql"] = {"query": "alter table d rename to d"}
    for events in ((read, rename), (rename, read)):
        state = State()
        for event in events:
            apply(state, build.entry(event).event)
            assert generations_of(state).writers(DatasetName("db", "d")) == []


def test_reported_facets_outrank_the_text(build: Any) -> None:
    event = _sql(build, "DROP TABLE t")
    event["outputs"][0]["outputFacets"] = {"outputStatistics": {"rowCount": 3}}
    (item,) = build.entry(event).event.outputs
    assert "lifecycleStateChange" not in item.facets


def _load(build: Any, time: str, source: str = "orders", name: str = "shop.t") -> Any:
    reads, writes = (f"postgres://db:5432|{source}",), (f"postgres://db:5432|{name}",)
    return build.run("COMPLETE", f"load {time}", "load", time, reads=reads, writes=writes)


@pytest.mark.parametrize("later", [False, True])
def test_create_if_not_exists_is_no_write_of_an_existing_table(later: bool, build: Any) -> None:
    events = [_sql(build, "CREATE TABLE IF NOT EXISTS shop.t (a int)"), _load(build, "10:00:00")]
    state = build.state(*(reversed(events) if later else events))
    assert all_names(tree_answer(state, "shop.t")["up"]) == {"shop.t", "load", "orders"}
    assert node_answer(state, "shop.t")["removal"] is None


def test_table_dropped_by_text_is_dropped(build: Any) -> None:
    state = build.state(_load(build, "10:00:00"), _sql(build, "DROP TABLE shop.t"))
    assert node_answer(state, "shop.t")["removal"]["kind"] == "dropped"
    assert all_names(tree_answer(state, "shop.t")["up"]) == {"shop.t", "load", "orders"}


def test_table_renamed_by_text_keeps_its_lineage(build: Any) -> None:
    rename = _sql(
        build, "ALTER TABLE shop.t RENAME TO new", reads=("postgres://db:5432|shop.t",),
        name="shop.new",
    )  # fmt: skip
    state = build.state(_load(build, "10:00:00"), rename, _load(build, "12:00:00", "late"))
    assert all_names(tree_answer(state, "shop.new")["up"]) == {
        "shop.new",
        "ddl",
        "shop.t",
        "load",
        "orders",
    }
    state = build.state(_load(build, "10:00:00"), rename)
    assert node_answer(state, "shop.t")["removal"]["renamedTo"]["name"] == "shop.new"


_REFILLS = (
    "TRUNCATE t; INSERT INTO t SELECT * FROM u",
    "DELETE FROM t; INSERT INTO t SELECT * FROM u",
    "CREATE TABLE IF NOT EXISTS t (a int); TRUNCATE t; INSERT INTO t SELECT * FROM u",
    "DROP VIEW t; CREATE VIEW t AS SELECT * FROM u",
    "CREATE OR REPLACE TABLE t AS SELECT * FROM u",
)


@pytest.mark.parametrize(
    ("text", "is_refill"),
    [
        *((text, True) for text in _REFILLS),
        ("INSERT INTO t SELECT * FROM u; ANALYZE t", False),
        ("DELETE FROM t WHERE a IN (SELECT a FROM u); INSERT INTO t SELECT * FROM u", False),
    ],
)
def test_text_that_empties_and_refills_a_table_replaces_its_sources(
    text: str, is_refill: bool, build: Any
) -> None:
    refill = _sql(build, text, reads=("postgres://db:5432|shop.u",))
    state = build.state(_load(build, "10:00:00"), refill)
    assert ("load" in all_names(tree_answer(state, "shop.t")["up"])) is not is_refill
    assert "shop.u" in all_names(tree_answer(state, "shop.t")["up"])
    assert node_answer(state, "shop.t")["removal"] is None


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("ALTER TABLE t RENAME TO t_old; ALTER TABLE t_new RENAME TO t", "t_old"),
        ("BEGIN; DROP TABLE t; ALTER TABLE t_new RENAME TO t; COMMIT", None),
        ("ALTER TABLE t_new SWAP WITH t", "t_new"),
        ("RENAME TABLE t TO t_old, t_new TO t", "t_old"),
        ("RENAME TABLE t TO x, t_new TO t, x TO t_new", "t_new"),
    ],
)
def test_rename_to_a_used_name_moves_the_lineage(text: str, old: str | None, build: Any) -> None:
    names = ("t", "t_new") if old else ("t_new",)
    swap = _sql(build, text, reads=tuple(f"postgres://db:5432|shop.{name}" for name in names))
    if old:
        swap["outputs"].append(build.dataset(f"postgres://db:5432|shop.{old}"))
    state = build.state(
        _load(build, "10:00:00", "before"),
        _load(build, "10:30:00", "orders", "shop.t_new"),
        swap,
    )
    assert {"orders", "before"} & all_names(tree_answer(state, "shop.t")["up"]) == {"orders"}
    if old:
        found = {"orders", "before"} & all_names(tree_answer(state, f"shop.{old}")["up"])
        assert found == {"before"}
    renamed = node_answer(state, "shop.t_new")["removal"]
    assert (renamed and renamed["kind"]) == (None if old == "t_new" else "renamed")


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("RENAME TABLE shop.t TO shop.t_old, `shop`.`t_new` TO shop.t;", "t_old"),
        ("rename table shop.t to x, shop.t_new to shop.t, x to shop.t_new", "t_new"),
    ],
)
def test_renames_of_several_tables_count_without_datasets(text: str, old: str, build: Any) -> None:
    """Airflow reports no dataset for the RENAME TABLE of MySQL."""
    swap = _sql(build, text) | {"outputs": []}
    table = f"postgres://db:5432|shop.{old}"
    state = build.state(
        _load(build, "10:00:00", "before"),
        _load(build, "10:30:00", "orders", "shop.t_new"),
        swap,
        build.run(
            "COMPLETE",
            "report",
            "report",
            "12:00:00",
            reads=(table,),
            writes=("postgres://db:5432|shop.o",),
        ),
    )
    for name, source in (("t", "orders"), (old, "before"), ("shop.o", "before")):
        found = all_names(tree_answer(state, name)["up"])
        assert {"orders", "before"} & found == {source}, name


@pytest.mark.parametrize(
    "text",
    ["RENAME TABLE t TO x, x TO t", "RENAME TABLE t TO t_old, t_new", "RENAME TABLE t, u TO v, w"],
)
def test_renames_without_effect_or_with_errors_change_nothing(text: str, build: Any) -> None:
    swap = _sql(build, text) | {"outputs": []}
    state = build.state(_load(build, "10:00:00", "before"), swap)
    assert "before" in all_names(tree_answer(state, "shop.t")["up"])
    assert node_answer(state, "shop.t")["removal"] is None
