"""The progress and times that `./run test` prints, and files that are read while written."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from commands.suite import _cpu_of, _descendants, memory_folder, process_count
from lakehouse.settings import REPOSITORY
from tests.spool import events_of

_TESTS = """
import subprocess, sys, pytest

@pytest.fixture
def program():
    busy = "import time\\nwhile time.process_time() < 0.3: pass"
    subprocess.run([sys.executable, "-c", busy])

def test_slow(program): pass
def test_other(): pass
"""


@pytest.fixture
def only_named_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a started pytest load no installed plugin, as importing them takes most of its time."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


@pytest.mark.server
@pytest.mark.parametrize("processes", [(), ("-p", "xdist", "--numprocesses=2", "--dist=loadscope")])
def test_progress_is_a_line_for_each_folder_with_its_times(
    processes: tuple[str, ...], tmp_path: Path, only_named_plugins: None
) -> None:
    for folder, text in {"a": _TESTS, "b": "def test_fails(): assert False"}.items():
        (tmp_path / "tests" / folder).mkdir(parents=True)
        (tmp_path / "tests" / folder / f"test_{folder}.py").write_text(text)
    options = ["-p", "commands.suite", "--times", "-p", "no:cacheprovider", *processes]
    command = [sys.executable, "-m", "pytest", *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    for pattern in (
        r"tests/a: 2 passed in \d+ s",
        r"FAILED tests/b/test_b.py::test_fails",
        r"tests/b: 1 failed in \d+ s",
        r" +0\.[3-9] +\d+\.\d  tests/a",
        r" +0\.[3-9] +\d+\.\d  tests/a program",
    ):
        assert any(re.fullmatch(pattern, line) for line in lines), (pattern, done.stdout)


def test_memory_folder_needs_a_folder_and_free_memory(tmp_path: Path) -> None:
    assert memory_folder(0, tmp_path) == tmp_path
    assert memory_folder(0, tmp_path / "missing") is None
    assert memory_folder(1_000_000, tmp_path) is None


@pytest.mark.parametrize(
    ("cores", "gigabytes", "count"), [(2, 24, 4), (2, 7.8, 2), (1, 24, 2), (16, 64, 4), (4, 2, 1)]
)
def test_processes_depend_on_cores_and_memory(cores: int, gigabytes: float, count: int) -> None:
    assert process_count(cores, gigabytes) == count


@pytest.mark.server
@pytest.mark.parametrize(("mark", "name"), [("docker", "Docker"), ("browser", "browser")])
def test_skipped_docker_and_browser_tests_print_a_warning(
    mark: str, name: str, tmp_path: Path, only_named_plugins: None
) -> None:
    shutil.copy(REPOSITORY / "conftest.py", tmp_path)
    lines = (
        "import pytest",
        f"@pytest.mark.{mark}",
        "def test_it(): pytest.skip('no engine here')",
        "def test_other(): pytest.skip('fine')",
    )
    (tmp_path / "test_it.py").write_text("\n".join(lines))
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    warning = done.stdout.partition(f"WARNING: the {name} tests did not run")[2]
    assert "no engine here" in warning
    assert "fine" not in warning.partition("=====")[0]


def test_incomplete_line_of_a_spool_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_bytes(b'{"job": "one \xe2\x80\xa8 line"}\n{"job": "half')
    (tmp_path / "a.jsonl").write_bytes(b'{"job": "first"}\n')
    jobs = [event["job"] for event in events_of(tmp_path.glob("*.jsonl"))]
    assert jobs == ["first", "one \u2028 line"]


def test_cpu_time_of_an_ended_process_is_nothing() -> None:
    with subprocess.Popen(["git", "--version"]) as ended:
        pass
    assert list(_descendants(ended.pid)) == []
    assert _cpu_of(ended.pid) == 0
