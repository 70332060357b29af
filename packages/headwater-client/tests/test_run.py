"""`headwater run`: real processes, real signals, a real terminal."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import uuid
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from headwater.log import entry_of
from headwater_client._declared import Declared, read_declared
from headwater_client.errors import ConfigError
from headwater_client.git import git_location
from headwater_client.parents import RunRef, parents
from packages.headwater.tests.support.datahub_server import endpoint_error
from packages.headwater.tests.support.event_schemas import event_validator

pytestmark = pytest.mark.server

_EXAMPLE = Path(__file__).resolve().parents[1] / "src" / "headwater_client" / "lineage.yaml"
_PARENT = "01a1fd3d-1a97-7b7f-8cb0-753b3dcc6260"
_ROOT = "01a1fd3d-1a97-7b7f-8cb0-753b3dcc6261"
_MAIN = [sys.executable, "-c", "from headwater_client.main import main; main()", "run"]


# The function behind the command, without the second that the command line takes to load.
_DIRECT = [
    sys.executable, "-c",
    "import os, sys\nfrom pathlib import Path\n"
    "from headwater_client._declared import read_declared\n"
    "from headwater_client._process import end_like, run_command\n"
    "from headwater_client._report import Report\n"
    "file, spool, *command = sys.argv[1:]\n"
    "declared, report = read_declared(Path(file), os.environ), Report(Path(spool), None)\n"
    "code = run_command(declared, command, report, 0, os.environ)\n"
    "sys.exit(end_like(code))",
]  # fmt: skip


def _line(folder: Path, *command: str, file: Path = _EXAMPLE) -> list[str]:
    return [*_DIRECT, str(file), str(folder / "spool"), *command]


def _run(folder: Path, *command: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(_line(folder, *command), capture_output=True, text=True, **options)


def _events(folder: Path) -> list[dict[str, Any]]:
    files = (folder / "spool").glob("*.jsonl")
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def _types(folder: Path) -> list[str]:
    return [event["eventType"] for event in _events(folder)]


def _start(declared: Declared) -> dict[str, Any]:
    from headwater_client._declared_run import declared_run

    run = declared_run(declared, RunRef.new("n", "j"), None, git_location(declared.path))
    event: dict[str, Any] = json.loads(run.to_json("START", datetime.now(UTC)))
    return event


def _error(folder: Path) -> str:
    message = _events(folder)[-1]["run"]["facets"]["errorMessage"]["message"]
    assert isinstance(message, str)
    return message


def test_command_keeps_input_outputs_and_exit_code(tmp_path: Path) -> None:
    result = _run(tmp_path, "sh", "-c", "cat; echo warned >&2; exit 7", input="given")
    assert (result.returncode, result.stdout, result.stderr) == (7, "given", "warned\n")
    start, end = _events(tmp_path)
    assert (start["eventType"], end["eventType"]) == ("START", "FAIL")
    assert start["run"]["runId"] == end["run"]["runId"]
    assert uuid.UUID(start["run"]["runId"]).version == 7
    assert _error(tmp_path) == "sh ended with exit code 7"
    assert [input_["name"] for input_ in end["inputs"]] == ["crm.public.customers"]
    assert [output["name"] for output in end["outputs"]] == ["exports/customers.csv"]


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ("{}['id']", "KeyError: 'id'"),
        (
            "raise OSError('postgresql://me:hunter2@db/x is down')",
            "OSError: postgresql://me:***@db",
        ),
        (
            "import sys; sys.excepthook = lambda *_: print('own'); 1 / 0",
            "ZeroDivisionError: division",
        ),
        ("try:\n 1 / 0\nexcept ArithmeticError:\n raise SystemExit(1)", None),
        (
            "import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-c', '1 / 0']))",
            None,
        ),
    ],
)
def test_error_of_python_has_its_exception(script: str, error: str | None, tmp_path: Path) -> None:
    """The output is the same as without headwater; a handled exception is not the cause."""
    (tmp_path / "etl.py").write_text(script)
    command = sys.executable, str(tmp_path / "etl.py")
    plain = subprocess.run(command, capture_output=True, text=True)
    result = _run(tmp_path, *command)
    assert (result.returncode, result.stdout, result.stderr) == (1, plain.stdout, plain.stderr)
    ended, _, cause = _error(tmp_path).partition(" ended with exit code 1")
    assert ended == sys.executable
    assert cause.startswith(f": {error}") if error else not cause


def test_command_can_have_its_own_options(tmp_path: Path) -> None:
    head = [*_MAIN, "-f", str(_EXAMPLE), "--spool", str(tmp_path / "spool")]
    result = subprocess.run([*head, "echo", "--spool", "-f"], capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (0, "--spool -f\n")
    assert _types(tmp_path) == ["START", "COMPLETE"]


def test_example_is_in_the_wheel_and_the_readme() -> None:
    shown = subprocess.run([*_MAIN, "--example"], capture_output=True, text=True, check=True)
    assert shown.stdout == _EXAMPLE.read_text()
    assert f"```yaml\n{shown.stdout}```" in (_EXAMPLE.parents[2] / "README.md").read_text()


def test_inherited_files_stay_open(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.write(write, b"through a pipe")
    os.close(write)
    result = _run(tmp_path, "cat", f"/dev/fd/{read}", pass_fds=(read,))
    os.close(read)
    assert (result.returncode, result.stdout) == (0, "through a pipe")


def test_command_keeps_the_terminal_and_gets_ctrl_c_once(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, lambda *_: print('heard', flush=True))\n"
        "signal.signal(signal.SIGUSR1, lambda *_: sys.exit(0))\n"
        "print('all terminals:', all(os.isatty(fd) for fd in (0, 1, 2)), flush=True)\n"
        "while True: signal.pause()\n"
    )
    own = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
    own += "os.execv(sys.argv[1], sys.argv[1:])"  # a session with this terminal
    terminal, end = pty.openpty()
    line = [sys.executable, "-c", own, *_line(tmp_path, sys.executable, "-c", script)]
    running = subprocess.Popen(line, stdin=end, stdout=end, stderr=end, start_new_session=True)
    os.close(end)
    result = _read(terminal, b"terminals: True")
    running.send_signal(signal.SIGSTOP)  # so that a second signal would be counted separately
    os.waitpid(running.pid, os.WUNTRACED)
    os.write(terminal, b"\x03")
    result += _read(terminal, b"heard")
    running.send_signal(signal.SIGUSR1)  # signals sent earlier are forwarded earlier
    running.send_signal(signal.SIGCONT)
    assert running.wait(timeout=20) == 0
    with suppress(OSError):  # of a terminal that is no longer open
        result += os.read(terminal, 1_000)
    os.close(terminal)
    assert result.count(b"heard") == 1
    assert _types(tmp_path) == ["START", "COMPLETE"]


def _read(terminal: int, what: bytes) -> bytes:
    result = b""
    while what not in result:
        result += os.read(terminal, 1_000)
    return result


def test_signals_are_forwarded_to_the_command(tmp_path: Path) -> None:
    script = "trap 'echo bye; kill $!; exit 5' TERM; sleep 60 >&- & echo up; wait"
    line = _line(tmp_path, "sh", "-c", script)
    pipe = subprocess.PIPE
    running = subprocess.Popen(line, stdin=pipe, stdout=pipe, text=True)
    assert running.stdout is not None
    assert running.stdout.readline() == "up\n"
    running.send_signal(signal.SIGTERM)
    assert running.communicate(timeout=20)[0] == "bye\n"
    assert running.returncode == 5
    assert _types(tmp_path) == ["START", "ABORT"]


@pytest.mark.parametrize(
    ("number", "type_"), [(signal.SIGTERM, "ABORT"), (signal.SIGKILL, "ABORT"),
                          (signal.SIGSEGV, "FAIL")],
)  # fmt: skip
def test_wrapper_ends_by_the_signal_of_the_command(
    number: signal.Signals, type_: str, tmp_path: Path
) -> None:
    result = _run(tmp_path, "sh", "-c", f"kill -{number.value} $$")
    assert result.returncode == -number
    assert _types(tmp_path) == ["START", type_]
    assert _error(tmp_path) == f"sh was ended by {number.name}"


def test_ignored_signals_stay_ignored(tmp_path: Path) -> None:
    script = "import signal; print(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN)"
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        result = _run(tmp_path, sys.executable, "-c", script)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert result.stdout == "True\n"


@pytest.mark.parametrize(("command", "code"), [("no-such-program", 127), ("/", 126)])
def test_command_that_cannot_start_has_the_shell_exit_code(
    command: str, code: int, tmp_path: Path
) -> None:
    result = _run(tmp_path, command)
    assert (result.returncode, result.stdout) == (code, "")
    assert result.stderr.startswith(f"headwater: {command}: ")
    assert _types(tmp_path) == ["START", "FAIL"]


def test_long_command_sends_heartbeats(tmp_path: Path) -> None:
    script = (
        "import glob, sys, time\n"
        "def text(): return ''.join(open(f).read() for f in glob.glob(sys.argv[1] + '/*'))\n"
        "while text().count('RUNNING') < 2: time.sleep(0.01)\n"
    )
    spool = str(tmp_path / "spool")
    head = [*_MAIN, "-f", str(_EXAMPLE), "--spool", spool, "--heartbeat", "0.02"]
    assert subprocess.run([*head, sys.executable, "-c", script, spool]).returncode == 0
    types = _types(tmp_path)
    assert (types[0], types[-1], set(types[1:-1])) == ("START", "COMPLETE", {"RUNNING"})


def test_run_has_parent_and_children(
    tmp_path: Path,
) -> None:
    above = {
        "OPENLINEAGE_PARENT_ID": f"airflow://prod/eu/dag.task/{_PARENT}",
        "OPENLINEAGE_ROOT_PARENT_ID": f"airflow://prod/eu/dag/{_ROOT}",
    }
    result = _run(tmp_path, *_line(tmp_path, "env"), env={**os.environ, **above})
    reported = dict(line.split("=", 1) for line in result.stdout.splitlines() if "=" in line)
    (outer_start, _), (inner_start, _) = sorted(
        ([json.loads(line) for line in file.read_text().splitlines()]
         for file in (tmp_path / "spool").iterdir()),
        key=lambda events: str(events[0]["eventTime"]),
    )  # fmt: skip
    first = outer_start["run"]["facets"]["parent"]
    assert first["job"] == {"namespace": "airflow://prod/eu", "name": "dag.task"}
    assert (first["run"]["runId"], first["root"]["run"]["runId"]) == (_PARENT, _ROOT)
    second = inner_start["run"]["facets"]["parent"]
    assert second["run"]["runId"] == outer_start["run"]["runId"]
    assert second["root"] == first["root"]
    assert [endpoint_error(event) for event in (outer_start, inner_start)] == [None, None]
    run_id = inner_start["run"]["runId"]
    assert reported["OPENLINEAGE_PARENT_ID"] == f"nightly/export_customers/{run_id}"
    assert reported["OPENLINEAGE_ROOT_PARENT_ID"] == above["OPENLINEAGE_ROOT_PARENT_ID"]
    assert json.loads(reported["OPENLINEAGE_CONTEXT"])["parent"]["run"]["runId"] == run_id


def test_openlineage_context_precedes_older_variables() -> None:
    job = {"namespace": "a/b", "name": "c/d"}
    context = {"parent": {"run": {"runId": _PARENT}, "job": job}}
    older = {"OPENLINEAGE_PARENT_ID": f"x/y/{_ROOT}"}
    result = parents({**older, "OPENLINEAGE_CONTEXT": json.dumps(context)})
    assert result is not None
    assert result[0] == result[1] == ("a/b", "c/d", _PARENT)
    for broken in ("{", "[]", '{"parent": {"run": {"runId": "7"}, "job": {}}}'):
        result = parents({**older, "OPENLINEAGE_CONTEXT": broken})
        assert result is not None
        assert result[0] == ("x", "y", _ROOT)
    assert parents({"OPENLINEAGE_PARENT_ID": "x/y/7"}) is None


def test_invalid_parent_is_reported_and_the_command_runs(tmp_path: Path) -> None:
    head = [*_MAIN, "-f", str(_EXAMPLE), "--spool", str(tmp_path / "spool"), "true"]
    environment = {**os.environ, "OPENLINEAGE_PARENT_ID": "x/7"}
    result = subprocess.run(head, capture_output=True, text=True, env=environment)
    assert (result.returncode, result.stderr.count("\n")) == (0, 1)
    assert "ignored OPENLINEAGE_PARENT_ID='x/7'; expected namespace/job/runId" in result.stderr
    assert "parent" not in _events(tmp_path)[0]["run"]["facets"]


def test_disabled_lineage_only_runs_the_command(tmp_path: Path) -> None:
    disabled = {**os.environ, "OPENLINEAGE_DISABLED": "True"}
    head = [*_MAIN, "--spool", str(tmp_path / "spool"), "sh", "-c", "exit 4"]
    assert subprocess.run(head, env=disabled).returncode == 4
    assert not (tmp_path / "spool").exists()


def test_unwritable_spool_causes_one_warning(tmp_path: Path) -> None:
    (tmp_path / "spool").write_text("in the way")
    result = _run(tmp_path, "sh", "-c", "echo done; exit 3")
    assert (result.returncode, result.stdout) == (3, "done\n")
    assert result.stderr.count("lineage of this run is not complete: not written to") == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file: received nothing, expected an object with job, inputs, outputs"),
        ("job: {name: a}\ninput: []", "the file: received the key 'input', expected only job,"
         " inputs, outputs (did you mean 'inputs'?)"),
        ("job: {nme: a}", "job: received the key 'nme', expected only namespace, name,"),
        ("job:", "job: received nothing, expected an object with namespace, name"),
        ("job: {name: }", "job.name: received nothing, expected a non-empty string"),
        ("job: {name: a/b}", "job.name: received 'a/b', expected a name without a slash"),
        ("job: {name: a}\ninputs: {name: b}", "inputs: received {'name': 'b'}, expected a list"),
        ("job: {name: a}\noutputs: [b]", "outputs[0]: received 'b', expected an object with"),
        ("job: {name: a}\ninputs: [{name: b}]", "inputs[0].namespace: received nothing"),
        ("job: {name: a, type: test}", "job.type: received 'test', expected 'check' or no type"),
        ("job: {name: a, owner: [[x]]}", "job.owner[0]: received ['x'], expected a non-empty"),
        ("job: [", "line 1, column 7: invalid YAML"),
    ],
)  # fmt: skip
def test_invalid_file_error_has_key_value_and_expectation(
    text: str, message: str, tmp_path: Path
) -> None:
    file = tmp_path / "lineage.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_declared(file, {})
    assert message in str(caught.value)
    assert str(file) in str(caught.value)


def test_invalid_file_prevents_the_start(tmp_path: Path) -> None:
    (tmp_path / "lineage.yaml").write_text("job: {nam: x}")
    result = subprocess.run([*_MAIN, "touch", "made"], capture_output=True, text=True, cwd=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert "job: received the key 'nam'" in result.stderr
    assert not (tmp_path / "made").exists()


def test_values_of_the_file_are_strings(tmp_path: Path) -> None:
    file = tmp_path / "lineage.yaml"
    file.write_text("job: {name: 007}\ninputs: [{namespace: no, name: 2025-11-21}]\noutputs:\n")
    declared = read_declared(file, {"OPENLINEAGE_NAMESPACE": "team"})
    assert (declared.job.namespace, declared.job.name) == ("team", "007")
    assert (declared.inputs[0].namespace, declared.inputs[0].name) == ("no", "2025-11-21")
    assert declared.outputs == ()
    assert read_declared(file, {}).job.namespace == "default"


def test_type_check_becomes_the_job_type(tmp_path: Path) -> None:
    file = tmp_path / "lineage.yaml"
    for declaration, expected in (("", None), (", type: check", "CHECK")):
        file.write_text(f"job: {{name: scan{declaration}}}\ninputs: [{{namespace: d, name: t}}]")
        job = _start(read_declared(file, {}))["job"]
        assert job["facets"]["jobType"].get("jobType") == expected


def test_readme_file_has_owners_descriptions_and_tags(tmp_path: Path) -> None:
    event = _start(read_declared(_EXAMPLE, {}))
    facets = event["inputs"][0]["facets"]
    assert (
        facets["documentation"]["description"]
        == "One row per customer, maintained by the web shop."
    )
    assert [owner["name"] for owner in facets["ownership"]["owners"]] == ["team:crm", "user:jane"]
    tags = {tag["key"]: tag["value"] for tag in facets["tags"]["tags"]}
    assert tags == {"pii": "true", "retention": "30d"}
    assert event["job"]["facets"]["ownership"]["owners"][0]["name"] == "team:crm"
    assert entry_of(json.dumps(event).encode()).event.time


def _git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    (folder / "jobs").mkdir(parents=True)
    (folder / "jobs" / "lineage.yaml").write_text(_EXAMPLE.read_text())
    _git(folder, "init", "-q")
    _git(folder, "remote", "add", "origin", "https://bot:token@example.org/team/jobs.git")
    _git(folder, "add", "-A")
    _git(folder, "commit", "-q", "-m", "one")
    return folder


def test_git_location_has_no_password(repository: Path, tmp_path: Path) -> None:
    file = repository / "jobs" / "lineage.yaml"
    result = _start(read_declared(file, {}))["job"]["facets"]["sourceCodeLocation"]
    commit = _git(repository, "rev-parse", "HEAD")
    assert result["version"] == commit
    assert result["url"] == f"https://example.org/team/jobs/blob/{commit}/jobs/lineage.yaml"
    assert (result["repoUrl"], result["path"]) == (
        "https://example.org/team/jobs.git", "jobs/lineage.yaml",
    )  # fmt: skip
    file.write_text(_EXAMPLE.read_text() + "\n")
    again = _start(read_declared(file, {}))["job"]["facets"]["sourceCodeLocation"]
    assert again["version"] == f"{commit}-dirty"
    _git(repository, "checkout", "-q", "jobs/lineage.yaml")
    (new := file.with_name("new.yaml")).write_text(_EXAMPLE.read_text())
    untracked = git_location(new)
    assert untracked is not None
    assert untracked["version"] == f"{commit}-dirty"


@pytest.mark.parametrize(
    ("remote", "url"),
    [
        ("git@github.com:team/jobs.git", "https://github.com/team/jobs.git"),
        ("ssh://git@example.org:22/team/jobs.git", "ssh://example.org:22/team/jobs.git"),
        ("/srv/git/our jobs.git", "file:///srv/git/our%20jobs.git"),
    ],
)
def test_every_repository_address_is_reported_as_a_url(
    remote: str, url: str, repository: Path
) -> None:
    _git(repository, "remote", "set-url", "origin", remote)
    result = git_location(repository / "jobs" / "lineage.yaml")
    assert result is not None
    assert result["repoUrl"] == url
    assert result["url"].startswith(url.removesuffix(".git") + "/blob/")


def test_events_and_facets_are_valid(schemas: Path, repository: Path, tmp_path: Path) -> None:
    check = event_validator(schemas)
    above = {**os.environ, "OPENLINEAGE_PARENT_ID": f"airflow/dag.task/{_PARENT}"}
    line = _line(tmp_path, "false", file=repository / "jobs" / "lineage.yaml")
    assert subprocess.run(line, env=above).returncode == 1
    events = _events(tmp_path)
    assert len(events) == 2
    names: set[str] = set()
    for event in events:
        check(event)
        holders = [event["run"], event["job"], *event["inputs"], *event["outputs"]]
        for holder in holders:
            names |= holder["facets"].keys()
    assert names == {
        "parent", "errorMessage", "processing_engine", "jobType", "sourceCodeLocation",
        "documentation", "ownership", "tags",
    }  # fmt: skip


def _with_client(folder: Path, code: str) -> dict[str, str]:
    """Return an environment in which importing openlineage-python runs some code."""
    (folder / "openlineage").mkdir()
    (folder / "openlineage" / "__init__.py").write_text(code)
    return {**os.environ, "PYTHONPATH": str(folder)}


def test_command_starts_before_slow_imports(tmp_path: Path) -> None:
    code = (
        "import time\nfrom pathlib import Path\nend = time.monotonic() + 10\n"
        f"folder = Path({str(tmp_path)!r})\n"
        "while not (is_first := (folder / 'started').exists()) and time.monotonic() < end: pass\n"
        "(folder / 'imported').write_text(str(is_first))\n"
    )
    script = "touch started; while ! test -e imported; do :; done"
    result = _run(tmp_path, "sh", "-c", script, env=_with_client(tmp_path, code), cwd=tmp_path)
    assert (result.returncode, (tmp_path / "imported").read_text()) == (0, "True")


def test_unrepresentable_declaration_breaks_no_command(tmp_path: Path) -> None:
    _git(tmp_path, "init", "-q")
    _git(tmp_path, "remote", "add", "origin", "https://[bad/x.git")  # no URL that can be parsed
    (tmp_path / "lineage.yaml").write_text("job: {name: a}")
    _git(tmp_path, "add", "lineage.yaml")
    _git(tmp_path, "commit", "-q", "-m", "one")
    line = _line(tmp_path, "sh", "-c", "echo out; exit 9", file=tmp_path / "lineage.yaml")
    result = subprocess.run(line, capture_output=True, text=True)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (9, "out\n", 1)
    assert "lineage of this run is not complete: an event cannot be created" in result.stderr


def test_facets_name_their_producer(tmp_path: Path) -> None:
    assert _run(tmp_path, "false").returncode == 1
    for event in _events(tmp_path):
        assert event["producer"].startswith("https://github.com/headwater-lineage/")
        for holder in (event["run"], event["job"], *event["inputs"], *event["outputs"]):
            producers = {facet["_producer"] for facet in holder["facets"].values()}
            assert producers <= {event["producer"]}
