"""The command `./run proxy-local`."""

from __future__ import annotations

import os
import signal
import socket
import sys
from pathlib import Path

import httpx
import pytest

from commands.processes import Service
from commands.proxy import start_proxy
from lakehouse.errors import SetupError
from lakehouse.settings import load_settings

pytestmark = pytest.mark.server

EVENT = {
    "eventType": "COMPLETE",
    "eventTime": "2026-11-21T08:00:00Z",
    "run": {"runId": "0190a5f0-0000-7000-8000-000000000001"},
    "job": {"namespace": "demo", "name": "load"},
}


@pytest.mark.usefixtures("elasticmq")  # its jars are there
def test_proxy_local_prints_its_url_and_stops_all_parts(
    tmp_path: Path,
) -> None:
    state = tmp_path / "state"
    state.mkdir()
    (state / "elasticmq").symlink_to(load_settings().state_dir / "elasticmq")
    environ = os.environ | {
        "STATE_DIR": str(state),
        "AWS_PROFILE": "somebody's",  # must not matter
    }
    command = [sys.executable, "-m", "commands", "proxy-local", "--fifo", "--port", "0"]
    proxy = Service("proxy-local", [command], environ, tmp_path / "proxy-local.log")
    try:
        proxy.wait_until(lambda: "Press Ctrl-C to stop." in proxy.output(), 120)
        said = dict(line.split(None, 1) for line in proxy.output().splitlines()[1:4])
        url, key, arrived = said["Post"].removeprefix("to").strip(), said["Key"], said["Accepted"]
        answer = httpx.post(url, json=EVENT, headers={"Authorization": f"Bearer {key}"})
        assert answer.status_code == 201
        proxy.wait_until(
            lambda: Path(arrived).exists() and '"load"' in Path(arrived).read_text(), 60
        )
        os.kill(proxy.pid, signal.SIGINT)
        proxy._processes[0].wait(60)
        assert proxy.processes() == []
    finally:
        proxy.stop()


@pytest.mark.usefixtures("elasticmq")
def test_used_port_is_reported_and_all_parts_stop(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    (state / "elasticmq").symlink_to(load_settings().state_dir / "elasticmq")
    services: list[Service] = []
    with socket.socket() as used:
        used.bind(("127.0.0.1", 0))
        used.listen()
        port = used.getsockname()[1]
        with pytest.raises(SetupError, match=f"gateway {port}: Address already in use"):
            start_proxy(load_settings(state_dir=state), services, port, is_fifo=False)
    for service in services:
        service.stop()
    assert [process for service in services for process in service.processes()] == []
