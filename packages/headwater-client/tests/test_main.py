"""The script `headwater` without and with the server."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import headwater_client

pytestmark = pytest.mark.server

_SOURCE = str(Path(headwater_client.__file__).parents[1])


def _run_without_server(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the script where this repository's other packages cannot be imported.

    With `-S`, Python does not read the `.pth` files that make them importable.
    """
    folders = [_SOURCE, sysconfig.get_path("purelib")]
    code = f"import sys; sys.path += {folders!r}; from headwater_client.main import main; main()"
    command = [sys.executable, "-I", "-S", "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_run_needs_no_server_package(tmp_path: Path) -> None:
    (tmp_path / "lineage.yaml").write_text("job: {name: export}")
    file, spool = str(tmp_path / "lineage.yaml"), tmp_path / "spool"
    done = _run_without_server(
        "run", "-f", file, "--spool", str(spool), "--", "sh", "-c", "echo out; exit 3"
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "")
    (events,) = spool.glob("*.jsonl")
    types = [json.loads(line)["eventType"] for line in events.read_text().splitlines()]
    assert types == ["START", "FAIL"]


def test_help_shows_the_only_installed_command() -> None:
    result = _run_without_server("--help")
    assert result.returncode == 0
    assert "usage: headwater run [OPTIONS]" in result.stdout
    assert "need the package headwater" in result.stdout


@pytest.mark.parametrize("arguments", [["tree", "x"], []])
def test_other_commands_report_the_missing_package(arguments: list[str]) -> None:
    done = _run_without_server(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "need the package headwater" in done.stderr


def test_invalid_options_of_run_are_reported() -> None:
    for arguments, message in (
        (["--heartbeat", "-1", "true"], "received '-1', expected a number of seconds"),
        (["--fiel", "x", "true"], "unrecognized arguments: --fiel"),
        ([], "missing command"),
        (["--url", "ftp://x", "true"], "url (argument --url): received 'ftp://x'"),
    ):
        done = _run_without_server("run", *arguments)
        assert done.returncode == 2, arguments
        assert message in done.stderr


def test_script_runs_the_commands_of_the_server() -> None:
    code = "from headwater_client.main import main; main()"
    command = [sys.executable, "-c", code, "gate", "--help"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0
    assert "--policy" in done.stdout
