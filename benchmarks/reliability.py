"""Try to lose events and to break the server, and print the figures as a table.

    .venv/bin/python -m benchmarks.reliability [PART ...] [--kills N] [--calls N] [--events N]

Parts (by default all; --seed selects other random values):

- `kills` ends a server with SIGKILL N times while it receives events; events that were acknowledged
  and are missing are failures.
- `calls` sends N random calls of the paths in /openapi.json, and `events` N mutated events; answers
  of 500 and more, except 503, are failures.
- `schema` runs schemathesis, which generates about N calls from /openapi.json; responses that the
  document does not describe are failures too.
- `disk` limits the size of the server's files, as on a full disk.
- `clocks` compares stores with the same events, decades apart, in different orders.
- `memory` sends expensive queries from N clients for half a minute; responses other than 200 and
  503 with Retry-After, and more than 300 MB of memory beyond the idle server's, are failures.
- `prune` ends a prune with SIGKILL, and `snapshots` damages stored snapshots.

The exit code is 1 if there was a failure.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import resource
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode
from urllib.request import urlopen

import orjson

from benchmarks.lineage_store import START, headwater, say
from benchmarks.lineage_under_queries import JOBS
from benchmarks.lineage_under_queries import event as wide_event
from headwater.lineage.queries import edges_answer
from headwater.log import EventLog, entry_of
from headwater.projection.live import Live

JUNK: tuple[Any, ...] = (
    *(None, True, -1, 0, 2**63, 1e308, "", "\x00", "☃" * 50, "a" * 5_000, [], {}, [[]]),
    *(
        "' OR 1=1 --",
        "../../etc/passwd",
        "2026-02-30T00:00:00Z",
        "9999-12-31T23:59:59Z",
        "dataset:",
    ),
)
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
PRUNES, DAMAGES, SECONDS = 5, 5, 30
MOST_MEMORY = 300 * 2**20


@dataclass
class Options:
    """The size of each part."""

    kills: int
    calls: int
    events: int
    clients: int
    random: random.Random
    folder: Path


def event(number: int, time_of: str = "") -> dict[str, Any]:
    """Return an event of one of 20 jobs, each of which reads a table and writes the next."""
    job = number % 20
    time_of = time_of or (EPOCH + timedelta(seconds=number)).isoformat()
    return {
        "eventType": "COMPLETE",
        "eventTime": time_of,
        "producer": "https://example.org/reliability",
        "run": {"runId": f"00000000-0000-4000-8000-{number:012}"},
        "job": {"namespace": "bench", "name": f"job{job}"},
        "inputs": [{"namespace": "bench", "name": f"t{job}"}],
        "outputs": [{"namespace": "bench", "name": f"t{job + 1}"}],
    }


@contextmanager
def serving(database: Path, most_bytes: int | None = None) -> Iterator[tuple[Any, int]]:
    """Run a server; yield its process and port. With `most_bytes`, its files cannot be larger."""

    def limit() -> None:
        if most_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

    with subprocess.Popen(
        headwater(database),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        preexec_fn=limit,
    ) as process:
        try:
            assert process.stdout
            line = process.stdout.readline()
            assert "http://" in line, f"the server did not start, see its log: {line!r}"
            address = line.split("http://")[1].split(",")[0]
            yield process, int(address.rsplit(":", 1)[1])
        finally:
            process.terminate()


def call(port: int, method: str, path: str, body: bytes | None = None) -> int:
    """Send a request over a new connection; return the status, 0 without an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    try:
        connection.request(method, path, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        response.read()
    except (OSError, http.client.HTTPException):
        return 0
    else:
        return response.status
    finally:
        connection.close()


def post(port: int, numbers: Iterator[int], acknowledged: set[int]) -> None:
    """Post events over one connection until the server is gone."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    with suppress(OSError, http.client.HTTPException):
        while True:
            number = next(numbers)
            connection.request("POST", "/api/v1/lineage", orjson.dumps(event(number)))
            response = connection.getresponse()
            response.read()
            if response.status == 201:
                acknowledged.add(number)
    connection.close()


def stored(database: Path) -> set[int]:
    """Return the numbers of the events in a log."""
    log = EventLog(str(database))
    found = {int(orjson.loads(row.body)["run"]["runId"][-12:]) for row in log.rows()}
    log.close()
    return found


def edges(database: Path) -> Any:
    """Return the edges of a log."""
    log = EventLog(str(database))
    with Live(log).reading() as state:
        found = edges_answer(state, "task", "data", 1_000)
    log.close()
    return found


def fill(database: Path, count: int) -> None:
    """Create a log with events."""
    log = EventLog(str(database))
    log.append([entry_of(orjson.dumps(event(number))) for number in range(count)])
    log.close()


def kills(options: Options) -> tuple[int, str, int]:
    """End a server with SIGKILL while it receives events."""
    database, acknowledged = options.folder / "kills.db", set[int]()
    numbers = iter(range(10**9))
    for _ in range(options.kills):
        with serving(database) as (process, port):
            thread = threading.Thread(target=post, args=(port, numbers, acknowledged))
            thread.start()
            time.sleep(options.random.uniform(0.05, 0.6))  # the moment of the kill
            process.kill()
            thread.join()
    lost = acknowledged - stored(database)
    return options.kills, f"{len(acknowledged):,} events acknowledged; lost", len(lost)


def calls(options: Options) -> tuple[int, str, int]:
    """Send random calls of the documented paths."""
    database, bad = options.folder / "calls.db", 0
    fill(database, 200)
    with serving(database) as (_, port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
        connection.request("GET", "/openapi.json")
        document = json.loads(connection.getresponse().read())
        connection.close()
        operations = [(path, *item) for path, methods in document["paths"].items()
                      for item in methods.items() if "stream" not in path]  # fmt: skip
        for _ in range(options.calls):
            status = call(port, *random_call(options.random, *options.random.choice(operations)))
            bad += status == 0 or (status >= 500 and status != 503)
        bad += call(port, "GET", "/healthz") != 200
    return options.calls, "answers of 500 and more, or none", bad


CHECKS = ",".join(
    (
        *("not_a_server_error", "status_code_conformance", "content_type_conformance"),
        "response_schema_conformance",
    )
)


def schema(options: Options) -> tuple[int, str, int]:
    """Run schemathesis, which generates calls from /openapi.json and checks their responses."""
    database, report = options.folder / "schema.db", options.folder / "report.json"
    fill(database, 200)
    with serving(database) as (_, port):
        address = f"http://127.0.0.1:{port}"
        with urlopen(f"{address}/openapi.json") as response:
            operations = sum(map(len, json.load(response)["paths"].values()))
        command = [str(Path(sys.executable).with_name("schemathesis")), "run"]
        command += [f"{address}/openapi.json", "--url", address, "--checks", CHECKS, "--no-color"]
        command += ["--phases", "examples,coverage,fuzzing", "--exclude-path-regex", "stream"]
        command += ["--max-examples", str(max(1, options.calls // operations))]
        command += ["--seed", str(options.random.randrange(1_000)), "--continue-on-failure"]
        command += ["--generation-database", "none", "--suppress-health-check", "all"]
        command += ["--max-failures", "1000", "--report", "json", "--report-json-path", str(report)]
        subprocess.run(command, stdout=sys.stderr, check=False)
        bad = int(call(port, "GET", "/healthz") != 200)
    found = json.loads(report.read_bytes())
    counts = found["test_cases"]
    bad += counts["with_failures"] + counts["errored"] + len(found["errors"])
    return (
        counts["generated"],
        "by schemathesis; responses that the document does not describe",
        bad,
    )


def random_call(
    chance: random.Random, path: str, method: str, operation: dict[str, Any]
) -> tuple[str, str, bytes | None]:
    """Return method, path and body of a call with random values."""
    good = ("dataset:bench:t3", "job:bench:job3", "t3", "bench", "10", "up", "task")
    values: dict[str, str] = {}
    for parameter in operation.get("parameters", []):
        value = str(chance.choice(good if chance.random() < 0.6 else JUNK))
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", quote(value or "x", safe=""))
        elif parameter["in"] == "query" and chance.random() < 0.6:
            values[parameter["name"]] = value
    body = None
    if method in ("post", "put", "patch"):
        body = orjson.dumps(mutated(chance, event(chance.randrange(1_000))))
    return method.upper(), f"{path}?{urlencode(values)}" if values else path, body


def mutated(chance: random.Random, value: Any) -> Any:
    """Return a copy of a JSON value with some parts replaced, removed or nested."""
    if chance.random() < 0.08:
        junk = chance.choice(JUNK)
        return junk if not isinstance(junk, int) or abs(junk) < 2**63 else 1
    if isinstance(value, dict):
        kept = {key: mutated(chance, item) for key, item in value.items() if chance.random() > 0.05}
        return {**kept, "extra": [[[value]]]} if chance.random() < 0.05 else kept
    return [mutated(chance, item) for item in value] if isinstance(value, list) else value


def events(options: Options) -> tuple[int, str, int]:
    """Post mutated events."""
    bad = 0
    with serving(options.folder / "events.db") as (_, port):
        for number in range(options.events):
            body = orjson.dumps(mutated(options.random, event(number)))
            if options.random.random() < 0.1:
                body = body[: options.random.randrange(len(body))]
            status = call(port, "POST", "/api/v1/lineage", body)
            bad += status == 0 or (status >= 500 and status != 503)
        bad += call(port, "GET", "/api/v2/edges") != 200
    return options.events, "answers of 500 and more, or none", bad


def disk(options: Options) -> tuple[int, str, int]:
    """Post until the disk is full: a limit of the size of the server's files."""
    database, acknowledged = options.folder / "disk.db", set[int]()
    fill(database, 0)
    statuses: list[int] = []
    with serving(database, 1_500_000) as (_, port):
        for number in range(20_000):
            status = call(port, "POST", "/api/v1/lineage", orjson.dumps(event(number)))
            if status != 201:
                statuses.append(status)
                break
            acknowledged.add(number)
    lost = acknowledged - stored(database)
    refused = statuses == [503]
    detail = f"{len(acknowledged):,} events acknowledged, then {statuses}; lost"
    return 1, detail, len(lost) + (not refused)


def clocks(options: Options) -> tuple[int, str, int]:
    """Compare stores with the same events, with times decades apart, in different orders."""
    times = [f"{year}-01-01T00:00:00Z" for year in (1971, 2026, 2027, 2090, 9998)]
    bodies = [event(number, options.random.choice(times)) for number in range(200)]
    found = []
    for order in range(5):
        options.random.shuffle(bodies)
        log = EventLog("sqlite://")
        log.append([entry_of(orjson.dumps(body)) for body in bodies])
        with Live(log).reading() as state:
            found.append(edges_answer(state, "task", "data", 1_000))
        log.close()
        assert len(found) == order + 1
    return 5, "orders with other edges", sum(answer != found[0] for answer in found)


def costly_calls(number: int) -> list[str]:
    """Return expensive queries of nodes chosen by a number."""
    table, last = f"bench:t{number % 300}", f"bench:t{(number + 150) % 300}"
    return [
        f"/api/v2/tree?node=dataset:{table}&direction=both&depth=100",
        f"/api/v2/graph?node=dataset:{table}&up=100&down=100&columns=true",
        f"/api/v2/columns?node=dataset:{table}&depth=100",
        f"/api/v2/impact?node=dataset:{table}&field=c{number % 10}&depth=100",
        f"/api/v2/path?from=dataset:{table}&to=dataset:{last}",
        f"/api/v2/provenance?node=dataset:{table}&level=query",
        f"/api/v2/search?text=t{number % 300}&limit=1000",
        "/api/v2/edges?level=query&kind=data&limit=1000",
        f"/api/v1/lineage?nodeId=dataset:{table}&depth=100",
        f"/api/v1/column-lineage?nodeId=dataset:{table}&depth=100&withDownstream=true",
        "/api/v1/events/lineage?limit=1000",
        "/api/v1/jobs?limit=1000",
        "/api/v2/nodes?limit=1000",
        f"/api/v2/edges?asOf={quote(START.isoformat())}",
    ]


def is_answered(port: int, path: str) -> bool:
    """Send a query; return True for a complete 200 or a 503 with Retry-After. Print any other."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=4 * SECONDS)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        while response.read(2**16):
            pass
        status, retry = response.status, response.headers["Retry-After"]
    except (OSError, http.client.HTTPException):
        status, retry = 0, None  # no response
    finally:
        connection.close()
    is_good = status == 200 or (status == 503 and retry is not None)
    if not is_good:
        sys.stderr.write(f"{status} {path}\n")
    return is_good


def memory(options: Options) -> tuple[int, str, int]:
    """Send expensive queries from several clients at once, and measure the server's memory."""
    database, good = options.folder / "memory.db", list[bool]()
    log = EventLog(str(database))
    for _ in range(options.events // JOBS + 1):
        log.append([entry_of(wide_event(job)) for job in range(JOBS)])
    log.close()

    def client(port: int, number: int) -> None:
        chance, end = random.Random(number), time.monotonic() + SECONDS
        while time.monotonic() < end:
            good.append(is_answered(port, chance.choice(costly_calls(chance.randrange(300)))))

    with serving(database) as (process, port):
        call(port, "GET", "/healthz")
        before = memory_of(process.pid, "VmRSS")
        threads = [threading.Thread(target=client, args=(port, n)) for n in range(options.clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        peak = memory_of(process.pid, "VmHWM") - before
    wrong = good.count(False) + (peak > MOST_MEMORY)
    detail = (
        f"calls by {options.clients} clients, {peak // 2**20} MB beyond {before // 2**20} MB;"
        " responses other than 200 and 503 with Retry-After"
    )
    return len(good), detail, wrong


def memory_of(pid: int, name: str) -> int:
    """Return a size in bytes from the status of a process, such as VmRSS."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


def prune(options: Options) -> tuple[int, str, int]:
    """End a prune with SIGKILL, then let one finish."""
    database = options.folder / "prune.db"
    fill(database, 3_000)
    before = edges(database)
    command = (
        headwater(database)[0],
        "prune",
        "--keep",
        "1s",
        "--yes",
        "--database",
        str(database),
    )
    wrong = 0
    for _ in range(PRUNES):
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            time.sleep(options.random.uniform(0.2, 3.0))  # the moment of the kill
            process.kill()
        wrong += edges(database) != before
    wrong += subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode != 0
    left = len(stored(database))
    wrong += edges(database) != before
    return PRUNES, f"{left:,} of 3,000 events left at the end; other edges", wrong


def snapshots(options: Options) -> tuple[int, str, int]:
    """Damage the stored snapshots."""
    database = options.folder / "snapshots.db"
    fill(database, 3_000)
    before, wrong, damaged = edges(database), 0, 0
    writer = (sys.executable, "-m", "headwater.projection.snapshot_writer")
    environment = {"HEADWATER_DATABASE": str(database), "PATH": "/usr/bin:/bin"}
    for _ in range(DAMAGES):
        subprocess.run(writer, env=environment, check=True, stdout=subprocess.DEVNULL)
        with sqlite3.connect(database) as connection:
            for rowid, state in connection.execute("SELECT rowid, data FROM snapshots").fetchall():
                place = options.random.randrange(len(state))
                changed = state[:place] + bytes([state[place] ^ 255]) + state[place + 1 :]
                connection.execute(
                    "UPDATE snapshots SET data = ? WHERE rowid = ?", (changed, rowid)
                )
                damaged += 1
        wrong += edges(database) != before
    return damaged, "snapshots damaged; other edges", wrong


PARTS = {
    part.__name__: part
    for part in (kills, calls, schema, events, disk, clocks, memory, prune, snapshots)
}


def main(arguments: list[str] | None = None) -> None:
    """Run the parts and print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=list(PARTS))
    for name, default in (
        ("kills", 50),
        ("calls", 5_000),
        ("events", 5_000),
        ("clients", 16),
        ("seed", 1),
    ):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args(arguments)
    say("| part | tried | measured | failures |\n|---|---|---|---|")
    wrong = 0
    for name in given.parts:
        with tempfile.TemporaryDirectory() as folder:
            chance = random.Random(given.seed)
            options = Options(
                given.kills, given.calls, given.events, given.clients, chance, Path(folder)
            )
            tried, detail, failures = PARTS[name](options)
        wrong += failures
        say(f"| {name} | {tried:,} | {detail} | {failures} |")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
