from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest

from headwater.cli import command_line
from headwater.query.registry import load_queries
from packages.headwater.tests.conftest import Call
from packages.headwater.tests.support.servers import Server

_COMMANDS = tuple(command_line().commands)


@pytest.fixture
def database(tmp_path: Path, build: Any, call: Call) -> str:
    lines = [
        build.run("START", "1", "Flow.train", "08:00:00", reads=("hive://h|db.trips",)),
        build.run("COMPLETE", "1", "Flow.train", "08:01:30", writes=("metaflow|Flow/model",)),
        build.run("START", "2", "Flow.write", "08:01:40"),
        build.run(
            "FAIL", "2", "Flow.write", "08:02:00",
            reads=("metaflow|Flow/model",), writes=("hive://h|db.forecast",),
        ),
    ]  # fmt: skip
    events = tmp_path / "events.jsonl"
    events.write_bytes(b"\n".join(map(orjson.dumps, lines)) + b"\nbroken\n")
    result = call("ingest", str(events), str(events), "--database", str(tmp_path / "log.db"))
    assert result.stdout == "stored 4, duplicates 4, warnings 8, rejected 2\n"
    assert "events.jsonl:5: $: received 'broken', expected JSON" in result.stderr
    assert result.returncode == 1  # because something was rejected
    return str(tmp_path / "log.db")


def test_piped_tree_shows_names_states_and_durations_without_color(
    database: str, call: Call
) -> None:
    result = call("tree", "forecast", "--database", database)
    text = re.sub(r"  (\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d", "  TIME", result.stdout)
    assert text.splitlines() == [
        "db.forecast  (hive://h)",
        "└── Flow.write  FAILED  TIME  20.0 s",
        "    └── Flow/model  (metaflow)",
        "        └── Flow.train  COMPLETED  TIME  1 min 30 s",
        "            └── db.trips  (hive://h)",
    ]
    assert "\x1b" not in result.stdout


def test_tree_respects_depth_and_prints_json(database: str, call: Call) -> None:
    result = call("tree", "db.trips", "--down", "--depth", "1", "--json", "--database", database)
    answer = orjson.loads(result.stdout)
    assert (answer["direction"], answer["level"], answer["depth"]) == ("down", "task", 1)
    assert [child["name"] for child in answer["down"]["children"]] == ["Flow.train"]
    assert answer["down"]["children"][0]["latestRun"]["durationMs"] == 90_000


def test_unknown_node_suggests_similar_names_with_exit_code_1(database: str, call: Call) -> None:
    result = call("tree", "forcast", "--database", database)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.splitlines()[1] == "Did you mean: db.forecast"


def test_node_without_command_prints_last_run_and_neighborhood(database: str, call: Call) -> None:
    result = call("db.forecast", "--database", database)
    text = re.sub(r"(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d", "TIME", result.stdout)
    assert text.splitlines() == [
        "db.forecast  (hive://h)",
        "State     Failed  the newest load failed  TIME",
        "Owner     not reported",
        "Last run  FAILED  Flow.write  2",
        "Started   TIME",
        "Finished  TIME",
        "Duration  20.0 s",
        "Upstream (4 nodes)",
        "  db.forecast  ← Flow.write FAILED",
        "    Flow/model  ← Flow.train",
        "      db.trips",
        "Downstream: not reported",
    ]
    assert call("show", "db.forecast", "--database", database).stdout == result.stdout
    answer = orjson.loads(call("Flow.train", "--json", "--database", database).stdout)
    assert (answer["id"], answer["lastRun"]["durationMs"]) == ("job:demo:Flow.train", 90_000)
    assert [child["name"] for child in answer["down"]["children"]] == ["Flow/model"]


def test_overview_fits_a_screen_and_names_the_command_for_the_rest(
    tmp_path: Path, build: Any, call: Call
) -> None:
    files = tuple(f"file|/in/{number:02}" for number in range(40))
    event = build.run("COMPLETE", "1", "load", "08:00:00", reads=files, writes=("db|raw",))
    (tmp_path / "events.jsonl").write_bytes(orjson.dumps(event))
    database = str(tmp_path / "log.db")
    call("ingest", str(tmp_path / "events.jsonl"), "--database", database)
    lines = call("raw", "--database", database).stdout.splitlines()
    assert len(lines) <= 24
    assert lines[7] == "Upstream (41 nodes)"
    assert lines[-2] == "  … 28 more: headwater tree dataset:db:raw --up"


