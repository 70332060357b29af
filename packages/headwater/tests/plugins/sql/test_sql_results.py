"""SQL is read in the background and stored; queries answer the same with and without it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
import sqlalchemy as sa

from headwater.log import EventLog
from headwater.plugins.sql import results, script, store
from headwater.plugins.sql._cache import TextCache
from headwater.plugins.sql.background import SqlReader, before_restore, metrics
from headwater.plugins.sql.results import Results, key_of, pack, unpack
from headwater.projection.live import Batch, Live
from headwater.query.registry import load_queries
from headwater.sql.reader import Arguments, Script

from .test_sql_truth import _PLACES, _TABLES, _statements

pytestmark = pytest.mark.server  # reads SQL in another process

_SHOP = "postgres://shop:5432|shop.public."
_QUERIES: dict[str, list[dict[str, Any]]] = {
    "edges": [{}, {"level": "pipeline"}],
    "tree": [{"node": "dataset:postgres://shop:5432:shop.public.top"}],
    "columns": [{"node": "dataset:postgres://shop:5432:shop.public.top", "indirect": True}],
    "impact": [{"node": "dataset:postgres://shop:5432:shop.public.orders", "field": "status"}],
    "search": [{"text": "customer"}, {"text": "status"}],
    "completeness": [{}],
}
Restart = Callable[[], None]
_RESULTS = 10  # two of each text of `_fill`: without and with known columns


@pytest.fixture
def restart(monkeypatch: pytest.MonkeyPatch) -> Restart:
    """Return a function that empties the caches of texts, as a restart does."""

    def empty() -> None:
        cache: Any = TextCache(32_000_000, lambda _, __: 1)
        own = Results(1_000_000)
        monkeypatch.setattr(script, "_SCRIPTS", cache)
        monkeypatch.setattr(script, "RESULTS", own)
        monkeypatch.setattr(results, "RESULTS", own)

    empty()
    return empty


def _task(build: Any, run: str, sql: str, reads: str, write: str, fields: str) -> dict[str, Any]:
    event: dict[str, Any] = build.run(
        "COMPLETE", run, f"load_{write}", f"0{run}:00:00", reads=[_SHOP + n for n in reads.split()]
    )
    event["job"]["facets"]["sql"] = {"query": sql}
    schema = {"fields": [{"name": name} for name in fields.split()]}
    event["outputs"] = [build.dataset(_SHOP + write, schema=schema)]
    return event


def _fill(live: Live, build: Any) -> None:
    """Store runs whose SQL names what the events do not report, one text of which is unreadable."""
    insert = "insert into {} select {} from {}"
    events = [
        _task(build, "1", insert.format("orders", "1, 2, 3", "raw"), "", "orders", "id who status"),
        _task(build, "2", insert.format("customers", "*", "crm"), "crm", "customers", "id name"),
        _task(
            build, "3", "insert into clean (id, customer) select o.id, c.name from orders o"
            " join customers c on o.who = c.id where o.status = 'ok'",
            "customers orders", "clean", "id customer",
        ),
        _task(build, "4", "create table top as with t as (select * from clean) select * from t",
              "clean", "top", "id customer"),
        _task(build, "5", "insert into bad select (from", "top", "bad", "id"),
    ]  # fmt: skip
    live.ingest(Batch([build.entry(event) for event in events]))


def _answers(live: Live) -> list[bytes]:
    queries = load_queries()
    with live.reading() as state:
        return [
            orjson.dumps(queries[name].answer(state, **asked), default=list)
            for name, every in _QUERIES.items()
            for asked in every
        ]


def _forbid_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(text: str, _: Arguments) -> None:
        raise AssertionError(f"read again: {text}")

    monkeypatch.setattr(script, "read_uncached", fail)


def _read_all(live: Live) -> SqlReader:
    reader = SqlReader(live)
    reader.load()
    try:
        reader.read_all()
    finally:
        reader.close()
    return reader


def _keys(log: EventLog) -> set[bytes]:
    return {key for key, _ in store.results_of(log, results.reader_version())}


@pytest.mark.each_database
def test_queries_answer_the_same_and_read_nothing_after_a_restart(
    live: Live, build: Any, restart: Restart, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fill(live, build)
    expected = _answers(Live(live.log))
    restart()
    assert _read_all(live).unread == 0
    restart()
    again = Live(live.log)  # applies the events
    restart()
    SqlReader(again).load()
    with monkeypatch.context() as patched:
        _forbid_reading(patched)
        assert _answers(again) == expected
        assert _read_all(again).unread == 0


def test_start_without_a_snapshot_reads_no_text_again(
    live: Live, build: Any, restart: Restart, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fill(live, build)
    expected = _answers(live)
    _read_all(live)
    restart()
    before_restore(live.log)
    with monkeypatch.context() as patched:
        _forbid_reading(patched)
        assert _answers(Live(live.log)) == expected


@pytest.mark.parametrize("dialect", _PLACES)
def test_every_result_is_the_same_after_packing(dialect: str) -> None:
    known = tuple(
        (("shop", "public", name), tuple(fields.split())) for name, fields in _TABLES.items()
    )
    for columns in (known, ()):
        arguments = Arguments(dialect, "shop", "public", ("shop", "public", "t"), columns)
        for text in _statements(dialect):
            key, result = key_of(text, arguments), script.read_uncached(text, arguments)
            packed = pack(key, result)
            assert packed is not None
            assert unpack(key, packed) == result


def test_damaged_result_is_not_used() -> None:
    arguments = Arguments("postgres", "", "", None, ())
    key = key_of("select a from t", arguments)
    packed = pack(key, script.read_uncached("select a from t", arguments))
    assert packed is not None
    assert isinstance(unpack(key, packed), Script)
    for place in range(len(packed)):
        damaged = packed[:place] + bytes([packed[place] ^ 1]) + packed[place + 1 :]
        assert unpack(key, damaged) is None
    assert unpack(key[::-1], packed) is None


def test_key_differs_for_every_argument() -> None:
    one = Arguments("postgres", "a", "b", None, ())
    table = ("a", "b", "c")
    others = [
        one._replace(dialect="duckdb"),
        one._replace(database="x"),
        one._replace(database="", schema="a"),
        one._replace(target=table),
        one._replace(reported=frozenset({table})),
        one._replace(known=((table, ("x",)),)),
        one._replace(known=((table, ("x", "y")),)),
        one._replace(known=((table, ("y", "x")),)),
    ]
    keys = [key_of("t", arguments) for arguments in (one, *others)]
    assert len({*keys, key_of("t ", one)}) == len(keys) + 1


@pytest.mark.each_database
@pytest.mark.parametrize("change", [{"version": "former"}, {"result": b"damaged"}])
def test_results_of_other_versions_and_damaged_ones_are_read_again(
    live: Live, build: Any, restart: Restart, change: dict[str, Any]
) -> None:
    _fill(live, build)
    _read_all(live)
    keys = _keys(live.log)
    with live.log.writing() as connection:
        connection.execute(sa.update(store.metadata.tables["sql_results"]).values(**change))
    restart()
    reader = SqlReader(live)
    reader.load()
    assert not any(key in results.RESULTS for key in keys)
    reader.read_all()
    reader.close()
    assert _keys(live.log) == keys
    assert all(
        unpack(key, packed) is not None
        for key, packed in store.results_of(live.log, results.reader_version())
    )


def test_results_of_deleted_events_are_removed(live: Live, build: Any, restart: Restart) -> None:
    _fill(live, build)
    reader = _read_all(live)
    before = _keys(live.log)
    with live.log.writing() as connection:
        connection.execute(sa.text("delete from events where seq > 2"))
    live.reload()
    reader.read_all()
    assert len(_keys(live.log)) == 4 < len(before)  # two texts, each with and without columns
    assert _keys(live.log) < before


def test_new_schema_or_text_is_read_in_the_background(
    live: Live, build: Any, restart: Restart, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fill(live, build)
    reader = _read_all(live)
    changes = [
        _task(build, "6", "insert into customers select * from crm", "crm", "customers", "id n x"),
        _task(build, "7", "insert into top select id, 1 from clean", "clean", "top", "id customer"),
    ]
    live.ingest(Batch([build.entry(event) for event in changes]))
    reader.read_all()
    reader.close()
    again = Live(live.log)
    expected = _answers(again)
    restart()
    SqlReader(live).load()
    _forbid_reading(monkeypatch)
    assert _answers(live) == expected


def test_process_that_ends_is_started_again_and_a_fatal_text_is_left_to_queries(
    live: Live, build: Any, restart: Restart, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fill(live, build)
    reader = SqlReader(live)
    read, fatal = reader.process.read, "create table top as"

    def read_or_die(items: Any) -> list[bytes | None]:
        if any(fatal in text for text, _ in items):
            read([])  # starts the process
            started = reader.process._process
            assert started is not None
            assert started.stdin is not None
            # It ends when it is about to receive the text, not before.
            own = SimpleNamespace(
                write=started.stdin.write, flush=started.kill, close=started.stdin.close
            )
            monkeypatch.setattr(started, "stdin", own)
        return read(items)

    monkeypatch.setattr(reader.process, "read", read_or_die)
    reader.read_all()
    reader.close()
    assert len(_keys(live.log)) == _RESULTS - 1  # the one that its event needed was already read
    assert reader.unread == 0
    restart()
    expected = _answers(Live(live.log))
    restart()
    reader.load()
    assert _answers(live) == expected


def test_started_reader_reads_everything_and_stops(
    live: Live, build: Any, restart: Restart
) -> None:
    _fill(live, build)
    reader = SqlReader(live)
    reader.start()
    end = time.monotonic() + 60
    while len(_keys(live.log)) < _RESULTS and time.monotonic() < end:
        time.sleep(0.05)
    reader.stop()
    assert len(_keys(live.log)) == _RESULTS
    assert reader.process.pid is None
    assert "headwater-sql" not in {thread.name for thread in threading.enumerate()}


def test_metric_counts_the_jobs_that_were_not_checked(
    live: Live, build: Any, restart: Restart
) -> None:
    _fill(live, build)
    assert list(metrics(live)) == []
    reader = SqlReader(live)
    reader.step()
    live.ingest(Batch([build.entry(build.run("COMPLETE", "8", "load_top", "08:00:00"))]))
    reader.read_all()
    reader.close()
    (family,) = metrics(live)
    assert (family.name, family.samples[0].value) == ("headwater_sql_unread_jobs", 0)
