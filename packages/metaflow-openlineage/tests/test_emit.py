"""Emitting events: in order, without failures and long waits."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from metaflow_openlineage._emit import Emitter
from metaflow_openlineage._report import harmless


class Backend:
    """A client that records events, and may fail or hang."""

    def __init__(self, error: Exception | None = None, gate: threading.Event | None = None) -> None:
        self.error, self.gate = error, gate
        self.seen: list[object] = []
        self.closed = False

    def emit(self, event: object) -> None:
        if self.gate:
            self.gate.wait(10)
        if self.error:
            raise self.error
        self.seen.append(event)

    def close(self, timeout: float) -> None:
        self.closed = True


@pytest.fixture(autouse=True)
def _unwarned(monkeypatch):
    monkeypatch.setattr("metaflow_openlineage._report._warned", False)


def test_events_are_sent_in_order_before_emit_returns():
    backend = Backend()
    emitter = Emitter(1, lambda: backend)
    for event in range(20):
        emitter.emit(event)
        assert backend.seen[-1] == event
    emitter.close()
    assert backend.closed


def test_failing_backend_causes_one_warning(capsys):
    emitter = Emitter(1, lambda: Backend(OSError("refused")))
    for event in range(3):
        emitter.emit(event)
    emitter.close()
    assert capsys.readouterr().err.count("metaflow-openlineage: events are lost") == 1


def test_failing_client_causes_one_warning(capsys):
    def connect() -> Backend:
        raise ValueError("no such transport")

    emitter = Emitter(1, connect)
    emitter.emit(1)
    emitter.emit(2)
    assert capsys.readouterr().err.count("no such transport") == 1


def test_hanging_backend_costs_patience_once_and_keeps_order(capsys):
    gate = threading.Event()
    backend = Backend(gate=gate)
    emitter = Emitter(0.2, lambda: backend)
    began = time.monotonic()
    for event in range(5):
        emitter.emit(event)
    emitter.close()
    assert time.monotonic() - began < 1
    assert capsys.readouterr().err.count("does not respond") == 1
    gate.set()
    emitter._last.join(10)
    assert backend.seen == [0, 1, 2, 3, 4]


def test_hanging_backend_is_named_without_secrets(capsys):
    gate = threading.Event()
    backend = Backend(gate=gate)
    backend.transport = SimpleNamespace(url="https://me:hunter2@lineage:5000/x?key=hunter2")
    emitter = Emitter(0.2, lambda: backend)
    emitter.emit(1)
    gate.set()
    emitter.close()
    error = capsys.readouterr().err
    assert "the lineage backend https://lineage:5000 does not respond" in error
    assert "OPENLINEAGE_URL" in error
    assert "hunter2" not in error


@pytest.mark.filterwarnings("ignore:The _yaml extension module")  # Metaflow's own import
def test_hooks_raise_only_the_timeout_of_the_step(capsys):
    from metaflow.plugins.timeout_decorator import TimeoutException

    @harmless
    def hook(error: Exception) -> None:
        raise error

    assert hook(ValueError("lost")) is None
    assert "hook failed: ValueError: lost" in capsys.readouterr().err
    with pytest.raises(TimeoutException):
        hook(TimeoutException("too long"))


def test_no_thread_is_left_after_an_answer():
    before = set(threading.enumerate())  # threads of other tests may end in the meantime
    Emitter(60, Backend).emit(1)
    assert set(threading.enumerate()) <= before


@pytest.mark.server
def test_console_transport_prints_events_without_logging_setup():
    program = (
        "from metaflow_openlineage._emit import Emitter\n"
        "from openlineage.client.event_v2 import Job, Run, RunEvent, RunState\n"
        "run = Run('01890a5d-ac96-774b-bcce-b302099a8057')\n"
        "event = RunEvent(eventType=RunState.START, eventTime='2026-01-01T00:00:00Z', run=run,\n"
        "                 job=Job('n', 'shown'), producer='https://example.org')\n"
        "emitter = Emitter(5)\n"
        "emitter.emit(event)\n"
        "emitter.close()\n"
    )
    environ = os.environ | {"OPENLINEAGE__TRANSPORT": '{"type": "console"}'}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=True
    )
    assert '"name": "shown"' in done.stdout