@pytest.mark.parametrize(("owners", "shown"), [((), "not reported"), (("Mia", "Tom"), "Mia, Tom")])
def test_overview_shows_the_owners(
    owners: tuple[str, ...], shown: str, tmp_path: Path, build: Any, call: Call
) -> None:
    event = build.run("COMPLETE", "1", "load", "08:00:00")
    listed = {"owners": [{"name": owner} for owner in owners]}
    event["outputs"] = [build.dataset("db|raw", ownership=listed)]
    (tmp_path / "events.jsonl").write_bytes(orjson.dumps(event))
    database = str(tmp_path / "log.db")
    call("ingest", str(tmp_path / "events.jsonl"), "--database", database)
    lines = call("raw", "--database", database).stdout.splitlines()
    assert [line.split(maxsplit=1) for line in lines if line.startswith("Owner")] == [
        ["Owner", shown]
    ]


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("tre", "Did you mean: headwater tree"),
        ("forcast", "Did you mean: db.forecast"),
        ("xyzzy", "`headwater --help` lists the commands."),
    ],
)
def test_unknown_word_gets_command_and_node_suggestions(
    word: str, hint: str, database: str, call: Call
) -> None:
    result = call(word, "--database", database)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.splitlines()[1] == hint


def test_misspelled_command_with_an_argument_is_named(database: str, call: Call) -> None:
    result = call("tre", "db.forecast", "--database", database)
    assert (result.returncode, result.stdout) == (2, "")
    assert "there is no command 'tre'" in result.stderr
    assert result.stderr.splitlines()[1] == "Did you mean: headwater tree"


@pytest.mark.parametrize("command", [("tree", "x"), ("runs",), ("export",)])
def test_read_command_reports_a_missing_log_without_creating_it(
    command: tuple[str, ...], tmp_path: Path, call: Call
) -> None:
    typo = tmp_path / "typo.db"
    for spelled in (str(typo), f"sqlite:///{typo}"):
        result = call(*command, "--database", spelled)
        assert (result.returncode, result.stdout) == (3, "")
        assert f"there is no log in '{typo}'" in result.stderr
        assert "headwater ingest" in result.stderr
    assert not typo.exists()


def test_diff_since_a_future_time_is_rejected(database: str, call: Call) -> None:
    result = call("diff", "9999-01-01T00:00+00:00", "--database", database)
    assert (result.returncode, result.stdout) == (2, "")
    assert "SINCE: received '9999-01-01T" in result.stderr
    assert "expected a time before now" in result.stderr


def test_read_command_adds_no_tables_to_another_file(tmp_path: Path, call: Call) -> None:
    other = tmp_path / "other.db"
    other.touch()
    assert "there is no log in" in call("runs", "--database", str(other)).stderr
    assert b"CREATE TABLE" not in other.read_bytes()
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE iceberg_tables (name TEXT)")
    result = call("runs", "--database", str(other)).stderr
    assert ("is the database of another program" in result, "ingest" in result) == (True, False)


def test_pipeline_is_shown_at_its_own_level_by_default(
    tmp_path: Path, build: Any, call: Call
) -> None:
    flow = {"parent": ("f", "Flow"), "kind": "METAFLOW/STEP"}
    events = tmp_path / "events.jsonl"
    events.write_bytes(
        orjson.dumps([
            build.run("COMPLETE", "f", "Flow", "08:02:00", kind="METAFLOW/FLOW"),
            build.run("COMPLETE", "s", "Flow.s", "08:01:00", reads=("db|a",), **flow),
        ])
    )  # fmt: skip
    log = ("--database", str(tmp_path / "log.db"))
    call("ingest", str(events), *log)
    assert call("tree", "Flow", *log).stdout.endswith("└── a  (db)\n")
    assert "└── Flow.s" in call("tree", "Flow", "--level", "task", *log).stdout
    assert "No downstream lineage reported." in call("tree", "Flow", "--down", *log).stdout


