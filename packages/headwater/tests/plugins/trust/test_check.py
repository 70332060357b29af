"""Contracts: declared inputs and outputs of jobs, and differences to the captured lineage."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from headwater.errors import ConfigError
from headwater.keys.store import add_key
from headwater.log import EventLog
from headwater.plugins.trust._contract import captured_of, differences, updated
from headwater.plugins.trust._odcs import contract_of
from headwater.plugins.trust.queries import check_answer
from headwater.projection import State
from packages.headwater.tests.conftest import Call
from packages.headwater.tests.support.columns import FILTER, IDENTITY, makes
from packages.headwater.tests.support.graphs import two_orchestrators
from packages.headwater.tests.support.servers import Server

_EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "contract.yaml"


def _differences(state: State, **contract: Any) -> list[str]:
    """Return the kind, subject and name of each difference."""
    answer = check_answer(state, json.dumps(contract))
    assert answer["passed"] is not bool(answer["findings"])
    return [_line(found) for found in answer["findings"]]


def _line(found: Any) -> str:
    subject = found["subject"].removeprefix("job:demo:")
    name = found["message"].partition(" is declared")[0].partition(" was captured")[0]
    return f"{found['kind']}: {subject} {name}"


def _load(build: Any) -> State:
    state: State = build.state(
        build.run("COMPLETE", "1", "dag.load", "08:00:00",
                  reads=("file|/in/2025-05.csv", "file|/in/2025-06.csv"), writes=("db|nyc.raw",)),
        build.run("COMPLETE", "2", "dag.sum", "09:00:00", reads=("db|nyc.raw",),
                  writes=("db|nyc.day",)),
    )  # fmt: skip
    return state


def test_declared_lineage_matches_by_name_id_or_pattern(
    build: Any,
) -> None:
    jobs = {
        "load": {"inputs": ["/in/*.csv"], "outputs": ["raw"]},
        "demo:dag.sum": {"inputs": ["db:nyc.raw"], "outputs": ["nyc.day"]},
    }
    assert _differences(_load(build), jobs=jobs, covers=["demo:*"]) == []


def test_missing_and_undeclared_lineage_is_listed(build: Any) -> None:
    jobs = {"load": {"inputs": ["/in/2025-05.csv", "zones"]}, "gone": {"inputs": ["raw"]}}
    assert _differences(_load(build), jobs=jobs) == [
        "missing input: dag.load zones",
        "unexpected input: dag.load file:/in/2025-06.csv",
        "unexpected output: dag.load db:nyc.raw",
        "missing job: gone is declared but was not captured",
    ]
    assert _differences(_load(build), jobs={}, covers=["*.sum"]) == [
        "unexpected job: dag.sum is covered but not declared"
    ]


def test_dataset_is_matched_by_any_alias(build: Any) -> None:
    event = build.run("COMPLETE", "1", "j", "08:00:00")
    event["outputs"] = [build.dataset("file|/lake/t", symlinks=[("hive://h", "nyc.t", "TABLE")])]
    state = build.state(event)
    for name in ("hive://h:nyc.t", "t", "file:/lake/t", "/lake/*"):
        assert _differences(state, jobs={"j": {"outputs": [name]}}) == []


def test_ambiguous_name_is_rejected_with_both_matches(build: Any) -> None:
    state = build.state(
        build.run("COMPLETE", "1", "a.load", "08:00:00", reads=("db|x.t", "db|y.t")),
        build.run("COMPLETE", "2", "b.load", "08:00:00", reads=("db|x.t",)),
    )
    with pytest.raises(ConfigError, match="jobs: 'load' matches demo:a.load, demo:b.load"):
        _differences(state, jobs={"load": {}})
    with pytest.raises(ConfigError, match="inputs of a.load: 't' matches db:x.t, db:y.t"):
        _differences(state, jobs={"a.load": {"inputs": ["t"]}})
    with pytest.raises(ConfigError, match="columns of a.load: 't' fits 2 nodes"):
        _differences(state, jobs={"a.load": {"inputs": ["*"], "columns": {"t": {"x": ["y"]}}}})


@pytest.mark.parametrize("level", ["pipeline", "task", "query"])
def test_written_contract_matches_its_state_at_every_level(level: str, build: Any) -> None:
    state = two_orchestrators(build)
    captured = captured_of(state, level)
    written = updated(contract_of({"level": level, "jobs": {}, "covers": ["*"]}), captured)
    assert written.jobs
    assert contract_of(yaml.safe_load(yaml.safe_dump(written.model_dump()))) == written
    assert list(differences(state, written, captured)) == []


def test_rewriting_keeps_matching_patterns_and_drops_removed_lineage(build: Any) -> None:
    jobs = {
        "load": {"inputs": ["/in/*-05.csv", "old"], "outputs": ["raw"],
                 "columns": {"raw": {"a": ["b"]}}},
        "gone": {},
    }  # fmt: skip
    result = check_answer(_load(build), json.dumps({"jobs": jobs, "datasets": {"raw": {}}}))
    assert result["contract"]["datasets"] == {"raw": {}}
    assert result["contract"]["jobs"] == {
        "load": {"inputs": ["/in/*-05.csv", "file:/in/2025-06.csv"], "outputs": ["raw"],
                 "columns": {"raw": {"a": ["b"]}}},
    }  # fmt: skip
    new = check_answer(_load(build))
    assert (new["passed"], new["findings"]) == (True, [])
    assert new["contract"]["level"] == "task"
    assert set(new["contract"]["jobs"]) == {"demo:dag.load", "demo:dag.sum"}


def test_order_of_events_does_not_change_the_result(build: Any) -> None:
    events = [
        build.run("COMPLETE", str(n), f"j{n}", f"0{n}:00:00", reads=(f"db|{n}",), writes=("db|t",))
        for n in range(4)
    ]
    expected = captured_of(build.state(*events), "task")
    for order in permutations(events):
        assert captured_of(build.state(*order, order[0]), "task") == expected


def test_example_can_be_read_and_written() -> None:
    contract = contract_of(yaml.safe_load(_EXAMPLE.read_text()))
    assert contract_of(contract.model_dump()) == contract
    assert contract.covers
    assert any(dataset.columns for dataset in contract.datasets.values())
    assert any(job.columns for job in contract.jobs.values())


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (None, "contract: received nothing, expected an object of level, covers, jobs"),
        ("hello", "contract: received 'hello', expected an object of level, .*, datasets$"),
        (
            {"jbos": {}},
            "contract: received the key 'jbos', expected only level, covers, jobs.* 'jobs'",
        ),
        ({"jobs": {}, "level": "dag"}, "level: received 'dag', expected 'pipeline', 'task' or"),
        (
            {"jobs": {"a": {"input": []}}},
            "jobs.a: received the key 'input', expected only inputs, .* 'inputs'",
        ),
        ({"jobs": {"a": {"inputs": "x"}}}, "jobs.a.inputs: received 'x', expected a valid list"),
        ({"jobs": {"a": {"columns": {"t": {"f": 1}}}}}, "jobs.a.columns.t.f: received 1"),
        ({"level": "query", "jobs": {"a": {"columns": {"t": {}}}}}, "only at the level task"),
    ],
)
def test_invalid_contract_error_names_the_key(body: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        contract_of(body)


def test_check_compares_down_to_columns_and_writes_the_file(
    build: Any, tmp_path: Path, call: Call
) -> None:
    lines = [makes(build, "08", "raw", "day", {"a": [("x", IDENTITY), ("y", IDENTITY)]})]
    (tmp_path / "events.jsonl").write_bytes(b"\n".join(map(orjson.dumps, lines)))
    there = ("--database", str(tmp_path / "log.db"))
    call("ingest", str(tmp_path / "events.jsonl"), *there)
    file = tmp_path / "contract.yaml"
    assert call("check", str(file), *there).returncode == 2
    written = call("check", str(file), "--write", *there)
    assert (written.returncode, written.stdout) == (0, "")
    assert written.stderr == f"Wrote {file}: inputs and outputs of 1 job.\n"
    whole = call("check", str(file), *there)
    assert (whole.returncode, whole.stdout) == (0, "Lineage matches the contract.\n")

    columns = {"day": {"a": ["raw.x", "raw.z"]}, "other": {"b": ["raw.x"]}}
    job = {"inputs": ["raw", "zones"], "outputs": ["day"], "columns": columns}
    file.write_text(yaml.safe_dump({"jobs": {"make_day": job}}))
    result = call("check", str(file), *there)
    assert result.returncode == 1
    assert result.stdout.splitlines() == [
        "missing input: 1",
        "  job:demo:make_day  zones is declared but was not captured",
        "  → correct the job or the contract",
        "missing column: 2",
        "  job:demo:make_day  day.a < raw.z is declared but was not captured",
        "  job:demo:make_day  other.b < raw.x is declared but was not captured",
        "  → correct the job or the contract",
        "unexpected column: 1",
        "  job:demo:make_day  day.a < db:raw.y was captured but is not declared",
        "  → declare it in the contract, or correct the job",
    ]
    assert '"kind": "unexpected column"' in call("check", str(file), "--json", *there).stdout
    file.write_text("jobs: [")
    assert call("check", str(file), *there).returncode == 2


_ODCS = """
apiVersion: v3.1.0
kind: DataContract
id: 7c1f
version: 1.0.0
status: active
team: {name: sales}
servers: [{server: production, type: hive}]
schema:
  - name: orders per day
    physicalName: day
    logicalType: object
    properties:
      - name: total
        physicalType: DECIMAL(12, 2)
        required: true
        transformSourceObjects: [raw]
      - name: customer
        logicalType: object
        properties:
          - {name: mail, logicalType: string}
      - name: lines
        logicalType: array
        items: {logicalType: object, properties: [{name: sku, physicalType: varchar(9)}]}
