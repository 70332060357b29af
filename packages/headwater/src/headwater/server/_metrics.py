"""`/metrics`: event counts, lags, backlogs and request times in Prometheus's text format.

Values are computed on request, with two exceptions: the counts of events and requests start at 0
with the process, and the states of nodes are counted at most a twentieth of the time.
prometheus-client is imported at the first request.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING, get_args

from fastapi import APIRouter, Request, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headwater import deadline
from headwater.errors import LogError
from headwater.health.models import HealthState
from headwater.log.reading import behind
from headwater.plugin import load_all
from headwater.projection.live import Live
from headwater.server._counts import RequestCounts
from headwater.server._state import ServerState, server_state
from headwater.server.sample import PREFIX

if TYPE_CHECKING:
    from prometheus_client.core import Metric

router = APIRouter()


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

    state = server_state(request)
    deadline.start(state.longest_query)
    registry = CollectorRegistry()
    registry.register(_Collector(state))
    ProcessCollector(registry=registry)
    return Response(generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})


class _Collector:
    """Yields the metrics of an application."""

    def __init__(self, state: ServerState) -> None:
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


def _of_memory(state: ServerState) -> Iterator[Metric]:
    """Yield the metrics that need no database.

    Alert rules and dashboards of users refer to their names.
    """
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


def _nodes(state: ServerState) -> Metric:
    """Return the number of runs, and the numbers of jobs and datasets by state."""
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily("headwater_nodes", "Nodes of the graph, by kind and state.")
    family.add_sample(family.name, {"kind": "runs"}, state.live.counts.runs)
    counts = state.node_states.counts(state.live)
    if counts is not None:
        for kind, name in product(("job", "dataset"), get_args(HealthState)):
            labels = {"kind": f"{kind}s", "state": name}
            family.add_sample(family.name, labels, counts[kind, name])
    return family


def _of_log(live: Live) -> Iterator[Metric]:
    """Yield the metrics that need the database, with those of plugins. Raises LogError."""
    received_at, later = behind(live.log, live.newest)
    yield _gauge("projection_lag_events", "Stored events that queries do not see yet.", later)
    text = "Arrival of the newest event that queries see; 0 without events."
    yield _gauge("projection_newest_event_timestamp_seconds", text, received_at / 1e6)
    for metrics in load_all("metrics"):
        yield from metrics(live)


def _gauge(name: str, text: str, value: float) -> Metric:
    from prometheus_client.core import GaugeMetricFamily

    return GaugeMetricFamily(f"headwater_{name}", text, value=float(value))
