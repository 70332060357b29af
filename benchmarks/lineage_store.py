"""Measure headwater's event rate and the CPU time of its responses.

    .venv/bin/python benchmarks/lineage_store.py [SECONDS] [--jobs N ...] [--log EVENTS ...]

First, 8 connections post pairs of START and COMPLETE events (8.5 kB each, 3 inputs, 10 columns with
column lineage) for SECONDS (20), to a server that only returns 201, to `headwater serve` on
SQLite, and to one that already has EVENTS events in its log. Then, for each number of jobs (1000),
a new store is filled with that many jobs in layers of 50 and queried: once, repeatedly without
changes, and after each of several new events. Times are CPU seconds of the server per response. The
client is a separate process on the same machine.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import platform
import random
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psutil

from headwater.log import EventLog, entry_of

CONNECTIONS, WIDTH, FAN, COLUMNS = 8, 50, 3, 10
SERVE = """
config = uvicorn.Config(app, port=0, lifespan="off", log_level="error")
server = uvicorn.Server(config)
listener = config.bind_socket()
listener.listen()
print("listens on", f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
server.run(sockets=[listener])
"""
NOTHING = """
import uvicorn
async def app(scope, receive, send):
    more = scope["type"] == "http"
    while more:
        more = (await receive()).get("more_body")
    await send({"type": "http.response.start", "status": 201, "headers": []})
    await send({"type": "http.response.body"})
"""
PRODUCER = {"_producer": "https://example.org/benchmark"}
START = datetime.now(UTC)


@dataclass
class Server:
    """A server under test."""

    port: int
    process: psutil.Process

    def cpu(self) -> float:
        """Return the CPU seconds so far."""
        times = self.process.cpu_times()
        return times.user + times.system


@contextmanager
def serving(*command: str) -> Iterator[Server]:
    """Run a server that prints its address in its first line."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            address = process.stdout.readline().split("http://")[1].split(",")[0]
            yield Server(int(address.rsplit(":", 1)[1]), psutil.Process(process.pid))
        finally:
            process.terminate()


def headwater(database: Path) -> tuple[str, ...]:
    """Return the command of a server with a database."""
    program = str(Path(sys.executable).with_name("headwater"))
    return program, "serve", "--port", "0", "--database", str(database)


def dataset(name: str, sources: list[str] | None) -> dict[str, Any]:
    """Return a dataset with its schema and, if `sources` is given, its column lineage."""
    columns = [f"c{i}" for i in range(COLUMNS)]
    facets: dict[str, Any] = {
        "schema": {
            **PRODUCER,
            "fields": [{"name": column, "type": "bigint"} for column in columns],
        },
        "dataSource": {**PRODUCER, "name": "bench", "uri": "bench"},
    }
    if sources is not None:
        transformations = [{"type": "DIRECT", "subtype": "TRANSFORMATION"}]
        facets["columnLineage"] = PRODUCER | {
            "fields": {
                column: {
                    "inputFields": [
                        {
                            "namespace": "bench",
                            "name": source,
                            "field": column,
                            "transformations": transformations,
                        }
                        for source in sources
                    ]
                }
                for column in columns
            }
        }
    return {"namespace": "bench", "name": name, "facets": facets}


def event(kind: str, job: int, run: str, second: int = 0) -> bytes:
    """Return an event of a job that reads three datasets of a layer and writes one of the next."""
    layer, place = divmod(job, WIDTH)
    reads = [f"L{layer}_{(place * 7 + number * 13) % WIDTH}" for number in range(FAN)]
    facets = {
        "jobType": {**PRODUCER, "jobType": "TASK", "integration": "X", "processingType": "BATCH"},
        "sql": {**PRODUCER, "query": f"insert into x select * from {' join '.join(reads)}"},
    }
    body = {
        "eventType": kind,
        "eventTime": (START + timedelta(seconds=second)).isoformat(),
        "producer": PRODUCER["_producer"],
        "run": {"runId": run},
        "job": {"namespace": "bench", "name": f"job{job}", "facets": facets},
        "inputs": [dataset(name, None) for name in reads],
        "outputs": [dataset(f"L{layer + 1}_{place}", reads)],
    }
    return json.dumps(body).encode()


def post(port: int, events: Iterator[bytes], times: Any) -> None:
    """Post events over one connection; put the seconds of each request into `times`."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    took = []
    for body in events:
        begun = time.perf_counter()
        connection.request("POST", "/api/v1/lineage", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        took.append(time.perf_counter() - begun)
        assert answer.status == 201, answer.status
    times.put(took)


def pairs(seconds: float, seed: int) -> Iterator[bytes]:
    """Yield pairs of prepared events of 500 jobs with new run ids until the time is over."""
    chance, until = random.Random(seed), time.monotonic() + seconds
    run = str(uuid.UUID(int=0))
    kinds = "START", "COMPLETE"
    prepared = [[event(kind, chance.randrange(500), run) for kind in kinds] for _ in range(100)]
    while time.monotonic() < until:
        run_id = str(uuid.UUID(int=chance.getrandbits(128), version=4)).encode()
        for body in chance.choice(prepared):
            yield body.replace(run.encode(), run_id)


def _post_pairs(port: int, seconds: float, seed: int, times: Any) -> None:
    post(port, pairs(seconds, seed), times)


def load(server: Server, seconds: float) -> str:
    """Post events over 8 connections; return their rate, times and CPU cost."""
    times: Any = multiprocessing.Queue()
    before, begun = server.cpu(), time.monotonic()
    workers = [
        multiprocessing.Process(target=_post_pairs, args=(server.port, seconds, seed, times))
        for seed in range(CONNECTIONS)
    ]
    for worker in workers:
        worker.start()
    took = sorted(duration for _ in workers for duration in times.get())
    rate = len(took) / (time.monotonic() - begun)
    cost = (server.cpu() - before) / len(took) * 1_000
    p99 = took[int(len(took) * 0.99)] * 1_000
    return f"{rate:7.0f} events/s  {cost:5.2f} CPU-ms an event  p99 {p99:5.0f} ms"


def say(line: str) -> None:
    """Print a line without buffering."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def ask(server: Server, path: str, after: Iterator[bytes], **params: Any) -> str:
    """Return the CPU seconds of a first query, of repeated ones, and of ones `after` an event."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=300)

    def query() -> tuple[float, int]:
        before = server.cpu()
        connection.request("GET", f"{path}?{urlencode(params)}")
        answer = connection.getresponse()
        size = len(answer.read())
        assert answer.status == 200, (path, answer.status)
        return server.cpu() - before, size

    first, size = query()
    until, again = time.monotonic() + 10, [query()[0]]
    while len(again) < 10 and time.monotonic() < until:
        again.append(query()[0])
    later = []
    for body in islice(after, 5):
        connection.request("POST", "/api/v1/lineage", body, {"Content-Type": "application/json"})
        connection.getresponse().read()
        later.append(query()[0])
    mean = [sum(times) / len(times) for times in (again, later)]
    return (
        f"{first:7.3f} CPU-s, again {mean[0]:6.3f}, after an event {mean[1]:6.3f}, {size:,} bytes"
    )


def settled(server: Server) -> None:
    """Wait until the server's child process has written its snapshot."""
    while server.process.children():
        time.sleep(0.1)


def graph(jobs: int, folder: Path) -> None:
    """Fill a store and query it."""
    database = folder / f"{jobs}.db"
    middle = f"dataset:bench:L{jobs // WIDTH // 2}_3"
    half = (START + timedelta(seconds=jobs // 2)).isoformat()
    node = {"nodeId": middle, "depth": 20}
    queries: dict[str, tuple[str, dict[str, Any]]] = {
        "lineage, depth 20": ("/api/v1/lineage", node),
        "column lineage, depth 20": ("/api/v1/column-lineage", node),
        "page of jobs": ("/api/v1/namespaces/bench/jobs", {"limit": 25}),
        "tree": ("/api/v2/tree", {"node": middle}),
        "tree as of half the time": ("/api/v2/tree", {"node": middle, "asOf": half}),
        "edges": ("/api/v2/edges", {}),
        "changes since half the time": ("/api/v2/diff", {"from": half}),
    }
    with serving(*headwater(database)) as server:
        runs = ((job, str(uuid.uuid4())) for job in range(jobs))
        times: Any = multiprocessing.Queue()
        post(server.port, (event("COMPLETE", job, run, job) for job, run in runs), times)
        for name, (path, params) in queries.items():
            more = (event("COMPLETE", jobs // 2, str(uuid.uuid4()), jobs) for _ in range(5))
            say(f"{jobs:6} jobs  {name:28} {ask(server, path, more, **params)}")
        settled(server)
    begun = time.monotonic()
    with serving(*headwater(database)) as server:
        one = (event("COMPLETE", 0, str(uuid.uuid4()), jobs) for _ in range(1))
        ask(server, "/api/v1/namespaces/bench/jobs/job0", one)
        took, memory = time.monotonic() - begun, server.process.memory_info().rss / 2**20
        say(f"{jobs:6} jobs  ready {took:.1f} s after a restart, {memory:.0f} MB resident")


def grown(events: int, folder: Path, seconds: float) -> None:
    """Post events to a server that already has many events in its log."""
    database = folder / f"log{events}.db"
    log, run = EventLog(str(database)), str(uuid.UUID(int=0))
    prepared = [[event(kind, job, run) for kind in ("START", "COMPLETE")] for job in range(500)]
    for _ in range(0, events, 1_000):
        runs = [str(uuid.uuid4()).encode() for _ in prepared]
        pairs = zip(prepared, runs, strict=True)
        log.append(
            [
                entry_of(body.replace(run.encode(), run_id))
                for pair, run_id in pairs
                for body in pair
            ]
        )
    log.close()
    with serving(*headwater(database)) as server:
        settled(server)
        say(f"  {events:7} in its log    {load(server, seconds)}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("seconds", type=float, nargs="?", default=20.0)
    parser.add_argument("--jobs", type=int, nargs="*", default=[1_000])
    parser.add_argument("--log", type=int, nargs="*", default=[])
    arguments = parser.parse_args()
    say(f"{platform.machine()}, {psutil.cpu_count()} CPUs, load {psutil.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as work:
        with serving(sys.executable, "-c", NOTHING + SERVE) as server:
            say(f"a server without any work    {load(server, arguments.seconds)}")
        with serving(*headwater(Path(work, "load.db"))) as server:
            say(f"headwater                  {load(server, arguments.seconds)}")
        for events in arguments.log:
            grown(events, Path(work), arguments.seconds)
        for jobs in arguments.jobs:
            graph(jobs, Path(work))


if __name__ == "__main__":
    main()
