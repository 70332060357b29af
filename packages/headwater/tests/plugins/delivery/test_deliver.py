from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy.engine import make_url

from headwater.errors import DeliveryError, LogError, NotFoundError, UnavailableError
from headwater.events import JobRef, RunEvent
from headwater.log import EventLog
from headwater.plugins.delivery._store import Deliveries, delivery_statuses
from headwater.plugins.delivery.backend import Delivery
from headwater.plugins.delivery.backends import Http
from headwater.plugins.delivery.forwarder import Forwarder
from headwater.plugins.delivery.models import HttpSettings
from headwater.posting import Backoff
from headwater.projection import RunKey
from headwater.projection.live import Batch, Live
from packages.headwater.tests.support.servers import until
from packages.headwater.tests.support.sinks import Answer, Sink, serving

pytestmark = pytest.mark.each_database

_QUICK = Backoff(first=0.001, most=0.01)


@pytest.fixture
def sink() -> Iterator[Sink]:
    with serving(Sink()) as sink:
        yield sink


@pytest.fixture
def forward(live: Live, sink: Sink) -> Iterator[Callable[[], Forwarder]]:
    """Return a function that creates forwarders to the sink, each like a newly started process."""
    results: list[Forwarder] = []

    def forward(timeout: float = 30, backoff: Backoff = _QUICK) -> Forwarder:
        backend = Http(HttpSettings(name="x", url=sink.url, timeout=timeout))
        results.append(Forwarder("sink", backend, live, backoff))
        return results[-1]

    yield forward
    for forwarder in results:
        forwarder.stop()


def _fill(live: Live, build: Any, *runs: str) -> None:
    live.ingest(Batch([build.entry(build.run("COMPLETE", run, "j", "08:00:00")) for run in runs]))


def _standing(live: Live) -> Any:
    (only,) = delivery_statuses(live.log)
    return only


def test_events_arrive_once_in_order_and_unchanged(
    live: Live, sink: Sink, forward: Callable[[], Forwarder], build: Any
) -> None:
    _fill(live, build, *map(str, range(1_200)))
    assert forward().drain() == 1_200
    assert sink.runs() == [str(number) for number in range(1_200)]
    assert [orjson.dumps(body).decode() for body in sink.taken] == [b for _, b in live.log.read()]
    assert sink.headers[0]["path"] == "/api/v1/lineage"
    assert len(sink.connections) == 1
    assert forward().drain() == 0


def test_new_forwarder_continues_at_the_cursor(
    live: Live, sink: Sink, forward: Callable[[], Forwarder], build: Any
) -> None:
    _fill(live, build, "a", "b")
    first = forward()
    assert first.drain() == 2
    _fill(live, build, "c")
    assert forward().drain() == 1
    assert sink.runs() == ["a", "b", "c"]


@pytest.mark.parametrize(
    "trouble",
    [(429, {"Retry-After": "0"}), (503, {}), (500, {}), (401, {}), "cut"],
    ids=str,
)
def test_temporary_failure_is_retried_in_order(
    trouble: Any, live: Live, sink: Sink, forward: Callable[[], Forwarder], build: Any
) -> None:
    sink.answer = lambda _body, nth: trouble if nth in (1, 2, 3) else 201
    _fill(live, build, "a", "b", "c")
    forwarder = forward()
    for _ in range(3):
        with pytest.raises(UnavailableError):
            forwarder.drain()
        assert _standing(live)["lag"] == 2
    assert forwarder.drain() == 2
    assert sink.runs() == ["a", "b", "c"]
    assert _standing(live)["deadLetters"] == 0


@pytest.mark.server
def test_events_wait_while_the_server_is_down(live: Live, build: Any) -> None:
    with serving(Sink()) as gone:
        port = int(gone.url.rsplit(":", 1)[1])
    forwarder = Forwarder("sink", Http(HttpSettings(name="x", url=gone.url)), live, _QUICK)
    _fill(live, build, "a")
    with pytest.raises(UnavailableError, match=gone.url):
        forwarder.drain_patiently(tries=3)
    standing = _standing(live)
    assert (standing["lag"], standing["isFailing"]) == (1, True)
    assert gone.url in standing["error"]
    with serving(Sink(), port) as back:
        assert forwarder.drain() == 1
        assert back.runs() == ["a"]
    assert _standing(live)["isFailing"] is False
    forwarder.stop()


def test_once_stops_if_a_backend_requests_a_long_wait(
    live: Live, sink: Sink, forward: Callable[[], Forwarder], build: Any
) -> None:
    sink.answer = lambda _body, _nth: (429, {"Retry-After": "3600"})
    _fill(live, build, "a")
    gave_up = "gave up after 1 attempt, and the backend asks to wait 3600 s"
    with pytest.raises(UnavailableError, match=gave_up):
        forward().drain_patiently()
    assert len(sink.requests) == 1


