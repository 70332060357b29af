"""Provenance: the runs, versions and code that a dataset comes from."""

from __future__ import annotations

import itertools
import random
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from headwater.errors import NotFoundError
from headwater.log import entry_of
from headwater.plugins.impact.queries import impact_answer
from headwater.plugins.provenance.printing import print_provenance
from headwater.plugins.provenance.queries import provenance_answer
from headwater.plugins.trust.queries import gate_answer
from headwater.projection import project
from headwater.runs.queries import runs_answer
from packages.headwater.tests.support.graphs import APP, STEP, TASK, commit, loads
from packages.headwater.tests.support.reports import coded, versioned


def _lines(answer: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [
        (run["run"] and run["run"]["runId"], run["code"].get("version"), *(
            {dataset["name"]: dataset["versions"] for dataset in run[side]}
            for side in ("inputs", "outputs")
        ))
        for run in answer["runs"]
    ]  # fmt: skip


def _trained(build: Any, day: int, snapshot: str) -> list[dict[str, Any]]:
    """Return events of a Spark load below a task, and of a training that reads its snapshot."""
    hour, dag, task = f"1{day}", (f"d{day}", "dag"), (f"t{day}", "dag.load")
    query = build.run("COMPLETE", f"q{day}", "app", f"{hour}:01:00", parent=task, kind=APP,
                      reads=("file|/in",), writes=("db|raw",))  # fmt: skip
    train = build.run("COMPLETE", f"s{day}", "Flow.train", f"{hour}:03:00",
                      parent=(f"f{day}", "Flow"), kind=STEP, reads=("db|raw", "db|zones"),
                      writes=("mf|model",))  # fmt: skip
    return [
        build.run("COMPLETE", *dag, f"{hour}:05:00", kind="AIRFLOW/DAG"),
        coded(build.run("COMPLETE", *task, f"{hour}:02:00", parent=dag, kind=TASK), f"dag{day}"),
        versioned(query, raw=snapshot),
        versioned(coded(train, f"flow{day}"), raw=snapshot, zones="z"),
    ]


@pytest.mark.parametrize("reported", ["/srv/our rides", "file:///srv/our%20rides"])
def test_local_repository_is_a_path(reported: str, build: Any) -> None:
    event = build.run("COMPLETE", "1", "load", "08:00:00", writes=("db|t",))
    location = {"type": "git", "repoUrl": reported, "path": "jobs.py"}
    event["job"]["facets"]["sourceCodeLocation"] = location
    code = provenance_answer(build.state(event), "dataset:db:t")["runs"][0]["code"]
    assert (code["repoUrl"], code["path"]) == ("/srv/our rides", "jobs.py")


def test_outputs_have_the_sources_that_events_state(
    build: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    load = build.run(
        "COMPLETE", "1", "load", "08:00:00", reads=("db|a", "db|b"), writes=("db|x", "db|y")
    )
    entries = [
        {
            **build.dataset(f"db|{target}"),
            "type": "DATASET",
            "inputs": [{**build.dataset(f"db|{source}"), "type": "DATASET"}],
        }
        for target, source in ("xa", "yb")
    ]
    load["job"]["facets"]["lineage"] = {"entries": entries}
    join = build.run("COMPLETE", "2", "join", "09:00:00", reads=("db|x", "db|y"), writes=("db|t",))
    answer = provenance_answer(build.state(load, join), "dataset:db:t")
    sources = {o["name"]: o["sources"] for run in answer["runs"] for o in run["outputs"]}
    one, other = ([{"namespace": "db", "name": name}] for name in "ab")
    assert sources == {"t": None, "x": one, "y": other}
    print_provenance(answer)
    assert "x  (db)  version 1  from a\n" in capsys.readouterr().out


def test_provenance_of_a_model_has_runs_versions_and_code(
    build: Any,
) -> None:
    state = build.state(*_trained(build, 0, "100"), *_trained(build, 1, "200"))
    answer = provenance_answer(state, "model")
    assert _lines(answer) == [
        ("s1", "flow1", {"raw": ["200"], "zones": ["z"]}, {"model": ["s1"]}),
        ("t1", "dag1", {"/in": []}, {"raw": ["200"]}),
    ]
    sources = [(source["name"], source["versions"]) for source in answer["sources"]]
    assert sources == [("zones", ["z"]), ("/in", [])]
    queries = provenance_answer(state, "model", level="query")
    assert [run for run, *_ in _lines(queries)] == ["s1", "q1"]
    assert _lines(queries)[1][1] == "dag1"  # a query has the code of its parent task


def test_provenance_of_a_version_uses_the_data_of_its_time(build: Any) -> None:
    events = [*_trained(build, 0, "100"), *_trained(build, 1, "200")]
    answer = provenance_answer(build.state(*events), "model", "s0")
    assert [run for run, *_ in _lines(answer)] == ["s0", "t0"]
    assert answer["version"] == "s0"
    with pytest.raises(
        NotFoundError, match="no known run wrote version '9' of raw; see its history"
    ):
        provenance_answer(build.state(*events), "raw", "9")


def test_unreported_input_version_is_that_of_earlier_runs(build: Any) -> None:
    state = build.state(
        build.run("COMPLETE", "1", "write", "08:00:00", writes=("db|a",)),
        build.run("COMPLETE", "2", "read", "09:00:00", reads=("db|a",), writes=("db|b",)),
    )
    assert _lines(provenance_answer(state, "b"))[0][2] == {"a": ["1"]}


def test_table_that_keeps_rows_comes_from_every_load(build: Any) -> None:
    state = build.state(*loads(build, "05", "04", "03"))
    answer = provenance_answer(state, "raw")
    assert {source["name"] for source in answer["sources"]} == {"/03", "/04", "/05"}
    assert len(answer["runs"]) == 6


def test_unwritten_dataset_is_its_own_source(build: Any) -> None:
    state = build.state(build.run("COMPLETE", "1", "read", "08:00:00", reads=("db|a",)))
    answer = provenance_answer(state, "a")
    assert answer["runs"] == []
    assert [source["name"] for source in answer["sources"]] == ["a"]
    with pytest.raises(NotFoundError, match="'job:demo:read' is a job; expected a dataset"):
        provenance_answer(state, "job:demo:read")


def test_name_of_the_other_type_error_names_the_command(build: Any) -> None:
    state = build.state(build.run("COMPLETE", "1", "dag.read", "08:00:00", writes=("db|a",)))
    for text in ("dag.read", "demo:dag.read", "read"):
        message = f"'{text}' is a job; expected a dataset. Use a dataset that it writes: a$"
        for query in (provenance_answer, partial(impact_answer, field="x")):
            with pytest.raises(NotFoundError, match=message):
                query(state, text)
        with pytest.raises(NotFoundError, match=message):
            gate_answer(state, [text])
    for text in ("a", "db:a"):
        with pytest.raises(NotFoundError, match=f"'{text}' is a dataset; .*`history DATASET`"):
            runs_answer(state, text)


def test_declared_job_has_no_run(build: Any) -> None:
    declared = {"eventTime": "2025-11-21T08:00:00Z", "job": {"namespace": "demo", "name": "j"},
                "inputs": [build.dataset("db|a")], "outputs": [build.dataset("db|b")]}  # fmt: skip
    answer = provenance_answer(build.state(declared), "b")
    assert _lines(answer) == [(None, None, {"a": []}, {"b": []})]


def test_event_order_does_not_change_provenance(build: Any) -> None:
    events = [commit(_trained(build, 0, "100")[2], 1, 1), *_trained(build, 1, "200")]
    expected = provenance_answer(build.state(*events), "model")
    for order in itertools.islice(itertools.permutations(events), 0, None, 7):
        assert provenance_answer(build.state(*order, *order[:2]), "model") == expected


def test_provenance_of_real_tables_ends_at_files(recorded: Path) -> None:
    file = (
        recorded / "openlineage-events" / "this-stack" / "spark41-iceberg112-jdbc-workaround.jsonl"
    )
    events = [entry_of(line).event for line in file.read_bytes().splitlines()]
    random.Random(1).shuffle(events)
    state = project(events)
    for primary in state.identity:
        answer = provenance_answer(state, f"dataset:{primary.namespace}:{primary.name}")
        assert answer["sources"], primary


def test_upstream_datasets_have_kind_and_tags(build: Any) -> None:
    tags = {"tags": [{"key": "pii", "value": "true", "field": "mail"}]}
    write = build.run("COMPLETE", "1", "write", "08:00:00", writes=("db|b",))
    write["inputs"] = [build.dataset("s3://l|a", tags=tags)]
    answer = provenance_answer(build.state(write), "b")
    assert [(dataset["name"], dataset["kind"]) for dataset in answer["datasets"]] == [
        ("b", "table"),
        ("a", "file"),
    ]
    assert [(tag["name"], tag["field"], tag["from"]["name"]) for tag in answer["tags"]] == [
        ("b", None, "a"),
        ("a", "mail", "a"),
    ]
