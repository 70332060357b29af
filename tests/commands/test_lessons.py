"""The lessons: the check fails at the start, and passes after the steps of the README.

The README's commands are executed in order and their output is compared. A block that begins with
the path of a file is saved to it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands.environment import script
from commands.lesson_checks import CHECKS
from commands.lessons import LESSONS, check_lesson, lesson_folder, start_lesson
from lakehouse.settings import REPOSITORY, Settings

pytestmark = pytest.mark.server

BLOCK = re.compile(
    r"^(?P<indent> *)```(?P<kind>sh|console|yaml|python)\n(?P<text>.*?)^(?P=indent)```",
    re.MULTILINE | re.DOTALL,
)


_FORKING = """
import json, os, sys, time
import commands.cli
from headwater.cli import command_line
from headwater.query.registry import load_queries
from headwater_client.main import main as headwater

def become(command, environ):
    if os.path.basename(command[0]) != "headwater":
        os.execvpe(command[0], command, environ)
    os.environ.clear()
    os.environ.update(environ)
    sys.argv = command
    sys.exit(headwater())

command_line()
load_queries()
commands.cli.become = become
for line in sys.stdin:
    request = json.loads(line)
    if not os.fork():
        break
    print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
else:
    sys.exit()
os.environ.clear()
os.environ.update(request["environ"])
time.tzset()
output = os.open(request["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
for number in (1, 2):
    os.dup2(output, number)
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
sys.argv[1:] = request["arguments"]
commands.cli.main()
"""
"""A program that forks for each command, because imports take half of a command's CPU time."""


@pytest.fixture(scope="module")
def forking() -> Iterator[subprocess.Popen[str]]:
    """Start the program that executes commands of `./run` in forked processes."""
    with subprocess.Popen(
        [sys.executable, "-c", _FORKING],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        assert process.stdin
        process.stdin.close()


@pytest.fixture
def reader(tmp_path: Path, forking: subprocess.Popen[str]) -> Reader:
    """Return a person with an empty folder."""
    return Reader(tmp_path, forking)


class Reader:
    """A person who follows a lesson in an empty folder."""

    def __init__(self, home: Path, forking: subprocess.Popen[str]) -> None:
        self.home = home
        self._forking = forking
        self._environ = {
            **os.environ,
            "STATE_DIR": str(home / ".state"),
            "RUN_FROM": str(home),
            "TZ": "UTC",
            "PYTHON": sys.executable,
        }

    def execute(self, command: str) -> subprocess.CompletedProcess[str]:
        """Execute a command of a lesson."""
        if re.fullmatch(r"\./run [^|&;<>$`*]+", command):
            return self._fork(shlex.split(command)[1:])
        return subprocess.run(
            command.replace("./run ", f"{sys.executable} -m commands "),
            shell=True,
            cwd=self.home,
            env=self._environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    def _fork(self, arguments: list[str]) -> subprocess.CompletedProcess[str]:
        output = self.home / "output"
        request = {"arguments": arguments, "environ": self._environ, "output": str(output)}
        assert self._forking.stdin
        assert self._forking.stdout
        self._forking.stdin.write(f"{json.dumps(request)}\n")
        self._forking.stdin.flush()
        code = int(self._forking.stdout.readline())
        return subprocess.CompletedProcess(arguments, code, output.read_text())

    def follow(self, kind: str, text: str) -> None:
        """Save the file of a block, or execute its commands and compare their output."""
        if kind in ("yaml", "python"):
            path = re.match(r"# (\.state/\S+)\n", text)
            assert path, f"a block to save begins with the path of its file: {text}"
            (self.home / path[1]).write_text(text)
            return
        text = re.sub(r"\\\n\s*", " ", text)
        if kind == "sh":
            text = "".join(f"$ {line}\n" for line in text.splitlines())
        for part in text.removeprefix("$ ").split("\n$ "):
            command, _, expected = part.partition("\n")
            done = self.execute(command)
            assert "Traceback" not in done.stdout, done.stdout
            assert expected or done.returncode == 0, f"{command}\n{done.stdout}"
            for lines in re.split(r"^ *…\n", expected.rstrip(), flags=re.MULTILINE):
                assert lines.rstrip() in done.stdout, f"{command}\n{done.stdout}"


def ingest(events: Path, database: Path) -> None:
    """Ingest a file of events."""
    command = [script("headwater"), "ingest", str(events), "--database", str(database)]
    subprocess.run(command, check=True, capture_output=True)


def blocks(number: int) -> list[tuple[str, str]]:
    """Return the kinds and texts of a lesson's blocks."""
    text = (lesson_folder(number) / "README.md").read_text()
    return [(block["kind"], textwrap.dedent(block["text"])) for block in BLOCK.finditer(text)]


@pytest.mark.replay
@pytest.mark.metaflow
@pytest.mark.parametrize("number", CHECKS)
def test_lesson_is_complete_only_after_its_steps(number: int, reader: Reader) -> None:
    start, *steps = blocks(number)
    assert start == ("sh", f"./run lesson {number}\n")
    reader.follow(*start)
    before = reader.execute(f"./run lesson {number} --check")
    assert before.returncode == 1, before.stdout
    assert "missing  " in before.stdout
    kind, after = steps[-1]
    assert kind == "console"
    assert after.startswith(f"$ ./run lesson {number} --check\n")
    assert f"Lesson {number} is complete." in after
    for kind, text in steps:
        reader.follow(kind, text)


def test_check_of_a_lesson_that_was_not_started_names_the_command(reader: Reader) -> None:
    done = reader.execute("./run lesson 1 --check")
    assert done.returncode == 1
    assert "Start it with: ./run lesson 1" in done.stdout


def test_check_of_a_lesson_cannot_be_combined_with_reset(reader: Reader) -> None:
    done = reader.execute("./run lesson 1 --check --reset")
    assert (done.returncode, "cannot be combined" in done.stdout) == (2, True)


def test_started_lesson_is_kept_until_it_is_reset(reader: Reader, tmp_path: Path) -> None:
    reader.execute("./run lesson 1")
    answers = tmp_path / ".state" / "lessons" / "1" / "answers.yaml"
    answers.write_text("source_files: []\n")
    assert "--reset starts the lesson again" in reader.execute("./run lesson 1").stdout
    assert answers.exists()
    reader.execute("./run lesson 1 --reset")
    assert not answers.exists()


def test_dropping_the_used_column_is_not_accepted(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    start_lesson(settings, 5, reset=False)
    folder = settings.state_dir / "lessons" / "5"
    ingest(folder / "drop-pulocationid.jsonl", folder / "lineage.db")
    assert not check_lesson(settings, 5)
    printed = capsys.readouterr().out
    assert "missing  no other column dropped" in printed
    assert "missing  contract.yaml matches the lineage" in printed


def test_policy_without_sources_is_not_accepted(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    start_lesson(settings, 6, reset=False)
    folder = settings.state_dir / "lessons" / "6"
    ingest(folder / "failed-check.jsonl", folder / "lineage.db")
    (folder / "policy.yaml").write_text("quality_passed: true\n")
    assert not check_lesson(settings, 6)
    printed = capsys.readouterr().out
    assert "right    policy.yaml accepts the recorded files" in printed
    assert "missing  policy.yaml rejects other files" in printed
    (folder / "policy.yaml").write_text("quality: true\n")  # an unknown key
    assert not check_lesson(settings, 6)
    assert "missing  policy.yaml accepts the recorded files" in capsys.readouterr().out


def test_every_lesson_has_a_check_and_is_listed() -> None:
    index = (LESSONS / "index.md").read_text()
    folders = sorted(path for path in LESSONS.iterdir() if path.is_dir())
    assert [int(folder.name.partition("-")[0]) for folder in folders] == list(CHECKS)
    for folder in folders:
        assert f"({folder.name}/README.md)" in index