def test_hanging_backend_is_given_up_for_lack_of_progress(
    live: Live, sink: Sink, forward: Callable[..., Forwarder], build: Any
) -> None:
    _fill(live, build, "a", "b", "c")
    sink.answer = lambda _body, nth: 201 if nth == 0 else "slow"
    with pytest.raises(UnavailableError, match="timed out after 0.3 s; gave up after 1 attempt"):
        forward(0.3, replace(_QUICK, patience=0.3)).drain_patiently(tries=3)
    assert [body["run"]["runId"] for body in sink.requests] == ["a", "b"]


def test_wait_doubles_up_to_a_limit_or_as_requested() -> None:
    backoff = Backoff(first=1, most=60)
    assert [backoff.after(tries) for tries in (1, 2, 3, 7, 5_000)] == [1, 2, 4, 60, 60]
    assert backoff.after(1, retry_after=90) == 90
    assert backoff.after(1, retry_after=1e9) == 3_600


@pytest.mark.parametrize(
    ("header", "least", "most"),
    [
        ("17", 17, 17),
        ("Fri, 21 Nov 2025 08:00:00 GMT", 0, 0),
        ("Wed, 01 Jan 2120 00:00:00 GMT", 1e9, 1e10),
        ("soon", 0, 0),
    ],
)
def test_retry_after_can_be_seconds_or_a_date(
    header: str, least: float, most: float, live: Live, sink: Sink, build: Any
) -> None:
    sink.answer = lambda _body, _nth: (429, {"Retry-After": header})
    backend = Http(HttpSettings(name="x", url=sink.url))
    _fill(live, build, "a")
    with pytest.raises(UnavailableError) as caught:
        backend.send(Delivery(1, "{}", live.reading))
    assert least <= caught.value.retry_after <= most
    backend.close()


def test_rejected_event_becomes_a_dead_letter_without_blocking(
    live: Live, sink: Sink, forward: Callable[[], Forwarder], build: Any
) -> None:
    sink.answer = lambda body, _nth: 400 if body["run"]["runId"] == "b" else 201
    _fill(live, build, "a", "b", "c")
    assert forward().drain() == 2
    assert sink.runs() == ["a", "c"]
    standing = _standing(live)
    assert (standing["seq"], standing["lag"], standing["deadLetters"]) == (3, 0, 1)
    (letter,) = standing["newestDeadLetters"]
    assert letter["seq"] == 2
    assert "answered 400" in letter["reason"]
    assert "because" in letter["reason"]
    assert "hunter2" not in letter["reason"]


def test_rejected_event_is_resent_until_its_dead_letter_is_stored(
    database: str, live: Live, sink: Sink, build: Any
) -> None:
    sink.answer = lambda body, _nth: 422 if body["run"]["runId"] == "a" else 201
    _fill(live, build, "a", "b")
    # A log with a short lock timeout, because the other one locks the database.
    soon = {"options": "-c lock_timeout=50"} if "postgresql" in database else {"timeout": "0.05"}
    impatient = make_url(database).update_query_dict(soon).render_as_string(hide_password=False)
    log = EventLog(impatient)
    forwarder = Forwarder("sink", Http(HttpSettings(name="x", url=sink.url)), Live(log), _QUICK)
    with live.log.writing(), pytest.raises(LogError):
        forwarder.drain()
    assert forwarder.drain() == 1
    assert [body["run"]["runId"] for body in sink.requests] == ["a", "a", "b"]
    assert [letter["seq"] for letter in _standing(live)["newestDeadLetters"]] == [1]
    forwarder.stop()
    log.close()


def test_retried_dead_letters_are_sent_first_in_order(
    live: Live, sink: Sink, forward: Callable[[], Forwarder], build: Any
) -> None:
    sink.answer = lambda body, _nth: 422 if body["run"]["runId"] in "bdx" else 201
    _fill(live, build, "a", "b", "c", "d", "x")
    forward().drain()
    _fill(live, build, "e")
    sink.answer = lambda body, _nth: 422 if body["run"]["runId"] == "x" else 201
    assert Deliveries(live.log, "sink").retry() == {"backend": "sink", "retried": 3}
    assert (_standing(live)["lag"], _standing(live)["deadLetters"]) == (4, 0)
    assert forward().drain() == 3
    assert sink.runs() == ["a", "c", "b", "d", "e"]
    assert [letter["seq"] for letter in _standing(live)["newestDeadLetters"]] == [5]
    with pytest.raises(NotFoundError, match="known are: sink"):
        Deliveries(live.log, "snik").retry()


