"""Search over names, columns, tags, owners, descriptions and queries."""

from __future__ import annotations

from typing import Any

import pytest

from throughline.errors import ConfigError
from throughline.graph.answers import search_answer
from throughline.projection import State


@pytest.fixture
def state(build: Any) -> State:
    event = build.run("COMPLETE", "1", "load_trips", "08:00:00", reads=("file|/in/trips.csv",))
    event["job"]["facets"] |= {
        "sql": {"query": "INSERT INTO raw\nSELECT fare FROM staging"},
        "ownership": {"owners": [{"name": "team:rides"}]},
        "documentation": {"description": "Brings the monthly file in."},
    }
    fields = {"fields": [{"name": "pickup_at"}, {"name": "fare"}, 7, {"name": None}]}
    tags = {"tags": [{"key": "pii", "value": "location", "field": "pickup_at"}]}
    symlinks = [("hive://h", "lake.rides", "TABLE")]
    event["outputs"] = [build.dataset("s3://b|rides", schema=fields, tags=tags, symlinks=symlinks)]
    return build.state(event)


@pytest.mark.parametrize(
    ("text", "name", "matched"),
    [
        ("TRIPS.csv", "/in/trips.csv", "name"),
        ("pickup", "lake.rides", "column"),
        ("pii", "lake.rides", "tag"),
        ("location", "lake.rides", "tag"),
        ("team:r", "load_trips", "owner"),
        ("monthly", "load_trips", "description"),
        ("from staging", "load_trips", "sql"),
    ],
)
def test_a_text_is_found_wherever_it_is(text: str, name: str, matched: str, state: State) -> None:
    found = search_answer(state, text)["items"][0]
    assert (found["name"], found["matched"], found["isFuzzy"]) == (name, matched, False)


def test_each_node_comes_once_by_its_best_match_and_whole_words_first(state: State) -> None:
    found = search_answer(state, "rides")["items"]
    assert [(each["name"], each["matched"]) for each in found] == [
        ("lake.rides", "name"),
        ("load_trips", "owner"),
    ]
    assert [each["name"] for each in search_answer(state, "fare")["items"]] == [
        "lake.rides",
        "load_trips",
    ]
    assert len(search_answer(state, "fare", limit=1)["items"]) == 1


def test_a_column_of_a_table_comes_before_that_of_the_files_it_was_read_from(build: Any) -> None:
    event = build.run("COMPLETE", "1", "load", "08:00:00")
    column = {"fields": [{"name": "distance"}]}
    event["inputs"] = [build.dataset("file|/a/2019-03.parquet", schema=column)]
    event["outputs"] = [build.dataset("hive://lake|trips", schema=column)]
    found = search_answer(build.state(event), "distance")["items"]
    assert [each["name"] for each in found] == ["trips", "/a/2019-03.parquet"]


def test_all_that_fits_is_counted_by_where_it_is_and_told_with_kind_owners_and_tags(
    state: State,
) -> None:
    found = search_answer(state, "fare", limit=1)
    assert (found["counts"]["column"], found["counts"]["sql"], found["counts"]["name"]) == (1, 1, 0)
    (table,) = found["items"]
    assert (table["kind"], table["tags"]) == ("table", ["pii:location (pickup_at)"])
    (job,) = search_answer(state, "load_trips", limit=1)["items"]
    assert (job["kind"], job["owners"]) == ("query", ["team:rides"])


@pytest.mark.parametrize("slip", ["pickpu", "pickup_ta", "Pikup at"])
def test_a_slip_finds_what_was_meant_and_says_so(state: State, slip: str) -> None:
    (found,) = search_answer(state, slip)["items"]
    assert (found["name"], found["text"], found["isFuzzy"]) == ("lake.rides", "pickup_at", True)


def test_nothing_like_it_is_no_hit_and_no_word_is_refused(state: State) -> None:
    assert search_answer(state, "zzzzzz")["items"] == []
    with pytest.raises(ConfigError, match="expected a non-empty string"):
        search_answer(state, "  ")["items"]
