"""Versions of datasets: their writers, their readers, and what contains their data."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.errors import AmbiguousError, NotFoundError
from headwater.log import EventLog
from headwater.plugins.incidents.printing import print_version
from headwater.plugins.incidents.queries import version_answer
from headwater.plugins.search._search import search
from headwater.projection.live import Batch, Live
from headwater.query.registry import ask, load_queries
from packages.headwater.tests.support.reports import versioned


def _load(build: Any, number: int, version: str | None = None) -> dict[str, Any]:
    run = build.run("COMPLETE", f"load{number}", "load", f"1{number}:00:00", writes=("db|raw",))
    return versioned(run, raw=version) if version else run


def _read(build: Any, name: str, time: str, version: str | None = None) -> dict[str, Any]:
    writes = (f"db|{name}_out",)
    run = build.run("COMPLETE", name, name, time, reads=("db|raw",), writes=writes)
    return versioned(run, raw=version) if version else run


def _readers(answer: Any) -> list[tuple[str, str]]:
    return [(reader["run"]["runId"], reader["by"]) for reader in answer["readers"]]


def _gaps(answer: Any) -> dict[str, list[str]]:
    return {gap["kind"]: [job["name"] for job in gap["jobs"]] for gap in answer["unknown"]}


def test_time_travel_is_a_read_of_the_past_version(build: Any) -> None:
    state = build.state(
        _load(build, 0, "100"),
        _load(build, 1, "200"),
        _read(build, "past", "12:00:00", "100"),
        _read(build, "now", "13:00:00", "200"),
    )
    first, second = (version_answer(state, f"raw@{version}") for version in ("100", "200"))
    assert _readers(first) == [("past", "version")]
    assert _readers(second) == [("now", "version")]
    assert [(n["name"], n["versions"], n["by"]) for n in first["affected"]] == [
        ("past_out", ["past"], "version")
    ]
    assert first["wasRead"] == "yes"
    assert _gaps(first) == {}


def test_reads_without_a_version_are_derived_from_times(
    build: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    state = build.state(
        _load(build, 0, "100"),
        _read(build, "early", "10:30:00"),
        _load(build, 1, "200"),
        _read(build, "late", "12:00:00"),
    )
    answer = version_answer(state, "100")
    assert (answer["wasRead"], _readers(answer)) == ("by_time", [("early", "time")])
    assert _gaps(answer) == {"by_time": ["early", "late"], "by_time_downstream": ["early"]}
    print_version(answer)
    shown = capsys.readouterr().out
    assert "early" in shown.split("Read by 1 run:")[1].split("Unknown:")[0]
    assert "by time" in shown


def test_reader_of_another_reported_version_is_no_reader_but_contains_the_data(build: Any) -> None:
    other = build.run("COMPLETE", "other", "other", "10:30:00", writes=("db|raw",))
    reader = _read(build, "report", "12:00:00", "200")
    state = build.state(_load(build, 0, "100"), versioned(other, raw="200"), reader)
    answer = version_answer(state, "raw@100")
    assert (answer["wasRead"], answer["readers"]) == ("unknown", [])
    assert [node["name"] for node in answer["affected"]] == ["report_out"]


def test_version_without_known_reader_is_unknown(build: Any) -> None:
    answer = version_answer(build.state(_load(build, 0, "100")), "raw@100")
    assert (answer["wasRead"], answer["readers"], answer["affected"]) == ("unknown", [], [])
    assert "no_reader" in _gaps(answer)


def test_version_that_was_only_read_has_its_readers(build: Any) -> None:
    state = build.state(_read(build, "one", "10:00:00", "100"), _read(build, "other", "11:00:00"))
    answer = version_answer(state, "raw@100")
    assert (answer["writers"], _readers(answer)) == ([], [("one", "version")])
    assert [node["name"] for node in answer["affected"]] == ["one_out"]
    assert _gaps(answer) == {"no_writer": [], "by_time": ["other"]}


def test_run_id_is_the_version_of_a_write_without_one(build: Any) -> None:
    state = build.state(_load(build, 0), _read(build, "report", "12:00:00"))
    answer = version_answer(state, "load0")
    assert (answer["version"], answer["isReported"]) == ("load0", False)
    assert _gaps(answer)["no_version"] == ["load"]


def test_later_versions_and_replaced_ones_are_affected(build: Any) -> None:
    """A model that was trained again since is still affected, in its former version."""
    train = [
        build.run("COMPLETE", f"t{n}", "train", time, reads=("db|raw",), writes=("mf|model",))
        for n, time in enumerate(("10:30:00", "11:30:00"))
    ]
    state = build.state(_load(build, 0, "100"), train[0], _load(build, 1, "200"), train[1])
    (model,) = version_answer(state, "raw@100")["affected"]
    assert (model["name"], model["versions"]) == ("model", ["t0"])


def test_writer_has_its_code_and_the_versions_that_it_read(build: Any) -> None:
    clean = _read(build, "clean", "12:00:00", "100")
    location = {"type": "git", "version": "abc"}
    clean["job"]["facets"]["sourceCodeLocation"] = location
    state = build.state(_load(build, 0, "100"), versioned(clean, clean_out="7"))
    (writer,) = version_answer(state, "clean_out@7")["writers"]
    assert writer["code"]["version"] == "abc"
    assert [(i["name"], i["versions"], i["by"]) for i in writer["inputs"]] == [
        ("raw", ["100"], "version")
    ]


def test_version_is_found_by_the_run_above_or_the_dbt_invocation(build: Any) -> None:
    top = build.run("COMPLETE", "dag1", "dag", "10:00:00", kind="AIRFLOW/DAG",
                    facets={"dbt_run": {"invocation_id": "inv-1"}})  # fmt: skip
    task = build.run("COMPLETE", "task1", "dag.load", "10:00:00", parent=("dag1", "dag"),
                     kind="AIRFLOW/TASK", writes=("db|raw",))  # fmt: skip
    state = build.state(top, versioned(task, raw="100"))
    for text in ("100", "raw@dag1", "raw@task1", "raw@inv-1", "dataset:db:raw@100"):
        assert version_answer(state, text)["version"] == "100"


def test_errors_name_the_versions_to_use(build: Any) -> None:
    other = build.run("COMPLETE", "o", "other", "09:00:00", writes=("db|o@ther",))
    state = build.state(
        _load(build, 0, "100"), _load(build, 1, "200"), versioned(other, **{"o@ther": "100"})
    )
    with pytest.raises(AmbiguousError, match="version of 2 datasets") as ambiguous:
        version_answer(state, "100")
    assert sorted(ambiguous.value.nearest) == ["dataset:db:o@ther@100", "dataset:db:raw@100"]
    for text, nearest in (("raw@3", ["raw@200", "raw@100"]), ("raw", ["raw@200", "raw@100"])):
        with pytest.raises(NotFoundError) as missing:
            version_answer(state, text)
        assert list(missing.value.nearest) == nearest
    assert version_answer(state, "o@ther@100")["name"] == "o@ther"


def test_failed_run_is_not_shown_as_a_version(
    build: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    state = build.state(
        build.run("COMPLETE", "w", "ingest", "07:00:00", writes=("db|raw",)),
        build.run("FAIL", "f", "load", "08:00:00", reads=("db|raw",), writes=("db|t",)),
    )
    print_version(version_answer(state, "db:raw@w"))
    assert "t  (db)  newest run f (FAILED)  by time" in capsys.readouterr().out


def test_limit_cuts_lists_but_not_counts(build: Any) -> None:
    reads = [_read(build, f"r{n}", f"12:0{n}:00", "100") for n in range(4)]
    answer = version_answer(build.state(_load(build, 0, "100"), *reads), "raw@100", limit=2)
    assert (len(answer["readers"]), answer["readerCount"]) == (2, 4)
    assert (len(answer["affected"]), answer["affectedCount"]) == (2, 4)


def test_deleted_events_make_the_answer_incomplete(build: Any) -> None:
    live = Live(EventLog("sqlite://"))
    live.ingest(Batch([build.entry(_load(build, 0, "100"))]))
    with live.log.writing() as connection:
        live.log.set_pruned_until(connection, 2_000_000_000_000_000)
    query = load_queries()["version"]
    assert "deleted" in _gaps(ask(live, query, {"version": "raw@100"}))
    live.log.close()


def test_past_state_has_only_its_readers(build: Any) -> None:
    live = Live(EventLog("sqlite://"))
    events = [
        _load(build, 0, "100"),
        _read(build, "a", "12:00:00", "100"),
        _read(build, "b", "13:00:00", "100"),
    ]
    live.ingest(Batch([build.entry(event) for event in events]))
    query = load_queries()["version"]
    then = {"version": "raw@100", "as_of": "2025-11-21T12:30:00Z"}
    assert _readers(ask(live, query, then)) == [("a", "version")]
    live.log.close()


def test_search_finds_versions_that_were_only_read(build: Any) -> None:
    state = build.state(_read(build, "one", "10:00:00", "8123456789"))
    assert [hit.node.name for hit in search(state, "8123456789")] == ["raw"]
