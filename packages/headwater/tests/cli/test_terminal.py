"""Control characters in names are escaped on terminals and in log lines."""

from __future__ import annotations

import json
import logging
import os
import pty
import re
import sys
import threading
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

import orjson
import pytest
from rich.table import Table
from rich.text import Text

from headwater.cli import main
from headwater.console.render import SafeConsole, SafeFormatter, job_text, log_to_stderr
from headwater.health.findings import finding
from headwater.keys import commands as keys
from headwater.log import EventLog
from headwater.plugins.alerts._store import Alert
from headwater.plugins.alerts.rules import Log
from headwater.plugins.delivery._store import Deliveries
from headwater.redaction import DEFAULT

_EVIL = "e\x1b]52;c;eA==\x07\x1b]0;title\x07\x1b[2J\x9b31m\u202eli\u2028v\rx\nFORGED job"
_RAW = ("\x1b]52", "\x1b]0;", "\x1b[2J", "\x9b", "\u202e", "\u2028", "\nFORGED", "\x07")
_OWN = re.compile(r"\x1b\[[0-9;]*m")  # colors of the program itself


def _events(build: Any) -> list[dict[str, Any]]:
    facets = {
        "errorMessage": {"message": _EVIL, "programmingLanguage": "x"},
        "tags": {"tags": [{"key": _EVIL, "value": _EVIL, "source": "x"}]},
        "executionParameters": {"parameters": [{"key": "k", "name": _EVIL, "value": _EVIL}]},
    }
    read, written = f"n{_EVIL}|in{_EVIL}", f"n{_EVIL}|out{_EVIL}"
    events = []
    for run, type_ in (("1", "FAIL"), ("2", "START"), ("3", "COMPLETE")):
        event = build.run(
            type_, run, f"job{_EVIL}", f"08:0{run}:00", reads=(read,), writes=(written,)
        )
        event["run"]["facets"] = facets
        event["job"]["facets"] = {
            "ownership": {"owners": [{"name": _EVIL}]},
            "tags": {"tags": [{"key": _EVIL, "value": _EVIL}]},
        }
        (output,) = event["outputs"]
        output["facets"] = {
            "schema": {"fields": [{"name": f"{_EVIL}{run}", "type": _EVIL}]},
            "columnLineage": {
                "fields": {
                    f"{_EVIL}{run}": {
                        "inputFields": [
                            {
                                "namespace": read.split("|")[0],
                                "name": read.split("|")[1],
                                "field": _EVIL,
                            }
                        ]
                    }
                }
            },
            "dataQualityAssertions": {
                "assertions": [{"assertion": _EVIL, "success": False, "column": _EVIL}]
            },
        }
        events.append(event)
    return events


@pytest.fixture
def database(tmp_path: Path, build: Any) -> Path:
    """Return a log of events in which every name has control characters."""
    path = tmp_path / "log.db"
    log = EventLog(str(path))
    log.append([build.entry(event) for event in _events(build)])
    deliveries = Deliveries(log, f"backend{_EVIL}")
    deliveries.advance(deliveries.cursor() + 1, f"refused{_EVIL}")
    log.close()
    return path


_JOB, _OUT = f"job:demo:job{_EVIL}", f"dataset:n{_EVIL}:out{_EVIL}"
_COMMANDS = (
    ["runs"],
    ["health"],
    ["doctor"],
    ["tree", _JOB, "--up", "--down"],
    ["tree", _OUT],
    ["search", "job"],
    ["impact", f"dataset:n{_EVIL}:in{_EVIL}"],
    ["columns", _OUT],
    ["history", _OUT],
    ["history", _JOB],
    ["provenance", _OUT],
    ["drift"],
    ["tags"],
    [_JOB],
    [_OUT],
    ["diff", "2025-11-21T08:00:00Z"],
    ["gate", _OUT],
    ["tree", "job:demo:nosuchjob"],
    ["export", "--format", "mermaid"],
    ["export", "--format", "graphviz"],
    ["export", "--format", "openlineage"],
    ["export", "--format", "json"],
    ["runs", "--json"],
    ["deliver", "--status"],
)


