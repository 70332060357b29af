"""Limits of one event and of an array of them."""

from __future__ import annotations

import gc
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from fastapi.testclient import TestClient

from headwater.collect.files import read_files
from headwater.collect.lines import sort_lines
from headwater.errors import ConfigError, EventError
from headwater.events._limits import LONGEST_TEXT, MOST_ITEMS, MOST_LEVELS
from headwater.log import entry_of
from headwater.projection.live import Live
from headwater.redaction import DEFAULT
from headwater.server._options import ServerOptions
from headwater.server.app import make_app


@pytest.fixture
def client(live: Live) -> Iterator[TestClient]:
    options = ServerOptions(largest_event=2 * LONGEST_TEXT)
    with TestClient(make_app(live, options), raise_server_exceptions=False) as client:
        yield client


def _nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    return value


def _event(build: Any, value: Any) -> dict[str, Any]:
    event: dict[str, Any] = build.run("START", "r", "j", "08:00:00", facets={"x": {"y": value}})
    return event


_AROUND = 4  # levels of an event around the value of `_event`


@pytest.mark.parametrize(
    ("allowed", "excess", "path", "received"),
    [
        (
            _nested(MOST_LEVELS - _AROUND),
            _nested(MOST_LEVELS - _AROUND + 1),
            "run.facets.x.y" + "[0]" * (MOST_LEVELS - _AROUND),
            "a deeper nesting",
        ),
        ([0] * MOST_ITEMS, [0] * (MOST_ITEMS + 1), "run.facets.x.y", "100001 items"),
        (
            "x" * LONGEST_TEXT,
            ["x" * (LONGEST_TEXT + 1)],
            "run.facets.x.y[0]",
            f"a string of {LONGEST_TEXT + 1} characters",
        ),
    ],
    ids=["depth", "items", "characters"],
)
def test_event_above_a_limit_is_rejected_with_its_path(
    allowed: Any, excess: Any, path: str, received: str, client: TestClient, build: Any
) -> None:
    answer = client.post("/api/v1/lineage", json=_event(build, excess))
    assert answer.status_code == 422
    body = answer.json()
    place = body["path"].removesuffix("...")
    assert (path.startswith(place), body["received"]) == (True, received)
    assert body["expected"].startswith("at most ")
    assert client.post("/api/v1/lineage", json=_event(build, allowed)).status_code == 201


def test_brackets_in_strings_do_not_count_as_nesting(build: Any) -> None:
    assert entry_of(orjson.dumps(_event(build, "[" * 10_000)))


def test_long_key_is_rejected_with_its_path(build: Any) -> None:
    event = _event(build, {"k" * (LONGEST_TEXT + 1): 1})
    with pytest.raises(EventError, match=r"run\.facets\.x\.y\.<key>: received a string of"):
        entry_of(orjson.dumps(event))


def test_array_is_read_up_to_a_thousand_rejected_items(client: TestClient) -> None:
    answer = client.post("/api/v1/lineage", content=b"[" + b"0," * 300_000 + b"0]")
    body = answer.json()
    errors = body.pop("errors")
    assert (answer.status_code, len(errors)) == (422, 100)
    assert body == {"stored": 0, "duplicates": 0, "rejected": 1_000, "unread": 299_001}
    assert errors[99] == {"index": 99, "path": "$", "received": "0", "expected": "an object"}


def test_events_above_the_array_limit_stay_unread(live: Live, build: Any) -> None:
    events = [build.run("START", f"r{number}", "j", "08:00:00") for number in range(5)]
    with TestClient(make_app(live, ServerOptions(most_events=3))) as client:
        answer = client.post("/api/v1/lineage", json=events)
        assert (answer.status_code, answer.json()["unread"]) == (422, 2)
        answer = client.post("/api/v1/lineage/batch", json=events)
    body = answer.json()
    assert (answer.status_code, body["status"]) == (207, "partial_success")
    assert body["summary"] == {
        "received": 5,
        "successful": 3,
        "failed": 2,
        "retriable": 2,
        "non_retriable": 0,
    }
    (rest,) = body["failed_events"]
    assert (rest["index"], rest["retriable"]) == (3, True)
    assert "send these 2" in rest["reason"]


def test_body_with_too_many_values_is_rejected(client: TestClient) -> None:
    answer = client.post("/api/v1/lineage", content=b"[" + b"[]," * 2_000_001 + b"0]")
    assert (answer.status_code, "values" in answer.json()["received"]) == (413, True)


def test_rejected_items_keep_no_exceptions_in_memory() -> None:
    def alive() -> int:
        return sum(isinstance(thing, EventError) for thing in gc.get_objects())

    before = alive()
    lines = sort_lines([("f:1", b"[" + b"0," * 900 + b"0]")], DEFAULT)
    assert (lines.rejected, alive()) == (901, before)


def test_lines_keep_the_first_rejected_items_and_count_the_rest(tmp_path: Path) -> None:
    array = b"[" + b"0," * 2_000 + b"0]\n"
    (tmp_path / "a.jsonl").write_bytes(array + b"1\n" * 998)
    ((_, lines),) = read_files([str(tmp_path)], DEFAULT)
    assert (lines.rejected, lines.unread, len(lines.rejected_lines)) == (1_998, 1_001, 1_002)
    *_, more, unread = lines.rejected_lines
    assert more.reason == "998 more lines or items were rejected"
    assert unread.reason == "1001 items after 1000 rejected ones were not read"


@pytest.mark.parametrize("name", ["a.json.gz", "a.jsonl.gz", "a.log.gz", "a.jsonl"])
def test_file_larger_than_the_limit_is_rejected(name: str, tmp_path: Path) -> None:
    zip_ = gzip.compress if name.endswith(".gz") else bytes
    (tmp_path / name).write_bytes(zip_(b" " * 1_000))
    assert list(read_files([str(tmp_path)], DEFAULT, largest=1_000))
    with pytest.raises(ConfigError, match="a document or line of more than 999 bytes"):
        list(read_files([str(tmp_path)], DEFAULT, largest=999))
