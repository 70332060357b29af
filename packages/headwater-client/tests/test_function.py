"""Python functions whose calls are reported as runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from headwater.log import entry_of
from headwater_client import lineage
from packages.headwater.tests.support.datahub_server import endpoint_error

_PARENT = "01a1fd3d-1a97-7b7f-8cb0-753b3dcc6260"
_HEAVY = ("openlineage", "pydantic", "sqlalchemy", "httpx", "typer", "rich")


@pytest.fixture
def spool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("OPENLINEAGE_PARENT_ID", "OPENLINEAGE_CONTEXT", "OPENLINEAGE_DISABLED"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HEADWATER_SPOOL", str(tmp_path / "spool"))
    monkeypatch.setenv("OPENLINEAGE_NAMESPACE", "demo")
    return tmp_path / "spool"


def _events(spool: Path) -> list[Any]:
    lines = [line for file in spool.glob("*.jsonl") for line in file.read_text().splitlines()]
    events = [json.loads(line) for line in lines]
    assert all(entry_of(line.encode()).event for line in lines)
    assert {endpoint_error(event) for event in events} <= {None}
    return sorted(events, key=lambda event: event["eventTime"])


def _copied(source: str, target: str) -> list[tuple[str, str]]:
    return [("file", target)]


@lineage(inputs=[("file", "/in")], outputs=_copied, job="copy")
def copy(source: str, target: str) -> str:
    """Copy a file."""
    if target == "/full":
        raise OSError("the disk is full: postgres://me:secret@db/x")
    return f"{source} to {target}"


@lineage()
def outer() -> str:
    return copy("/in", target="/out")


@pytest.mark.parametrize("other", ["OPENLINEAGE__TRANSPORT", "OPENLINEAGE_URL"])
def test_headwater_destination_takes_precedence_over_openlineage(
    other: str, spool: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "other.jsonl"
    transport = json.dumps({"type": "file", "log_file_path": str(file)})
    monkeypatch.setenv(other, transport if "TRANSPORT" in other else "http://localhost:1")
    copy("/in", "/out")
    assert len(_events(spool)) == 2
    assert not list(tmp_path.glob("other*"))


def test_call_is_a_run_with_inputs_and_outputs(spool: Path) -> None:
    assert copy("/in", "/out") == "/in to /out"
    start, end = _events(spool)
    assert [event["eventType"] for event in (start, end)] == ["START", "COMPLETE"]
    assert start["run"]["runId"] == end["run"]["runId"]
    assert (end["job"]["namespace"], end["job"]["name"]) == ("demo", "copy")
    assert [dataset["name"] for dataset in end["inputs"]] == ["/in"]
    assert [dataset["name"] for dataset in end["outputs"]] == ["/out"]
    facets = end["job"]["facets"]
    assert facets["documentation"]["description"] == "Copy a file."
    assert facets["sourceCodeLocation"]["path"].endswith("tests/test_function.py")


def test_exception_is_raised_unchanged_and_reported(spool: Path) -> None:
    with pytest.raises(OSError, match="^the disk is full: postgres://me:secret@db/x$"):
        copy("/in", "/full")
    end = _events(spool)[-1]
    assert end["eventType"] == "FAIL"
    message = end["run"]["facets"]["errorMessage"]["message"]
    assert message.startswith("OSError: the disk is full: postgres://")
    assert "secret" not in message


def test_nested_call_is_a_child_and_the_environment_names_the_root(
    spool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENLINEAGE_PARENT_ID", f"air/dag.task/{_PARENT}")
    outer()
    parents = {
        event["job"]["name"].rsplit(".", 1)[-1]: event["run"]["facets"]["parent"]
        for event in _events(spool)
    }
    assert parents["outer"]["run"]["runId"] == _PARENT
    assert parents["copy"]["job"]["name"].endswith("outer")
    assert {parent["root"]["run"]["runId"] for parent in parents.values()} == {_PARENT}


def test_calls_in_threads_do_not_become_children_of_each_other(spool: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: outer(), range(8))) == {"/in to /out"}
    events = _events(spool)
    assert len({event["run"]["runId"] for event in events}) == 16
    roots = {e["run"]["runId"] for e in events if e["job"]["name"].endswith("outer")}
    children = [e for e in events if e["job"]["name"] == "copy" and e["eventType"] == "START"]
    assert sorted(roots) == sorted(e["run"]["facets"]["parent"]["run"]["runId"] for e in children)


@pytest.mark.parametrize("broken", ["folder", "datasets", "setting"])
def test_failing_lineage_does_not_change_the_result(
    broken: str, spool: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    function = copy
    if broken == "folder":
        spool.write_text("a file where the folder should be")
    elif broken == "datasets":
        function = lineage(inputs=list)(copy.__wrapped__)  # type: ignore[attr-defined]
    else:
        monkeypatch.delenv("HEADWATER_SPOOL")
        monkeypatch.setenv("HEADWATER_URL", "no URL")
    assert function("/in", "/out") == "/in to /out"
    assert "lineage" in caplog.text


@pytest.mark.parametrize("variable", ["OPENLINEAGE_DISABLED", "nothing configured"])
def test_call_without_lineage_only_calls_the_function(
    variable: str, spool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if variable == "OPENLINEAGE_DISABLED":
        monkeypatch.setenv(variable, "true")
    else:
        monkeypatch.delenv("HEADWATER_SPOOL")
    assert outer() == "/in to /out"
    assert not spool.exists()


@pytest.mark.server
def test_transport_of_openlineage_python_is_used(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    transport = {"type": "file", "log_file_path": str(file), "append": True}
    environ = {name: value for name, value in os.environ.items() if "LINE_" not in name}
    environ |= {"OPENLINEAGE__TRANSPORT": json.dumps(transport)}
    module = "packages.headwater-client.tests.test_function"
    code = f"from importlib import import_module; import_module({module!r}).outer()"
    root = Path(__file__).resolve().parents[3]
    subprocess.run([sys.executable, "-c", code], check=True, cwd=root, env=environ)
    assert [json.loads(line)["eventType"] for line in file.read_text().splitlines()] == [
        "START", "START", "COMPLETE", "COMPLETE",
    ]  # fmt: skip


@pytest.mark.server
def test_job_of_a_script_is_named_after_its_file(spool: Path, tmp_path: Path) -> None:
    script = tmp_path / "zones.py"
    script.write_text(
        "from headwater_client import lineage\n\n\n"
        "@lineage()\ndef load() -> None: ...\n\n\nload()\n"
    )
    subprocess.run([sys.executable, str(script)], check=True)
    assert {event["job"]["name"] for event in _events(spool)} == {"zones.load"}


def test_decorator_needs_no_arguments(spool: Path) -> None:
    @lineage
    def add(one: int, two: int) -> int:
        return one + two

    assert add(1, two=2) == 3
    job = "test_function.test_decorator_needs_no_arguments.<locals>.add"
    assert [event["job"]["name"].endswith(job) for event in _events(spool)] == [True, True]


@pytest.mark.parametrize("inputs", ["file:///x", ["file:///x"], [("file", 1)], [("a", "b", "c")]])
def test_dataset_that_is_no_pair_is_rejected(inputs: Any) -> None:
    with pytest.raises(TypeError, match=r"inputs\[0\]: received .*, expected a pair of namespace"):
        lineage(inputs=inputs)


def test_asynchronous_function_is_rejected() -> None:
    async def later() -> None: ...

    with pytest.raises(TypeError, match="later, expected a plain function"):
        lineage()(later)


@pytest.mark.server
def test_import_loads_no_slow_module() -> None:
    script = (
        f"import sys, headwater_client\nprint([name for name in {_HEAVY!r} if name in sys.modules])"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
