"""Delivery by real processes: stopped, killed, queried for status."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from headwater.log import EventLog
from packages.headwater.tests.conftest import Call
from packages.headwater.tests.support.servers import Command, Server, until
from packages.headwater.tests.support.sinks import Sink, serving

pytestmark = pytest.mark.server


@pytest.fixture
def sink() -> Iterator[Sink]:
    with serving(Sink()) as sink:
        yield sink


@pytest.fixture
def filled(tmp_path: Path, build: Any) -> Path:
    """Return a log of 400 events."""
    log = EventLog(str(tmp_path / "log.db"))
    runs = (build.run("COMPLETE", str(number), "j", "08:00:00") for number in range(400))
    log.append([build.entry(body) for body in runs])
    log.close()
    return tmp_path / "log.db"


def _config(tmp_path: Path, sink: Sink) -> str:
    path = tmp_path / "deliver.yaml"
    path.write_text(f"backends: [{{name: sink, type: http, url: '{sink.url}'}}]")
    return str(path)


def test_deliver_once_status_and_retry(
    tmp_path: Path, filled: Path, sink: Sink, call: Call
) -> None:
    sink.answer = lambda body, _nth: 400 if body["run"]["runId"] == "7" else 201
    where = ("--database", str(filled))
    once = ("deliver", "--config", _config(tmp_path, sink), "--once", *where)
    assert call("deliver", "--status", *where).stdout == "No deliveries yet.\n"
    result = call(*once)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == "sink: 399 delivered, 1 dead letter: headwater deliver --status\n"
    shown = call("deliver", "--status", *where).stdout.splitlines()
    assert shown[0] == "sink  lag 0  dead letters 1"
    assert shown[1].startswith(f"  event 8: {sink.url}/api/v1/lineage answered 400: ")
    sink.answer = lambda _body, _nth: 201
    retried = call("deliver", "--retry", "sink", *where)
    assert retried.stdout == "sink: 1 dead letter queued again\n"
    mended = call(*once)
    assert (mended.returncode, mended.stderr) == (0, "sink: 1 delivered\n")
    (standing,) = orjson.loads(call("deliver", "--status", "--json", *where).stdout)
    assert (standing["lag"], standing["deadLetters"], standing["seq"]) == (0, 0, 400)
    unknown = call("deliver", "--retry", "snik", *where)
    assert (unknown.returncode, "known are: sink" in unknown.stderr) == (1, True)


def test_deliver_once_gives_up_on_a_closed_port(
    tmp_path: Path, filled: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwater.plugins.delivery.forwarder._ONCE_TRIES", 2)
    with serving(Sink()) as gone:
        url = gone.url
    config = tmp_path / "deliver.yaml"
    config.write_text(f"backends: [{{name: datahub, type: datahub, url: '{url}'}}]")
    result = call("deliver", "--config", str(config), "--once", "--database", str(filled))
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith(f"datahub: {url}/openapi/openlineage/api/v1/lineage: ")
    assert "gave up after 2 attempts." in result.stderr
    assert result.stderr.endswith("datahub: 0 delivered\n")


def test_deliver_once_reports_an_outage_with_exit_code_1(
    tmp_path: Path, filled: Path, sink: Sink, call: Call
) -> None:
    sink.answer = lambda _body, _nth: (503, {"Retry-After": "3600"})  # no second attempt
    where = ("--database", str(filled))
    result = call("deliver", "--config", _config(tmp_path, sink), "--once", *where)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith(f"sink: {sink.url}/api/v1/lineage answered 503")
    shown = call("deliver", "--status", *where).stdout
    assert shown.startswith("sink  lag 400  dead letters 0  failing since ")


def test_only_the_console_backend_writes_to_stdout(
    tmp_path: Path, filled: Path, call: Call
) -> None:
    config = tmp_path / "deliver.yaml"
    config.write_text("backends: [{name: here, type: console}]")
    result = call("deliver", "--config", str(config), "--once", "--database", str(filled))
    assert (result.returncode, result.stderr) == (0, "here: 400 delivered\n")
    assert [orjson.loads(line)["eventType"] for line in result.stdout.splitlines()]


def test_deliver_without_a_file_is_explained(filled: Path, call: Call) -> None:
    result = call("deliver", "--database", str(filled))
    assert result.returncode == 2
    assert "--config" in result.stderr
    assert "HEADWATER_DELIVER" in result.stderr


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_terminated_process_loses_nothing_and_keeps_order(
    number: int, tmp_path: Path, filled: Path, sink: Sink, call: Call
) -> None:
    config = _config(tmp_path, sink)
    command = Command("deliver", "--config", config, "--database", str(filled))
    sink.wait(lambda: len(sink.taken) >= 150)
    assert command.stop(number) == (0 if number == signal.SIGTERM else -number)
    before = len(sink.taken)
    assert before < 400
    call("deliver", "--config", config, "--once", "--database", str(filled))
    runs = sink.runs()
    assert list(dict.fromkeys(runs)) == [str(number) for number in range(400)]
    repeated = len(runs) - 400
    assert repeated <= (100 if number == signal.SIGKILL else 0)


def test_server_delivers_events_and_reports_status(
    serve: Callable[..., Server], tmp_path: Path, build: Any, sink: Sink, call: Call
) -> None:
    sink.answer = lambda body, nth: (429, {"Retry-After": "0"}) if nth == 0 else 201
    server = serve(tmp_path / "log.db", "--deliver", _config(tmp_path, sink))
    server.post(build.run("COMPLETE", "a", "j", "08:00:00"))
    sink.wait(lambda: sink.runs() == ["a"])
    where = ("--url", server.url)
    until(lambda: "lag 0" in call("deliver", "--status", *where).stdout)
    assert call("deliver", "--retry", "sink", *where).stdout.startswith("sink: 0 dead letters")
    assert "known are: sink" in call("deliver", "--retry", "a/b", *where).stderr
    assert server.stop() == 0
