"""Dropped, emptied and renamed datasets are marked as such until they are written again."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from headwater.datasets.printing import removal_text
from headwater.health.states import health_of
from headwater.lineage.overview import print_overview
from headwater.lineage.printing import print_tree_answer
from headwater.lineage.queries import nodes_answer, tree_answer
from headwater.lookup import find_dataset
from headwater.nodes.queries import node_answer
from headwater.plugins.agents._lineage import flat
from headwater.plugins.changes._history import history_answer
from headwater.plugins.changes.printing import print_history
from headwater.plugins.export.queries import export
from headwater.plugins.impact.queries import impact_answer
from headwater.plugins.provenance.printing import print_provenance
from headwater.plugins.provenance.queries import provenance_answer
from headwater.plugins.search.commands import print_search
from headwater.plugins.search.queries import datasets_answer, newest_answer, search_answer
from headwater.plugins.trust._health import findings_of
from headwater.plugins.trust.completeness import completeness_answer
from headwater.plugins.trust.gate import gate_answer
from headwater.projection import State

_JOB = {"namespace": "demo", "name": "cleanup"}


def _write(build: Any, time: str, run: str = "w", kind: str = "COMPLETE", **facets: Any) -> Any:
    event = build.run(kind, run, "load", time, reads=("db|source",))
    return event | {"outputs": [build.dataset("db|t", **facets)]}


def _change(build: Any, time: str, kind: str, name: str = "t", **more: Any) -> Any:
    facet = {"lifecycleStateChange": kind, **more}
    event = build.run("COMPLETE", "c", "cleanup", time)
    return event | {"outputs": [build.dataset(f"db|{name}", lifecycleStateChange=facet)]}


def _rename(build: Any, time: str) -> Any:
    former = {"namespace": "db", "name": "t"}
    return _change(build, time, "RENAME", "t_2025", previousIdentifier=former)


def _removal(state: State, name: str = "t") -> Any:
    """Return the removal of a dataset, which all answers show alike."""
    removal = node_answer(state, name)["removal"]
    hits = search_answer(state, name)["items"]
    assert [hit["removal"] for hit in hits if hit["name"] == name] == [removal]
    listed = datasets_answer(state)["items"]
    assert [row["removal"] for row in listed if row["name"] == name] == [removal]
    assert tree_answer(state, name)["up"]["removal"] == removal
    affected = impact_answer(state, "load")["affected"]
    assert [node["removal"] for node in affected if node["name"] == name] in ([removal], [])
    return removal


@pytest.mark.parametrize(
    ("kind", "shown"), [("DROP", "dropped"), ("truncate", "emptied"), ("TRUNCATE", "emptied")]
)
def test_all_answers_show_a_removal_until_the_next_write(kind: str, shown: str, build: Any) -> None:
    events = [_write(build, "10:00:00"), _change(build, "11:00:00", kind)]
    for order in permutations(events):
        assert _removal(build.state(*order)) == {
            "kind": shown, "at": "2025-11-21T11:00:00Z", "job": _JOB,
            "runId": "c", "renamedTo": None, "evidence": "reported",
        }  # fmt: skip
    again = [*events, _write(build, "12:00:00", "w2")]
    assert [_removal(build.state(*order)) for order in permutations(again)] == [None] * 6


def test_renamed_dataset_names_its_new_name(build: Any) -> None:
    events = [_write(build, "10:00:00"), _rename(build, "11:00:00")]
    for order in permutations(events):
        state = build.state(*order)
        removal = _removal(state)
        assert (removal["kind"], removal["job"]) == ("renamed", _JOB)
        assert removal["renamedTo"] == {
            "id": "dataset:db:t_2025",
            "namespace": "db",
            "name": "t_2025",
        }
        assert _removal(state, "t_2025") is None
    assert _removal(build.state(*events, _write(build, "12:00:00", "w2"))) is None


@pytest.mark.parametrize(
    ("facets", "kind", "is_dropped", "is_emptied"),
    [
        ({"lifecycleStateChange": {"lifecycleStateChange": "CREATE"}}, "COMPLETE", False, False),
        ({}, "FAIL", True, True),
        ({"version": {"datasetVersion": "7"}}, "FAIL", False, False),
        ({}, "START", False, False),
    ],
)
def test_failed_run_writes_only_a_reported_version(
    facets: Any, kind: str, is_dropped: bool, is_emptied: bool, build: Any
) -> None:
    later = _write(build, "12:00:00", kind=kind, **facets)
    dropped = build.state(_change(build, "11:00:00", "DROP"), later)
    emptied = build.state(_change(build, "11:00:00", "TRUNCATE"), later)
    assert (_removal(dropped) is not None, _removal(emptied) is not None) == (
        is_dropped,
        is_emptied,
    )


def test_created_table_exists_but_stays_empty(build: Any) -> None:
    created = _change(build, "12:00:00", "CREATE") | {"run": {"runId": "other"}}
    dropped = _change(build, "11:00:00", "DROP")
    assert _removal(build.state(_write(build, "10:00:00"), dropped, created)) is None
    written, emptied = _write(build, "10:00:00"), _change(build, "11:00:00", "TRUNCATE")
    assert _removal(build.state(written, emptied, created))["kind"] == "emptied"


def test_task_above_the_dropping_query_is_no_later_write(build: Any) -> None:
    task = _write(build, "12:00:00", "task")
    drop = _change(build, "11:00:00", "DROP")
    drop["run"]["facets"]["parent"] = {
        "run": {"runId": "task"}, "job": {"namespace": "demo", "name": "load"}
    }  # fmt: skip
    for order in permutations([task, drop]):
        removal = _removal(build.state(*order))
        assert (removal["kind"], removal["job"]["name"]) == ("dropped", "cleanup")


def test_dataset_events_drop_and_create(build: Any) -> None:
    def event(time: str, kind: str) -> Any:
        return {
            "eventTime": f"2025-11-21T{time}Z",
            "producer": "https://example.org/tests",
            "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/DatasetEvent",
            "dataset": build.dataset("db|t", lifecycleStateChange={"lifecycleStateChange": kind}),
        }

    events = [_write(build, "10:00:00"), event("11:00:00", "DROP")]
    removal = _removal(build.state(*events))
    assert (removal["kind"], removal["job"], removal["runId"]) == ("dropped", None, None)
    assert _removal(build.state(event("12:00:00", "CREATE"), *events)) is None


def test_swapped_tables_are_not_renamed(build: Any) -> None:
    swap = _rename(build, "11:00:00")
    former = {"namespace": "db", "name": "t_2025"}
    swap["outputs"] += _change(build, "11:00:00", "RENAME", previousIdentifier=former)["outputs"]
    state = build.state(_write(build, "10:00:00"), swap)
    assert (_removal(state), _removal(state, "t_2025")) == (None, None)


def test_gone_dataset_is_unknown_and_has_no_findings(build: Any) -> None:
    check = [{"assertion": "not_null", "success": False, "column": "a"}]
    failing = _write(build, "10:00:00")
    failing["inputs"].append(build.dataset("db|t", dataQualityAssertions={"assertions": check}))
    kept, gone = (
        build.state(failing, _change(build, "11:00:00", "DROP", name)) for name in ("other", "t")
    )
    assert [found["subject"] for found in findings_of(kept)] == ["dataset:db:t"]
    assert list(findings_of(gone)) == []
    health = health_of(gone, find_dataset(gone, "t"))
    assert (health["state"], health["message"]) == ("unknown", "was dropped by cleanup")


def test_renamed_dataset_is_not_blocked(build: Any) -> None:
    fails = [
        build.run("COMPLETE", "1", "load", "10:00:00", writes=("db|raw",)),
        build.run("COMPLETE", "2", "copy", "10:10:00", reads=("db|raw",), writes=("db|t",)),
        build.run("FAIL", "3", "copy", "10:40:00", reads=("db|raw",), writes=("db|t",)),
    ]
    state = build.state(*fails)
    assert health_of(state, find_dataset(state, "t"))["state"] == "failed"
    state = build.state(*fails, _rename(build, "11:00:00"))
    health = health_of(state, find_dataset(state, "t"))
    assert (health["state"], health["message"]) == ("unknown", "was renamed to t_2025 by cleanup")


@pytest.mark.parametrize("kind", ["DROP", "TRUNCATE", "CREATE"])
def test_job_that_only_changes_tables_needs_no_inputs(kind: str, build: Any) -> None:
    measures = completeness_answer(build.state(_change(build, "11:00:00", kind)))["measures"]
    assert measures["inputs"]["runs"] == measures["columns"]["runs"] == 0


def test_renaming_job_needs_no_column_lineage(build: Any) -> None:
    rename = _rename(build, "11:00:00")
    rename["outputs"][0]["facets"]["schema"] = {"fields": [{"name": "a"}]}
    measures = completeness_answer(build.state(rename))["measures"]
    assert measures["columns"]["runs"] == 0


def test_column_of_a_renamed_table_is_not_safe_to_drop(build: Any) -> None:
    schema = {"fields": [{"name": "a"}]}
    renamed = build.state(_write(build, "10:00:00", schema=schema), _rename(build, "11:00:00"))
    dropped = build.state(
        _write(build, "10:00:00", schema=schema), _change(build, "11:00:00", "DROP")
    )
    verdict = impact_answer(renamed, "t", field="a")["drop"]
    assert verdict["verdict"] == "unsafe"
    assert [reason["message"] for reason in verdict["reasons"]] == [
        "1 column takes values from it: t_2025.a.",
        "The dataset was renamed to t_2025 by cleanup.",
    ]
    verdict = impact_answer(dropped, "t", field="a")["drop"]
    assert verdict["verdict"] == "safe"
    assert verdict["reasons"][0]["message"] == "The dataset was dropped by cleanup."


def test_history_lists_removals_before_later_writes(build: Any) -> None:
    state = build.state(
        _change(build, "11:00:00", "DROP"),
        _write(build, "12:00:00"),
    )
    entries = history_answer(state, "t")["items"]
    assert [entry["done"] for entry in entries] == ["wrote", "removed"]


@pytest.mark.parametrize(
    ("kind", "listed", "rule"),
    [("DROP", False, "exists"), ("RENAME", False, "exists"), ("TRUNCATE", True, "fresh")],
)
def test_gate_provenance_and_exports_show_removals(
    kind: str, listed: bool, rule: str, build: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    written = _write(build, "10:00:00")
    removing = _rename(build, "11:00:00") if kind == "RENAME" else _change(build, "11:00:00", kind)
    state, before = build.state(written, removing), build.state(written)
    removal = _removal(state)
    assert [item["name"] for item in newest_answer(before)["items"]] == ["t"]
    newest = {item["name"]: item["removal"] for item in newest_answer(state)["items"]}
    assert newest.pop("t_2025", None) is None
    assert newest == ({"t": removal} if listed else {})

    provenance = provenance_answer(state, "t")
    assert {item["name"]: item["removal"] for item in provenance["datasets"]}["t"] == removal
    print_provenance(provenance)
    assert removal_text(removal) in capsys.readouterr().out
    nodes = {item["name"]: item["removal"] for item in nodes_answer(state)["items"]}
    exported = {item["name"]: item["removal"] for item in export(state)["datasets"]}
    assert nodes["t"] == exported["t"] == removal
    assert nodes["source"] is exported["source"] is None

    policy = '{"fresh": true}'
    assert gate_answer(before, ["t"], policy)["passed"]
    (violation,) = gate_answer(state, ["t"], policy)["datasets"][0]["violations"]
    assert (violation["kind"], violation["at"]) == (rule, removal["at"])
    assert violation["message"] == f"was {removal_text(removal)}"
    assert gate_answer(state, ["t"], '{"exists": false}')["passed"]


def _overview(state: State) -> Any:
    tree, node = tree_answer(state, "t", "both"), node_answer(state, "t")
    return {**node, "lastRun": None, "jobOwners": [], "up": tree["up"], "down": tree["down"]}


def test_command_line_marks_removed_datasets(
    build: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    state = build.state(_write(build, "10:00:00"), _rename(build, "11:00:00"))
    print_tree_answer(tree_answer(state, "t"))
    print_overview(_overview(state))
    print_search(search_answer(state, "t"))
    print_history(history_answer(state, "t"))
    assert capsys.readouterr().out.count("renamed to t_2025 by cleanup") == 4


def test_command_line_tells_an_emptied_table_from_its_state(
    build: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    state = build.state(_write(build, "10:00:00"), _change(build, "11:00:00", "TRUNCATE"))
    print_overview(_overview(state))
    assert "emptied by cleanup" in capsys.readouterr().out


def test_agents_see_removals(build: Any) -> None:
    state = build.state(
        _write(build, "10:00:00"),
        build.run("COMPLETE", "r", "report", "10:30:00", reads=("db|t",), writes=("db|final",)),
        _change(build, "11:00:00", "DROP"),
    )
    items = {item["id"]: item for item in flat(tree_answer(state, "final")["up"])}
    assert items["dataset:db:t"]["removal"] == "dropped by cleanup"


def test_failed_job_does_not_block_a_dropped_dataset(build: Any) -> None:
    first, second = ("d1", "dag"), ("d2", "dag")
    raw, table = ("db|raw",), ("db|t",)
    state = build.state(
        build.run("COMPLETE", "d1", "dag", "10:02:00"),
        build.run("COMPLETE", "1", "dag.load", "10:00:00", parent=first, writes=raw),
        build.run("COMPLETE", "2", "dag.copy", "10:01:00", parent=first, reads=raw, writes=table),
        _change(build, "10:30:00", "DROP"),
        build.run("FAIL", "3", "dag.load", "11:00:00", parent=second, writes=raw),
        build.run("FAIL", "d2", "dag", "11:02:00"),
    )
    messages = [found["message"] for found in findings_of(state)]
    assert [message.split("; ")[-1] for message in messages] == ["blocks 1 job"]


def test_rename_between_names_of_one_dataset_is_none(build: Any) -> None:
    rename = _rename(build, "11:00:00")
    names = [{"namespace": "db", "name": "t", "type": "TABLE"}]
    rename["outputs"][0]["facets"]["symlinks"] = {"identifiers": names}
    state = build.state(_write(build, "10:00:00"), rename)
    assert _removal(state) is None
    assert "removed" not in {entry["done"] for entry in history_answer(state, "t")["items"]}
