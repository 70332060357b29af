"""The commands about trust, as people and CI call them."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import orjson
import pytest

from headwater.console.render import localized
from packages.headwater.tests.conftest import Call
from packages.headwater.tests.support.columns import IDENTITY, makes, tagged
from packages.headwater.tests.support.reports import checked, schema, wrote
from packages.headwater.tests.support.servers import Server


@pytest.fixture
def database(tmp_path: Path, build: Any, call: Call) -> str:
    lines = [
        build.run("START", "1", "Flow.train", "08:00:00", reads=("hive://h|db.trips",)),
        build.run("COMPLETE", "1", "Flow.train", "08:01:30", writes=("metaflow|Flow/model",)),
        build.run(
            "FAIL", "2", "Flow.write", "08:02:00",
            reads=("metaflow|Flow/model",), writes=("hive://h|db.forecast",),
        ),
    ]  # fmt: skip
    (tmp_path / "events.jsonl").write_bytes(b"\n".join(map(orjson.dumps, lines)))
    call("ingest", str(tmp_path / "events.jsonl"), "--database", str(tmp_path / "log.db"))
    return str(tmp_path / "log.db")


def _lines(text: str) -> list[str]:
    return re.sub(r"  (\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d", "  TIME", text).splitlines()


def test_provenance_lists_runs_with_inputs_and_outputs(
    database: str,
    call: Call,
) -> None:
    result = call("provenance", "forecast", "--database", database)
    assert _lines(result.stdout) == [
        "Flow.write  FAILED  TIME  2",
        "  read             Flow/model  (metaflow)  version 1",
        "  failed to write  db.forecast  (hive://h)",
        "",
        "Flow.train  COMPLETED  TIME  1 min 30 s  1",
        "  read   db.trips  (hive://h)",
        "  wrote  Flow/model  (metaflow)  version 1",
        "",
        "Sources (not written by any known run):",
        "  db.trips  (hive://h)",
        "Personal data: No input column is tagged PII, but the inputs have no tags at all",
        "Unknown: The commit of 2 runs was not reported.",
        "Unknown: The version of 2 inputs was not reported by the run that read it; if shown, it "
        "is the version that was written before.",
        "Unknown: The version of 1 output was not reported; it is the id of the run.",
        "Unknown: 1 run did not complete, or the end was not reported.",
    ]
    assert "\x1b" not in result.stdout


def test_doctor_and_gate_print_local_times_in_whole_seconds() -> None:
    for text in ("2025-11-21T03:00:00Z", "2025-11-21T03:00:00.123456Z"):
        local = datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M:%S")
        assert localized(f"due at {text}, and late") == f"due at {local}, and late"


def test_history_and_drift_print_one_line_per_change(
    tmp_path: Path, build: Any, call: Call
) -> None:
    lines = [
        wrote(build, "08", schema(id="int", fare="int")),
        checked(build, "09", {"assertion": "not_null", "column": "id", "success": False},
                {"assertion": "unique", "success": True}),
        wrote(build, "10", schema(id="long", tip="int")),
    ]  # fmt: skip
    (tmp_path / "events.jsonl").write_bytes(b"\n".join(map(orjson.dumps, lines)))
    there = ("--database", str(tmp_path / "log.db"))
    call("ingest", str(tmp_path / "events.jsonl"), *there)
    change = "+tip  -fare  ~id int → long  by load"
    result = [line.split("  ", 1)[1] for line in call("history", "t", *there).stdout.splitlines()]
    assert result == [
        "version w10  by load w10",
        f"schema  {change}",
        "checked  not_null of id failed  1 passed  by check c09",
        "version w08  by load w08",
    ]
    (line,) = call("drift", *there).stdout.splitlines()
    assert line.endswith(f"  t  {change}")
    assert call("history", "load", *there).stdout.splitlines()[0].endswith("COMPLETED    w10")


def test_health_lists_problems_and_exits_with_1(database: str, call: Call) -> None:
    there = ("--database", database, "--as-of", "2025-11-21T09:00:00Z")
    result = call("health", *there)
    assert result.returncode == 1
    assert _lines(result.stdout) == [
        "Problems found in 2 jobs, 2 runs, 3 datasets.",
        "failed: 1",
        "  job:demo:Flow.write  failed  2",
        "  → correct the cause and run the job again",
        "Incomplete lineage in the newest runs of each job: 0% of 1 run report a code location.",
        "incomplete code: 1",
        "  job:demo:Flow.train  1 run without a code location  1",
        "  → make its producer report a code location",
    ]
    before = call("health", "--database", database, "--as-of", "2025-11-21T08:01:59Z")
    assert before.returncode == 0
    assert before.stdout.startswith("No problems in 1 job")
    assert '"isHealthy": false' in call("health", "--json", *there).stdout


def test_tags_show_their_origin(tmp_path: Path, build: Any, call: Call) -> None:
    lines = [
        tagged(build, "db|raw", ("pii", "true", "email")),
        makes(build, "08", "raw", "day", {"mail": [("email", IDENTITY)]}),
    ]
    (tmp_path / "events.jsonl").write_bytes(b"\n".join(map(orjson.dumps, lines)))
    there = ("--database", str(tmp_path / "log.db"))
    call("ingest", str(tmp_path / "events.jsonl"), *there)
    assert call("tags", *there).stdout.splitlines() == [
        "day.mail   pii  from raw.email",
        "raw.email  pii",
    ]
    assert call("tags", "day", "--key", "tier", *there).stdout == "No matching tags.\n"
    assert call("tagged", "pii", *there).stdout.splitlines() == [
        "tagged 1, derived 1, possible 0, masked 0",
        "day.mail   derived  raw.email",
        "raw.email  tagged",
    ]
    assert call("tagged", "pii", "--csv", "--status", "derived", *there).stdout.splitlines() == [
        "namespace,dataset,column,status,owners,path",
        "db,day,mail,derived,,raw.email > day.mail",
    ]
    assert call("tagged", "none", *there).returncode == 1
    assert call("map", *there).stdout.split() == ["none", "2"]
    assert call("map", "--by", "owner", *there).stdout.split() == ["none", "1"]
    assert "there is no group" in call("map", "nowhere", *there).stderr


def test_gate_sets_exit_code_and_names_rule_and_subject(
    database: str, tmp_path: Path, call: Call
) -> None:
    there = ("--database", database)
    passed = call("gate", "model", *there)
    assert (passed.returncode, passed.stdout) == (0, "PASSED  metaflow:Flow/model\n")
    policy = tmp_path / "policy.yaml"
    policy.write_text("sources: ['s3:*']\n")
    refused = call("gate", "model", "forecast", "--policy", str(policy), *there)
    assert refused.returncode == 1
    assert refused.stdout.splitlines() == [
        "FAILED  metaflow:Flow/model",
        "sources: 1",
        "  dataset:hive://h:db.trips  is not an allowed source",
        "  → read an allowed source, or add it to the `sources` of the policy",
        "FAILED  hive://h:db.forecast",
        "sources: 1",
        "  dataset:hive://h:db.trips  is not an allowed source",
        "  → read an allowed source, or add it to the `sources` of the policy",
        "no_failed_runs: 1",
        "  job:demo:Flow.write  failed  2",
        "  → correct the cause and run the job again",
    ]
    assert (
        '"kind": "sources"'
        in call("gate", "model", "--policy", str(policy), "--json", *there).stdout
    )
    assert call("gate", "nothing", *there).returncode == 1


def test_gate_exits_3_without_server_and_2_for_invalid_policy(
    database: str, tmp_path: Path, call: Call
) -> None:
    for there in (("--url", "http://127.0.0.1:9"), ("--database", str(tmp_path / "none.db"))):
        result = call("gate", "model", *there)
        assert (result.returncode, result.stdout) == (3, "")
        assert result.stderr.startswith("headwater: ")
    policy = tmp_path / "policy.yaml"
    for text, message in (("no_pi: true", "did you mean 'no_pii'"), ("a: [", "invalid YAML")):
        policy.write_text(text)
        result = call("gate", "model", "--policy", str(policy), "--database", database)
        assert result.returncode == 2
        assert message in result.stderr.replace("\n", " ")
    assert call("gate", "model", "--database", database, "--as-of", "soon").returncode == 2


@pytest.mark.server
def test_server_gates_many_datasets_and_rejects_an_invalid_policy(
    serve: Callable[..., Server], database: str, tmp_path: Path, call: Call
) -> None:
    server = serve(database)
    policy = tmp_path / "policy.yaml"
    policy.write_text("sources: ['hive:*']\nno_failed_runs: false\n")
    there = ("--policy", str(policy), "--url", server.url)
    result = call("gate", "model", "forecast", *there)
    assert (result.returncode, result.stdout.count("PASSED")) == (0, 2)
    with pytest.raises(HTTPError) as refused:
        server.get("/api/v2/gate?dataset=model&policy=%7B%22fresh%22%3A1%7D")
    with refused.value as answer:
        assert answer.code in (400, 422)
        assert b"fresh: received 1, expected a valid boolean" in answer.read()


_AGES = [
    (("problems",), "Flow.write failed  {} ago"),
    (("freshness", "--due", "unscheduled"), "written {} ago"),
    (("unused", "--days", "1"), "read {} ago by Flow.write"),
    (("show", "stream"), "last event {} ago"),
    (("tree", "topic"), "last event {} ago"),
]


@pytest.mark.parametrize(("command", "printed"), _AGES, ids=lambda value: value[0])
@pytest.mark.parametrize(
    ("moment", "age"),
    [
        (("--as-of", "2025-11-23T08:02:00Z"), "2 days"),
        (("--as-of", "last"), "3 days"),
        (("--as-of", "2025-11-24T08:02:00Z", "--known-at", "2099-01-01T00:00:00Z"), "3 days"),
    ],
)
def test_ages_of_a_past_state_are_counted_to_its_moment(
    moment: tuple[str, ...],
    age: str,
    command: tuple[str, ...],
    printed: str,
    database: str,
    build: Any,
    call: Call,
    tmp_path: Path,
) -> None:
    stream = build.run("START", "s", "stream", "08:02:00", writes=("kafka://k|topic",))
    stream["job"]["facets"]["jobType"] = {"processingType": "STREAMING", "integration": "FLINK"}
    last = build.run("COMPLETE", "last", "other", "08:02:00")
    last["eventTime"] = "2025-11-24T08:02:00Z"
    (tmp_path / "more.jsonl").write_bytes(b"\n".join(map(orjson.dumps, (stream, last))))
    call("ingest", str(tmp_path / "more.jsonl"), "--database", database)
    result = call(*command, *moment, "--database", database)
    assert printed.format(age) in result.stdout
