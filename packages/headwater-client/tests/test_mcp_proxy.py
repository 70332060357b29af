"""`headwater mcp-proxy`: real processes, whose bytes, signals and exit code are unchanged."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.server

_MAIN = [sys.executable, "-c", "from headwater_client.main import main; main()", "mcp-proxy"]
_CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "t"}}


def _run(
    folder: Path, *command: str, input_: bytes = b"", **environment: str
) -> subprocess.CompletedProcess[bytes]:
    line = [*_MAIN, "--spool", str(folder / "spool"), "--agent", "a", "--", *command]
    return subprocess.run(
        line, input=input_, capture_output=True, env={**os.environ, **environment}
    )


def _events(folder: Path) -> list[dict[str, Any]]:
    files = (folder / "spool").glob("*.jsonl")
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def _states(folder: Path) -> list[tuple[str, str]]:
    return [(event["job"]["name"], event["eventType"]) for event in _events(folder)]


def test_bytes_pass_unchanged_in_both_directions(tmp_path: Path) -> None:
    message = json.dumps(_CALL).encode() + b"\r\n"
    sent = message + random.Random(1).randbytes(3_000_000) + b"\n{\xff}\n\n[1,\nno end"
    done = _run(tmp_path, "cat", input_=sent)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == sent
    # `cat` returns the call, which is no response.
    assert _states(tmp_path) == [
        ("a.cat.t", "START"),
        ("a.cat.t", "ABORT"),
        ("a", "START"),
        ("a", "COMPLETE"),
    ]


def test_bytes_pass_if_the_pipes_of_the_client_do_not_block(tmp_path: Path) -> None:
    sent = random.Random(2).randbytes(3_000_000)
    input_, output = os.pipe(), os.pipe()
    for end in (input_[0], output[1]):
        os.set_blocking(end, False)  # for the proxy, which gets the same pipe
    line = [*_MAIN, "--spool", str(tmp_path / "spool"), "--", "cat"]
    with subprocess.Popen(line, stdin=input_[0], stdout=output[1]) as proxy:
        os.close(input_[0])
        os.close(output[1])

        def write() -> None:
            with open(input_[1], "wb") as file:
                file.write(sent)

        writer = threading.Thread(target=write)
        writer.start()
        with open(output[0], "rb") as file:
            assert file.read() == sent
        writer.join()
        assert proxy.wait() == 0


def test_exit_code_errors_and_environment_are_those_of_the_server(tmp_path: Path) -> None:
    done = _run(tmp_path, "sh", "-c", "echo $NAME; echo why >&2; exit 3", NAME="me")
    assert (done.returncode, done.stdout, done.stderr) == (3, b"me\n", b"why\n")
    done = _run(tmp_path, "no-such-server")
    assert done.returncode == 127
    assert b"no-such-server: No such file or directory" in done.stderr
    assert ("a", "FAIL") in _states(tmp_path)


def test_killed_server_ends_the_session_and_the_open_call(tmp_path: Path) -> None:
    script = "read line; kill -9 $$"
    with subprocess.Popen(
        [*_MAIN, "--spool", str(tmp_path / "spool"), "--agent", "a", "--", "sh", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as proxy:
        assert proxy.stdin is not None
        proxy.stdin.write(json.dumps(_CALL).encode() + b"\n")
        proxy.stdin.flush()  # and stay open, so that the client does not end the session
        assert proxy.wait() == -signal.SIGKILL
    assert _states(tmp_path)[1:] == [("a.sh.t", "ABORT"), ("a", "START"), ("a", "ABORT")]
    message = _events(tmp_path)[-1]["run"]["facets"]["errorMessage"]["message"]
    assert message == "sh was ended by SIGKILL"


def test_signal_of_the_client_ends_server_and_session(tmp_path: Path) -> None:
    script = "echo ready; exec cat"
    with subprocess.Popen(
        [*_MAIN, "--spool", str(tmp_path / "spool"), "--agent", "a", "--", "sh", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as proxy:
        assert proxy.stdin is not None
        assert proxy.stdout is not None
        assert proxy.stdout.readline() == b"ready\n"
        line = json.dumps(_CALL).encode() + b"\n"
        proxy.stdin.write(line)
        proxy.stdin.flush()
        assert proxy.stdout.readline() == line
        proxy.terminate()
        assert proxy.wait() == -signal.SIGTERM
    assert _states(tmp_path)[1:] == [("a.sh.t", "ABORT"), ("a", "START"), ("a", "COMPLETE")]


def test_output_that_another_process_keeps_open_does_not_delay_the_end(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    script = f"echo out; cat /dev/fd/{reader} & exit 0"
    line = [*_MAIN, "--spool", str(tmp_path / "spool"), "--", "sh", "-c", script]
    with subprocess.Popen(
        line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, pass_fds=[reader]
    ) as proxy:
        assert proxy.wait() == 0
        os.close(writer)
        assert proxy.stdout is not None
        assert proxy.stdout.read() == b"out\n"
    os.close(reader)


def test_unreachable_lineage_server_changes_nothing(tmp_path: Path) -> None:
    call = json.dumps(_CALL).encode() + b"\n"
    line = [*_MAIN, "--url", "http://127.0.0.1:9", "--", "cat"]
    done = subprocess.run(line, input=call, capture_output=True)
    assert (done.returncode, done.stdout) == (0, call)
    assert b"lineage of this run is not complete" in done.stderr


def test_disabled_lineage_runs_the_server_alone(tmp_path: Path) -> None:
    done = _run(tmp_path, "sh", "-c", "echo $$; exit 4", OPENLINEAGE_DISABLED="true")
    assert done.returncode == 4
    assert not (tmp_path / "spool").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "missing command"),
        (["--database", "sqlite://", "cat"], "received 'sqlite:…', expected the URL of a database"),
        (["--database", "x://me:pw@h", "cat"], "--database: received 'x:…'"),
        (["--dialect", "sqlite", "cat"], "--namespace, --dialect: received None and 'sqlite'"),
        (["--namespace", "x", "--dialect", "y", "cat"], "one of the dialects athena"),
        (["--database", "sqlite:///x", "--dialect", "sqlite", "cat"], "--dialect as well"),
        (["--url", "ftp://x", "cat"], "url (argument --url): received 'ftp://x'"),
    ],
)
def test_invalid_options_are_reported(arguments: list[str], message: str) -> None:
    done = subprocess.run([*_MAIN, *arguments], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "pw" not in done.stderr.replace("mcp-proxy", "")
