"""Aliases that users declare: independent of order, removable, at any time, with permission."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import orjson
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.errors import NotFoundError
from headwater.events import parse_time, to_micros
from headwater.identity import DatasetName
from headwater.log import EventLog, read_logged
from headwater.log.reading import latest
from headwater.plugins.aliases._entry import make_alias
from headwater.plugins.aliases._service import alias_entry
from headwater.plugins.aliases.commands import print_suggested
from headwater.plugins.aliases.queries import aliases_answer, suggested_aliases_answer
from headwater.plugins.export.queries import export
from headwater.projection import State, project
from headwater.projection.live import Batch, Live
from headwater.projection.past import Moment
from headwater.server.app import make_app

_A, _B, _C = ("pg", "shop.orders"), ("hive://h", "orders"), ("s3://lake", "orders")


def _at(time: str) -> int:
    return to_micros(parse_time(f"2025-11-21T{time}Z"))


def _event(build: Any, run: str, time: str, reads: str, writes: str, **links: Any) -> Any:
    event = build.run("COMPLETE", run, f"job-{run}", time, reads=(reads,))
    event["outputs"] = [build.dataset(writes, **links)]
    return build.entry(event)


@pytest.fixture
def shop(live: Live, build: Any) -> Live:
    """Return a job that writes shop.orders, and one that reads the same table under Hive's name."""
    live.ingest(
        Batch(
            [
                _event(build, "1", "08:00:00", "file|/in.csv", "pg|shop.orders"),
                _event(build, "2", "08:01:00", "hive://h|orders", "db|report"),
            ]
        )
    )
    return live


def _shown(state: State) -> list[DatasetName]:
    return sorted(state.identity)


def _say(live: Live, one: str, other: str, time: str, *, is_removed: bool = False) -> None:
    with live.reading() as state:
        entry = alias_entry(state, one, other, _at(time), is_removed=is_removed)
    live.ingest(Batch([entry]))


@pytest.mark.each_database
def test_alias_joins_names_until_removed(shop: Live) -> None:
    with shop.reading() as state:
        before = _shown(state)
    _say(shop, "dataset:pg:shop.orders", "dataset:hive://h:orders", "09:00:00")
    with shop.reading() as state:
        assert state.identity.names(DatasetName(*_A)) == [_B, _A]
        assert [item["since"] for item in aliases_answer(state)["items"]] == [
            "2025-11-21T09:00:00Z"
        ]
    _say(shop, "orders", "shop.orders", "10:00:00", is_removed=True)
    with shop.reading() as state:
        assert (_shown(state), aliases_answer(state)["items"]) == (before, [])
    again = Live(shop.log)
    with again.reading() as state:
        assert (_shown(state), aliases_answer(state)["items"]) == (before, [])


@pytest.mark.each_database
def test_alias_applies_from_its_event_and_arrival_time(shop: Live) -> None:
    _say(shop, "orders", "shop.orders", "09:00:00")
    _say(shop, "orders", "shop.orders", "10:00:00", is_removed=True)
    for time, joined in (("08:59:59", 0), ("09:00:00", 1), ("09:59:59", 1), ("10:00:00", 0)):
        with shop.reading(Moment(as_of=_at(time))) as state:
            assert len(aliases_answer(state)["items"]) == joined, time
    with shop.reading(Moment(known_at=0)) as state:
        assert not state.aliases


def test_removed_alias_keeps_symlinks(shop: Live, build: Any) -> None:
    link = ("s3a://lake", "orders", "LOCATION")
    _say(shop, "orders", "shop.orders", "09:00:00")
    shop.ingest(Batch([_event(build, "3", "09:30:00", "db|x", "hive://h|orders", symlinks=[link])]))
    with shop.reading() as state:
        assert set(state.identity.names(DatasetName(*_C))) == {_A, _B, _C}
    _say(shop, "dataset:pg:shop.orders", "dataset:hive://h:orders", "10:00:00", is_removed=True)
    with shop.reading() as state:
        assert state.identity.names(DatasetName(*_C)) == [_B, _C]
        assert state.identity.names(DatasetName(*_A)) == [_A]


def test_separated_symlink_stays_separate_until_removed(shop: Live, build: Any) -> None:
    link = ("s3a://lake", "orders", "LOCATION")
    shop.ingest(Batch([_event(build, "3", "09:30:00", "db|x", "hive://h|orders", symlinks=[link])]))
    one, other = "dataset:hive://h:orders", "dataset:s3://lake:orders"

    def state_after(time: str, **statement: bool) -> tuple[int, list[bool]]:
        with shop.reading() as state:
            entry = alias_entry(state, one, other, _at(time), **statement)
        shop.ingest(Batch([entry]))
        with shop.reading() as state:
            stated = [item["isSeparate"] for item in aliases_answer(state)["items"]]
            return len(state.identity.names(DatasetName(*_B))), stated

    assert state_after("10:00:00", is_separate=True) == (1, [True])
    assert state_after("11:00:00", is_removed=True) == (2, [])


