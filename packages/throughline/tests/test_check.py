"""A contract says what jobs read and write; what is otherwise is named."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from throughline.errors import ConfigError
from throughline.lineage.queries import edges_answer
from throughline.projection import State
from throughline.trust.contract import captured_of, contract_of, differences, updated

from .conftest import Call
from .graphs import two_orchestrators
from .test_tags import IDENTITY, makes

_EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "contract.yaml"


def _differences(state: State, level: str = "task", **contract: Any) -> list[str]:
    wanted = contract_of({"level": level, **contract})
    found = differences(wanted, captured_of(edges_answer(state, level)["items"]))
    return [f"{d['kind']} {d['what']} {d['job']} {d['name']}" for d in found]


def _load(build: Any) -> State:
    state: State = build.state(
        build.run("COMPLETE", "1", "dag.load", "08:00:00",
                  reads=("file|/in/2025-05.csv", "file|/in/2025-06.csv"), writes=("db|nyc.raw",)),
        build.run("COMPLETE", "2", "dag.sum", "09:00:00", reads=("db|nyc.raw",),
                  writes=("db|nyc.day",)),
    )  # fmt: skip
    return state


def test_what_is_as_declared_has_no_differences_by_short_names_ids_and_patterns(
    build: Any,
) -> None:
    jobs = {
        "load": {"inputs": ["/in/*.csv"], "outputs": ["raw"]},
        "demo:dag.sum": {"inputs": ["db:nyc.raw"], "outputs": ["nyc.day"]},
    }
    assert _differences(_load(build), jobs=jobs, covers=["demo:*"]) == []


def test_what_is_missing_and_what_is_there_beyond_is_named(build: Any) -> None:
    jobs = {"load": {"inputs": ["/in/2025-05.csv", "zones"]}, "gone": {"inputs": ["raw"]}}
    assert _differences(_load(build), jobs=jobs) == [
        "missing input load zones",
        "unexpected input load file:/in/2025-06.csv",
        "unexpected output load db:nyc.raw",
        "missing job gone gone",
    ]
    assert _differences(_load(build), jobs={}, covers=["*.sum"]) == [
        "unexpected job demo:dag.sum demo:dag.sum"
    ]


def test_a_dataset_goes_by_any_of_its_names(build: Any) -> None:
    event = build.run("COMPLETE", "1", "j", "08:00:00")
    event["outputs"] = [build.dataset("file|/lake/t", symlinks=[("hive://h", "nyc.t", "TABLE")])]
    state = build.state(event)
    for name in ("hive://h:nyc.t", "t", "file:/lake/t", "/lake/*"):
        assert _differences(state, jobs={"j": {"outputs": [name]}}) == []


def test_a_text_that_means_two_is_refused_with_both(build: Any) -> None:
    state = build.state(
        build.run("COMPLETE", "1", "a.load", "08:00:00", reads=("db|x.t", "db|y.t")),
        build.run("COMPLETE", "2", "b.load", "08:00:00", reads=("db|x.t",)),
    )
    with pytest.raises(ConfigError, match="jobs: 'load' matches demo:a.load, demo:b.load"):
        _differences(state, jobs={"load": {}})
    with pytest.raises(ConfigError, match="inputs of a.load: 't' matches db:x.t, db:y.t"):
        _differences(state, jobs={"a.load": {"inputs": ["t"]}})


@pytest.mark.parametrize("level", ["pipeline", "task", "query"])
def test_what_was_written_from_a_state_has_no_differences_to_it_at_any_level(
    level: str, build: Any
) -> None:
    state = two_orchestrators(build)
    captured = captured_of(edges_answer(state, level)["items"])
    written = updated(contract_of({"level": level, "jobs": {}, "covers": ["*"]}), captured)
    assert written.jobs
    assert contract_of(yaml.safe_load(yaml.safe_dump(written.to_dict()))) == written
    assert list(differences(written, captured)) == []


def test_writing_again_keeps_patterns_that_fit_and_drops_what_is_gone(build: Any) -> None:
    jobs = {
        "load": {"inputs": ["/in/*-05.csv", "old"], "outputs": ["raw"],
                 "columns": {"raw": {"a": ["b"]}}},
        "gone": {},
    }  # fmt: skip
    captured = captured_of(edges_answer(_load(build))["items"])
    found = updated(contract_of({"jobs": jobs}), captured).to_dict()
    assert found["jobs"] == {
        "load": {"inputs": ["/in/*-05.csv", "file:/in/2025-06.csv"], "outputs": ["raw"],
                 "columns": {"raw": {"a": ["b"]}}},
    }  # fmt: skip
    assert set(updated(None, captured).jobs) == {"demo:dag.load", "demo:dag.sum"}


def test_the_order_of_events_changes_nothing(build: Any) -> None:
    events = [
        build.run("COMPLETE", str(n), f"j{n}", f"0{n}:00:00", reads=(f"db|{n}",), writes=("db|t",))
        for n in range(4)
    ]
    expected = captured_of(edges_answer(build.state(*events))["items"])
    for order in permutations(events):
        assert captured_of(edges_answer(build.state(*order, order[0]))["items"]) == expected


def test_the_example_can_be_read_and_written() -> None:
    contract = contract_of(yaml.safe_load(_EXAMPLE.read_text()))
    assert contract_of(contract.to_dict()) == contract
    assert contract.covers
    assert any(job.columns for job in contract.jobs.values())


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (None, "contract: received nothing, expected an object with level, covers, jobs"),
        ({"jbos": {}}, "contract: received the key 'jbos', expected only level, covers, jobs"),
        ({"jobs": {}, "level": "dag"}, "level: received 'dag', expected one of pipeline, task"),
        ({"jobs": {"a": {"input": []}}}, "jobs.a: received the key 'input', expected only inputs"),
        ({"jobs": {"a": {"inputs": "x"}}}, "jobs.a.inputs: received 'x', expected a list of names"),
        ({"jobs": {"a": {"columns": {"t": {"f": 1}}}}}, "jobs.a.columns.t.f: received 1"),
        ({"level": "query", "jobs": {"a": {"columns": {"t": {}}}}}, "only at the level task"),
    ],
)
def test_a_contract_that_cannot_be_used_is_refused_by_name(body: Any, message: str) -> None:
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
    assert call("check", str(file), "--write", *there).returncode == 0
    whole = call("check", str(file), *there)
    assert (whole.returncode, whole.stdout) == (0, "Lineage matches the contract.\n")

    made = {"day": {"a": ["raw.x", "raw.z"]}, "other": {"b": ["raw.x"]}}
    job = {"inputs": ["raw", "zones"], "outputs": ["day"], "columns": made}
    file.write_text(yaml.safe_dump({"jobs": {"make_day": job}}))
    found = call("check", str(file), *there)
    assert found.returncode == 1
    assert found.stdout.splitlines() == [
        "- missing     input   make_day  zones",
        "- missing     column  make_day  day.a < raw.z",
        "+ unexpected  column  make_day  day.a < db:raw.y",
        "- missing     column  make_day  other.b < raw.x",
    ]
    assert '"kind": "unexpected"' in call("check", str(file), "--json", *there).stdout
    file.write_text("jobs: [")
    assert call("check", str(file), *there).returncode == 2


def test_without_a_file_it_says_how_one_is_made(tmp_path: Path, call: Call) -> None:
    answer = call("check", "none.yaml", "--database", str(tmp_path / "log.db"))
    assert answer.returncode == 2
    assert "none.yaml: file not found" in answer.stderr
    assert "throughline check --write" in answer.stderr
