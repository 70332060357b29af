"""pytest plugin of `./run test`: progress by folder, and with --times the time of each fixture.

CPU time includes the child processes of a test, such as servers and Spark drivers.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import psutil
import pytest

from commands.output import say
from commands.processes import become
from lakehouse.settings import REPOSITORY

_Status = tuple[str, str, str | tuple[str, dict[str, bool]]]
"""The category, letter and word of a report."""
_TICKS = os.sysconf("SC_CLK_TCK")
_TIMES = "suite_times"
"""The attribute of a test report with its time and that of its fixtures."""
_MOST_FIXTURES = 25
SLOW_MARKS = (
    *("spark", "airflow", "docker", "server", "postgresql"),
    *("metaflow", "node", "browser", "replay"),
)
"""Markers of the tests that `--fast` skips."""
_MEMORY = Path("/dev/shm")
_MOST_PROCESSES = 4
_GIGABYTES_PER_PROCESS = 3.5
"""Memory of a process that runs tests, including Airflow and a Spark driver."""


@dataclass
class Time:
    """Wall and CPU time in seconds."""

    wall: float = 0.0
    cpu: float = 0.0

    def add(self, wall: float, cpu: float) -> None:
        """Add another duration."""
        self.wall += wall
        self.cpu += cpu


def folder_of(nodeid: str) -> str:
    """Return the folder of a test: `tests/NAME` or `packages/NAME`."""
    return "/".join(nodeid.split("::")[0].split("/")[:2])


def memory_folder(gigabytes: float, folder: Path = _MEMORY) -> Path | None:
    """Return a folder in memory for the tests' files, so that no database waits for a disk.

    Return None if there is none, too little memory is free or programs cannot be run from it.
    """
    try:
        files = os.statvfs(folder)
    except OSError:
        return None
    free = min(files.f_bavail * files.f_frsize, psutil.virtual_memory().available)
    can_run = os.access(folder, os.W_OK) and not files.f_flag & os.ST_NOEXEC
    return folder if can_run and free >= gigabytes * 2**30 else None


def process_count(cores: int, gigabytes: float) -> int:
    """Return the number of test processes that fits the cores and the gigabytes of memory.

    It is at most twice the number of cores, because tests of Airflow, containers and downloads wait
    half of their time. With five on two cores, browser tests exceeded their time limits.
    """
    return max(1, min(2 * cores, int(gigabytes / _GIGABYTES_PER_PROCESS), _MOST_PROCESSES))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option `--times`."""
    text = "print CPU and wall time by folder and by fixture"
    parser.addoption("--times", action="store_true", help=text)


def pytest_configure(config: pytest.Config) -> None:
    """Print progress in the main process; with --times, measure in each process that runs tests."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Progress(config), "suite-progress")
    if config.option.times:
        config.pluginmanager.register(Clock(), "suite-clock")


def cpu_seconds() -> float:
    """Return the CPU time of this process, of its ended and, on Linux, its running children."""
    now = os.times()
    own = now.user + now.system + now.children_user + now.children_system
    return own + sum(map(_cpu_of, _descendants(os.getpid())))


def _descendants(pid: int) -> Iterator[int]:
    """Yield the running child processes, their children and so on."""
    for thread in _threads(pid):
        for child in map(int, _read(thread / "children").split()):
            yield child
            yield from _descendants(child)


def _threads(pid: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:  # the process has ended
        return []


def _cpu_of(pid: int) -> float:
    """Return the CPU time of a process and of its ended children, 0 if it has ended."""
    fields = _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # the process has ended
        return ""


class Clock:
    """Measure tests and fixtures; each report carries the times since the report before."""

    def __init__(self) -> None:
        self._fixtures: dict[str, Time] = defaultdict(Time)
        self._cpu = cpu_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Iterator[None]:
        """Measure the set-up of a fixture without the fixtures that it uses."""
        wall, cpu = time.perf_counter(), cpu_seconds()
        try:
            return (yield)
        finally:
            name = f"{folder_of(request._pyfuncitem.nodeid)} {fixturedef.argname}"
            used = max(0.0, cpu_seconds() - cpu)  # less if a process ended that nobody waits for
            self._fixtures[name].add(time.perf_counter() - wall, used)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self,
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add the times to a report; pytest-xdist sends its attributes to the main process."""
        report = yield
        before, self._cpu = self._cpu, cpu_seconds()
        fixtures = {name: (spent.wall, spent.cpu) for name, spent in self._fixtures.items()}
        setattr(report, _TIMES, {"cpu": max(0.0, self._cpu - before), "fixtures": fixtures})
        self._fixtures.clear()
        return report