def test_event_that_always_fails_becomes_a_dead_letter(
    live: Live, sink: Sink, forward: Callable[[], Forwarder], build: Any
) -> None:
    """Marquez returns 500 for an event without a type every time."""
    sink.answer = lambda body, _nth: 500 if body["run"]["runId"] == "b" else 201
    _fill(live, build, "a", "b", "c")
    assert forward().drain_patiently(tries=100) == 1  # of the last attempt
    assert sink.runs() == ["a", "c"]
    assert len(sink.requests) == 12
    assert "(tried 10 times)" in _standing(live)["newestDeadLetters"][0]["reason"]


def test_busy_backend_is_retried_longer(
    live: Live, sink: Sink, forward: Callable[[], Forwarder], build: Any
) -> None:
    sink.answer = lambda _body, nth: 503 if nth < 30 else 201
    _fill(live, build, "a")
    assert forward().drain_patiently(tries=100) == 1
    assert _standing(live)["deadLetters"] == 0


class _Rewriting:
    """A backend of another package that sends the state of the run and has a bug."""

    def __init__(self) -> None:
        self.sent: list[set[str]] = []

    def send(self, delivery: Delivery) -> None:
        event = delivery.event
        assert isinstance(event, RunEvent)
        if event.run_id == "trip":
            raise KeyError("facet")
        with delivery.reading() as state:
            run = state.runs[RunKey(event.run_id, event.job)]
            self.sent.append({name.name for name in (*run.inputs, *run.outputs)})

    def close(self) -> None:
        pass


def test_backend_reads_the_run_and_its_bug_affects_one_event(
    live: Live, build: Any, caplog: pytest.LogCaptureFixture
) -> None:
    events = [
        build.run("START", "r", "j", "08:00:00", reads=("db|a",)),
        build.run("START", "trip", "j", "08:00:30"),
        build.run("COMPLETE", "r", "j", "08:01:00", writes=("db|b",)),
    ]
    live.ingest(Batch([build.entry(body) for body in events]))
    backend = _Rewriting()
    assert Forwarder("own", backend, live).drain() == 2
    assert backend.sent == [{"a", "b"}, {"a", "b"}]
    assert _standing(live)["newestDeadLetters"][0]["reason"] == "KeyError: 'facet'"
    with live.reading() as state:
        assert RunKey("r", JobRef("demo", "j")) in state.runs


def test_running_forwarder_delivers_and_stores_the_cursor(
    live: Live, sink: Sink, forward: Callable[[], Forwarder], build: Any
) -> None:
    live.start()
    forwarder = forward()
    forwarder.start()
    for number in range(50):
        _fill(live, build, str(number))
    sink.wait(lambda: len(sink.taken) == 50)
    forwarder.stop()
    live.stop()
    assert (_standing(live)["seq"], _standing(live)["lag"]) == (50, 0)


