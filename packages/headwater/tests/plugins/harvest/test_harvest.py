"""`headwater harvest`: behavior of all sources, and events in log files."""

from __future__ import annotations

import gzip
import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.collect.logs import events_in
from headwater.errors import ConfigError
from headwater.log import EventLog
from headwater.plugins.harvest.harvester import load_harvester
from headwater.plugins.harvest.joined import Joiner
from packages.headwater.tests.conftest import Call
from packages.headwater.tests.support.servers import Command, Server, until

_HEADWATER = str(Path(sys.executable).with_name("headwater"))
_NOISE = (
    "26/11/21 08:00:00 INFO SparkContext: Running {x} \"y",
    "[2026-11-21T08:00:00.000+0000] {taskinstance.py:1} INFO - {\"a\": 1}",
    '{"timestamp": "2026-11-21T08:00:00Z", "level": "info", "event": "so {far"}',
)  # fmt: skip


def _event(build: Any, number: int, name: str = 'tägliche {Fährten"') -> dict[str, Any]:
    time = f"{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}"
    return build.run("COMPLETE", f"r{number}", f"j{number % 5}", time, reads=(f"db|{name}",))


def _line(event: dict[str, Any]) -> str:
    body = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
    return f"26/11/21 08:00:00 INFO ConsoleTransport: {body}"


def _bodies(database: Path) -> set[str]:
    log = EventLog(str(database), must_exist=True)
    try:
        return {body for _, body in log.read()}
    finally:
        log.close()


def _joined(lines: list[bytes]) -> list[Any]:
    joiner: Joiner[int] = Joiner()
    whole = [text for at, line in enumerate(lines) for _, text in joiner.feed(at, line)]
    whole += [text for _, text in joiner.close()]
    return [json.loads(event) for line in whole for event in events_in(line)]


@given(data=st.data())
def test_split_event_is_joined_despite_other_lines(data: st.DataObject, build: Any) -> None:
    events = [_event(build, number) for number in range(3)]
    lines: list[bytes] = []
    for event in events:
        raw = _line(event).encode()
        inside = st.integers(raw.index(b"{") + 1, len(raw) - 1)
        cuts = data.draw(st.lists(inside, max_size=4, unique=True))
        ends = [0, *sorted(cuts), len(raw)]
        for start, end in zip(ends, ends[1:], strict=False):
            lines.append(raw[start:end])
            lines += [
                item.encode() for item in data.draw(st.lists(st.sampled_from(_NOISE), max_size=2))
            ]
    assert _joined(lines) == events


def test_incomplete_piece_loses_no_later_event(build: Any) -> None:
    torn, whole = _line(_event(build, 1)).encode()[:90], _line(_event(build, 2)).encode()
    joiner: Joiner[int] = Joiner()
    result = [
        *joiner.feed(1, torn),
        *joiner.feed(2, b"\tat org.apache.spark.X"),
        *joiner.feed(3, whole),
    ]
    assert joiner.open_since == 1
    assert result == [(3, whole)]
    assert [at for at, _ in joiner.close()] == [1, 2]
    bare = json.dumps(_event(build, 3)).encode()
    assert [at for at, _ in (*joiner.feed(1, torn), *joiner.feed(2, bare))] == [2]
    passed = [text for _ in range(100) for _, text in joiner.feed(3, b"INFO x")]
    assert passed[-2:] == [torn, b"INFO x"]


def test_lost_character_is_not_replaced(build: Any) -> None:
    raw = _line(_event(build, 1)).encode()
    cut = raw.index("ä".encode()) + 1
    first, second = (piece.decode(errors="replace").encode() for piece in (raw[:cut], raw[cut:]))
    joiner: Joiner[int] = Joiner()
    assert [*joiner.feed(1, first), *joiner.feed(2, second)] == [(1, first), (2, second)]
    whole = [*joiner.feed(1, raw[:cut]), *joiner.feed(2, raw[cut:])]
    assert whole == [(1, raw)]