@dataclass
class Folder:
    """The progress of a folder's tests."""

    left: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    time: Time = field(default_factory=Time)

    def summary(self) -> str:
        """Return the counts and the time in one line."""
        counts = ", ".join(f"{count} {outcome}" for outcome, count in self.outcomes.items())
        return f"{counts} in {self.time.wall:,.0f} s"


class Progress:
    """Print one line for each folder once its tests have ended, and failures at once."""

    def __init__(self, config: pytest.Config) -> None:
        self._folders: dict[str, Folder] = defaultdict(Folder)
        self._fixtures: dict[str, Time] = defaultdict(Time)
        self._config = config
        self._is_short = config.option.verbose == 0  # -v and -q keep pytest's own progress

    def _write(self, line: str) -> None:
        reporter: Any = self._config.pluginmanager.get_plugin("terminalreporter")
        reporter.ensure_newline()
        reporter.write_line(line)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Count the tests of each folder; under pytest-xdist the main process has none."""
        self._expect(item.nodeid for item in session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Count the tests of each folder once; every process collects the same."""
        if not self._folders:
            self._expect(ids)

    def _expect(self, nodeids: Iterable[str]) -> None:
        for nodeid in nodeids:
            self._folders[folder_of(nodeid)].left += 1

    @pytest.hookimpl(wrapper=True)
    def pytest_report_teststatus(
        self, report: pytest.TestReport
    ) -> Generator[None, _Status, _Status]:
        """Print failures in one line, and nothing for other tests instead of a dot."""
        status = yield
        if not self._is_short or not isinstance(report, pytest.TestReport):
            return status
        category = status[0]
        if category in ("failed", "error"):
            self._write(f"{category.upper()} {report.nodeid}")
        return category, "", ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the outcome and times of one phase of a test."""
        folder = self._folders[folder_of(report.nodeid)]
        times = getattr(report, _TIMES, {"cpu": 0.0, "fixtures": {}})
        folder.time.add(report.duration, times["cpu"])
        for name, spent in times["fixtures"].items():
            self._fixtures[name].add(*spent)
        if report.when == "call" or report.outcome != "passed":
            folder.outcomes[report.outcome] += 1

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Print the folder's line after its last test."""
        folder = self._folders[folder_of(nodeid)]
        folder.left -= 1
        if folder.left == 0 and self._is_short:
            self._write(f"{folder_of(nodeid)}: {folder.summary()}")

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """With --times, print the tables of folders and fixtures."""
        if not self._config.option.times:
            return
        folders = {name: folder.time for name, folder in self._folders.items()}
        for title, times in (("folder", folders), ("fixture", self._fixtures)):
            terminalreporter.section(f"seconds by {title}: CPU, wall")
            for line in table(times):
                terminalreporter.line(line)


def table(times: dict[str, Time]) -> list[str]:
    """Return the lines of a table of the largest times."""
    rows = sorted(times.items(), key=lambda row: -max(row[1].wall, row[1].cpu))[:_MOST_FIXTURES]
    return [f"{spent.cpu:8.1f} {spent.wall:8.1f}  {name}" for name, spent in rows]


def run_tests(args: list[str]) -> NoReturn:
    """Become pytest with the arguments of `./run test`."""
    if "--help" in args:
        say("./run test [--fast] [--times] [PYTEST OPTIONS] runs pytest, whose options follow.\n")
    report = ["-p", "commands.suite", "--durations=10", "--durations-min=1"]
    # Folders in memory are only kept for failed tests.
    report += ["-o", "tmp_path_retention_policy=failed", "-o", "tmp_path_retention_count=1"]
    parallel = ["--dist=loadscope", "--no-loadscope-reorder"]
    cores = psutil.cpu_count() or 1
    arguments = list(args)
    is_fast = "--fast" in arguments
    if is_fast:
        arguments.remove("--fast")
        arguments += ["-m", f"not ({' or '.join(SLOW_MARKS)})"]
        parallel.append(f"--numprocesses={cores}")
    else:
        memory = psutil.virtual_memory().total / 2**30
        parallel.append(f"--numprocesses={process_count(cores, memory)}")
    os.chdir(REPOSITORY)
    # Each core runs one process. OpenBLAS threads would only double the CPU time.
    environ = {"OPENBLAS_NUM_THREADS": "1"}
    if folder := memory_folder(gigabytes=2 if is_fast else 12):
        environ["PYTEST_DEBUG_TEMPROOT"] = str(folder)
    environ |= os.environ
    become([sys.executable, "-m", "pytest", *report, *parallel, *arguments], environ)