def test_names_that_only_others_join_cannot_be_separated(shop: Live, build: Any) -> None:
    links = [("s3://lake", "a", "LOCATION"), ("s3://lake", "b", "LOCATION")]
    shop.ingest(Batch([_event(build, "3", "09:30:00", "db|x", "hive://h|orders", symlinks=links)]))
    with shop.reading() as state:
        with pytest.raises(NotFoundError, match="separate a pair of names") as error:
            alias_entry(state, "s3://lake:a", "s3://lake:b", 1, is_separate=True)
        assert "dataset:hive://h:orders dataset:s3://lake:a" in error.value.nearest


def test_names_that_nothing_joins_stay_separate_when_a_symlink_arrives(
    shop: Live, build: Any
) -> None:
    with shop.reading() as state:
        entry = alias_entry(state, "hive://h:orders", "pg:shop.orders", 1, is_separate=True)
    shop.ingest(Batch([entry]))
    link = ("pg", "shop.orders", "TABLE")
    shop.ingest(Batch([_event(build, "3", "09:30:00", "db|x", "hive://h|orders", symlinks=[link])]))
    with shop.reading() as state:
        assert state.identity.primary(DatasetName(*_A)) != state.identity.primary(DatasetName(*_B))


def test_latest_alias_event_applies_despite_clock_change(shop: Live) -> None:
    _say(shop, "orders", "shop.orders", "10:00:00")
    _say(shop, "orders", "shop.orders", "09:00:00", is_removed=True)
    with shop.reading() as state:
        assert aliases_answer(state)["items"] == []


_SAID = st.tuples(
    st.sampled_from([(_A, _B), (_B, _A), (_B, _C), (_A, _C), (("x", "y"), _A)]),
    st.integers(0, 4),
    st.booleans(),
)


@settings(max_examples=80)
@given(said=st.lists(_SAID, max_size=8), seed=st.integers(0, 99))
def test_order_of_aliases_does_not_change_the_projection(
    build: Any, said: list[Any], seed: int
) -> None:
    link = ("hive://h", "orders", "TABLE")
    entries = [
        _event(build, "1", "08:00:00", "file|/in.csv", "pg|shop.orders"),
        _event(build, "2", "08:00:02", "hive://h|orders", "s3a://lake|orders", symlinks=[link]),
        *(
            make_alias(one, other, _at(f"08:00:0{second}"), "reported" if is_removed else "same")
            for (one, other), second, is_removed in said
        ),
    ]
    events = [entry.event for entry in entries]
    expected = orjson.dumps(export(project(events)), default=list)
    again = events + events[::2]
    Random(seed).shuffle(again)
    assert orjson.dumps(export(project(again)), default=list) == expected


def test_api_adds_lists_and_removes_aliases(shop: Live) -> None:
    with TestClient(make_app(shop)) as client:
        pair = {"one": "orders", "other": "shop.orders"}
        answer = client.post("/api/v2/aliases", json=pair)
        assert (answer.status_code, answer.json()["items"][0]["one"]["namespace"]) == (
            201,
            "hive://h",
        )
        assert client.get("/api/v2/aliases").json() == answer.json()
        listed = client.get("/api/v1/events/lineage").json()
        assert (listed["totalCount"], len(listed["events"])) == (2, 2)
        assert (
            client.post("/api/v2/aliases", json={**pair, "isRemoved": True}).json()["items"] == []
        )
        for wrong, status in (
            ({**pair, "isRemoved": True}, 404),
            ({**pair, "one": "no such"}, 404),
            ({"one": "orders", "other": "dataset:hive://h:orders"}, 400),
            ({"one": "orders"}, 400),
            ({**pair, "one": 3}, 400),
        ):
            assert client.post("/api/v2/aliases", json=wrong).status_code == status, wrong


