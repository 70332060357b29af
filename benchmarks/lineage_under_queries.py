"""Measure how long events and health checks wait while expensive queries run.

    .venv/bin/python -m benchmarks.lineage_under_queries [SECONDS] [--clients N ...]

Fill a new store with 1,500 jobs over 300 tables: every job reads five tables and writes two, with
ten columns and their lineage. For each number of CLIENTS (0, 3 and 60), that many connections
then query trees, graphs, columns and impact without a pause for SECONDS (20). Meanwhile an event is
posted and /healthz is read every 100 ms, even if earlier requests are still waiting. Print the
status codes and the median, 99th percentile and maximum time per kind of request. Also print
how many acknowledged events are missing at the end. The clients run in separate processes.
"""

from __future__ import annotations

import argparse
import http.client
import multiprocessing
import tempfile
import threading
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import orjson
import psutil

from benchmarks.lineage_store import (
    COLUMNS,
    PRODUCER,
    START,
    Server,
    dataset,
    headwater,
    post,
    say,
    serving,
    settled,
)

JOBS, TABLES, READS, WRITES, RUNS = 1_500, 300, 5, 2, 2
INTERVAL, PATIENCE = 0.1, 120
Timing = tuple[str, int, float]
"""Kind of a request, its status code (0: no response) and seconds."""


def event(job: int) -> bytes:
    """Return an event of a run whose inputs and outputs are spread over the graph."""
    reads = [f"t{(job * 7 + place * 61) % TABLES}" for place in range(READS)]
    writes = [f"t{(job * 13 + place * 101 + 5) % TABLES}" for place in range(WRITES)]
    jobtype = {"jobType": "TASK", "integration": "X", "processingType": "BATCH"}
    return orjson.dumps(
        {
            "eventType": "COMPLETE",
            "eventTime": START.isoformat(),
            "producer": PRODUCER["_producer"],
            "run": {"runId": str(uuid.uuid4())},
            "job": {
                "namespace": "bench",
                "name": f"job{job}",
                "facets": {"jobType": {**PRODUCER, **jobtype}},
            },
            "inputs": [dataset(name, None) for name in reads],
            "outputs": [dataset(name, reads) for name in writes],
        }
    )


def queries(start: int) -> Iterator[tuple[str, str]]:
    """Yield the kind and path of expensive queries, endlessly."""
    for number in count(start):
        node = f"dataset:bench:t{number * 37 % TABLES}"
        field = f"c{number % COLUMNS}"
        expensive: list[tuple[str, dict[str, Any]]] = [
            ("tree", {"node": node, "direction": "both", "depth": 100}),
            ("graph", {"node": node, "up": 100, "down": 100, "columns": "true"}),
            ("columns", {"node": node, "depth": 100}),
            ("impact", {"node": node, "field": field, "depth": 100}),
        ]
        kind, params = expensive[number % len(expensive)]
        yield kind, f"/api/v2/{kind}?{urlencode(params)}"


def request(port: int, method: str, path: str, body: bytes | None = None) -> int:
    """Send a request over a new connection; return the status code, 0 without a response."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request(method, path, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        response.read()
        return response.status
    except OSError:
        return 0
    finally:
        connection.close()


def timed(kind: str, begun: float, send: Callable[[], int], timings: list[Timing]) -> None:
    """Record the status of a request and the seconds since `begun`."""
    status = send()
    timings.append((kind, status, time.perf_counter() - begun))


def ask(port: int, clients: int, until: float, results: Any) -> None:
    """Send expensive queries over several connections without a pause."""
    timings: list[Timing] = []

    def client(start: int) -> None:
        for kind, path in queries(start):
            if time.time() > until:
                return
            timed(kind, time.perf_counter(), lambda path=path: request(port, "GET", path), timings)  # type: ignore[misc]

    together([threading.Thread(target=client, args=(number,)) for number in range(clients)])
    results.put(timings)


def post_and_check(port: int, until: float, results: Any) -> None:
    """Post an event and read /healthz every INTERVAL seconds, even if earlier ones still wait."""
    timings: list[Timing] = []
    threads: list[threading.Thread] = []
    while time.time() < until:
        body, begun = event(len(threads) % JOBS), time.perf_counter()
        sends: dict[str, Callable[[], int]] = {
            "POST": lambda body=body: request(port, "POST", "/api/v1/lineage", body),  # type: ignore[misc]
            "healthz": lambda: request(port, "GET", "/healthz"),
        }
        for kind, send in sends.items():
            threads.append(threading.Thread(target=timed, args=(kind, begun, send, timings)))
            threads[-1].start()
        time.sleep(INTERVAL)  # the pace of the measurement
    for thread in threads:
        thread.join()
    results.put(timings)


def together(threads: list[threading.Thread]) -> None:
    """Run functions in parallel threads and wait for all."""
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def count_runs(port: int) -> int:
    """Return the number of runs in the server."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request("GET", "/healthz")
    return int(orjson.loads(connection.getresponse().read())["runs"])


def measure(server: Server, clients: int, seconds: float) -> None:
    """Print the times per kind of request while clients send expensive queries."""
    before, until = count_runs(server.port), time.time() + seconds
    results: Any = multiprocessing.Queue()
    workers = [
        multiprocessing.Process(target=ask, args=(server.port, clients, until, results)),
        multiprocessing.Process(target=post_and_check, args=(server.port, until, results)),
    ]
    for worker in workers:
        worker.start()
    timings = [timing for _ in workers for timing in results.get()]
    for worker in workers:
        worker.join()
    acknowledged = sum(kind == "POST" and status == 201 for kind, status, _ in timings)
    expected, patient_until = before + acknowledged, time.time() + PATIENCE
    while (run_count := count_runs(server.port)) < expected and time.time() < patient_until:
        time.sleep(INTERVAL)  # queries of disconnected clients may still run
    lost = expected - run_count
    say(f"{clients} clients: {acknowledged} events acknowledged, {lost} of them lost")
    by_kind: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for kind, status, took in timings:
        by_kind[kind].append((status, took))
    for kind, results_of_kind in by_kind.items():
        times = sorted(took for _, took in results_of_kind)
        p50, p99, last = times[len(times) // 2], times[int(len(times) * 0.99)], times[-1]
        codes = ", ".join(
            f"{n} × {code or 'none'}" for code, n in Counter(s for s, _ in results_of_kind).items()
        )
        say(f"  {kind:8} median {p50:7.3f} s  p99 {p99:7.3f} s  longest {last:7.3f} s  {codes}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("seconds", type=float, nargs="?", default=20.0)
    parser.add_argument("--clients", type=int, nargs="*", default=[0, 3, 60])
    arguments = parser.parse_args()
    say(f"{psutil.cpu_count()} CPUs, load {psutil.getloadavg()[0]:.1f}")
    with (
        tempfile.TemporaryDirectory() as work,
        serving(*headwater(Path(work, "log.db"))) as server,
    ):
        times: Any = multiprocessing.Queue()
        post(server.port, (event(job) for job in range(JOBS) for _ in range(RUNS)), times)
        settled(server)
        for clients in arguments.clients:
            measure(server, clients, arguments.seconds)


if __name__ == "__main__":
    main()
