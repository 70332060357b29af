"""A real server process: killed, stopped, with a port in use."""

from __future__ import annotations

import json
import os
import queue
import re
import signal
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any
from urllib.error import URLError

import orjson
import pytest

from headwater.log import EventLog, entry_of
from headwater.plugins.export.queries import export
from headwater.projection import project
from packages.headwater.tests.conftest import Call
from packages.headwater.tests.support.servers import Server, until

pytestmark = pytest.mark.server


def test_acknowledged_events_survive_kill_9(
    serve: Callable[..., Server], tmp_path: Path, build: Any
) -> None:
    server = serve(tmp_path / "log.db")
    acknowledged: queue.SimpleQueue[str] = queue.SimpleQueue()

    def post(worker: int) -> None:
        for number in range(10_000):
            run = f"{worker}-{number}"
            try:
                if server.post(build.run("START", run, "j", "08:00:00")) == 201:
                    acknowledged.put(run)
            except (URLError, OSError):
                return

    workers = [threading.Thread(target=post, args=(worker,)) for worker in range(8)]
    for worker in workers:
        worker.start()
    until(lambda: acknowledged.qsize() >= 150)
    server.stop(signal.SIGKILL)
    for worker in workers:
        worker.join()
    runs = {acknowledged.get() for _ in range(acknowledged.qsize())}
    again = serve(tmp_path / "log.db")
    log = EventLog(str(tmp_path / "log.db"))
    results = {orjson.loads(body)["run"]["runId"] for _, body in log.read()}
    log.close()
    assert again.get("/healthz")["runs"] == len(results)
    assert len(runs) >= 150
    assert runs <= results


def test_spooled_events_are_read_at_the_start(
    serve: Callable[..., Server], tmp_path: Path, build: Any
) -> None:
    spool = tmp_path / "spool"
    options = ("--spool", str(spool))
    first = serve(tmp_path / "log.db", *options)
    _append(spool / "a.jsonl", build, "a")
    until(lambda: first.get("/healthz")["runs"] == 1)
    assert first.stop() == 0
    _append(spool / "a.jsonl", build, "b")
    _append(spool / "deep" / "c.jsonl", build, "c")
    second = serve(tmp_path / "log.db", *options)
    until(lambda: second.get("/healthz")["runs"] == 3)


def _append(path: Path, build: Any, run: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(orjson.dumps(build.run("COMPLETE", run, "j", "08:00:00")) + b"\n")


def test_server_prints_its_log_and_spool_folder(
    serve: Callable[..., Server], tmp_path: Path
) -> None:
    database, spool = tmp_path / "log.db", tmp_path / "spool"
    assert serve(database).greeting.endswith(f", log sqlite:///{database}\n")
    greeting = serve(database, "--spool", str(spool)).greeting
    assert greeting.endswith(f", log sqlite:///{database}, spool folder {spool}\n")


def test_signal_stops_the_server_with_exit_code_0_at_any_time(
    serve: Callable[..., Server], tmp_path: Path
) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        assert serve(tmp_path / "log.db").stop(number) == 0


def test_every_log_line_has_time_and_level(
    tmp_path: Path,
) -> None:
    script = "from headwater.cli import main; main()"
    options = ["serve", "--port", "0", "--database", str(tmp_path / "log.db")]
    command = [sys.executable, "-c", script, *options]
    with Popen(command, stdout=PIPE, stderr=PIPE, text=True) as server:
        assert server.stdout is not None
        server.stdout.readline()
        server.terminate()
        _, log = server.communicate()
    time = r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} "
    lines = [re.sub(time, "TIME ", line) for line in log.splitlines()]
    assert lines[0].startswith("TIME INFO headwater ")
    assert lines[1:] == ["TIME INFO headwater stopped"]


def test_port_in_use_error_names_the_option(tmp_path: Path, call: Call) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        result = call("serve", "--port", port, "--database", str(tmp_path / "log.db"))
    assert result.returncode == 2
    assert f"cannot listen on port {port}" in result.stderr
    assert "--port" in result.stderr


def test_running_server_sees_events_written_by_a_command(
    serve: Callable[..., Server], tmp_path: Path, build: Any, call: Call
) -> None:
    server = serve(tmp_path / "log.db")
    _append(tmp_path / "events.jsonl", build, "r")
    command = ("ingest", str(tmp_path / "events.jsonl"))
    assert call(*command, "--database", str(tmp_path / "log.db")).returncode == 0
    until(lambda: server.get("/healthz")["runs"] == 1)
    result = call(*command, "--url", server.url)
    assert result.stdout == "stored 0, duplicates 1, warnings 1, rejected 0\n"


def test_queries_respond_while_events_arrive(
    serve: Callable[..., Server], tmp_path: Path, build: Any
) -> None:
    server = serve(tmp_path / "log.db")
    failures: list[Exception] = []

    def read() -> None:
        try:
            for _ in range(25):
                server.get("/api/v2/edges?level=task")
                server.get("/api/v1/jobs?limit=5")
        except Exception as error:
            failures.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for number in range(60):
        run = build.run("START", f"r{number}", f"j{number}", "08:00:00", reads=("db|a",))
        assert server.post(run) == 201
    for reader in readers:
        reader.join()
    assert failures == []
    assert server.get("/healthz")["jobs"] == 60
    assert os.path.exists(tmp_path / "log.db")


def test_doctor_reads_the_servers_spool_with_a_key(
    serve: Callable[..., Server], tmp_path: Path, build: Any, call: Call
) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    event = orjson.dumps(build.run("COMPLETE", "1", "a", "08:00:00"))
    (spool / "p.jsonl").write_bytes(event + b"\nbroken\n")
    key = ("--api-key", "k")
    server = serve(tmp_path / "log.db", "--spool", str(spool), *key)
    until(lambda: server.get("/healthz")["spool"]["lagBytes"] == 0)

    def doctor(*options: str) -> tuple[int, Any]:
        result = call("doctor", "--url", server.url, "--json", *options)
        return result.returncode, orjson.loads(result.stdout)

    code, answer = doctor(*key)
    assert (code, [finding["kind"] for finding in answer["findings"]]) == (1, ["rejected lines"])
    assert (len(answer["producers"]), answer["eventsWithWarnings"]) == (1, 1)
    code, answer = doctor()
    assert (code, answer["findings"][0]["kind"]) == (3, "endpoint")
    assert "requires an API key" in answer["findings"][0]["message"]
    code, answer = doctor("--api-key", "other")
    assert (code, answer["findings"][0]["kind"]) == (3, "endpoint")
    assert "rejected the API key" in answer["findings"][0]["message"]


def test_server_state_equals_a_rebuild_from_its_events(
    serve: Callable[..., Server], tmp_path: Path, build: Any
) -> None:
    server = serve(tmp_path / "log.db")
    for nth in range(3):
        server.post(build.run("START", "1", "a", f"0{nth}:00:00", writes=(f"db|t{nth}",)))
    bodies = [orjson.dumps(event) for event in server.get("/api/v1/events/lineage")["events"]]
    rebuilt = project(entry_of(body).event for body in bodies)
    assert len(bodies) == 3
    assert json.loads(json.dumps(export(rebuilt))) == server.get("/api/v2/export")
