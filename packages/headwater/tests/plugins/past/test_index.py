"""The index of the past: kept complete, shared by processes, and renewed after deletions."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from headwater.events import parse_time, to_micros
from headwater.log import EventLog
from headwater.plugins.past import answer as answering
from headwater.plugins.past.answer import PartialPast, past_of
from headwater.plugins.past.background import Indexer
from headwater.plugins.past.keys import TAGS
from headwater.plugins.past.store import Index
from headwater.projection.live import Batch, Live
from headwater.query.registry import ask, find_query

_NOON = to_micros(parse_time("2025-11-21T12:00:00Z"))
_TREE = find_query("tree")


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    """Return the projection of an empty log."""
    log = EventLog(f"sqlite:///{tmp_path / 'log.db'}")
    yield Live(log)
    log.close()


def _add(live: Live, build: Any, run: str, job: str, time: str = "08:00:00", **used: Any) -> None:
    live.ingest(Batch([build.entry(build.run("COMPLETE", run, job, time, **used))]))


def _sources(past: PartialPast, node: str) -> list[str]:
    found = past.answer(_NOON, partial(_TREE.answer, node=node))
    return [child["name"] for child in found["up"]["children"]]


def test_late_event_is_in_the_next_answer(live: Live, build: Any) -> None:
    past = PartialPast(live, least=0, share=1)
    _add(live, build, "r0", "first", writes=("db|a",))
    assert _sources(past, "dataset:db:a") == ["first"]
    _add(live, build, "r1", "afternoon", "15:00:00", writes=("db|a",))
    assert _sources(past, "dataset:db:a") == ["first"]
    _add(live, build, "r2", "late", "07:00:00", writes=("db|a",))
    assert _sources(past, "dataset:db:a") == ["first", "late"]


def test_query_as_of_a_past_time_reads_only_related_events(
    live: Live, build: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answering, "_LEAST_EVENTS", 0)
    monkeypatch.setattr(answering, "_MOST_SHARE", 0.5)
    monkeypatch.setattr(past_of(live), "_least", 0)
    monkeypatch.setattr(past_of(live), "_share", 0.5)
    for number in range(10):
        _add(live, build, f"r{number}", f"j{number}", writes=(f"db|{number}",))
    where = {"node": "dataset:db:3", "as_of": "2025-11-21T12:00:00Z"}
    found = ask(live, _TREE, where)
    assert [child["name"] for child in found["up"]["children"]] == ["j3"]
    ((loader, _),) = past_of(live)._loaders.values()
    assert {ref.name for ref in dict.keys(loader.state.jobs)} == {"j3"}


def test_query_that_needs_too_many_events_uses_the_whole_state(live: Live, build: Any) -> None:
    for number in range(10):
        _add(live, build, f"r{number}", f"j{number}", reads=("db|a",), writes=(f"db|{number}",))
    question = partial(_TREE.answer, node="dataset:db:a", direction="down")
    assert PartialPast(live, least=0, share=0.5).answer(_NOON, question) is None
    assert PartialPast(live, least=0, share=1).answer(_NOON, question) is not None
    assert PartialPast(live, least=11, share=1).answer(_NOON, question) is None


def test_incomplete_index_is_not_used(
    live: Live, build: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answering, "_MOST_NEW", 2)
    for number in range(3):
        _add(live, build, f"r{number}", f"j{number}", writes=("db|a",))
    past = PartialPast(live, least=0, share=1)
    assert past.answer(_NOON, partial(_TREE.answer, node="dataset:db:a")) is None
    assert Index(live.log).position() == 1  # begun
    assert past.answer(_NOON, partial(_TREE.answer, node="dataset:db:a")) is not None


def test_deletion_of_events_renews_the_index(live: Live, build: Any) -> None:
    tagged = build.run("COMPLETE", "r0", "j", "08:00:00")
    tags = {"tags": [{"key": "pii", "value": "true", "field": "x"}]}
    tagged["outputs"] = [build.dataset("db|a", tags=tags)]
    live.ingest(Batch([build.entry(tagged)]))
    _add(live, build, "r1", "j", writes=("db|b",))
    index = Index(live.log)
    index.advance(10)
    assert list(index.facts([TAGS], _NOON))
    with live.log.writing() as connection:
        connection.exec_driver_sql("DELETE FROM events WHERE seq = 1")
        live.log.set_pruned_until(connection, _NOON - 1)
    assert index.position() == 0
    assert index.advance(10) == 1
    assert index.position() == 2
    assert not list(index.facts([TAGS], _NOON))


def test_events_that_another_process_added_are_not_added_again(
    live: Live, build: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    index, other = Index(live.log), Index(live.log)
    for number in range(4):
        _add(live, build, f"r{number}", "j", writes=("db|a",))
    index.advance(1)
    before = index.position()
    other.advance(3)
    monkeypatch.setattr(index, "position", lambda: before)
    index.advance(1)
    assert other.position() == 4


def test_background_worker_completes_an_index_that_was_begun(
    live: Live, build: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, index = Indexer(live), Index(live.log)
    _add(live, build, "r0", "j", writes=("db|a",))
    worker.step()
    assert index.position() == 0  # no query was about the past
    index.advance(1)
    _add(live, build, "r1", "j", writes=("db|a",))
    done = threading.Event()
    advance = worker._index.advance

    def advanced(most: int) -> int:
        count = advance(most)
        done.set()
        return count

    monkeypatch.setattr("headwater.plugins.past.background._POLL_SECONDS", 0.0)
    monkeypatch.setattr(worker._index, "advance", advanced)
    worker.start()
    try:
        assert done.wait(30)
    finally:
        worker.stop()
    assert index.position() == live.newest
