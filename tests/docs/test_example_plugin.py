"""The example plugin, built and installed like any other package."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from commands.package import find_uv
from lakehouse.settings import REPOSITORY

EXAMPLE = REPOSITORY / "packages/headwater/examples/plugin"
EVENT = {
    "eventType": "COMPLETE",
    "eventTime": "2026-11-21T08:30:00Z",
    "producer": "https://example.org/shop",
    "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
    "run": {"runId": "00000000-0000-4000-8000-000000000001"},
    "job": {"namespace": "shop", "name": "load"},
    "outputs": [{"namespace": "postgres://shop:5432", "name": "shop.public.orders"}],
}


def quiet(*command: str | Path) -> None:
    subprocess.run(command, check=True, capture_output=True)


@pytest.mark.server
def test_example_plugin_delivers_and_warns_after_it_is_installed(tmp_path: Path) -> None:
    quiet(find_uv(), "build", "--wheel", "--out-dir", tmp_path / "dist", EXAMPLE)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    target = tmp_path / "installed"
    quiet(find_uv(), "pip", "install", "--no-deps", "--target", target, wheel)
    (tmp_path / "deliver.yaml").write_text(
        f"backends:\n  - name: runs\n    type: csv\n    path: {tmp_path / 'runs.csv'}\n"
    )
    program = Path(sys.executable).with_name("headwater")
    options = ("--port", "0", "--deliver", tmp_path / "deliver.yaml")
    with subprocess.Popen(
        [program, "serve", *options, "--database", tmp_path / "log.db"],
        env=os.environ | {"PYTHONPATH": str(target)},
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout
        url = server.stdout.readline().split()[3].rstrip(",")
        assert httpx.post(f"{url}/api/v1/lineage", json=EVENT).status_code == 201
        (found,) = httpx.get(f"{url}/api/v2/findings").json()["items"]
        assert (found["severity"], found["message"]) == ("warning", "has no owner")
        delivered = time.monotonic() + 20
        while not (tmp_path / "runs.csv").exists() and time.monotonic() < delivered:
            time.sleep(0.05)
        server.terminate()
        assert server.wait(20) == 0
    run_id = EVENT["run"]["runId"]  # type: ignore[index]
    assert (tmp_path / "runs.csv").read_text() == f"2026-11-21T08:30:00Z,load,{run_id},COMPLETE\n"
