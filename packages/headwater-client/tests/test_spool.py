from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import orjson
import pytest
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import Job, Run, RunEvent, RunState

from headwater.log import entry_of
from headwater_client.spool import SpoolConfig, SpoolTransport

_RUN = "01a1fd3d-1a97-7b7f-8cb0-753b3dcc6260"


def _event(name: str = "job") -> Any:
    return RunEvent(
        eventType=RunState.START,
        eventTime="2025-11-21T08:00:00Z",
        run=Run(runId=_RUN),
        job=Job(namespace="demo", name=name),
        producer="https://example.org/tests",
    )


def _lines(folder: Path) -> list[bytes]:
    return [line for file in folder.glob("*.jsonl") for line in file.read_bytes().splitlines()]


def test_client_finds_the_transport_by_import_path(tmp_path: Path) -> None:
    kind = "headwater_client.spool.SpoolTransport"
    transport = {"type": kind, "directory": str(tmp_path / "new")}
    client = OpenLineageClient(config={"transport": transport})
    client.emit(_event())
    client.emit(_event())
    (file,) = (tmp_path / "new").iterdir()
    first, second = file.read_bytes().splitlines(keepends=True)
    assert first == second
    assert first.endswith(b"\n")
    assert entry_of(first).event.time


def test_two_transports_never_share_a_file(tmp_path: Path) -> None:
    for _ in range(3):
        SpoolTransport(SpoolConfig(str(tmp_path))).emit(_event())
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.server
def test_forked_child_has_its_own_file(tmp_path: Path) -> None:
    script = (
        "import os, sys\n"
        "from headwater_client.spool import SpoolConfig, SpoolTransport\n"
        "from test_event import event\n"
        "transport = SpoolTransport(SpoolConfig(sys.argv[1]))\n"
        "transport.emit(event())\n"
        "child = os.fork()\n"
        "transport.emit(event())\n"
        "if child: os.waitpid(child, 0)\n"
    )
    (tmp_path / "test_event.py").write_text(
        "from openlineage.client.event_v2 import Job, Run, RunEvent\n"
        "def event():\n"
        f"    return RunEvent(eventTime='2025-11-21T08:00:00Z', run=Run(runId='{_RUN}'),\n"
        "        job=Job(namespace='demo', name='j'), producer='https://example.org')\n"
    )
    spool = tmp_path / "spool"
    subprocess.run([sys.executable, "-c", script, str(spool)], check=True, cwd=tmp_path)
    counts = sorted(len(file.read_bytes().splitlines()) for file in spool.iterdir())
    assert counts == [1, 2]


def test_threads_write_complete_lines(tmp_path: Path) -> None:
    transport = SpoolTransport(SpoolConfig(str(tmp_path)))

    def emit() -> None:
        for _ in range(20):
            transport.emit(_event("x" * 9_000))

    threads = [threading.Thread(target=emit) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([orjson.loads(line) for line in _lines(tmp_path)]) == 80


def test_disk_error_causes_one_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("in the way")
    transport = SpoolTransport(SpoolConfig(str(tmp_path / "file" / "spool")))
    with caplog.at_level(logging.WARNING):
        transport.emit(_event())
        transport.emit(_event())
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    ("directory", "event"),
    [
        ("~no-such-user/spool", _event()),
        ("nul\0", _event()),
        ("spool", object()),
    ],
)
def test_unwritable_event_logs_one_warning(
    directory: str,
    event: Any,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    transport = SpoolTransport(SpoolConfig(directory))
    transport.emit(event)
    transport.emit(event)
    assert len(caplog.records) == 1


def test_missing_directory_setting_is_explained() -> None:
    with pytest.raises(
        ValueError, match=r"directory: received None, expected a spool folder.*SpoolTransport"
    ):
        SpoolConfig.from_dict({})


@pytest.mark.server
def test_producer_imports_nothing_of_the_server() -> None:
    heavy = ("fastapi", "sqlalchemy", "pydantic", "uvicorn", "starlette", "orjson", "typer", "rich")
    script = (
        f"import sys, headwater_client.spool; print([m for m in {heavy!r} if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True, env=os.environ
    )
    assert result.stdout.strip() == "[]"
