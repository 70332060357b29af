"""Lookup of nodes by id and by short name."""

from __future__ import annotations

from typing import Any

import pytest

from throughline.errors import AmbiguousError, NotFoundError
from throughline.graph import find_node, node_id


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
