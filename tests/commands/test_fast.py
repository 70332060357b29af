"""`./run test --fast`: a test that starts a slow program needs a mark."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lakehouse.settings import REPOSITORY

_TESTS = """
import subprocess, sys

def test_python():
    try:
        subprocess.run([sys.executable, "-c", ""])
    except Exception:
        pass

def test_git():
    subprocess.run(["git", "--version"])
"""


@pytest.mark.server
def test_unmarked_test_that_starts_a_slow_program_fails_in_fast_mode(tmp_path: Path) -> None:
    shutil.copy(REPOSITORY / "conftest.py", tmp_path)
    (tmp_path / "test_it.py").write_text(_TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-m", "not (server)"]
    # Importing the installed plugins would take most of the time.
    environ = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
    )
    assert "1 failed, 1 passed" in done.stdout, done.stdout
    assert f"The test starts {sys.executable}. Mark it `server`" in done.stdout