def test_control_dependencies_are_marked_and_only_shown_on_request(
    tmp_path: Path, build: Any, call: Call
) -> None:
    report = build.run("COMPLETE", "2", "report", "08:20:00", writes=("db|b",))
    load = {"job": {"namespace": "demo", "name": "load"}, "run": {"runId": "1"}}
    report["run"]["facets"]["jobDependencies"] = {"upstream": [load]}
    events = tmp_path / "events.jsonl"
    written = build.run("COMPLETE", "1", "load", "08:10:00", writes=("db|a",))
    events.write_bytes(orjson.dumps([written, report]))
    log = ("--database", str(tmp_path / "log.db"))
    call("ingest", str(events), *log)
    tree = call("tree", "b", "--control", *log).stdout.splitlines()
    assert [line.split()[1] for line in tree[1:]] == ["report", "load"]
    assert [line.endswith("  control") for line in tree] == [False, False, True]
    path = call("path", "load", "b", "--control", *log).stdout.split("\n")
    assert [line.split() for line in path[:2]] == [["load"], ["⇢", "control", "report"]]
    assert "load" not in call("tree", "b", *log).stdout
    assert call("path", "load", "b", *log).returncode == 1


def test_search_prints_matches_as_lines_or_exits_with_1(database: str, call: Call) -> None:
    result = call("search", "trips", "--database", database)
    assert result.stdout == "db.trips  (hive://h)\n"
    result = call("search", "tripps", "--database", database)
    assert "No exact match" in result.stdout
    for words in (("zzzzz",), ("forecast", "--as-of", "2025-11-21T08:01:45Z")):  # written later
        none = call("search", *words, "--database", database)
        assert (none.returncode, none.stdout) == (1, "No matches.\n")


def test_impact_and_path_print_one_line_per_node(database: str, call: Call) -> None:
    result = call("impact", "db.trips", "--database", database).stdout.splitlines()
    assert [line.split()[1] for line in result[1:]][:2] == ["Flow.train", "Flow/model"]
    assert re.split("  +", result[0]) == ["steps", "node", "latest run, tags, owners"]
    assert re.match("    1  Flow.train +COMPLETED  ", result[1])
    result = call("path", "Flow/model", "db.trips", "--database", database).stdout.splitlines()
    assert result[0] == "No path in this direction. The path in the other direction:"
    path = ["   db.trips  (hive://h)", "→  Flow.train", "→  Flow/model  (metaflow)"]
    assert result[1:] == path
    result = call("path", "db.trips", "Flow/model", "--database", database).stdout.splitlines()
    assert result == path
    none = call("path", "Flow.train", "Flow.train", "--level", "pipeline", "--database", database)
    assert none.stdout == "  Flow.train\n"
    assert "--level" in call("impact", "--help").stdout


def test_impact_of_a_column_begins_with_the_verdict_on_dropping_it(
    tmp_path: Path, build: Any, call: Call
) -> None:
    event = build.run("COMPLETE", "1", "j", "08:00:00", writes=("db|t",))
    event["outputs"] = [build.dataset("db|t", schema={"fields": [{"name": "pickup"}]})]
    (tmp_path / "event.json").write_bytes(orjson.dumps(event))
    log = ("--database", f"sqlite:///{tmp_path / 'log.db'}")
    call("ingest", str(tmp_path / "event.json"), *log)
    lines = call("impact", "t", "pickup", *log).stdout.splitlines()
    assert lines[:2] == [
        "Safe to drop",
        "  No job was reported to read the dataset. Readers that send no events are unknown.",
    ]


def test_past_state_is_shown_and_compared_with_the_current(database: str, call: Call) -> None:
    log = ("--database", database)
    then = "2025-11-21T08:01:45Z"
    assert "Flow.write" not in call("tree", "trips", "--down", "--as-of", then, *log).stdout
    assert "Flow.write" in call("tree", "trips", "--down", *log).stdout
    assert "Flow.write" in call("tree", "trips", "--down", "--as-of", "2", *log).stdout
    changes = call("diff", then, *log).stdout.splitlines()
    assert changes[:-1] == [
        "+ db.forecast  (hive://h)",
        "+ Flow.write  (demo)",
        "    + reads Flow/model",
        "    + writes db.forecast",
        "Failed in between:",
    ]
    assert changes[-1].endswith("2  Flow.write")
    assert orjson.loads(call("diff", then, "--json", *log).stdout)["removed"] == []
    assert call("diff", then, then, *log).stdout == "No differences.\n"
    never = call("tree", "trips", "--known-at", "2020-01-01", *log)
    assert (never.returncode, "no job or dataset is called 'trips'" in never.stderr) == (1, True)
    assert "expected a time such as" in call("diff", "some day", *log).stderr


