"""Lineage as of a time, known at a time, and compared between two times."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater import deadline
from headwater.errors import BusyError, ConfigError, DeadlineError
from headwater.events import parse_time, to_micros
from headwater.lineage.queries import edges_answer, tree_answer
from headwater.log import EventLog
from headwater.plugins.changes.queries import diff_answer
from headwater.plugins.export.queries import export
from headwater.projection import State, past, project
from headwater.projection._apply import apply
from headwater.projection.live import Batch, Live
from headwater.projection.past import Moment
from headwater.query.registry import ask, find_query, moment_of

pytestmark = pytest.mark.each_database

DAY = "2025-11-21T"


def _loads(build: Any) -> list[dict[str, Any]]:
    """Return runs at 8 and 9 that write a report from a and from b, with other columns and code."""

    def code(version: str) -> dict[str, Any]:
        return {"sourceCodeLocation": {"type": "git", "url": "u", "version": version}}

    events = []
    for run, hour, source in (("1", "08", "db|a"), ("2", "09", "db|b")):
        event = build.run("COMPLETE", run, "report", f"{hour}:00:00", reads=(source,))
        fields = [{"name": "x", "type": "int"}, {"name": source[-1], "type": "int"}]
        event["outputs"] = [build.dataset("db|out", schema={"fields": fields})]
        event["job"]["facets"] = code(f"commit {run}")
        events.append(event)
    return events


@pytest.fixture
def loaded(live: Live, build: Any) -> Live:
    live.ingest(Batch([build.entry(event) for event in _loads(build)]))
    return live


def _inputs(live: Live, as_of: str | None) -> set[str]:
    with live.reading() as state:
        moment = moment_of(state, as_of)
    with live.reading(moment) as state:
        edges = edges_answer(state, "task", "data")["items"]
    return {edge["dataset"]["name"] for edge in edges if edge["direction"] == "reads"}


@pytest.mark.parametrize(
    ("as_of", "read"),
    [
        (None, {"b"}),
        (f"{DAY}09:00:00Z", {"b"}),
        (f"{DAY}08:59:59Z", {"a"}),
        (f"{DAY}09:59:59+01:00", {"a"}),
        ("1", {"a"}),
        ("2", {"b"}),
        (f"{DAY}07:00:00Z", set()),
    ],
)
def test_lineage_as_of_a_time_or_run_is_unchanged(
    as_of: str | None, read: set[str], loaded: Live
) -> None:
    assert _inputs(loaded, as_of) == read


def test_late_events_are_excluded_from_known_at(live: Live, build: Any) -> None:
    late, early = _loads(build)
    live.ingest(Batch([build.entry(early)]))
    known = time.time_ns() // 1_000
    live.ingest(Batch([build.entry(late)]))
    now = time.time_ns() // 1_000
    for moment, runs in (
        (Moment(known_at=known), {"2"}),
        (Moment(as_of=now, known_at=known), {"2"}),
        (Moment(known_at=now), {"1", "2"}),
    ):
        with live.reading(moment) as state:
            assert state.runs_by_id.keys() == runs


def test_late_event_updates_a_past_state(live: Live, build: Any) -> None:
    first, second = _loads(build)
    live.ingest(Batch([build.entry(second)]))
    assert _inputs(live, f"{DAY}08:30:00Z") == set()
    live.ingest(Batch([build.entry(first)]))
    assert _inputs(live, f"{DAY}08:30:00Z") == {"a"}


def test_diff_has_added_removed_and_changed(loaded: Live) -> None:
    with loaded.reading() as state:
        then = moment_of(state, f"{DAY}08:30:00Z")
    with loaded.reading(then) as before, loaded.reading() as after:
        changes = diff_answer(before, after, "task")
        nothing: dict[str, Any] = dict.fromkeys(changes, []) | {"level": "task", "nodes": {}}
        assert diff_answer(after, after, "task") == nothing
    job, out = "job:demo:report", "dataset:db:out"
    named = {node_id: item["name"] for node_id, item in changes.pop("nodes").items()}
    assert named == {"dataset:db:a": "a", "dataset:db:b": "b", out: "out", job: "report"}
    assert changes == {
        "level": "task",
        "failed": [],
        "added": ["dataset:db:b"],
        "removed": ["dataset:db:a"],
        "edgesAdded": [["dataset:db:b", job]],
        "edgesRemoved": [["dataset:db:a", job]],
        "schemas": [{"node": out, "added": ["b: int"], "removed": ["a: int"]}],
        "code": [{"node": job, "from": "commit 1", "to": "commit 2", "isSourceChanged": False}],
    }


def test_types_are_compared_within_one_producer(build: Any) -> None:
    def state(type_: str, producer: str, *more: str) -> Any:
        fields = [{"name": "x", "type": type_}, *({"name": name} for name in more)]
        event = build.run("COMPLETE", "1", "j", "08:00:00")
        event["outputs"] = [build.dataset("db|t", schema={"fields": fields, "_producer": producer})]
        return build.state(event)

    def schemas(before: Any, after: Any) -> Any:
        return diff_answer(before, after, "task")["schemas"]

    assert schemas(state("int", "spark"), state("integer", "pyiceberg")) == []
    (change,) = schemas(state("int", "spark"), state("integer", "pyiceberg", "y"))
    assert (change["added"], change["removed"]) == (["y"], [])
    (change,) = schemas(state("int", "spark"), state("long", "spark"))
    assert (change["added"], change["removed"]) == (["x: long"], ["x: int"])


@pytest.mark.parametrize(
    ("as_of", "known_at", "message"),
    [
        ("yesterday", None, "asOf: received 'yesterday', expected a time such as .* or the id of"),
        (None, "1", "knownAt: received '1', expected a time such as 2026-11-21T08:30:00Z$"),
        ("open", None, "asOf: run open has not ended; give a time or another run"),
    ],
)
def test_invalid_moment_is_rejected(
    as_of: str | None, known_at: str | None, message: str, build: Any
) -> None:
    state = build.state(build.run("START", "open", "j", "08:00:00"))
    with pytest.raises(ConfigError, match=message):
        moment_of(state, as_of, known_at)


@pytest.mark.replay
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 3)), max_size=12),
    st.integers(0, 6),
    st.randoms(use_true_random=False),
)
def test_arrival_order_does_not_change_the_past(
    loads: list[tuple[int, int, int]], hour: int, chance: random.Random
) -> None:
    from packages.headwater.tests.conftest import Build

    bodies = [
        Build.run("COMPLETE", f"r{n}", f"j{job}", f"{at:02}:00:00", reads=(f"db|{source}",),
                  writes=(f"db|{job}",))
        for n, (at, job, source) in enumerate(loads)
    ]  # fmt: skip
    shuffled = bodies * 2
    chance.shuffle(shuffled)
    log = EventLog("sqlite://")
    live = Live(log)
    moment = moment_of(State(), f"{DAY}{hour:02}:30:00Z")
    result = export(State())
    for body in shuffled:
        live.ingest(Batch([Build.entry(body)]))
        with live.reading(moment) as state:  # queried in between, it includes late events
            result = export(state)
    log.close()
    expected = [
        Build.entry(body).event for body in bodies if body["eventTime"] < f"{DAY}{hour:02}:30"
    ]
    assert result == export(project(expected))


def test_past_tree_shows_past_run_states(live: Live, build: Any) -> None:
    begun = build.run("START", "1", "report", "08:00:00", writes=("db|out",))
    ended = build.run("COMPLETE", "1", "report", "09:00:00")
    live.ingest(Batch([build.entry(begun), build.entry(ended)]))

    def state_at(as_of: str) -> str:
        with live.reading() as state:
            moment = moment_of(state, as_of)
        with live.reading(moment) as state:
            (job,) = tree_answer(state, "out", "up", 3)["up"]["children"]
        return str(job["run"]["state"])

    assert state_at(f"{DAY}08:30:00Z") == "RUNNING"
    assert state_at(f"{DAY}09:30:00Z") == "COMPLETED"


def _asked_with(looks: int, question: Callable[[], Any]) -> Any:
    """Return an answer, or the error if it looks more often at the time."""
    ticks = itertools.count()

    def asked() -> Any:
        deadline.start(looks, lambda: next(ticks))
        try:
            return question()
        except (BusyError, DeadlineError) as error:
            return error

    return copy_context().run(asked)


def _runs(build: Any, number: int) -> list[Any]:
    return [
        build.entry(build.run("COMPLETE", f"r{n}", f"j{n}", f"08:00:{n:02}", writes=(f"db|t{n}",)))
        for n in range(number)
    ]


@pytest.fixture
def applied(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the hashes of the events applied to past states, in a store that counts as large."""
    hashes: list[str] = []

    def counted(state: State, event: Any) -> None:
        hashes.append(event.hash)
        apply(state, event)

    monkeypatch.setattr(past, "apply", counted)
    monkeypatch.setattr(past, "_MOST_RUNS", 10)
    return hashes


