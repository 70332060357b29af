"""Events are acknowledged while queries run, and every later query reads them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.log import Entry, EventLog
from headwater.projection import State, apply
from headwater.projection._readers import Readers
from headwater.projection.live import Batch, Live
from headwater.projection.past import Moment
from packages.headwater.tests.support.budgets import examples
from packages.headwater.tests.support.entry_strategies import canonical, some_entries


@pytest.fixture
def started(live: Live) -> Iterator[Live]:
    live.start()
    yield live
    live.stop()


class Query:
    """A query that reads the current state in a separate thread until `end`."""

    def __init__(self, live: Live) -> None:
        self._began, self._ending = threading.Event(), threading.Event()
        self._answers: list[bytes] = []
        self._thread = threading.Thread(target=self._read, args=(live,))
        self._thread.start()
        assert self._began.wait(10)

    def _read(self, live: Live) -> None:
        with live.reading() as state:
            self._answers.append(canonical(state))
            self._began.set()
            self._ending.wait(60)
            self._answers.append(canonical(state))

    def end(self) -> None:
        """End the query; the state must not have changed while it ran."""
        self._ending.set()
        self._thread.join()
        first, last = self._answers
        assert first == last


@contextmanager
def _querying(live: Live) -> Iterator[None]:
    query = Query(live)
    yield
    query.end()


def _apply(entry: Entry, state: State) -> None:
    apply(state, entry.event)


def _entry(build: Any, run: str) -> Entry:
    entry: Entry = build.entry(build.run("COMPLETE", run, "j", "08:00:00"))
    return entry


@pytest.mark.each_database
def test_event_is_acknowledged_while_a_query_runs(started: Live, build: Any) -> None:
    with _querying(started):
        receipt = started.submit(Batch([_entry(build, "a")])).result(timeout=10)
        assert (receipt.stored, started.newest, started.counts.runs) == (1, 1, 0)
    with started.reading() as state:
        assert "a" in state.runs_by_id


def test_event_is_applied_when_the_running_query_ends(started: Live, build: Any) -> None:
    with _querying(started):
        started.submit(Batch([_entry(build, "a")])).result(timeout=10)
    assert started.counts == (1, 1, 0)


def test_failed_query_applies_queued_changes(started: Live, build: Any) -> None:
    def fail() -> None:
        with started.reading():
            started.submit(Batch([_entry(build, "a")])).result(timeout=10)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert started.counts.runs == 1


def test_nested_reading_does_not_change_the_state(started: Live, build: Any) -> None:
    with started.reading() as state:
        started.submit(Batch([_entry(build, "a")])).result(timeout=10)
        with started.reading():
            assert not state.runs
        assert not state.runs
    assert started.counts.runs == 1


def test_past_state_includes_events_acknowledged_during_a_query(started: Live, build: Any) -> None:
    with _querying(started):
        started.submit(Batch([_entry(build, "a")])).result(timeout=10)
        with started.reading(Moment(known_at=2**62)) as past:
            assert "a" in past.runs_by_id


def test_events_of_another_process_do_not_wait_for_a_query(live: Live, build: Any) -> None:
    other = Live(live.log)
    other.ingest(Batch([_entry(build, "a")]))
    with _querying(live):
        live.follow()
        assert live.newest == 1
        assert live.ingest(Batch([_entry(build, "b")])).stored == 1
    assert live.counts.runs == 2


@pytest.mark.parametrize("limits", [{"most_events": 1}, {"most_bytes": 150}])
def test_full_queue_waits_for_the_query_to_end(limits: dict[str, int], build: Any) -> None:
    readers, order, begun = Readers(State(), **limits), list[str](), threading.Event()

    def add() -> None:
        readers.add(partial(_apply, _entry(build, "a")), 100)
        order.append("first")
        begun.set()
        readers.add(partial(_apply, _entry(build, "b")), 100)
        order.append("second")

    with readers.reading():
        adding = threading.Thread(target=add)
        adding.start()
        assert begun.wait(10)
        adding.join(0.3)  # long enough for an `add` that does not wait
        order.append("query ended")
    adding.join(10)
    assert order == ["first", "query ended", "second"]
    assert readers.counts.runs == 2


_STEPS = st.sampled_from(("submit", "submit", "other", "follow", "begin", "end", "read"))


@pytest.mark.replay
@settings(max_examples=examples(60))
@given(some_entries(), st.lists(_STEPS, min_size=4, max_size=24))
def test_any_order_of_events_and_queries_matches_a_new_projection(
    entries: list[Entry], steps: list[str]
) -> None:
    with TemporaryDirectory() as folder:
        log = EventLog(str(Path(folder, "log.db")))
        live, other = Live(log), Live(log)
        query: Query | None = None
        live.start()
        for step in (*steps, "end", "follow", "read"):
            if step == "submit" and entries:
                assert live.submit(Batch([entries.pop()])).result(timeout=10)
            elif step == "other" and entries:
                other.ingest(Batch([entries.pop()]))
            elif step == "follow":
                live.follow()
            elif step == "begin" and query is None:
                query = Query(live)
            elif step == "end" and query is not None:
                query.end()
                query = None
            elif step == "read" and query is None:
                live.follow()
                with live.reading() as state, Live(log).reading() as anew:
                    assert canonical(state) == canonical(anew)
        live.stop()
        log.close()