def test_unknown_column_is_not_reported_as_a_column_without_lineage(
    tmp_path: Path, build: Any, call: Call
) -> None:
    event = build.run("COMPLETE", "1", "j", "08:00:00", reads=("db|raw",))
    schema = {"fields": [{"name": "pickup", "type": "timestamp"}]}
    event["outputs"] = [build.dataset("db|t", schema=schema)]
    (tmp_path / "e.json").write_bytes(orjson.dumps(event))
    log = ("--database", str(tmp_path / "log.db"))
    call("ingest", str(tmp_path / "e.json"), *log)
    there = call("columns", "t", "pickup", *log)
    assert (there.returncode, "No column lineage reported" in there.stdout) == (0, True)
    typo = call("columns", "t", "pikcup", *log)
    assert typo.returncode == 1
    assert (
        "neither a schema nor column lineage of t has a column 'pikcup'; reported: pickup\n"
        "Did you mean: pickup" in typo.stderr
    )


def test_runs_are_listed_newest_first_and_only_of_jobs(database: str, call: Call) -> None:
    lines = call("runs", "--database", database).stdout.splitlines()
    assert re.search(r"  FAILED +[\d.]+ s  \S+  Flow.write$", lines[0])
    assert len({line.index(" Flow.") for line in lines}) == 1
    of_one = orjson.loads(call("runs", "train", "--json", "--database", database).stdout)["items"]
    assert [run["runId"] for run in of_one] == ["1"]
    assert call("runs", "trips", "--database", database).returncode == 1


def test_long_error_is_shown_with_its_beginning_and_its_end(
    tmp_path: Path, build: Any, call: Call
) -> None:
    message = f"Cannot execute: {'--conf a=b ' * 200}Error code is: 1"
    error = {"errorMessage": {"message": message, "programmingLanguage": "python"}}
    events = tmp_path / "events.jsonl"
    events.write_bytes(orjson.dumps(build.run("FAIL", "t", "submit", "08:01:00", facets=error)))
    log = ("--database", str(tmp_path / "log.db"))
    call("ingest", str(events), *log)
    line = call("runs", *log).stdout.splitlines()[1].strip()
    assert line.startswith("Cannot execute: --conf")
    assert (" … " in line, line.endswith("Error code is: 1"), len(line) < 300) == (True,) * 3


