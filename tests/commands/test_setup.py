"""`./run` on other machines than ours: what it says and does before Python packages are there."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from commands.package import find_uv
from lakehouse.settings import REPOSITORY


def run(environ: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    path = f"{Path(find_uv()).parent}:{os.environ['PATH']}"
    return subprocess.run(
        [REPOSITORY / "run", *arguments],
        env=os.environ | {"PATH": path} | environ,
        capture_output=True,
        text=True,
        check=False,
    )


def test_unsupported_python_is_named_with_those_allowed(tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    environ = {"UV_PYTHON": "3.10", "UV_OFFLINE": "1", "UV_PROJECT_ENVIRONMENT": str(venv)}
    done = run(environ, "settings")
    assert done.returncode == 1
    assert "Python: found for UV_PYTHON=3.10: " in done.stderr
    assert "allowed are 3.11, 3.12 and 3.13" in done.stderr
    assert "UV_PYTHON=3.12 ./run settings" in done.stderr
    assert not venv.exists()