def test_outage_and_recovery_are_logged_once(
    live: Live,
    sink: Sink,
    forward: Callable[[], Forwarder],
    build: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", "headwater")
    sink.answer = lambda _body, nth: 503 if nth < 3 else 201
    live.start()
    _fill(live, build, "a")
    forwarder = forward()
    forwarder.start()
    until(lambda: "is available again" in caplog.text)
    forwarder.stop()
    live.stop()
    down, back = caplog.messages
    assert "is unavailable, trying again" in down
    assert back.endswith("is available again")


class _Later(_Rewriting):
    """A backend that reports failed events later, and fails once to report them."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    def failed(self) -> Iterator[str]:
        self.asked += 1
        if self.asked == 2:
            raise UnavailableError("busy")
        yield from map(str, range(12))


def test_processing_failures_are_logged_when_they_change(
    live: Live, caplog: pytest.LogCaptureFixture
) -> None:
    backend = _Later()
    forwarder = Forwarder("own", backend, live, Backoff(look=0.01, processed=0.01))
    forwarder.start()
    until(lambda: backend.asked >= 5)
    forwarder.stop()
    failed = "own could not process 12 accepted events: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, …"
    assert caplog.messages == [
        failed,
        "own does not report which events it processed: busy",
        failed,
    ]


def test_forwarder_sends_letters_retried_by_another_process(
    live: Live, database: str, sink: Sink, forward: Callable[[], Forwarder], build: Any
) -> None:
    sink.answer = lambda _body, nth: 400 if nth == 0 else 201
    _fill(live, build, "a")
    forward().start()
    sink.wait(lambda: len(sink.requests) == 1)
    other = EventLog(database)
    while Deliveries(other, "sink").retry()["retried"] == 0:
        threading.Event().wait(0.01)  # its rejection is not stored yet
    other.close()
    sink.wait(lambda: sink.runs() == ["a"])


def test_slow_backend_does_not_block_others(live: Live, sink: Sink, build: Any) -> None:
    stuck = threading.Event()
    with serving(Sink(lambda _body, _nth: 201 if stuck.wait(20) else 500)) as slow:
        forwarders = [
            Forwarder("slow", Http(HttpSettings(name="x", url=slow.url)), live, _QUICK),
            Forwarder("quick", Http(HttpSettings(name="x", url=sink.url)), live, _QUICK),
        ]
        for forwarder in forwarders:
            forwarder.start()
        _fill(live, build, *"abc")
        sink.wait(lambda: len(sink.taken) == 3)
        stuck.set()
        slow.wait(lambda: len(slow.taken) == 3)
        for forwarder in forwarders:
            forwarder.stop()


def test_concurrent_forwarders_never_move_the_cursor_back(
    live: Live, sink: Sink, forward: Callable[[], Forwarder], build: Any
) -> None:
    slower = forward()
    _fill(live, build, "a")
    behind = Forwarder("sink", Http(HttpSettings(name="x", url=sink.url)), live)
    _fill(live, build, "b", "c")
    assert slower.drain() == 3
    slower._deliveries.advance(1)
    assert _standing(live)["seq"] == 3
    behind.stop()


_OUTCOMES = st.sampled_from(["taken", "refused", "busy", "broken", "killed"])


class _Moody:
    """A backend that accepts, rejects, is busy, fails or is killed in a generated order."""

    def __init__(self, moods: list[str]) -> None:
        self.moods = moods
        self.taken: list[int] = []
        self.refused: set[int] = set()

    def send(self, delivery: Delivery) -> None:
        mood = self.moods.pop() if self.moods else "taken"
        if mood == "killed":
            raise SystemExit
        if mood == "busy":
            raise UnavailableError("busy")
        if mood == "broken":
            raise UnavailableError("broken", is_doubtful=True)
        if mood == "refused":
            self.refused.add(delivery.seq)
            raise DeliveryError("refused")
        self.refused.discard(delivery.seq)
        self.taken.append(delivery.seq)

    def close(self) -> None:
        pass


@pytest.mark.replay
@settings(max_examples=60)
@given(moods=st.lists(_OUTCOMES, max_size=60), retries=st.integers(0, 3))
def test_every_event_is_delivered_in_order_or_a_dead_letter(
    moods: list[str], retries: int, build: Any
) -> None:
    live = Live(EventLog("sqlite://"))
    _fill(live, build, *map(str, range(10)))  # the status lists the newest 10 dead letters
    backend = _Moody(list(moods))

    def drain() -> None:
        while True:
            try:
                Forwarder("moody", backend, live).drain()
                return
            except (UnavailableError, SystemExit):
                continue  # the next process

    drain()
    first = list(dict.fromkeys(backend.taken))
    assert first == sorted(first)
    for _ in range(retries):
        Deliveries(live.log, "moody").retry()
        drain()
    (standing,) = delivery_statuses(live.log)
    letters = {letter["seq"] for letter in standing["newestDeadLetters"]}
    assert standing["lag"] == 0
    assert letters | set(backend.taken) == set(range(1, 11))
    live.log.close()


def test_failing_since_is_the_first_failed_attempt(
    live: Live, sink: Sink, forward: Callable[[], Forwarder], build: Any
) -> None:
    def failing_since() -> str:
        with pytest.raises(UnavailableError):
            forwarder.drain_patiently(1)
        assert _standing(live)["isFailing"]
        return str(_standing(live)["errorAt"])

    forwarder = forward()
    _fill(live, build, "a")
    sink.answer = lambda _body, _nth: 503
    first = failing_since()
    assert failing_since() == first
    sink.answer = lambda _body, _nth: 201
    forwarder.drain()
    assert not _standing(live)["isFailing"]
    _fill(live, build, "b")
    sink.answer = lambda _body, _nth: 503
    assert failing_since() > first


def test_interleaved_runs_keep_their_order_despite_failures(
    live: Live, sink: Sink, forward: Callable[[], Forwarder], build: Any
) -> None:
    random = Random(5)
    answers: list[Answer] = [201, 201, 503, (429, {}), "cut"]
    sink.answer = lambda _body, _nth: random.choice(answers)
    kinds = ("START", "RUNNING", "COMPLETE")
    events = [
        build.run(kinds[step], f"r{run}", "j", f"08:0{step}:00")
        for step in range(3)
        for run in random.sample(range(20), 20)
    ]
    live.ingest(Batch([build.entry(body) for body in events]))
    forward().drain_patiently(tries=1_000)
    steps: dict[str, list[str]] = defaultdict(list)
    for body in sink.taken:
        steps[body["run"]["runId"]].append(body["eventType"])
    assert set(map(tuple, steps.values())) == {kinds}
    assert len(steps) == 20