@pytest.mark.parametrize("command", _COMMANDS, ids=lambda command: " ".join(command)[:30])
def test_control_characters_never_reach_a_terminal(database: Path, command: list[str]) -> None:
    shown = _on_terminal([*command, "--database", str(database)])
    assert "Traceback" not in shown
    assert shown.strip()
    assert [raw for raw in _RAW if raw in shown] == []
    assert "\x1b" not in _OWN.sub("", shown)


def _on_terminal(arguments: list[str]) -> str:
    """Run a command with a pseudo-terminal as stdout and stderr; return its output."""
    leader, follower = pty.openpty()
    parts: list[bytes] = []

    def read() -> None:
        with suppress(OSError):  # Linux raises it when the terminal is closed
            while part := os.read(leader, 65_536):
                parts.append(part)

    reading = threading.Thread(target=read)
    reading.start()
    with (
        open(follower, "w") as out,
        redirect_stdout(out),
        redirect_stderr(out),
        suppress(SystemExit),
    ):
        main(arguments)
    reading.join()
    os.close(leader)
    return b"".join(parts).decode().replace("\r\n", "\n")


def test_json_output_keeps_names_unchanged(database: Path) -> None:
    shown = _on_terminal(["runs", "--json", "--database", str(database)])
    assert json.loads(shown)["items"][0]["job"]["name"] == f"job{_EVIL}"


def test_alert_is_one_log_line(capsys: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    kept, root.handlers = root.handlers, []
    try:
        log_to_stderr(DEFAULT)
        message = f"{_EVIL} password=hunter2Xq9"
        alert: Alert = {
            **finding("failed", "job:demo:j", message, "correct it"),
            "rule": "r",
            "firedAt": None,
        }
        Log().act(alert, DEFAULT)
    finally:
        root.handlers = kept
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert r"\nFORGED" in lines[0]
    assert "hunter2Xq9" not in lines[0]


def test_traceback_in_a_log_line_is_escaped() -> None:
    try:
        raise ValueError(f"{_EVIL} password=hunter2Xq9")
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, "x", 1, "failed", None, sys.exc_info())
    shown = SafeFormatter("%(levelname)s %(message)s", DEFAULT).format(record)
    assert "\x1b" not in shown
    assert "hunter2Xq9" not in shown
    assert shown.count("\n") > 2


def test_escaped_text_keeps_its_styles() -> None:
    console = SafeConsole(force_terminal=True, color_system="standard", soft_wrap=True)
    with console.capture() as captured:
        console.print(Text.assemble("a\x1b", ("b\x9bc", "red"), "d"))
    shown = captured.get()
    assert _OWN.sub("", shown) == "a\\x1bb\\x9bcd\n"
    assert shown.startswith("a\\x1b\x1b[31mb")
    assert "\x1b[31m\\x9b\x1b[0m" in shown


def test_text_in_table_cells_is_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    grid = Table.grid()
    grid.add_row("a\x1bb")
    SafeConsole().print(grid)
    assert capsys.readouterr().out == "a\\x1bb\n"


def test_new_key_is_printed_without_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    keys.print_key("a\x1bb")
    assert capsys.readouterr().out == "a\\x1bb\n"


def test_stored_names_are_unchanged(database: Path) -> None:
    log = EventLog(str(database))
    (_, body), *_ = log.read()
    log.close()
    assert orjson.loads(body)["job"]["name"] == f"job{_EVIL}"


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("shop.main.jaffle.customers.build.run", "customers"),
        ("main.jaffle.customers.v2.build.test", "customers.v2 tests"),
        ("shop.main.jaffle.orders.test", "orders tests"),
        ("shop.main.jaffle.orders.snapshot", "orders"),
        ("ingest.load.test", "ingest.load.test"),
        ("ingest", "ingest"),
    ],
)
def test_dbt_jobs_are_titled_by_their_model(name: str, title: str) -> None:
    expected = title if title == name else f"{title}  ({name})"
    assert job_text({"namespace": "n", "name": name}).plain == expected