def test_runs_show_errors_ids_parameters_and_a_run_tree(
    tmp_path: Path, build: Any, call: Call
) -> None:
    own = {
        "airflowDagRun": {
            "dagRun": {
                "run_id": "manual__1",
                "conf": {"month": "2025-11", "as_of": "", "locations": None},
            }
        }
    }
    error = {"errorMessage": {"message": "\n disk full\ntrace", "programmingLanguage": "python"}}
    events = tmp_path / "events.jsonl"
    events.write_bytes(
        orjson.dumps([
            build.run("FAIL", "d", "dag", "08:02:00", facets=own),
            build.run("FAIL", "t", "dag.t", "08:01:00", parent=("d", "dag"), facets=error),
            build.run("COMPLETE", "u", "dag.u", "08:01:30", parent=("d", "dag")),
        ])
    )  # fmt: skip
    log = ("--database", str(tmp_path / "log.db"))
    call("ingest", str(events), *log)
    lines = call("runs", "--failed", *log).stdout.splitlines()
    assert len(lines) == 3
    assert lines[0].endswith("dag  manual__1  month=2025-11")
    assert lines[2].strip() == "disk full"
    assert call("runs", "--state", "completed", *log).stdout.count("\n") == 1
    assert call("runs", "--state", "lost", *log).stdout == "No matching runs.\n"
    assert call("runs", "--state", "odd", *log).returncode == 2
    tree = call("runs", "--tree", "manual__1", *log).stdout
    tree = re.sub(r"  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "", tree)
    assert tree.splitlines() == [
        "dag  FAILED  d  manual__1  month=2025-11",
        "├── dag.t  FAILED  t",
        "│     disk full",
        "└── dag.u  COMPLETED  u",
    ]
    assert "no run has the id 'x'" in call("runs", "--tree", "x", *log).stderr


def test_export_is_equal_after_a_rebuild(database: str, tmp_path: Path, call: Call) -> None:
    first = call("export", "--database", database).stdout
    events = call("export", "--format", "openlineage", "--database", database).stdout.splitlines()
    late = "\n".join(reversed(events)).encode()
    again = call("ingest", "-", "--database", str(tmp_path / "b.db"), stdin=late)
    assert again.stdout == "stored 4, duplicates 0, warnings 4, rejected 0\n"
    assert call("export", "--database", str(tmp_path / "b.db")).stdout == first
    assert [job["name"] for job in orjson.loads(first)["jobs"]] == ["Flow.train", "Flow.write"]


def test_graph_is_exported_as_a_diagram(database: str, call: Call) -> None:
    def exported(form: str) -> list[str]:
        return call("export", "--format", form, "--database", database).stdout.splitlines()

    assert exported("mermaid")[:5] == [
        "flowchart LR",
        '  n0["Flow.train"]',
        '  n1[("db.trips")]',
        '  n2[("Flow/model")]',
        '  n3["Flow.write"]',
    ]
    assert "  n1 --> n0" in exported("mermaid")
    assert exported("graphviz")[3] == '  n1 [label="db.trips", shape=cylinder];'
    assert "  n0 -> n2;" in exported("graphviz")
    assert exported("graphviz")[-1] == "}"


@pytest.mark.parametrize(
    "line",
    [
        "tree",
        "keys nosuch",
        "tree x --level galaxy",
        "runs --state odd",
        "serve --port 99999",
        "serve --database foo://x",
        "serve --alerts BAD",
        "serve --deliver BAD",
        "deliver --config BAD",
        "gate forecast --policy BAD",
        "check BAD",
        "run -f BAD true",
        "diff 99:99 --database LOG",
        "keys add reed --scope reed --database LOG",
        "export --format parquet",
        "tree x --database LOG --url http://localhost:9",
    ],
)
def test_wrong_usage_is_exit_code_2(line: str, database: str, tmp_path: Path, call: Call) -> None:
    (tmp_path / "BAD").write_text("nonsense: [")
    values = {"BAD": str(tmp_path / "BAD"), "LOG": database}
    result = call(*(values.get(word, word) for word in line.split()))
    assert (result.returncode, result.stdout) == (2, "")
    assert not re.search("Value error|Input should|sqlalche|(byte|unicode) str", result.stderr)


@pytest.mark.server
def test_closed_pipe_ends_a_command_silently(database: str) -> None:
    script = "from headwater.cli import main; main()"
    command = [sys.executable, "-c", script, "export", "--database", database]
    read, write = os.pipe()
    os.close(read)
    result = subprocess.run(command, stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert (result.returncode, result.stderr) == (-signal.SIGPIPE, b"")


_WRONG_TIMES = {
    "--as-of": ("tree", "trips", "--as-of", "no-run"),
    "--known-at": ("gate", "trips", "--known-at", "no-run"),
    "--since": ("timeline", "trips", "--since", "no-run"),
    "SINCE": ("diff", "no-run"),
    "UNTIL": ("diff", "2025-11-21", "no-run"),
}


def _check_names_as_typed(call: Call, *where: str) -> None:
    for name, arguments in _WRONG_TIMES.items():
        result = call(*arguments, *where)
        assert result.returncode == 2
        assert result.stderr.startswith(f"headwater: {name}: received 'no-run', expected a time")


def test_unused_switches_are_not_sent(monkeypatch: pytest.MonkeyPatch, call: Call) -> None:
    sent: list[str] = []
    monkeypatch.setattr("headwater.console.source.request", lambda _, path: sent.append(path))
    call("tree", "a", "--json", "--url", "http://localhost:1")
    assert sent
    assert not [path for path in sent if "False" in path]
    defaults = [p.default for query in load_queries().values() for p in query.parameters]
    assert not any(default is True for default in defaults)


def test_errors_name_options_as_typed(database: str, call: Call) -> None:
    _check_names_as_typed(call, "--database", database)


@pytest.mark.server
def test_errors_of_a_server_name_options_as_typed(
    database: str, serve: Callable[..., Server], call: Call
) -> None:
    _check_names_as_typed(call, "--url", serve(database).url)
