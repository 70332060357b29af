"""`/metrics`: event counts, lags, backlogs and request times in Prometheus's text format.

Values are computed on request, with two exceptions: the counts of events and requests start at 0
with the process, and the states of nodes are counted at most a twentieth of the time.
prometheus-client is imported at the first request.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Any, get_args

from fastapi import APIRouter, Request, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headwater import deadline
from headwater.errors import BusyError, DeadlineError, LogError
from headwater.health.models import HealthState
from headwater.health.states import counts_of_states
from headwater.plugins import load_all
from headwater.projection.live import Live
from headwater.server.sample import PREFIX

if TYPE_CHECKING:
    from prometheus_client.core import Metric

router = APIRouter()

_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
"""Upper bounds in seconds of the groups of request times; the last group has none."""

_PAUSE = 20
"""The least pause after a count of the states of nodes, as a multiple of its duration."""


class RequestCounts:
    """Response times by (method, route, status), and the number of rejected events.

    Only the event loop's thread changes it.
    """

    def __init__(self) -> None:
        self.rejected_events = 0
        self._groups: dict[tuple[str, str, str], tuple[list[int], list[float]]] = {}

    def add(self, labels: tuple[str, str, str], seconds: float) -> None:
        """Count a request."""
        new = [0] * (len(_BOUNDS) + 1), [0.0]
        numbers, total = self._groups.setdefault(labels, new)
        numbers[bisect_left(_BOUNDS, seconds)] += 1
        total[0] += seconds

    def histograms(self) -> list[tuple[tuple[str, str, str], list[tuple[str, float]], float]]:
        """Return labels, cumulative counts by upper bound, and the sum of seconds."""
        bounds = [*map(str, _BOUNDS), "+Inf"]
        return [
            (labels, list(zip(bounds, accumulate(numbers), strict=True)), total[0])
            for labels, (numbers, total) in list(self._groups.items())
        ]


class NodeStates:
    """The number of nodes by type and state.

    Counting takes at most a twentieth of the time, so the counts of a large store may be some
    minutes old.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._counts: Counter[tuple[str, HealthState]] | None = None
        self._due = 0.0
        self._lock = threading.Lock()

    def counts(self, live: Live) -> Counter[tuple[str, HealthState]] | None:
        """Return the counts; earlier counts or None if the server is too busy to count."""
        if self._clock() >= self._due and self._lock.acquire(blocking=False):
            started = self._clock()
            try:
                with live.reading() as state:
                    self._counts = counts_of_states(state)
            except (BusyError, DeadlineError):
                pass
            finally:
                self._due = self._clock() + _PAUSE * (self._clock() - started)
                self._lock.release()
        return self._counts


class Timed:
    """Measure the seconds until each response begins."""

    def __init__(self, app: ASGIApp, counts: RequestCounts) -> None:
        self._app = app
        self._counts = counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and count it when its response begins."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()

        async def send_counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                labels = scope["method"], _route_of(scope), str(message["status"])
                self._counts.add(labels, time.perf_counter() - started)
            await send(message)

        await self._app(scope, receive, send_counted)


def _route_of(scope: Scope) -> str:
    """Return the template of a request's route; unlike paths, there are only a few."""
    if scope["path"].startswith(PREFIX):
        return PREFIX
    return getattr(scope.get("route"), "path", "other").replace(":segment", "")


@router.get("/metrics", include_in_schema=False)
def get_metrics(request: Request) -> Response:
    """Return the metrics for Prometheus."""
    from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
    from prometheus_client.exposition import CONTENT_TYPE_LATEST

    deadline.start(request.app.state.options.longest_query)
    registry = CollectorRegistry()
    registry.register(_Collector(request.app.state))
    ProcessCollector(registry=registry)
    return Response(generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})


class _Collector:
    """Yields the metrics of an application."""

    def __init__(self, state: Any) -> None:
        self._state = state

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics; those of the log only while the database responds."""
        yield from _of_memory(self._state)
        if self._state.tail is not None:
            yield _gauge("spool_lag_bytes", "Unread bytes.", self._state.tail.lag().bytes)
            stuck = len(self._state.tail.stuck)
            yield _gauge("spool_stuck_files", "Files that cannot be read.", stuck)
        try:
            of_log = list(_of_log(self._state.live))
        except LogError:
            of_log = []
        yield _gauge("log_up", "1 if the database responds.", bool(of_log))
        yield from of_log


def _of_memory(state: Any) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

    live, counts = state.live, state.request_counts
    events = CounterMetricFamily(
        "headwater_events", "Events received by this process, by result.", labels=["result"]
    )
    events.add_metric(["stored"], live.totals.stored)
    events.add_metric(["duplicate"], live.totals.duplicates)
    yield events
    rejected = CounterMetricFamily(
        "headwater_rejected_events", "Rejected events, by source.", labels=["source"]
    )
    rejected.add_metric(["http"], counts.rejected_events)
    rejected.add_metric(["spool"], live.totals.rejected_lines)
    yield rejected
    times = HistogramMetricFamily(
        "headwater_http_request_duration_seconds",
        "Time until a response begins.",
        labels=["method", "route", "status"],
    )
    for labels, buckets, total in counts.histograms():
        times.add_metric(labels, buckets, total)
    yield times
    yield _gauge("queries_waiting", "Queries that wait for a slot.", state.admission.waiting)
    yield _gauge("log_damaged_rows", "Rows that cannot be read.", len(live.unreadable))
    yield _nodes(state)


def _nodes(state: Any) -> Metric:
    """Return the number of runs, and the numbers of jobs and datasets by state."""
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily("headwater_nodes", "Nodes of the graph, by kind and state.")
    family.add_sample(family.name, {"kind": "runs"}, state.live.counts.runs)
    counts = state.node_states.counts(state.live)
    for kind in ("job", "dataset") if counts is not None else ():
        for name in get_args(HealthState):
            labels = {"kind": f"{kind}s", "state": name}
            family.add_sample(family.name, labels, counts[kind, name])
    return family


def _of_log(live: Live) -> Iterator[Metric]:
    received_at, behind = live.log.behind(live.newest)
    yield _gauge("projection_lag_events", "Stored events that queries do not see yet.", behind)
    text = "Arrival of the newest event that queries see; 0 without events."
    yield _gauge("projection_newest_event_timestamp_seconds", text, received_at / 1e6)
    for metrics in load_all("metrics"):
        yield from metrics(live)


def _gauge(name: str, text: str, value: float) -> Metric:
    from prometheus_client.core import GaugeMetricFamily

    return GaugeMetricFamily(f"headwater_{name}", text, value=float(value))
