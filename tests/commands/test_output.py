"""Control characters in text from elsewhere are escaped in the output of `./run`."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from commands import cli, infra, output
from commands.airflow_api import TaskInstance
from commands.progress import Progress
from commands.status import show_settings
from headwater.console.render import SafeConsole
from infra.parts import LAKEHOUSE
from infra.status import Status
from lakehouse.errors import PipelineError
from lakehouse.settings import REPOSITORY, load_settings

EVIL = "e\x1b]52;c;eA==\x1b[2J\x9b31m\u202eli\u2028x"
ESCAPED = r"e\x1b]52;c;eA==\x1b[2J\x9b31m\u202eli\u2028x"


def _stack() -> None:
    resource: Any = {
        "ResourceType": EVIL,
        "LogicalResourceId": EVIL,
        "PhysicalResourceId": EVIL,
        "ResourceStatus": EVIL,
    }
    infra._print(Status(LAKEHOUSE, EVIL, (resource,), {"name": EVIL}, (EVIL,)))


def _progress() -> None:
    task: TaskInstance = {
        "task_id": EVIL,
        "state": EVIL,
        "start_date": None,
        "end_date": None,
        "try_number": 1,
    }
    with Progress(SafeConsole(keep="\n")) as progress, progress.stage(EVIL):
        progress.show(EVIL, [task])
        progress.warn(EVIL)


PRINTERS: dict[str, Callable[[], None]] = {
    "line": lambda: output.say(EVIL),
    "error line": lambda: output.say(EVIL, is_error=True),
    "settings": lambda: show_settings(load_settings(bucket=EVIL)),
    "stack": _stack,
    "dialogue": lambda: infra._dialogue(True).say(EVIL),
    "progress": _progress,
}


@pytest.mark.parametrize("name", PRINTERS)
def test_control_characters_are_escaped(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    PRINTERS[name]()
    printed = "".join(capsys.readouterr())
    assert ESCAPED in printed.replace("\n", "")
    assert [char for char in printed if not char.isprintable() and char != "\n"] == []


ERRORS = {
    "ours": PipelineError(EVIL),
    "AWS's": ClientError({"Error": {"Code": "x", "Message": EVIL}}, "operation"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_error_messages_are_escaped(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: object) -> None:
        raise ERRORS[name]

    monkeypatch.setattr(cli, "app", fail)
    monkeypatch.setenv("RUN_FROM", str(REPOSITORY))
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ESCAPED in str(ended.value)


@pytest.mark.server
def test_folder_in_an_error_message_is_escaped() -> None:
    command = [sys.executable, "-m", "commands", "demo", "--data", EVIL]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert ESCAPED in done.stderr


def test_question_is_escaped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = io.StringIO("y\n")
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", terminal)
    assert output.confirm(EVIL)
    assert capsys.readouterr().out.startswith(ESCAPED)
