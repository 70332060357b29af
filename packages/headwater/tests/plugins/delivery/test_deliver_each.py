"""Tests for every HTTP backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from headwater.errors import UnavailableError
from headwater.plugins.delivery import plugin
from headwater.plugins.delivery._store import delivery_statuses
from headwater.plugins.delivery.backend import Backend
from headwater.plugins.delivery.backends import DataHub, Http, Marquez, OpenMetadata
from headwater.plugins.delivery.forwarder import Forwarder
from headwater.plugins.delivery.models import (
    DataHubSettings,
    HttpSettings,
    MarquezSettings,
    OpenMetadataSettings,
)
from headwater.posting import Backoff
from headwater.projection.live import Batch, Live
from packages.headwater.tests.support.servers import until
from packages.headwater.tests.support.sinks import Answer, Said, Sink, serving

_BACKENDS: dict[str, Callable[..., Backend]] = {
    "http": lambda url, **more: Http(HttpSettings(name="x", url=url, **more)),
    "marquez": lambda url, **more: Marquez(MarquezSettings(name="x", url=url, **more)),
    "openmetadata": lambda url, **more: OpenMetadata(
        OpenMetadataSettings(name="x", url=url, **more)
    ),
    "datahub": lambda url, **more: DataHub(DataHubSettings(name="x", url=url, **more)),
    "datahub without emitter": lambda url, **more: DataHub(
        DataHubSettings(name="x", url=url, emitter=False, **more)
    ),
}
_RUNS = [f"0197a0a0-0000-7000-8000-00000000000{n}" for n in range(3)]


@pytest.fixture(params=_BACKENDS)
def forwarding(
    request: pytest.FixtureRequest, live: Live, build: Any
) -> Iterator[tuple[Forwarder, Sink]]:
    """Yield a forwarder with three pending events, and the server that it posts to."""
    is_slow = {"slow", "drip"} & set(map(str, request.node.callspec.params.values()))
    io = {"reads": ("x|in",), "writes": ("x|out",)}
    runs = [build.run("COMPLETE", run, f"f.{run[-1]}", "08:00:00", **io) for run in _RUNS]
    live.ingest(Batch([build.entry(run) for run in runs]))
    with ExitStack() as stack:
        sink = stack.enter_context(serving(Sink()))
        backend = _BACKENDS[request.param](sink.url, timeout=0.5 if is_slow else 30)
        forwarder = Forwarder("it", backend, live, Backoff(first=0.001, most=0.01))
        stack.callback(forwarder.stop)
        yield forwarder, sink


def _of(body: Any) -> str | None:
    """Return the run id of an event; None for other payloads."""
    return body["run"]["runId"] if "run" in body else None


def _taking(answer: Callable[[str, int], Answer]) -> Callable[[Any, int], Answer]:
    """Respond to events by run and position; accept everything else."""
    return lambda body, nth: answer(run, nth) if (run := _of(body)) else Said(200, {})


def test_every_http_backend_is_tested() -> None:
    local = {"console", "file"}
    assert {name.split()[0] for name in _BACKENDS} == plugin.backends.keys() - local


@pytest.mark.parametrize(
    "trouble",
    [401, 402, (429, {"Retry-After": "0"}), 500, 503, 403, "cut", "closed", "slow", "drip"],
)
def test_temporary_failure_is_retried_in_order(
    forwarding: tuple[Forwarder, Sink], trouble: Answer, live: Live
) -> None:
    forwarder, sink = forwarding
    times = 1 if trouble in ("slow", "drip") else 2
    tried: list[str] = []

    def answer(run: str, _nth: int) -> Answer:
        tried.append(run)
        return trouble if tried.count(_RUNS[1]) <= times and run == _RUNS[1] else 201

    sink.answer = _taking(answer)
    for _ in range(times):
        with pytest.raises(UnavailableError, match="127.0.0.1"):
            forwarder.drain()
        assert delivery_statuses(live.log)[0]["lag"] == 2
    assert forwarder.drain() == 2
    assert [_of(body) for body in sink.taken if _of(body)] == _RUNS
    assert delivery_statuses(live.log)[0]["deadLetters"] == 0


def test_endless_success_response_is_read_only_as_needed(
    forwarding: tuple[Forwarder, Sink], live: Live
) -> None:
    forwarder, sink = forwarding
    sink.answer = _taking(lambda run, _nth: "endless" if run == _RUNS[1] else 201)
    assert forwarder.drain() == 3
    assert [_of(body) for body in sink.taken if _of(body)] == _RUNS
    assert delivery_statuses(live.log)[0]["deadLetters"] == 0
    until(lambda: 0 < sink.written < 50_000_000)


def test_closed_connection_loses_no_event(
    forwarding: tuple[Forwarder, Sink],
) -> None:
    forwarder, sink = forwarding
    sink.hangs_up, sink.answer = True, _taking(lambda _run, _nth: 201)
    forwarder.drain_patiently()  # the next event may go before the end of the connection is seen
    assert list(dict.fromkeys(filter(None, map(_of, sink.taken)))) == _RUNS
    assert len(sink.connections) == len(sink.requests)


@pytest.mark.parametrize("status", [400, 409, 422])
def test_rejected_event_becomes_a_dead_letter_without_blocking(
    forwarding: tuple[Forwarder, Sink], status: int, live: Live
) -> None:
    forwarder, sink = forwarding
    sink.answer = _taking(lambda run, _nth: status if run == _RUNS[1] else 201)
    assert forwarder.drain() == 2
    assert [_of(body) for body in sink.taken if _of(body)] == [_RUNS[0], _RUNS[2]]
    (letter,) = delivery_statuses(live.log)[0]["newestDeadLetters"]
    assert f"answered {status}" in letter["reason"]
    assert "because" in letter["reason"]
    assert "hunter2" not in letter["reason"]


def test_event_that_always_fails_becomes_a_dead_letter(
    forwarding: tuple[Forwarder, Sink], live: Live
) -> None:
    forwarder, sink = forwarding
    sink.answer = _taking(lambda run, _nth: 500 if run == _RUNS[1] else 201)
    forwarder.drain_patiently(tries=100)
    assert [_of(body) for body in sink.taken if _of(body)] == [_RUNS[0], _RUNS[2]]
    assert "(tried 10 times)" in delivery_statuses(live.log)[0]["newestDeadLetters"][0]["reason"]
