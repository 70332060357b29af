"""`./run test --fast`: a slow program needs a mark, and property tests check few examples."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lakehouse.settings import REPOSITORY

_TESTS = """
import subprocess, sys
from hypothesis import given, settings, strategies

examples = []

@settings(max_examples=300)
@given(strategies.integers())
def test_property(value):
    examples.append(value)

def test_property_had_few_examples():
    assert 0 < len(examples) <= 15

def test_python():
    try:
        subprocess.run([sys.executable, "-c", ""])
    except Exception:
        pass

def test_git():
    subprocess.run(["git", "--version"])
"""


@pytest.mark.server
def test_fast_mode_rejects_slow_programs_and_limits_examples(tmp_path: Path) -> None:
    shutil.copy(REPOSITORY / "conftest.py", tmp_path)
    (tmp_path / "test_it.py").write_text(_TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-m", "not (server)"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 failed, 3 passed" in done.stdout, done.stdout
    assert f"The test starts {sys.executable}. Mark it `server`" in done.stdout
