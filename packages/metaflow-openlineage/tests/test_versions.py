"""Flows with the oldest and the newest supported Metaflow from PyPI, in separate environments.

Only this test covers the hooks that Metaflow calls before 2.19.23.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.metaflow

PACKAGE = Path(__file__).parent.parent
PROJECT = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
(SUPPORTED,) = [name for name in PROJECT["dependencies"] if name.startswith("metaflow")]
OLDEST, NEWEST = SUPPORTED.removeprefix("metaflow>=").split(",")
DATA, TRAIN, END = (f"SmallFlow.{step}" for step in ("start", "train", "end"))


@pytest.fixture(params=[f"metaflow=={OLDEST}.0", f"metaflow{NEWEST}"], ids=["oldest", "newest"])
def installed(request, tmp_path, metaflow):
    """A Metaflow of another version; the wheels are those that users build."""
    uv = os.environ.get("UV") or shutil.which("uv")
    if uv is None:
        pytest.skip("uv is not on the PATH; ./run test brings it")
    python = str(tmp_path / "venv" / "bin" / "python")
    subprocess.run([uv, "venv", "-q", "--python", sys.executable, tmp_path / "venv"], check=True)
    packages = [str(PACKAGE), str(PACKAGE.parent / "headwater-client"), request.param]
    install = [uv, "pip", "install", "-q", "--python", python, *packages]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode and "No solution found" not in done.stderr:
        pytest.skip(f"PyPI is not reachable: {done.stderr[-300:]}")
    assert done.returncode == 0, done.stderr
    return type(metaflow)(tmp_path, python)


def test_supported_metaflow_reports_edges_and_failures(installed):
    launch, failed = installed.small(), installed.small("train:raise")
    assert launch.process.returncode == 0, launch.process.stderr
    assert "metaflow-openlineage:" not in launch.process.stdout + launch.process.stderr
    assert [launch.ends(job) for job in (DATA, TRAIN, END, "SmallFlow")] == [["COMPLETE"]] * 4
    train = launch.one(TRAIN, "COMPLETE")
    assert {item["name"] for item in train["inputs"]} == {"SmallFlow/data"}
    assert {item["name"] for item in train["outputs"]} == {"SmallFlow/fitted", "SmallFlow/count"}
    assert [failed.ends(job) for job in (DATA, TRAIN, "SmallFlow")] == [
        ["COMPLETE"],
        ["FAIL"],
        ["FAIL"],
    ]
    error = failed.one(TRAIN, "FAIL")["run"]["facets"]["errorMessage"]
    assert error["message"] == "ValueError: as asked"
