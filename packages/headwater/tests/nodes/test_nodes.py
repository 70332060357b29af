"""Lookup of nodes by id and by short name."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.errors import AmbiguousError, NotFoundError
from headwater.graph import node_id
from headwater.lookup import find_dataset, find_node
from headwater.nodes.queries import node_answer
from packages.headwater.tests.support.graphs import DAG, TASK


def test_nodes_are_found_by_id_alias_and_short_name(build: Any) -> None:
    arn = "arn:aws:glue:eu-west-1:1"
    table = build.dataset("s3a://lake|wh/t", symlinks=[(arn, "table/db/trips", "TABLE")])
    run = build.run("COMPLETE", "r", "Flow.train", "08:00:00", reads=("postgres://h:5432|a.b",))
    run["outputs"] = [table]
    state = build.state(run)
    expected = f"dataset:{arn}:table/db/trips"
    for text in (expected, "dataset:s3n://lake:/wh/t", "table/db/trips", "trips", "wh/t"):
        assert node_id(find_node(state, text)) == expected
    assert node_id(find_node(state, "train")) == "job:demo:Flow.train"
    assert node_id(find_node(state, "dataset:postgres://h:5432:a.b")).endswith(":a.b")


def test_id_may_omit_its_type(build: Any) -> None:
    run = build.run("COMPLETE", "r", "report", "08:00:00", reads=("pg://h:1|shop.raw",))
    run["outputs"] = [build.dataset("demo|report")]
    state = build.state(run)
    assert node_id(find_node(state, "pg://h:1:shop.raw")) == "dataset:pg://h:1:shop.raw"
    assert node_id(find_node(state, "demo:report", "job")) == "job:demo:report"
    with pytest.raises(AmbiguousError, match="'demo:report' is a job and a dataset"):
        find_node(state, "demo:report")


@pytest.mark.parametrize(
    "uri",
    [
        "abfs://lake@acct.dfs.core.windows.net/b/t", "wasbs://lake@acct.blob.core.windows.net/b/t/",
        "https://acct.dfs.core.windows.net/lake/b/t", "abfss://lake@ACCT.dfs.core.windows.net//b/t",
    ],
)  # fmt: skip
def test_uri_in_any_spelling_finds_the_dataset(uri: str, build: Any) -> None:
    name = "abfss://lake@acct.dfs.core.windows.net|b/t"
    state = build.state(build.run("COMPLETE", "r", "load", "08:00:00", writes=(name,)))
    assert node_id(find_node(state, uri)) == f"dataset:{name.replace('|', ':')}"
    with pytest.raises(NotFoundError):
        find_node(state, uri.replace("lake", "pond"))


def test_job_does_not_hide_the_table_of_its_name(build: Any) -> None:
    state = build.state(build.run("COMPLETE", "r", "rides", "08:00:00", writes=("db|nyc.rides",)))
    with pytest.raises(AmbiguousError) as caught:
        find_node(state, "rides")
    assert caught.value.nearest == ("dataset:db:nyc.rides", "job:demo:rides")


def test_unknown_name_has_suggestions_and_ambiguous_name_lists_all(build: Any) -> None:
    state = build.state(
        build.run("COMPLETE", "r", "j", "08:00:00", reads=("db|x.trips", "db|y.trips"))
    )
    with pytest.raises(NotFoundError) as caught:
        find_node(state, "x.tripz")
    assert caught.value.nearest[0] == "x.trips"
    with pytest.raises(AmbiguousError) as several:
        find_node(state, "trips")
    assert several.value.nearest == ("dataset:db:x.trips", "dataset:db:y.trips")


def test_ambiguous_name_error_lists_the_shortest_unique_names(build: Any) -> None:
    job, table = "shop.main.jaffle.stg_orders", "pg://h|shop.main.stg_orders"
    state = build.state(build.run("COMPLETE", "r", job, "08:00:00", writes=(table,)))
    with pytest.raises(AmbiguousError) as caught:
        find_node(state, "stg_orders")
    assert "main.stg_orders (dataset), jaffle.stg_orders (job)" in str(caught.value)
    names = ("main.stg_orders", "jaffle.stg_orders")
    assert [find_node(state, name).type for name in names] == ["dataset", "job"]
    assert find_dataset(state, "stg_orders").type == "dataset"
    assert find_node(state, "stg_orders", "job").type == "job"


def test_owner_is_inferred_from_the_pipeline_that_writes(build: Any) -> None:
    owned = {"ownership": {"owners": [{"name": "team:shop"}]}}
    dag = build.run("COMPLETE", "d", "dag", "08:00:00", kind=DAG)
    dag["job"]["facets"] |= owned
    load = build.run(
        "COMPLETE",
        "t",
        "dag.load",
        "08:00:00",
        parent=("d", "dag"),
        kind=TASK,
        writes=("pg|rides",),
    )
    other = build.run(
        "COMPLETE", "o", "other", "07:00:00", writes=("pg|rides", "pg|own", "pg|none")
    )
    other["outputs"][1]["facets"] = owned
    state = build.state(dag, load, other)
    job = {"id": "job:demo:dag", "type": "job", "namespace": "demo", "name": "dag"}
    inferred = {"owners": ["team:shop"], "node": job}
    assert node_answer(state, "rides")["inferredOwners"] == inferred
    assert node_answer(state, "dag.load")["inferredOwners"] == inferred
    assert node_answer(state, "job:demo:dag")["inferredOwners"] is None
    assert node_answer(state, "own")["owners"] == ["team:shop"]
    assert node_answer(state, "own")["inferredOwners"] is None
    assert node_answer(state, "none")["inferredOwners"] is None


def test_columns_have_their_tags(build: Any) -> None:
    event = build.run("COMPLETE", "1", "load", "08:00:00", writes=("pg|rides",))
    tags = [{"key": "pii", "value": "true", "field": "tip"}, {"key": "tier", "value": "1"}]
    fields = [{"name": "tip", "type": "int"}, {"name": "zone", "type": "int"}]
    event["outputs"][0]["facets"] = {"schema": {"fields": fields}, "tags": {"tags": tags}}
    columns = node_answer(build.state(event), "rides")["fields"]
    assert [column["tags"] for column in columns] == [["pii"], []]
