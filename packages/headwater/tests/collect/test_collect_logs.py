"""Events in the lines of logs."""

from __future__ import annotations

import gzip
import io
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from openlineage.client.event_v2 import Job, Run, RunEvent, RunState
from openlineage.client.transport.console import ConsoleConfig, ConsoleTransport

from headwater.collect.logs import events_in
from headwater.log import EventLog


def _event(build: Any, run: str) -> str:
    body = build.run("COMPLETE", run, "j", "08:00:00", reads=("db|a{b}",))
    return json.dumps(body, separators=(",", ":"))


@pytest.mark.parametrize(
    "line",
    [
        "25/11/21 08:00:00 INFO ConsoleTransport: %s",
        "[2025-11-21, 08:00:00 UTC] {console.py:29} INFO - %s",
        "[2025-11-21T08:00:00.000+0000] {spark_submit.py:571} INFO - 25/11/21 INFO Console: %s",
        '{"level": "info"} %s (done)',
        "%s",
    ],
)
def test_event_is_found_anywhere_in_a_line(line: str, build: Any) -> None:
    event = _event(build, "r")
    assert [json.loads(item) for item in events_in((line % event).encode())] == [json.loads(event)]


def test_event_is_found_within_a_json_line(build: Any) -> None:
    event = _event(build, "r")
    airflow = {"timestamp": "2025-11-21T08:00:00Z", "level": "info", "event": event}
    docker = {"log": json.dumps(airflow) + "\n", "stream": "stderr"}
    for line in (airflow, docker):
        result = list(events_in(json.dumps(line).encode()))
        assert [json.loads(item) for item in result] == [json.loads(event)]


def test_two_events_of_one_line_are_found(build: Any) -> None:
    line = f"a {_event(build, '1')} b {_event(build, '2')}".encode()
    assert [json.loads(item)["run"]["runId"] for item in events_in(line)] == ["1", "2"]
    for other in (b"", b"INFO {x} nothing {", b'{"level": "info", "event": "started"}'):
        assert list(events_in(other)) == []
    torn = line[:60]
    assert list(events_in(torn)) == [torn]


def test_line_of_braces_takes_linear_time(build: Any) -> None:
    line = b"eventTime " + b"{" * 5_000 + _event(build, "1").encode()
    assert [json.loads(item)["run"]["runId"] for item in events_in(line)] == ["1"]


def test_folder_of_logs_is_read_and_torn_events_are_reported(
    call: Any, tmp_path: Path, build: Any
) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    good, odd = _event(build, "1"), _event(build, "2").replace("COMPLETE", "complete")
    lines = ["INFO started", f"INFO ConsoleTransport: {good}", f"x {odd}", "", f"x {good[:50]}"]
    (folder / "driver.log").write_text("\n".join(lines))
    where = ("--database", str(tmp_path / "log.db"))
    result = call("ingest", str(folder), *where)
    assert result.stdout == "stored 2, duplicates 0, warnings 2, rejected 1\n"
    assert "driver.log:5: $: received" in result.stderr
    again = call("ingest", "-", *where, stdin="\n".join(lines[:3]).encode())
    assert again.stdout == "stored 0, duplicates 2, warnings 2, rejected 0\n"
    nothing = call("ingest", "-", *where, stdin=b"nothing of lineage\n")
    assert nothing.stdout == "stored 0, duplicates 0, warnings 0, rejected 0\n"
    assert nothing.stderr == "no events found in -\n"
    codes = [item.returncode for item in (result, again, nothing)]
    assert codes == [1, 0, 1]


def test_gzip_files_are_read_and_damaged_ones_are_named(
    call: Any, tmp_path: Path, build: Any
) -> None:
    zipped = gzip.compress(_event(build, "1").encode() + b"\n" + _event(build, "2").encode())
    for name in ("a.jsonl.gz", "b.json.gz", "c.log.gz"):
        (tmp_path / name).write_bytes(zipped)
    where = ("--database", str(tmp_path / "log.db"))
    result = call("ingest", str(tmp_path), *where)
    assert (result.stdout, result.returncode) == (
        "stored 2, duplicates 4, warnings 6, rejected 0\n",
        0,
    )
    (tmp_path / "d.json.gz").write_bytes(zipped[:40])
    new = tmp_path / "new.db"
    torn = call("ingest", str(tmp_path / "d.json.gz"), "--database", str(new))
    assert (torn.returncode != 0, new.exists()) == (True, False)
    assert "d.json.gz: incomplete or damaged gzip file" in torn.stderr


def test_log_of_the_console_transport_is_read(call: Any, tmp_path: Path) -> None:
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(
        logging.Formatter("[%(asctime)s] {%(filename)s} %(levelname)s - %(message)s")
    )
    logger = logging.getLogger("openlineage.client.transport.console")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        run = Run(runId="01a1fd3d-1a97-7b7f-8cb0-753b3dcc6260")
        event = RunEvent(
            eventTime="2025-11-21T08:00:00Z",
            run=run,
            job=Job(namespace="demo", name="j"),
            eventType=RunState.COMPLETE,
            producer="https://example.org",
        )
        ConsoleTransport(ConsoleConfig()).emit(event)
    finally:
        logger.removeHandler(handler)
    (tmp_path / "task.log").write_text(written.getvalue())
    where = ("--database", str(tmp_path / "log.db"))
    result = call("ingest", str(tmp_path / "task.log"), *where)
    assert result.stdout.startswith("stored 1, ")
    log = EventLog(str(tmp_path / "log.db"))
    ((_, body),) = log.read()
    assert json.loads(body)["job"]["name"] == "j"
    log.close()
