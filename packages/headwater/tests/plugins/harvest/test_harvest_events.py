"""Events of harvesters are valid, and equal sources give equal events."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from headwater.plugins.harvest.events import (
    FinishedRun,
    dataset_event,
    location,
    run_id,
    schema,
    to_json,
)
from headwater_client.parents import RunRef
from packages.headwater.tests.support.event_schemas import event_validator

_AT = datetime(2025, 11, 21, 8, tzinfo=UTC)


@pytest.fixture(scope="module")
def check(shared: Path) -> Callable[[Any], None]:
    """Return a function that validates an event and its facets."""
    return event_validator(shared.parent / "spec")


def test_finished_run_ends_after_its_start(check: Callable[[Any], None]) -> None:
    ref = RunRef("n", "j", run_id("n", "1"))
    early = _AT.replace(hour=7)
    run = FinishedRun(
        ref=ref, integration="TEST", started=_AT, ended=early, state="FAIL", error="no table",
        parents=(ref, ref),
    )  # fmt: skip
    start, end = (json.loads(to_json(event)) for event in run.events())
    check(start)
    check(end)
    assert (start["eventTime"], end["eventTime"]) == (_AT.isoformat(), _AT.isoformat())
    assert (start["eventType"], end["eventType"]) == ("START", "FAIL")
    assert "errorMessage" not in start["run"]["facets"]
    assert end["run"]["facets"]["errorMessage"]["programmingLanguage"] == "SQL"
    assert json.loads(to_json(next(run.events()))) == start  # equal sources give equal events


def test_dataset_event_describes_columns(check: Callable[[Any], None]) -> None:
    columns = schema([("a", "int", "first"), ("b", "text", "")])
    event = json.loads(to_json(dataset_event("db", "t", {"schema": columns}, _AT)))
    check(event)
    assert event["dataset"]["facets"]["schema"]["fields"] == [
        {"name": "a", "type": "int", "description": "first"},
        {"name": "b", "type": "text"},
    ]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("s3://lake/a/b", ("s3://lake", "a/b")),
        ("s3a://lake/a/b/", ("s3://lake", "a/b")),
        ("s3://lake", ("s3://lake", "/")),
        ("hdfs://node:8020/a", ("hdfs://node:8020", "/a")),
    ],
)
def test_location_has_its_bucket_as_namespace(url: str, expected: tuple[str, str]) -> None:
    assert location(url) == expected


def test_run_id_is_the_same_in_every_version() -> None:
    assert run_id("dbt", "1") == "98fa5ef0-870d-57f3-8a2d-b299c2aec5cd"
    assert run_id("dbt", "2") != run_id("dbt", "1")