@pytest.mark.each_database
@pytest.mark.parametrize("is_local", [True, False])
def test_cli_adds_lists_and_removes_aliases(
    is_local: bool,
    call: Any,
    shop: Live,
    database: str,
    serving: Callable[[FastAPI], str],
) -> None:
    where = ("--database", database) if is_local else ("--url", serving(make_app(shop)))
    pair = ("dataset:hive://h:orders", "dataset:pg:shop.orders")
    assert call("alias", "--list", *where).stdout == "No manual aliases.\n"
    output = call("alias", *pair, *where).stdout
    assert output.startswith("orders  (hive://h)  = shop.orders  (pg)  since ")
    assert call("alias", "--list", *where).stdout == output
    assert call("alias", *pair, "--remove", *where).stdout.startswith("No manual")
    missing = call("alias", *pair, "--remove", *where)
    assert (missing.returncode, "neither joined nor separated" in missing.stderr) == (1, True)
    assert call("alias", *where).returncode == 2
    assert call("alias", "one", *where).returncode == 2


def test_projection_of_the_reversed_log_has_the_aliases(shop: Live) -> None:
    _say(shop, "orders", "shop.orders", "09:00:00")
    entries = [read_logged(kind, body) for _, kind, _, body in shop.log.rows()]
    with shop.reading() as state:
        assert export(project(reversed(entries))) == export(state)


@pytest.mark.each_database
def test_aliases_are_stored_but_are_not_events(log: EventLog) -> None:
    log.append([make_alias(_A, _B, _at("08:00:00"))])
    assert (list(log.read()), list(latest(log, None, 5))) == ([], [])
    assert [row.kind for row in log.rows()] == ["alias"]


def _orphans(
    build: Any, written: str, read: str, columns: tuple[str, str], read_at: str = "09:00:00"
) -> list[Any]:
    """Return a run that writes a dataset, and one that reads another, with some columns."""
    load = build.run("COMPLETE", "w", "load", "08:00:00", reads=("file|/in.csv",))
    report = build.run("COMPLETE", "r", "report", read_at, writes=("db|report",))
    for event, side, name, names in (
        (load, "outputs", written, columns[0]),
        (report, "inputs", read, columns[1]),
    ):
        schema = {"fields": [{"name": field, "type": "int"} for field in names]}
        event[side] = [build.dataset(name, **({"schema": schema} if names else {}))]
    return [load, report]


@pytest.mark.parametrize(
    ("written", "read", "columns", "score"),
    [
        ("pg|shop.orders", "hive://h|orders", ("", ""), 50),
        ("pg|shop.orders", "hive://h|shop.orders", ("abc", "abc"), 100),
        ("pg|shop.prod_orders", "pg|shop.orders", ("abc", "abcd"), 78),
        ("pg|shop.prod_orders", "pg|shop.orders", ("", ""), None),
        ("pg|shop.orders", "hive://h|orders", ("abc", "xyz"), None),
        ("s3://b|d/rides_01.csv", "s3://b|d/rides_02.csv", ("abc", "abc"), None),
        ("pg|shop.orders", "pg|shop.customers", ("", ""), None),
    ],
)
def test_names_that_may_be_one_dataset_are_suggested(
    written: str, read: str, columns: tuple[str, str], score: int | None, build: Any
) -> None:
    items = suggested_aliases_answer(build.state(*_orphans(build, written, read, columns)))["items"]
    named = [(item["written"]["name"], item["read"]["name"], item["score"]) for item in items]
    pair = [tuple(name.partition("|")[2] for name in (written, read))]
    assert named == [] if score is None else named == [(*pair[0], score)]
    late = _orphans(build, written, read, columns, read_at="07:00:00")
    assert suggested_aliases_answer(build.state(*late))["items"] == []


@pytest.mark.parametrize("between", [(), ("pg|between",)])
def test_dataset_and_its_source_are_never_suggested(between: tuple[str, ...], build: Any) -> None:
    load, report = _orphans(build, "pg|mart.orders", "pg|shop.orders", ("abc", "abc"))
    assert suggested_aliases_answer(build.state(load, report))["items"]
    source = build.run(
        "COMPLETE", "s", "extract", "07:00:00", reads=("pg|shop.orders",), writes=between
    )
    load["inputs"] = [build.dataset(between[0])] if between else source["inputs"]
    assert suggested_aliases_answer(build.state(source, load, report))["items"] == []


def test_suggestion_ends_when_the_pair_is_joined(
    shop: Live, capsys: pytest.CaptureFixture[str]
) -> None:
    with shop.reading() as state:
        answer = suggested_aliases_answer(state)
    print_suggested(answer)
    assert "both are called orders" in capsys.readouterr().out
    (pair,) = answer["items"]
    assert [job["name"] for job in pair["writers"] + pair["readers"]] == ["job-1", "job-2"]
    _say(shop, pair["written"]["id"], pair["read"]["id"], "09:00:00")
    with shop.reading() as state:
        assert suggested_aliases_answer(state)["items"] == []
        assert state.identity.primary(DatasetName(*_A)) == DatasetName(*_B)
