"""Rows of earlier runs that the SQL texts of later runs keep."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.lineage.queries import tree_answer
from headwater.projection import State, apply

_INSERT = "insert into t (x) select x from {}"


def _write(build: Any, number: int, source: str, text: str | None, **about: Any) -> dict[str, Any]:
    """Return the end of a run that reads a dataset and writes `t`, with its SQL text."""
    end, job, parent = about.get("end", "COMPLETE"), about.get("job", "load"), about.get("parent")
    event: dict[str, Any] = build.run(
        end,
        f"r{number}",
        job,
        f"{number:02}:00:00",
        reads=(f"db|{source}",),
        writes=("db|t",),
        parent=parent,
    )
    if text:
        query = text.format(source)
        event["job"]["facets"]["sql"] = {"query": query, "dialect": "postgres"}
    return event


def _sources(state: State) -> set[str]:
    tree = tree_answer(state, "db/t")["up"]
    return {item["name"] for job in tree["children"] for item in job["children"]} - {"t"}


def test_sources_of_earlier_inserts_are_upstream(build: Any) -> None:
    events = [_write(build, number, name, _INSERT) for number, name in enumerate("abc")]
    assert _sources(build.state(*events)) == {"a", "b", "c"}


@pytest.mark.parametrize("text", [None, "select x from {}", "delete from t; " + _INSERT])
def test_write_without_kept_rows_replaces_earlier_inserts(text: str | None, build: Any) -> None:
    events = [_write(build, 1, "a", _INSERT), _write(build, 2, "b", text)]
    events.append(_write(build, 3, "c", _INSERT))
    assert _sources(build.state(*events)) == {"b", "c"}


def test_insert_keeps_the_rows_of_other_jobs(build: Any) -> None:
    events = [
        _write(build, 1, "a", None, job="other"),
        _write(build, 2, "b", _INSERT),
        _write(build, 3, "c", None, job="other"),
    ]
    assert _sources(build.state(*events)) == {"a", "b", "c"}


@pytest.mark.parametrize("text", ["truncate table t", "drop table t"])
def test_removal_by_another_job_ends_the_kept_rows(text: str, build: Any) -> None:
    removal = build.run("COMPLETE", "x", "remove", "02:30:00", writes=("db|t",))
    removal["job"]["facets"]["sql"] = {"query": text, "dialect": "postgres"}
    events = [
        _write(build, 1, "a", _INSERT),
        _write(build, 2, "b", _INSERT),
        removal,
        _write(build, 3, "c", _INSERT),
    ]
    assert _sources(build.state(*events)) == {"c"}


def test_failed_insert_without_rows_adds_no_source(build: Any) -> None:
    events = [
        _write(build, 1, "a", _INSERT),
        _write(build, 2, "b", _INSERT, end="FAIL"),
        _write(build, 3, "c", _INSERT),
    ]
    assert _sources(build.state(*events)) == {"a", "c"}


def test_table_that_was_only_created_had_no_rows(build: Any) -> None:
    """An insert keeps none of them, so the job that created the table is not upstream."""
    create = build.run("COMPLETE", "x", "create", "00:30:00", writes=("db|t",))
    create["job"]["facets"]["sql"] = {"query": "create table t (x int)", "dialect": "postgres"}
    state = build.state(create, _write(build, 1, "a", _INSERT))
    assert {job["name"] for job in tree_answer(state, "db/t")["up"]["children"]} == {"load"}


@pytest.mark.parametrize(("end", "sources"), [("COMPLETE", {"b"}), ("FAIL", {"a", "b"})])
def test_queries_of_one_task_replace_rows_if_the_replacing_query_completed(
    end: str, sources: set[str], build: Any
) -> None:
    """The runs of a task under one parent run are one generation."""
    events = [_write(build, 1, "a", _INSERT, parent=("d1", "dag"))]
    replacing = _write(build, 2, "b", "create table t as select x from {}", parent=("d2", "dag"))
    replacing["eventType"] = end
    events += [replacing, _write(build, 3, "b", _INSERT, parent=("d2", "dag"))]
    assert _sources(build.state(*events)) == sources


@pytest.mark.parametrize("is_late", [False, True])
def test_kept_rows_are_found_again_after_each_event(is_late: bool, build: Any) -> None:
    """Answers after each event equal those of a state that received all events at once."""
    events = [_write(build, number, name, _INSERT) for number, name in enumerate("abcd")]
    removal = build.run("COMPLETE", "x", "remove", "01:30:00", writes=("db|t",))
    removal["job"]["facets"]["sql"] = {"query": "truncate table t", "dialect": "postgres"}
    events.insert(len(events) if is_late else 0, removal)
    state = State()
    for count, event in enumerate(events, 1):
        apply(state, build.entry(event).event)
        if count > 1:
            assert _sources(state) == _sources(build.state(*events[:count]))
    assert _sources(state) == {"c", "d"}
