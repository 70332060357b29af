"""Search over names, columns, tags, owners, descriptions and queries."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.errors import ConfigError
from headwater.plugins.search._freshness import datasets_freshness_answer
from headwater.plugins.search.queries import datasets_answer, jobs_answer, search_answer
from headwater.projection import State


@pytest.fixture
def state(build: Any) -> State:
    event = build.run("COMPLETE", "1", "load_trips", "08:00:00", reads=("file|/in/trips.csv",))
    event["job"]["facets"] |= {
        "sql": {"query": "INSERT INTO raw\nSELECT fare FROM staging"},
        "ownership": {"owners": [{"name": "team:rides"}]},
        "documentation": {"description": "Brings the monthly file in."},
    }
    zone = {"name": "zone", "fields": [{"name": "borough"}]}
    fields = {"fields": [{"name": "pickup_at"}, {"name": "fare"}, zone, 7, {"name": None}]}
    tags = {"tags": [{"key": "pii", "value": "location", "field": "pickup_at"}]}
    symlinks = [("hive://h", "lake.rides", "TABLE")]
    event["outputs"] = [build.dataset("s3://b|rides", schema=fields, tags=tags, symlinks=symlinks)]
    return build.state(event)


@pytest.mark.parametrize(
    ("text", "name", "matched"),
    [
        ("TRIPS.csv", "/in/trips.csv", "name"),
        ("pickup", "lake.rides", "column"),
        ("zone.borough", "lake.rides", "column"),
        ("pii", "lake.rides", "tag"),
        ("location", "lake.rides", "tag"),
        ("team:r", "load_trips", "owner"),
        ("monthly", "load_trips", "description"),
        ("from staging", "load_trips", "sql"),
    ],
)
def test_search_finds_every_kind_of_match(text: str, name: str, matched: str, state: State) -> None:
    result = search_answer(state, text)["items"][0]
    assert (result["name"], result["matched"], result["isFuzzy"]) == (name, matched, False)


def test_nodes_are_ranked_by_their_best_match(state: State) -> None:
    result = search_answer(state, "rides")["items"]
    assert [(item["name"], item["matched"]) for item in result] == [
        ("lake.rides", "name"),
        ("load_trips", "owner"),
    ]
    assert [item["name"] for item in search_answer(state, "fare")["items"]] == [
        "lake.rides",
        "load_trips",
    ]
    assert len(search_answer(state, "fare", limit=1)["items"]) == 1


def test_name_with_the_word_ranks_before_a_column_of_that_name(build: Any) -> None:
    event = build.run("COMPLETE", "1", "train", "08:00:00", writes=("db|rides_forecast",))
    column = {"fields": [{"name": "forecast"}]}
    event["outputs"].append(build.dataset("db|model", schema=column))
    result = search_answer(build.state(event), "forecast")["items"]
    assert [item["name"] for item in result] == ["rides_forecast", "model"]


def test_table_columns_rank_before_file_columns(build: Any) -> None:
    event = build.run("COMPLETE", "1", "load", "08:00:00")
    column = {"fields": [{"name": "distance"}]}
    event["inputs"] = [build.dataset("file|/a/2019-03.parquet", schema=column)]
    event["outputs"] = [build.dataset("hive://lake|trips", schema=column)]
    result = search_answer(build.state(event), "distance")["items"]
    assert [item["name"] for item in result] == ["trips", "/a/2019-03.parquet"]


def test_columns_of_tables_in_use_rank_first(build: Any) -> None:
    column = {"fields": [{"name": "distance"}]}
    check = build.run("COMPLETE", "1", "check", "08:00:00")
    check["outputs"] = [
        build.dataset(f"hive://lake|{name}", schema=column) for name in ("quarantine", "raw")
    ]
    train = build.run("COMPLETE", "2", "train", "09:00:00", reads=("hive://lake|raw",))
    result = search_answer(build.state(check, train), "distance")["items"]
    assert [item["name"] for item in result] == ["raw", "quarantine"]


def test_hits_are_counted_and_have_kind_owners_and_tags(
    state: State,
) -> None:
    result = search_answer(state, "fare", limit=1)
    assert (result["counts"]["column"], result["counts"]["sql"], result["counts"]["name"]) == (
        1,
        1,
        0,
    )
    (table,) = result["items"]
    assert (table["kind"], table["tags"]) == ("table", ["pii:location (pickup_at)"])
    (job,) = search_answer(state, "load_trips", limit=1)["items"]
    assert (job["kind"], job["owners"]) == ("query", ["team:rides"])


@pytest.mark.parametrize("slip", ["pickpu", "pickup_ta", "Pikup at"])
def test_misspelled_search_finds_similar_names(state: State, slip: str) -> None:
    (result,) = search_answer(state, slip)["items"]
    assert (result["name"], result["text"], result["isFuzzy"]) == ("lake.rides", "pickup_at", True)


def test_most_similar_name_ranks_first(build: Any) -> None:
    names = ("db|rides_hourly_actuals", "db|rides_hourly_forecast")
    state = build.state(build.run("COMPLETE", "1", "job", "08:00:00", writes=names))
    result = search_answer(state, "rides_hourly_forcast")["items"]
    assert result[0]["name"] == "rides_hourly_forecast"
    assert {item["isFuzzy"] for item in result} == {True}


def test_unmatched_search_is_empty_and_blank_text_fails(state: State) -> None:
    assert search_answer(state, "zzzzzz")["items"] == []
    with pytest.raises(ConfigError, match="expected a non-empty string"):
        search_answer(state, "  ")["items"]


def test_columns_that_only_column_lineage_names_are_found(build: Any) -> None:
    source = {"namespace": "db", "name": "orders", "field": "gross_amount"}
    lineage = {"fields": {"net_revenue": {"inputFields": [source]}}}
    event = build.run("COMPLETE", "1", "load", "08:00:00", reads=("db|orders",))
    event["outputs"] = [build.dataset("db|daily", columnLineage=lineage)]
    state = build.state(event)
    found = {
        text: [(hit["name"], hit["matched"]) for hit in search_answer(state, text)["items"]]
        for text in ("net_revenue", "gross_amount")
    }
    assert found == {
        "net_revenue": [("daily", "column")], "gross_amount": [("orders", "column")]
    }  # fmt: skip


def test_columns_that_only_a_sql_text_names_are_found(build: Any) -> None:
    event = build.run("COMPLETE", "1", "load", "08:00:00")
    event["inputs"] = [build.dataset("postgres://h:5432|shop.public.orders")]
    event["outputs"] = [build.dataset("postgres://h:5432|shop.public.daily")]
    query = "INSERT INTO daily (net_revenue) SELECT gross FROM orders WHERE is_void = false"
    event["job"]["facets"]["sql"] = {"query": query}
    state = build.state(event)
    for column, table in (("net_revenue", "daily"), ("gross", "orders"), ("is_void", "orders")):
        hits = search_answer(state, column, may_read_sql=False)["items"]
        found = [(hit["name"], hit["matched"]) for hit in hits]
        assert found == [(f"shop.public.{table}", "column")], column


@pytest.fixture
def shop(build: Any) -> State:
    """Return a pipeline of three tables with owners, a failed job at its end."""
    error = {"errorMessage": {"message": "no space left on device", "programmingLanguage": "SQL"}}
    events = [
        build.run("COMPLETE", "1", "load", "08:00:00", reads=("file|/data/in.csv",),
                  writes=("db|raw_a",)),
        build.run("COMPLETE", "2", "join", "09:00:00", reads=("db|raw_a",), writes=("db|mid",)),
        build.run("FAIL", "3", "sum", "10:00:00", reads=("db|mid",), facets=error,
                  writes=("db|yellow_end_raw",)),
    ]  # fmt: skip
    for event, owner in zip(events, ("core", "growth", "data team"), strict=True):
        event["job"]["facets"]["ownership"] = {"owners": [{"name": owner}]}
    fields = {"fields": [{"name": "email"}]}
    tags = {"tags": [{"key": "pii", "value": "", "field": "email"}]}
    version = {"version": {"datasetVersion": "8123456789"}}
    events[1]["outputs"] = [build.dataset("db|mid", schema=fields, tags=tags, **version)]
    return build.state(*events)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("yellow raw", {"yellow_end_raw"}),
        ("raw yellow owner:core", set()),
        ('"yellow raw"', set()),
        ("owner:growth", {"join", "mid"}),
        ('owner:"data team"', {"sum", "yellow_end_raw"}),
        ("tag:pii column:email", {"mid"}),
        ("column:mail", set()),
        ("state:failed", {"sum", "yellow_end_raw"}),
        ("raw state:failed", {"yellow_end_raw"}),
        ("+mid", {"mid", "join", "raw_a", "load", "/data/in.csv"}),
        ("1+mid", {"mid", "join", "raw_a"}),
        ("1+DB:mid", set()),
        ("1+db:mid", {"mid", "join", "raw_a"}),
        ("1+dataset:db:mid", {"mid", "join", "raw_a"}),
        ("in.csv+1", {"/data/in.csv", "load", "raw_a"}),
        ("data/in.csv+1", {"/data/in.csv", "load", "raw_a"}),
        ("n.csv+1", set()),
        ("raw_a+1", {"raw_a", "join", "mid"}),
        ("raw_a+ owner:growth", {"join", "mid"}),
        ("+mid+ type:table", {"mid", "raw_a", "yellow_end_raw"}),
        ("space left", {"sum"}),
        ("8123456789", {"mid"}),
    ],
)
def test_language_selects_the_same_in_search_and_lists(
    text: str, names: set[str], shop: State
) -> None:
    found = search_answer(shop, text, limit=50)["items"]
    assert {hit["name"] for hit in found if not hit["isFuzzy"]} == names
    if ":" in text or "+" in text:  # lists search names only
        listed = [*datasets_answer(shop, text)["items"], *jobs_answer(shop, text)["items"]]
        assert {node["name"] for node in listed} == names


def test_unknown_state_fails_with_the_known_ones(shop: State) -> None:
    with pytest.raises(ConfigError, match=r"'bogus', expected one of .*failed.*unknown"):
        search_answer(shop, "state:bogus")
    with pytest.raises(ConfigError, match="'bogus'"):
        jobs_answer(shop, "mid state:bogus")


def test_text_with_a_plus_that_names_no_node_is_a_word(build: Any) -> None:
    state = build.state(build.run("COMPLETE", "1", "c++_build", "08:00:00"))
    assert [hit["name"] for hit in search_answer(state, "c++")["items"]] == ["c++_build"]


def test_run_is_found_by_its_id(build: Any) -> None:
    run_id = "01939a4e-7a3c-7d4e-8a3c-000000000001"
    body = build.run("COMPLETE", "1", "load", "08:00:00")
    body["run"]["runId"] = run_id
    (hit,) = search_answer(build.state(body), run_id)["items"]
    assert (hit["name"], hit["matched"], hit["text"]) == ("load", "run", run_id)


@pytest.mark.parametrize("text", ["colum:email", "status:late", "owner:x kind:table", "nam:a word"])
def test_unknown_filter_is_an_error_with_the_known_ones(text: str, build: Any) -> None:
    state = build.state(build.run("COMPLETE", "r", "load", "08:00:00", writes=("db|raw",)))
    expected = r"unknown filter, expected one of column, tag, owner, state, .*; quote the text"
    for answer in (search_answer, datasets_answer, jobs_answer, datasets_freshness_answer):
        with pytest.raises(ConfigError, match=expected):
            answer(state, text)


@pytest.mark.parametrize(
    "text",
    [
        '"colum:email"',
        '"a colum:email"',
        "db:nothing",
        "job:demo:x",
        "s3://bucket/x",
        "run:1",
        "08:00:00",
        "owner:x",
    ],
)
def test_other_words_with_a_colon_are_texts(text: str, build: Any) -> None:
    state = build.state(build.run("COMPLETE", "r", "load", "08:00:00", writes=("db|raw",)))
    assert search_answer(state, text)["items"] == []


def test_word_like_a_filter_is_found_in_a_query(build: Any) -> None:
    query = {"sql": {"query": "SELECT src:customer FROM raw"}}
    run = build.run("COMPLETE", "r", "load", "08:00:00", writes=("db|raw",))
    run["job"]["facets"] |= query
    (hit,) = search_answer(build.state(run), "src:customer")["items"]
    assert hit["name"] == "load"
