"""History of a dataset or a job."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.log import entry_of
from headwater.plugins.changes.printing import print_history
from headwater.plugins.changes.queries import diff_answer, drift_answer, history_answer
from headwater.projection import facet_books, project
from packages.headwater.tests.support.reports import checked, schema, wrote

SPARK, PYTHON = "https://example.org/spark", "https://example.org/python"
_DAY = "2025-11-21T"


def _changes(answer: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [
        (
            change["at"][11:13],
            *(
                [item["name"] for item in change[key]]
                for key in ("added", "removed", "changed")
            ),
        )
        for change in answer
    ]  # fmt: skip


def test_drift_has_the_change_its_time_and_its_run(build: Any) -> None:
    state = build.state(
        wrote(build, "08", schema(id="int", fare="int")),
        wrote(build, "09", schema(id="int", fare="int")),
        wrote(build, "10", schema(id="int", fare="double", tip="double")),
        wrote(build, "11", schema(id="int", tip="double")),
    )
    result = drift_answer(state, "t")["items"]
    assert _changes(result) == [("11", [], ["fare"], []), ("10", ["tip"], [], ["fare"])]
    assert result[1]["runId"] == "w10"
    assert result[1]["job"] == {"namespace": "demo", "name": "load"}
    assert result[1]["changed"] == [{"name": "fare", "from": "int", "to": "double"}]
    assert result[1]["added"] == [{"name": "tip", "type": "double"}]
    assert drift_answer(state)["items"] == result


def test_types_are_compared_within_one_producer(build: Any) -> None:
    state = build.state(
        wrote(build, "08", schema(SPARK, id="int")),
        wrote(build, "09", schema(PYTHON, id="int64")),
        wrote(build, "10", schema(SPARK, id="long")),
        wrote(build, "11", schema(PYTHON, id="int64", fare="float")),
    )
    result = drift_answer(state, "t")["items"]
    assert _changes(result) == [("11", ["fare"], [], []), ("10", [], [], ["id"])]
    assert result[1]["changed"] == [{"name": "id", "from": "int", "to": "long"}]


def test_changed_nested_field_has_its_path(build: Any) -> None:
    def nested(*names: str) -> dict[str, Any]:
        below = [{"name": name, "type": "int"} for name in names]
        fields = [{"name": "trip", "type": "struct", "fields": below}]
        return {"_producer": SPARK, "fields": fields}

    events = [wrote(build, "08", nested("a")), wrote(build, "09", nested("a", "b"))]
    flat = wrote(build, "10", schema(PYTHON, trip="struct"))  # reports no nested fields
    assert _changes(drift_answer(build.state(*events, flat))["items"]) == [
        ("09", ["trip.b"], [], [])
    ]


def test_schemas_of_readers_count_only_without_writers(build: Any) -> None:
    def read(hour: str, reports: dict[str, Any]) -> dict[str, Any]:
        event: dict[str, Any] = build.run("COMPLETE", f"r{hour}", "read", f"{hour}:30:00")
        event["inputs"] = [build.dataset("db|t", schema=reports)]
        return event

    reads = [read("08", schema(id="int")), read("09", schema(id="int", fare="int"))]
    assert _changes(drift_answer(build.state(*reads))["items"]) == [("09", ["fare"], [], [])]
    assert drift_answer(build.state(wrote(build, "07", schema(id="int")), *reads))["items"] == []


def test_schema_without_run_is_included(build: Any) -> None:
    described = {
        "eventTime": f"{_DAY}09:00:00Z",
        "dataset": build.dataset("db|t", schema=schema(id="int", tip="int")),
    }
    result = drift_answer(build.state(wrote(build, "08", schema(id="int")), described))["items"]
    assert _changes(result) == [("09", ["tip"], [], [])]
    assert result[0]["runId"] is None


def test_schema_under_an_alias_is_included(build: Any) -> None:
    other = wrote(build, "09", schema(id="int", tip="int"), "s3|bucket/t")
    other["outputs"][0]["facets"]["symlinks"] = {
        "identifiers": [{"namespace": "db", "name": "t", "type": "TABLE"}]
    }
    state = build.state(wrote(build, "08", schema(id="int")), other)
    assert _changes(drift_answer(state, "db/t")["items"]) == [("09", ["tip"], [], [])]


def test_dataset_history_has_versions_checks_and_schemas(build: Any) -> None:
    first, second = wrote(build, "08", schema(id="int")), wrote(build, "10", schema(no="int"))
    first["outputs"][0]["outputFacets"] = {"outputStatistics": {"rowCount": 7, "size": 70}}
    second["outputs"][0]["facets"]["version"] = {"datasetVersion": "42"}
    bad = {"assertion": "not_null", "column": "id", "success": False}
    state = build.state(first, checked(build, "09", bad), second)
    result = history_answer(state, "t")["items"]
    assert [(item["at"][11:13], item["done"]) for item in result] == [
        ("10", "wrote"), ("10", "schema"), ("09", "checked"), ("08", "wrote"),
    ]  # fmt: skip
    newest, change, check, oldest = result
    assert (newest["version"], newest["run"]["runId"], newest["rows"]) == ("42", "w10", None)
    assert [item["name"] for item in change["removed"]] == ["id"]
    assert (check["assertions"], check["run"]["job"]["name"]) == ([bad], "check")
    assert (oldest["version"], oldest["rows"], oldest["bytes"]) == ("w08", 7, 70)
    assert history_answer(state, "t", limit=1)["items"] == [newest]


@pytest.mark.parametrize(
    ("severity", "text"),
    [
        ("warn", "a failed (warning)  1"),
        ("WARN", "a failed (warning)  1"),
        ("error", "a failed  1"),
    ],
)
def test_failed_checks_of_severity_warn_are_printed_as_warnings(
    severity: str, text: str, build: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    reported = {"assertion": "a", "success": False, "severity": severity}
    event = checked(build, "09", reported, {"assertion": "b"}, {"assertion": "c", "success": True})
    print_history(history_answer(build.state(event), "t"))
    # The assertion without a result did not pass.
    assert f"checked  {text} passed  by" in capsys.readouterr().out


@pytest.mark.parametrize("place", ["inputFacets", "facets"])
def test_assertions_are_found_in_every_facet(place: str, build: Any) -> None:
    event = checked(build, "09", {"assertion": "a", "success": True}, place=place)
    (result,) = history_answer(build.state(event), "t")["items"]
    assert result["assertions"] == [{"assertion": "a", "success": True}]


def test_job_history_compares_with_the_last_completed_run(
    build: Any,
) -> None:
    def ran(hour: str, type_: str, code: str, **uses: Any) -> dict[str, Any]:
        event: dict[str, Any] = build.run(type_, f"r{hour}", "j", f"{hour}:00:00", **uses)
        event["job"]["facets"]["sourceCodeLocation"] = {"version": code}
        return event

    state = build.state(
        ran("08", "COMPLETE", "a", reads=("db|x",), writes=("db|t",)),
        ran("09", "FAIL", "a", reads=("db|x",)),
        ran("10", "COMPLETE", "b", reads=("db|x", "db|y"), writes=("db|t",)),
        ran("11", "COMPLETE", "b", reads=("db|x", "db|y"), writes=("db|t",)),
    )
    result = history_answer(state, "j")["items"]
    assert [(item["run"]["runId"], item["changed"]) for item in result] == [
        ("r11", []), ("r10", ["code", "inputs"]), ("r09", []), ("r08", []),
    ]  # fmt: skip
    assert history_answer(state, "j", limit=2)["items"] == result[:2]


@pytest.mark.parametrize("type_", ["FAIL", "ABORT", "RUNNING"])
def test_run_that_did_not_complete_changed_only_what_it_reported(type_: str, build: Any) -> None:
    def changed(kind: str, code: str | None, reads: str, writes: str) -> list[str]:
        before = build.run("COMPLETE", "1", "j", "08:00:00", reads=("db|x",), writes=("db|t",))
        used = [tuple(f"db|{name}" for name in names) for names in (reads, writes)]
        after = build.run(kind, "2", "j", "09:00:00", reads=used[0], writes=used[1])
        before["job"]["facets"]["sourceCodeLocation"] = {"version": "a"}
        if code:
            after["job"]["facets"]["sourceCodeLocation"] = {"version": code}
        found: list[str] = history_answer(build.state(before, after), "j")["items"][0]["changed"]
        return found

    assert changed(type_, None, "", "") == []
    assert changed(type_, "a", "x", "") == []
    assert changed(type_, "b", "xy", "u") == ["code", "inputs", "outputs"]
    assert changed(type_, "b", "y", "t") == ["code", "inputs"]
    assert changed("COMPLETE", None, "x", "") == ["outputs"]
    assert changed("COMPLETE", "b", "", "t") == ["code", "inputs"]


def test_equal_facets_share_one_object(build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # A separate cache: another thread may evict recent entries from the shared one.
    monkeypatch.setattr(
        facet_books, "_interned", lru_cache(None)(facet_books._interned.__wrapped__)
    )
    state = build.state(*(wrote(build, f"{hour:02}", schema(id="int")) for hour in range(24)))
    uses = [use for run in state.runs.values() for use in run.outputs.values()]
    assert len({id(use.dataset_facets.stamped()["schema"][1]) for use in uses}) == 1


def test_later_runs_share_facets_and_keys_with_earlier_ones(
    build: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Between two runs of a job, those of many others replace all recent facets.
    monkeypatch.setattr(facet_books, "_interned", lru_cache(0)(facet_books._interned.__wrapped__))
    fields = {f"column_{number}": "int" for number in range(50)}
    state = build.state(*(wrote(build, f"{hour:02}", schema(**fields)) for hour in range(3)))
    uses = [use for run in state.runs.values() for use in run.outputs.values()]
    assert len(uses) == 3
    assert len({id(use.dataset_facets.packed("schema")) for use in uses}) == 1
    assert len({id(key.job) for key in state.runs}) == 1
    assert len({id(key.job.namespace) for key in state.runs}) == 1


_FIELDS = st.sets(st.sampled_from("abc"), min_size=1)
_WRITES = st.tuples(
    st.integers(8, 12), st.sampled_from((SPARK, PYTHON)), _FIELDS, st.sampled_from(("i", "l"))
)


@settings(max_examples=60)
@given(reports=st.lists(_WRITES, min_size=1, max_size=6), random=st.randoms(use_true_random=False))
def test_history_does_not_depend_on_order_or_repetition(
    reports: list[tuple[int, str, set[str], str]], random: Random, build: Any
) -> None:
    bodies = [
        wrote(build, f"{hour:02}", schema(producer, **dict.fromkeys(sorted(names), type_)))
        for hour, producer, names, type_ in reports
    ]
    again = bodies + bodies[:2]
    random.shuffle(again)
    assert (
        drift_answer(build.state(*again), "t")["items"]
        == drift_answer(build.state(*bodies), "t")["items"]
    )
    assert history_answer(build.state(*again), "t") == history_answer(build.state(*bodies), "t")


def test_history_of_real_events_does_not_depend_on_order(recorded: Path) -> None:
    folder = recorded / "openlineage-events" / "this-stack"
    lines = [line for f in sorted(folder.glob("*.jsonl")) for line in f.read_bytes().splitlines()]
    events = [entry_of(line).event for line in lines]
    first, second = project(events), project(events[::-1])
    for name in first.identity:
        node = f"dataset:{name.namespace}:{name.name}"
        assert history_answer(first, node, 1000) == history_answer(second, node, 1000)
    for ref in first.jobs:
        node = f"job:{ref.namespace}:{ref.name}"
        assert history_answer(first, node, 1000) == history_answer(second, node, 1000)
    assert drift_answer(first, limit=1000)["items"] == drift_answer(second, limit=1000)["items"]


def test_difference_lists_a_dropped_dataset_as_removed_and_a_new_one_as_added(build: Any) -> None:
    load = build.run("COMPLETE", "1", "load", "08:00:00", reads=("db|s",), writes=("db|t",))
    drop = build.run("COMPLETE", "2", "clean", "09:00:00", writes=("db|t",))
    drop["outputs"][0]["facets"] = {"lifecycleStateChange": {"lifecycleStateChange": "DROP"}}
    again = build.run("COMPLETE", "3", "load", "10:00:00", reads=("db|s",), writes=("db|t",))
    loaded, dropped, reloaded = (
        build.state(*events) for events in ((load,), (load, drop), (load, drop, again))
    )
    assert diff_answer(loaded, dropped)["removed"] == ["dataset:db:t"]
    assert diff_answer(dropped, reloaded)["added"] == ["dataset:db:t"]
    assert diff_answer(loaded, reloaded)["added"] == diff_answer(loaded, reloaded)["removed"] == []