def test_repeated_and_partial_harvests_are_equal(call: Call, tmp_path: Path, build: Any) -> None:
    logs = tmp_path / "logs"
    (logs / "application_1").mkdir(parents=True)
    parts, once = tmp_path / "parts.db", tmp_path / "once.db"
    lines = [_line(_event(build, number)) for number in range(40)]
    text = ("\n".join(lines) + "\n").encode()

    def harvest(database: Path) -> str:
        return call("harvest", "spark-logs", str(logs), "--yes", "--database", str(database)).stdout

    middle = text.index(b"\n", len(text) // 2) - 30  # in the middle of an event
    log = logs / "application_1" / "stderr"
    log.write_bytes(text[:middle])
    whole = text[:middle].count(b"\n")
    assert f"events {whole}, new {whole}, rejected 1\n" in harvest(parts)
    with log.open("ab") as file:
        file.write(text[middle:])
    (logs / "stdout.1.gz").write_bytes(gzip.compress(_line(_event(build, 99)).encode()))
    (logs / "app.jar").write_text(_line(_event(build, 100)))
    assert f"rejected 0\nstored {41 - whole}, duplicates 0\n" in harvest(parts)
    assert harvest(parts).endswith("new 0, rejected 0\nstored 0, duplicates 0\n")
    assert harvest(once).endswith("events 41, new 41, rejected 0\nstored 41, duplicates 0\n")
    assert len(_bodies(once)) == 41
    assert _bodies(parts) == _bodies(once)

    old = tmp_path / "old.log"
    old.write_text(_line(_event(build, 98)) + "\n")
    os.utime(old, (0, 0))
    shutil.copy2(old, logs / "copied.log")  # keeps its old time
    assert ", new 1," in harvest(parts)
    log.write_bytes(text[:middle])  # another file under the same name
    assert "new 0, rejected 1\n" in harvest(parts)


def test_airflow_task_log_is_read_since_a_time(call: Call, tmp_path: Path, build: Any) -> None:
    reported = [
        {"timestamp": "2026-11-21T08:00:00Z", "event": json.dumps(_event(build, n))}
        for n in (60, 7200)
    ]
    (tmp_path / "attempt=1.log").write_text("".join(json.dumps(item) + "\n" for item in reported))
    database = tmp_path / "log.db"
    result = call("harvest", "airflow-logs", str(tmp_path), "--yes", "--database", str(database),
                 "--since", "2025-11-21T01:00:00+00:00")  # fmt: skip
    assert "events 1, new 1, rejected 0\n1 event before --since skipped" in result.stdout
    assert result.stdout.endswith("stored 1, duplicates 0\n")
    assert "tägliche" in result.stdout


def test_names_are_complete_in_a_pipe(call: Call, tmp_path: Path, build: Any) -> None:
    event = _event(build, 1)
    event["job"]["name"] = "a_pipeline." + "a_task_with_a_long_name" * 4
    (tmp_path / "stderr").write_text(_line(event))
    assert event["job"]["name"] in call("harvest", "spark-logs", str(tmp_path), "--dry-run").stdout


def test_folder_without_log_is_reported(call: Call, tmp_path: Path) -> None:
    (tmp_path / "app.json").write_text("{}")
    result = call("harvest", "spark-logs", str(tmp_path), "--dry-run")
    assert f"{tmp_path}: no log file found" in result.stderr


def test_invalid_event_is_reported_with_its_position(
    call: Call, tmp_path: Path, build: Any
) -> None:
    log = tmp_path / "driver.log"
    lines = [_line(_event(build, 1)), 'x {"eventTime": 1, "run": {}}', _line(_event(build, 2))[:80]]
    log.write_text("\n".join(lines) + "\n")
    torn = tmp_path / "stderr.gz"
    torn.write_bytes(gzip.compress(_line(_event(build, 3)).encode())[:-9])
    result = call("harvest", "spark-logs", str(tmp_path), "--dry-run", "--database", "/no/such")
    assert "new 1, rejected 3\n" in result.stdout
    assert (
        f"{log}@{len(lines[0].encode()) + 1}: eventTime: received 1, expected an ISO"
        in result.stderr
    )
    assert f"{torn}: cannot be read to the end: Compressed file ended" in result.stderr
    assert result.returncode == 0
    # The kernel returns no bytes of this file; the other files are still read.
    result = call("harvest", "spark-logs", "/proc/self/mem", str(log), "--dry-run")
    assert "new 1, rejected 3\n" in result.stdout
    assert "/proc/self/mem: cannot be read to the end: [Errno 5]" in result.stderr


def test_invalid_arguments_are_explained(call: Call, tmp_path: Path) -> None:
    for arguments, message in (
        ((str(tmp_path),), "pass --yes to store without confirmation, or --dry-run"),
        ((str(tmp_path / "no"), "--dry-run"), "expected a file or a folder of logs"),
        (
            (str(tmp_path), "--dry-run", "--since", "soon"),
            "--since: received 'soon', expected a time",
        ),
    ):
        result = call("harvest", "spark-logs", *arguments)
        assert (result.returncode, message in result.stderr) == (2, True), result.stderr


def test_missing_package_is_named(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = [module for module in sys.modules if module.startswith("headwater.plugins.sql.")]
    for module in ("headwater_aws.harvest.redshift", "headwater.plugins.harvest._dbt", *loaded):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    result = call("harvest", "redshift", "dev", "--cluster", "lake", "--dry-run")
    assert (result.returncode, "headwater-aws[redshift]" in result.stderr) == (2, True)
    monkeypatch.setitem(sys.modules, "openlineage.common.provider.dbt", None)
    assert "headwater[dbt]" in call("harvest", "dbt", "--dry-run").stderr


def test_missing_package_of_a_harvester_is_named() -> None:
    hint = r"headwater-aws is missing. In a clone, run: pip install './packages/headwater-aws'"
    with pytest.raises(ConfigError, match=f"redshift: the package {hint}"):
        load_harvester("redshift", installed=())
    assert load_harvester("no-such", installed=()) is None


@pytest.mark.server
def test_package_adds_a_harvester_as_an_entry_point(tmp_path: Path) -> None:
    package = tmp_path / "acme_lineage-1.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-lineage\nVersion: 1\n")
    (package / "entry_points.txt").write_text("[headwater.plugins]\nacme = acme_plugin:plugin\n")
    (tmp_path / "acme_plugin.py").write_text(
        "from headwater.plugin import Plugin\n"
        'plugin = Plugin(harvesters={"acme": "acme_lineage:acme"})\n'
    )
    (tmp_path / "acme_lineage.py").write_text(
        "from typing import Annotated\nimport typer\n"
        "from headwater.plugins.harvest._sources import airflow_logs\n"
        "from pathlib import Path\n"
        "def acme(folder: Path, days: Annotated[int, typer.Option(help='Days to read.')] = 3):\n"
        '    """Import the events of ACME."""\n'
        "    print('days', days + 1)\n"
        "    return airflow_logs([folder])\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    line = [_HEADWATER, "harvest"]

    def run(*arguments: str) -> str:
        return subprocess.run(
            [*line, *arguments], env=environment, capture_output=True, text=True
        ).stdout

    assert "Import the events of ACME" in run("--help")
    assert "Days to read." in run("acme", "--help")
    assert run("acme", str(tmp_path), "--days", "4", "--dry-run").startswith("days 5\nevents 0,")


def test_unreadable_state_is_an_error(
    call: Call, tmp_path: Path, data_home: Path, build: Any
) -> None:
    (tmp_path / "a.log").write_text(_line(_event(build, 1)))
    where = (
        "harvest",
        "spark-logs",
        str(tmp_path / "a.log"),
        "--yes",
        "--database",
        str(tmp_path / "x"),
    )
    assert "stored 1," in call(*where).stdout
    (state,) = (data_home / "headwater" / "harvests").iterdir()
    state.write_text("{")
    result = call(*where)
    assert (result.returncode, "or read everything with --from-start" in result.stderr) == (3, True)
    assert call(*where, "--from-start").stdout.endswith("stored 0, duplicates 1\n")


@pytest.mark.server
def test_terminal_confirms_before_storing_in_a_server(
    tmp_path: Path, build: Any, serve: Any
) -> None:
    server: Server = serve(tmp_path / "log.db")
    (tmp_path / "a.log").write_text(_line(_event(build, 1)) + "\n")
    command = [_HEADWATER, "harvest", "spark-logs", str(tmp_path / "a.log"), "--url", server.url]

    def answer(word: bytes) -> str:
        terminal, end = pty.openpty()
        with os.fdopen(terminal, "wb", 0) as typed:
            typed.write(word)
            done = subprocess.run(command, stdin=end, capture_output=True, text=True, timeout=60)
            os.close(end)
        assert done.returncode == 0, done.stderr
        return done.stdout

    result = answer(b"n\n")
    assert "Store the new events in http" in result
    assert result.endswith("Nothing was stored.\n")
    assert server.get("/api/v1/jobs")["totalCount"] == 0
    assert answer(b"y\n").endswith("stored 1, duplicates 0\n")
    assert server.get("/api/v1/jobs")["totalCount"] == 1
    assert answer(b"").endswith("stored 0, duplicates 0\n")


@pytest.mark.server
def test_killed_harvest_continues_without_loss(
    call: Call, tmp_path: Path, data_home: Path, build: Any
) -> None:
    logs, database = tmp_path / "logs", tmp_path / "log.db"
    logs.mkdir()
    count = 6_000
    for part in range(3):
        lines = (_line(_event(build, n)) for n in range(part, count, 3))
        (logs / f"{part}.log").write_text("\n".join(lines) + "\n")
    arguments = ("harvest", "spark-logs", str(logs), "--yes", "--database", str(database))
    state = data_home / "headwater" / "harvests"
    state.mkdir(parents=True)
    command = Command(*arguments)
    until(lambda: any(state.glob("*.json")), 60)
    assert command.stop(9) == -9
    taken = len(_bodies(database))
    assert 0 < taken < count
    rest = call(*arguments).stdout
    assert int(rest.partition("\nstored ")[2].partition(",")[0]) == count - taken
    assert len(_bodies(database)) == count