"""


def _day(build: Any, *fields: dict[str, Any]) -> State:
    event = makes(build, "08", "raw", "day", {"total": [("x", IDENTITY)]})
    event["outputs"][0]["facets"]["schema"] = {"fields": list(fields)}
    state: State = build.state(event)
    return state


_FIELDS = (
    {"name": "total", "type": "double"},
    {"name": "customer", "type": "struct<mail:string>", "fields": [
        {"name": "mail", "type": "string"}]},
    {"name": "lines", "type": "array<struct<sku:string>>", "fields": [
        {"name": "sku", "type": "string"}]},
    {"name": "more", "type": "int"},
)  # fmt: skip


def _odcs(state: State, text: str = _ODCS) -> list[str]:
    answer = check_answer(state, json.dumps(yaml.safe_load(text), default=str))
    results = [
        (finding["kind"], finding["column"], finding["message"]) for finding in answer["findings"]
    ]
    return [" | ".join(filter(None, line)) for line in results]


def test_open_data_contract_checks_columns_types_and_sources(build: Any) -> None:
    assert _odcs(_day(build, *_FIELDS)) == []
    wrong = {"name": "total", "type": "string"}
    assert _odcs(_day(build, wrong, _FIELDS[2]), _ODCS.replace("[raw]", "[rates]")) == [
        "type | total | has the type string, declared is DECIMAL(12, 2)",
        "missing source | total | rates is declared but was not captured",
        "unexpected source | total | db:raw was captured but is not declared",
        "missing column | customer | is declared but was not captured",
        "missing column | customer.mail | is declared but was not captured",
    ]


def test_source_that_only_filters_may_be_declared_but_need_not(build: Any) -> None:
    event = makes(build, "08", "raw", "day", {"total": [("x", FILTER)]})
    event["outputs"][0]["facets"]["schema"] = {"fields": [{"name": "total"}]}
    for sources, found in (([], []), (["raw"], []), (["rates"], ["missing source"])):
        contract = {"datasets": {"day": {"columns": {"total": {"sources": sources}}}}}
        answer = check_answer(build.state(event), json.dumps(contract))
        assert [finding["kind"] for finding in answer["findings"]] == found


def test_open_data_contract_of_an_unknown_dataset_or_schema(build: Any) -> None:
    missing = "missing dataset | is declared but was not captured"
    assert _odcs(build.state(build.run("COMPLETE", "1", "j", "08:00:00"))) == [missing]
    unknown = "missing schema | has declared columns but its schema was not reported"
    assert _odcs(_day(build)) == [unknown]


@pytest.mark.parametrize(
    ("declared", "captured", "same"),
    [
        ("varchar(18)", "string", True),
        ("INT", "bigint", True),
        ("number", "integer", True),
        ("integer", "decimal(9,2)", False),
        ("date", "timestamp", True),
        ("timestamp", "date", False),
        ("boolean", "string", False),
        ("geometry", "binary", True),  # no family: not compared
        ("string", "", True),  # not reported
    ],
)
def test_types_are_compared_by_family(declared: str, captured: str, same: bool, build: Any) -> None:
    fields = {"total": {"type": declared}}
    state = _day(build, {"name": "total", "type": captured})
    result = _differences(state, datasets={"day": {"columns": fields}})
    assert (result == []) is same


def test_open_data_contract_of_another_version_is_rejected(build: Any) -> None:
    with pytest.raises(ConfigError, match=r"apiVersion: received 'v2.2.2'"):
        _odcs(_day(build), _ODCS.replace("v3.1.0", "v2.2.2"))
    with pytest.raises(ConfigError, match=r"schema\[0\].name: received .*, it is required"):
        _odcs(_day(build), _ODCS.replace("name: orders per day", "id: x"))


def test_write_does_not_change_an_open_data_contract(
    build: Any, tmp_path: Path, call: Call
) -> None:
    there = ("--database", str(tmp_path / "log.db"))
    (tmp_path / "event.json").write_bytes(orjson.dumps(makes(build, "08", "raw", "day", {})))
    call("ingest", str(tmp_path / "event.json"), *there)
    file = tmp_path / "orders.odcs.yaml"
    file.write_text(_ODCS)
    result = call("check", str(file), *there)
    assert (result.returncode, result.stdout.splitlines()[0]) == (1, "missing schema: 1")
    written = call("check", str(file), "--write", *there)
    assert (written.returncode, file.read_text()) == (2, _ODCS)
    assert "does not change an Open Data Contract" in written.stderr


@pytest.mark.server
def test_server_checks_a_long_contract_with_a_read_key(
    serve: Callable[..., Server], build: Any, tmp_path: Path, call: Call
) -> None:
    log = EventLog(str(tmp_path / "log.db"))
    log.append([build.entry(makes(build, "08", "raw", "day", {}))])
    key = add_key(log, "ci", ["read"])
    log.close()
    server = serve(tmp_path / "log.db")
    file = tmp_path / "contract.yaml"
    file.write_text(yaml.safe_dump({"jobs": {f"job_{number}": {} for number in range(5_000)}}))
    result = call("check", str(file), "--url", server.url, "--api-key", key)
    assert (result.returncode, result.stderr, result.stdout[:17]) == (1, "", "missing job: 5000")


def test_missing_file_error_explains_how_to_create_it(tmp_path: Path, call: Call) -> None:
    answer = call("check", "none.yaml", "--database", str(tmp_path / "log.db"))
    assert answer.returncode == 2
    assert "none.yaml: file not found" in answer.stderr
    assert "headwater check --write" in answer.stderr
