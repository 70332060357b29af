"""A SQL text that only creates, drops, empties or renames a table writes no rows to it."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.lineage.queries import tree_answer
from headwater.search.queries import node_answer

from .graphs import all_names


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
    ],
)
def test_text_states_a_change_unless_it_may_write_rows(
    text: str, change: str | None, build: Any
) -> None:
    assert _change(build, text) == change


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
