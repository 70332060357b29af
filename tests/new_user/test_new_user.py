"""The first steps of a new user: fresh clone, no uv, no Java, README commands.

Only uv's cache and the bytecode of packages are reused, because unpacking hundreds of packages and
compiling thousands of modules again takes a minute of CPU time.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil
import pytest

from commands.package import find_uv
from lakehouse.settings import REPOSITORY
from tests.conftest import copy_bytecode, folder_of_many_files
from tests.pipeline.conftest import free_ports

pytestmark = pytest.mark.airflow

NOT_INSTALLED = re.compile(r"(java|javac|jar|uvx?|node|npm|spark-.*|pyspark|airflow|metaflow)$")
SECONDS = 900


@dataclass(frozen=True)
class Clone:
    """A clone of the repository and the environment of a bare machine."""

    folder: Path
    environ: dict[str, str]
    airflow_port: int
    headwater_port: int

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a `./run` command and wait for its end."""
        return subprocess.run(
            ["./run", *arguments],
            cwd=self.folder,
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    def start(self, log: Path, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a command in its own process group, like a terminal."""
        with log.open("wb") as out:
            return subprocess.Popen(
                ["./run", *arguments],
                cwd=self.folder,
                env=self.environ,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                # Background processes of a shell ignore SIGINT.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
            )

    def processes(self) -> list[str]:
        """Return the command lines of all processes started from the clone."""
        return [" ".join(process.info["cmdline"] or ()) for process in self.running()]

    def running(self) -> list[psutil.Process]:
        """Return all processes started from the clone."""
        running = []
        for process in psutil.process_iter(["cmdline"]):
            try:
                of_clone = str(self.folder) in " ".join(process.environ().values())
                if of_clone and process.status() != psutil.STATUS_ZOMBIE:
                    running.append(process)
            except psutil.Error:
                continue
        return running


@pytest.fixture(scope="module")
def clone() -> Iterator[Clone]:
    """Return a clone of this working tree as git would create it."""
    with folder_of_many_files("new-user-") as work:
        folder = work / "clone"
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=REPOSITORY,
            capture_output=True,
            check=True,
        )
        for name in filter(None, listed.stdout.decode().split("\0")):
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if (REPOSITORY / name).exists():
                shutil.copy(REPOSITORY / name, target, follow_symlinks=False)
        port = free_ports(4)
        network_prefixes = ("PIP_", "SSL_", "NODE_EXTRA_CA_CERTS", "npm_config_", "LANG")
        inherited = {k: v for k, v in os.environ.items() if k.startswith(network_prefixes)}
        environ = inherited | {
            "PATH": str(bare_path(work / "bin")),
            "HOME": str(work / "home"),
            "AIRFLOW_PORT": str(port),
            "HEADWATER_PORT": str(port + 3),
            "GENERATOR_ROWS": "5000",
            "CLONE": str(folder),
            "UV_CACHE_DIR": uv_cache(),
        }
        fresh = Clone(folder, environ, port, port + 3)
        yield fresh
        for left in fresh.running():  # after a failed test
            with suppress(psutil.Error):
                left.kill()


def uv_cache() -> str:
    """Return the folder of this machine's uv cache."""
    command = [find_uv(), "cache", "dir"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def bare_path(folder: Path) -> Path:
    """Return a folder with the machine's programs, without those that a bare machine lacks."""
    folder.mkdir()
    for place in ("/usr/local/bin", "/usr/bin", "/bin"):
        for program in Path(place).iterdir():
            link = folder / program.name
            if not NOT_INSTALLED.match(program.name) and not link.exists():
                link.symlink_to(program)
    python = folder / "python3"
    python.unlink(missing_ok=True)
    python.symlink_to(Path(sys.base_prefix, "bin", "python3"))
    return folder


def until(condition: Callable[[], object], process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait for a condition while the process runs."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert process.poll() is None, log.read_text()[-5000:]
        assert time.monotonic() < deadline, log.read_text()[-5000:]
        time.sleep(0.5)


def gone(clone: Clone) -> bool:
    """Return True if all processes of the clone end within 30 seconds."""
    deadline = time.monotonic() + 30
    while clone.processes() and time.monotonic() < deadline:
        time.sleep(0.2)
    return not clone.processes()


@pytest.fixture(scope="module")
def first_demo(clone: Clone, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the output of a demo, which is checked while it runs.

    Its training waits for two assets, green rides and weather. The default demo loads yellow rides:
    tests/pipeline runs its DAGs, and tests below start it.
    """
    set_up = clone.run("settings")
    assert "Setting up: installing Python packages" in set_up.stdout, set_up.stdout[-5000:]
    copy_bytecode(clone.folder / ".venv")
    log = tmp_path_factory.mktemp("new-user") / "demo.log"
    process = clone.start(log, "demo", "--service", "green", "--model", "weather")
    until(lambda: "Press Ctrl-C to stop" in log.read_text(), process, log)
    page = f"http://localhost:{clone.headwater_port}/"
    until(lambda: "/assets/" in httpx.get(page, timeout=30).text, process, log)
    for port in (clone.airflow_port, clone.headwater_port):
        assert httpx.get(f"http://localhost:{port}/", timeout=30).status_code == 200
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(60) == 0
    assert gone(clone), clone.processes()
    return log.read_text()


def test_green_demo_shows_forecasts_with_weather_lineage_and_times(first_demo: str) -> None:
    assert "from the built-in generator" in first_demo
    assert "green taxis, 2025-04, 2025-05" in first_demo
    assert "nyc_taxi.green_rides_hourly_forecast, 6 of" in first_demo
    assert re.search(r"2025-06-01 00:00:00\W+\d+\W+\d+", first_demo), first_demo
    for job in (
        "TrainForecastModelFlow.write_forecasts_to_table",
        "TrainForecastModelFlow.compute_actuals",
        "ingest_green_taxi_data.merge_upsert_staging_into_raw_green",
        "ingest_green_taxi_data.download",
        "ingest_weather_data.merge_upsert_staging_into_raw_weather",
    ):
        assert re.search(rf"{job}  COMPLETED", first_demo), first_demo
    assert re.search(r"Training, triggered by the new data +\d+\.\d", first_demo)


def test_ctrl_c_during_a_load_leaves_no_process(
    clone: Clone, first_demo: str, tmp_path: Path
) -> None:
    log = tmp_path / "demo.log"
    process = clone.start(log, "demo", "--months", "2025-03")
    until(
        lambda: any("spark_jobs/run.py yellow" in line for line in clone.processes()), process, log
    )
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(60) == 130
    assert "yellow taxis, 2025-03." in log.read_text()
    assert gone(clone), clone.processes()


@pytest.mark.parametrize("moment", ["Setting up", "Airflow ..."])
def test_ctrl_c_during_startup_leaves_no_process(
    clone: Clone, first_demo: str, tmp_path: Path, moment: str
) -> None:
    log = tmp_path / "demo.log"
    process = clone.start(log, "demo")
    if moment != "Setting up":
        until(lambda: moment in log.read_text(), process, log)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(60) == 130 or moment == "Setting up"
    assert "yellow taxis, 2025-04, 2025-05." in log.read_text() or moment == "Setting up"
    assert gone(clone), clone.processes()


def test_test_command_works_in_a_fresh_clone(clone: Clone, first_demo: str) -> None:
    """Run one file only, because the whole suite runs anyway."""
    done = clone.run("test", "--fast", "-q", "tests/lakehouse/test_names.py")
    assert done.returncode == 0, done.stdout[-5000:]
    assert re.search(r"\d+ passed", done.stdout)