def test_slow_past_state_continues_with_the_next_query(
    live: Live, build: Any, applied: list[str]
) -> None:
    live.ingest(Batch(_runs(build, 50)))
    moment = Moment(known_at=time.time_ns() // 1_000)

    def number_of_runs() -> int:
        with live.reading(moment) as state:
            return len(state.runs)

    answers = [_asked_with(20, number_of_runs) for _ in range(4)]
    assert isinstance(answers[0], BusyError)
    assert "is not complete within the time limit of a query: repeat the query" in str(answers[0])
    assert answers[-1] == 50
    assert len(applied) == 50


def test_repeated_difference_continues_in_a_store_of_any_size(
    live: Live, build: Any, applied: list[str]
) -> None:
    ends = _runs(build, 20)
    many = [
        build.entry(build.run("RUNNING", f"r{n}", f"j{n}", f"08:00:{n:02}.{part:03}"))
        for n in range(20)
        for part in range(20)
    ]
    live.ingest(Batch([*many, *ends]))
    times = {"from_": f"{DAY}08:00:09.5Z", "to": f"{DAY}08:00:30Z"}
    answers: list[Any] = []
    while not answers or isinstance(answers[-1], Exception):
        answers.append(_asked_with(90, lambda: ask(live, find_query("diff"), times)))
        assert len(answers) < 20
    assert {type(error) for error in answers[:-1]} == {BusyError, DeadlineError}
    assert len(answers[-1]["added"]) == 2 * 10
    assert len(applied) == 10 * 21 + 20 * 21


def test_a_large_store_keeps_two_past_states(live: Live, build: Any, applied: list[str]) -> None:
    live.ingest(Batch(_runs(build, 30)))
    moments = [Moment(as_of=to_micros(parse_time(f"{DAY}08:00:{n}Z"))) for n in (14, 19, 24)]

    def ask_all(*asked: Moment) -> int:
        """Return the number of events that were applied."""
        before = len(applied)
        for moment in asked:
            with live.reading(moment) as state:
                assert len(state.runs) > 10
        return len(applied) - before

    first, second, third = moments
    assert ask_all(first, second) == 15 + 20
    assert ask_all(first, second, first) == 0
    assert ask_all(third) == 25
    assert ask_all(first, third) == 0
    assert ask_all(second) == 20
