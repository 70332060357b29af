"""Help, messages and errors of the command line."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import orjson
import pytest

from headwater.errors import ExposureError
from headwater.settings import resolve
from packages.headwater.tests.conftest import Call

from .test_cli import _COMMANDS


def test_folder_of_a_log_must_exist(tmp_path: Path, call: Call) -> None:
    folder = tmp_path / "nodir"
    for line in (("serve", "--port", "0"), ("keys", "add", "a", "--scope", "read")):
        result = call(*line, "--database", str(folder / "log.db"))
        assert (result.returncode, f"there is no folder '{folder}'" in result.stderr) == (3, True)
    assert not folder.exists()


def test_read_command_names_the_missing_folder_of_a_log(tmp_path: Path, call: Call) -> None:
    result = call("tree", "x", "--database", str(tmp_path / "nodir" / "log.db"))
    assert result.returncode == 3
    assert f"there is no folder '{tmp_path / 'nodir'}'; create it" in result.stderr


def test_spool_that_is_no_folder_is_rejected(tmp_path: Path, call: Call) -> None:
    (file := tmp_path / "afile").touch()
    for spool in (file, Path("/proc/x")):
        log = ("--database", str(tmp_path / "log.db"))
        result = call("serve", "--port", "0", "--spool", str(spool), *log)
        assert (result.returncode, result.stderr.count("\n")) == (2, 1)
        expected = f"--spool: received '{spool}', expected a folder that can be created ("
        assert expected in result.stderr
    assert not (tmp_path / "log.db").exists()


def test_path_that_cannot_be_written_is_named(tmp_path: Path, call: Call) -> None:
    log = ("--database", str(tmp_path / "log.db"))
    call("ingest", "-", *log)
    contract = tmp_path / "nodir" / "contract.yaml"
    result = call("check", str(contract), "--write", *log)
    expected = f"{contract}: cannot be read or written: No such file or directory"
    assert (result.returncode, result.stderr) == (2, f"headwater: {expected}\n")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("mysql://x/y", "expected a file path or a SQLAlchemy URL of SQLite or PostgreSQL, such"),
        ("postgresql://x/y", "but its driver is missing: import of psycopg halted"),
        ("postgresql://x/y", "headwater[postgresql]', and pass postgresql+psycopg://host/"),
    ],
)
def test_unusable_database_url_is_explained(
    url: str, message: str, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    result = call("runs", "--database", url)
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert f"database: received '{url}', " in result.stderr
    assert message in result.stderr


def test_ingest_of_a_missing_file_creates_no_log(tmp_path: Path, call: Call) -> None:
    log = tmp_path / "new.db"
    result = call("ingest", "-", str(tmp_path / "nofile.jsonl"), "--database", str(log))
    assert (result.returncode, "expected a file, a folder or -" in result.stderr) == (2, True)
    assert not log.exists()


def test_ingest_names_the_first_warnings(tmp_path: Path, call: Call, build: Any) -> None:
    bodies = [build.run("START", str(n), "j", "08:00:00") for n in range(5)]
    for body, schema in zip(bodies, ("a", "a", "b", "c", "d"), strict=True):
        body["run"]["runId"] = "01890a5d-ac96-774b-bcce-b302099a8057"
        body |= {"producer": "urn:x", "schemaURL": schema}
    lines = b"\n".join(map(orjson.dumps, bodies))
    result = call("ingest", "-", "--database", str(tmp_path / "log.db"), stdin=lines)
    assert ("warnings 5" in result.stdout, result.returncode) == (True, 0)
    assert result.stderr.splitlines() == [
        *(f"  warning: schemaURL: received '{name}', expected a URI" for name in "abc"),
        "  All warnings: GET /api/v2/events/warnings of a server",
    ]


def test_message_without_a_server_says_what_to_do(call: Call) -> None:
    result = call("runs", "--url", "http://127.0.0.1:9")
    assert result.returncode == 3
    assert "no server responds at http://127.0.0.1:9" in result.stderr
    assert "start one with `headwater serve`" in result.stderr


def test_message_uses_the_configured_server_command(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWATER_START_HINT", "./run airflow")
    result = call("runs", "--url", "http://127.0.0.1:9")
    assert "start one with `./run airflow`" in result.stderr
    assert "headwater serve" not in result.stderr


@pytest.mark.parametrize("url", ["localhost:9002", "localhost", "file:///x", "http://h:x", ""])
def test_invalid_url_error_includes_an_example(url: str, call: Call) -> None:
    result = call("runs", "--url", url)
    assert result.returncode == 2
    expected = (
        f"url (argument --url): received {url!r}, expected a URL such as http://localhost:9002"
    )
    assert expected in result.stderr


def test_name_of_a_table_and_its_job_means_the_table(
    tmp_path: Path, call: Call, build: Any
) -> None:
    events, database = tmp_path / "events.jsonl", str(tmp_path / "log.db")
    models = (("a", "pg|shop.raw", "pg|shop.orders"), ("b", "pg|shop.orders", "pg|shop.daily"))
    runs = [
        build.run(
            "COMPLETE", run, f"dbt.{out[3:]}", f"0{hour}:00:00", reads=(source,), writes=(out,)
        )
        for hour, (run, source, out) in enumerate(models)
    ]
    events.write_bytes(b"\n".join(map(orjson.dumps, runs)))
    call("ingest", str(events), "--database", database)
    table, job = "dataset:pg:shop.orders", "job:demo:dbt.shop.orders"
    for command in ("tree", "impact", "show", "columns", "timeline", "history", "provenance"):
        by_name = call(command, "orders", "--database", database)
        by_id = call(command, table, "--database", database)
        assert by_name.stdout == by_id.stdout, command
        is_stated = table in by_name.stderr and job in by_name.stderr
        assert is_stated == (command not in ("columns", "provenance")), command
    path = call("path", "orders", "daily", "--database", database)
    assert (
        path.stdout == call("path", table, "dataset:pg:shop.daily", "--database", database).stdout
    )
    runs_of_job = call("runs", "orders", "--database", database)
    assert (runs_of_job.stderr, "COMPLETED" in runs_of_job.stdout) == ("", True)
    unknown = call("tree", "order", "--database", database)
    assert (unknown.returncode, unknown.stdout) == (1, "")


def test_help_describes_every_command_in_a_sentence(call: Call) -> None:
    output = call("--help").stdout
    lines = {line.split()[0]: line for line in output.splitlines() if line.startswith("  ")}
    assert set(_COMMANDS) <= lines.keys()
    assert all(lines[name].endswith(".") and "..." not in lines[name] for name in _COMMANDS)
    assert output.index("Collect:") < output.index("serve ") < output.index("Query:")
    assert call("--version").stdout.startswith("headwater 0.")


@pytest.mark.server
def test_response_that_is_not_http_is_no_server(call: Call) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        threading.Thread(target=_greet, args=(listener,)).start()
        result = call("runs", "--url", f"http://127.0.0.1:{port}")
    assert (result.returncode, result.stderr.count("\n")) == (3, 1)
    assert "no server responds at" in result.stderr


def _greet(listener: socket.socket) -> None:
    with listener.accept()[0] as client:
        client.recv(4_096)
        client.sendall(b"SSH-2.0-other\r\n")


@pytest.mark.server
@pytest.mark.parametrize(
    ("arguments", "loaded"),
    [
        (["tree", "--help"], []),
        (["tree", "x", "--url", "http://127.0.0.1:9"], ["pydantic_settings", "httpx"]),
    ],
)
def test_commands_load_slow_modules_only_when_needed(
    arguments: list[str], loaded: list[str]
) -> None:
    slow = ["fastapi", "sqlalchemy", "uvicorn", "starlette", "orjson", "ahocorasick_rs"]
    slow += ["pydantic_settings", "httpx", "prometheus_client"]
    script = (
        "import sys\nfrom headwater.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        f"sys.stderr.write(str([name for name in {slow!r} if name in sys.modules]))"
    )
    result = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True
    )
    assert result.stderr.endswith(str(loaded))


@pytest.mark.parametrize("wrong", ["25:99", "2026-13-01", "2026-11-21 8h"])
def test_invalid_time_error_uses_the_option_name(call: Call, wrong: str) -> None:
    for *arguments, name in (
        ("tree", "x", "--as-of", wrong, "--as-of"),
        ("diff", wrong, "SINCE"),
        ("timeline", "x", "--until", wrong, "--until"),
    ):
        result = call(*arguments, "--database", "/no")
        assert (result.returncode, "asOf" in result.stderr) == (2, False)
        expected = f"{name}: received '{wrong}', expected a time such as 2026-11-21T08:30, or"
        assert expected in result.stderr


def test_invalid_option_value_is_repeated(call: Call) -> None:
    result = call("serve", "--port", "a\x1bc")
    assert result.returncode == 2
    message = r"Invalid value for '--port': received 'a\x1bc', expected a valid integer"
    assert message in result.stderr


@pytest.mark.parametrize("command", _COMMANDS)
def test_every_command_has_help_with_an_example(command: str, call: Call) -> None:
    result = call(command, "--help")
    assert f"Example: headwater {command}" in result.stdout


def test_help_and_messages_use_the_program_name_as_called(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWATER_PROGRAM", "./run lineage")
    for arguments, usage, example in (
        (["--help"], "[OPTIONS]", "search"),
        (["tree", "--help"], "tree", "tree"),
        (["keys", "add", "--help"], "keys add", "keys add"),
        (["harvest", "dbt", "--help"], "harvest dbt", "harvest dbt"),
    ):
        output = call(*arguments).stdout
        assert f"Usage: ./run lineage {usage}" in output
        assert f"Example: ./run lineage {example}" in output
    output = call("tree", "x", "--database", "/no").stderr
    assert output.startswith("./run lineage: there is no log")
    assert "`./run lineage ingest PATH --database /no`" in output


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.4", "example.org"])
def test_exposed_server_needs_a_key(host: str) -> None:
    from headwater.server._options import ServerOptions
    from headwater.server._serve import check_exposure

    open_to_all = ServerOptions.of(resolve({"host": host}))
    with pytest.raises(ExposureError, match=r"keys add NAME .* set one with --api-key"):
        check_exposure(open_to_all, host, has_keys=False)
    check_exposure(open_to_all, host, has_keys=True)
    check_exposure(ServerOptions.of(resolve({"host": host, "api_key": "k"})), host, has_keys=False)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.8.8.8"])
def test_loopback_needs_no_key(host: str) -> None:
    from headwater.server._options import ServerOptions
    from headwater.server._serve import check_exposure

    check_exposure(ServerOptions.of(resolve({"host": host})), host, has_keys=False)
