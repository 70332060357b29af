"""Runs that are reported as completed, but not by their own process."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.projection.live import Batch, Live
from headwater.query.registry import ask, load_queries

_TABLE = "pg://shop:5432|shop.daily"
_TASK = {"airflow": {"taskInstance": {"try_number": 1}}}
_ERROR = {"errorMessage": {"message": "bad rows", "programmingLanguage": "python"}}


def _engine(version: str) -> dict[str, Any]:
    return {"processing_engine": {"name": "Airflow", "version": version}}


_NEW, _OLD = _engine("3.3.2"), _engine("2.11.0")


@pytest.mark.parametrize(
    ("events", "state"),
    [
        ([("START", _TASK | _NEW), ("COMPLETE", _TASK | _NEW)], "healthy"),
        ([("START", _TASK | _NEW), ("COMPLETE", _NEW)], "unknown"),
        ([("START", _TASK | _OLD), ("COMPLETE", _OLD)], "healthy"),  # before provider 2.0
        ([("START", _TASK), ("COMPLETE", {})], "healthy"),
        ([("START", _TASK | _OLD), ("FAIL", _TASK | _ERROR), ("COMPLETE", _OLD)], "unknown"),
        ([("START", _TASK | _NEW), ("COMPLETE", _TASK | _NEW | _ERROR)], "healthy"),
        ([("START", {}), ("RUNNING", _ERROR), ("COMPLETE", {})], "healthy"),  # not of Airflow
        ([("START", _TASK | _NEW), ("FAIL", _ERROR)], "failed"),
    ],
)
def test_completion_counts_only_if_the_task_itself_reported_it(
    events: list[tuple[str, dict[str, Any]]], state: str, build: Any, live: Live
) -> None:
    bodies = [
        *(
            build.run(
                type_, "t", "dag.load", f"08:0{n}:00", parent=("d", "dag"), facets=facets,
                writes=[_TABLE],
            )
            for n, (type_, facets) in enumerate(events)
        ),
        build.run("COMPLETE", "d", "dag", "09:00:00"),
    ]  # fmt: skip
    live.ingest(Batch([build.entry(body) for body in bodies]))
    for node in ("shop.daily", "dag.load"):
        assert ask(live, load_queries()["node"], {"node": node})["health"]["state"] == state
    (gate,) = ask(live, load_queries()["gate"], {"dataset": ["shop.daily"]})["datasets"]
    kinds = [violation["kind"] for violation in gate["violations"]]
    assert kinds == ([] if state == "healthy" else ["no_failed_runs"])


@pytest.mark.parametrize(("load", "state"), [("success", "healthy"), ("running", "unknown")])
def test_pipeline_completes_only_after_its_last_task(
    load: str, state: str, build: Any, live: Live
) -> None:
    facets = {"airflowState": {"dagRunState": "success", "tasksState": {"load": load}}}
    bodies = [
        build.run("START", "d", "dag", "08:00:00", parent=None),
        build.run("COMPLETE", "d", "dag", "08:01:00", facets=facets),
    ]
    live.ingest(Batch([build.entry(body) for body in bodies]))
    assert ask(live, load_queries()["node"], {"node": "dag"})["health"]["state"] == state
    found = ask(live, load_queries()["findings"], {"limit": 10})["items"]
    assert [item["severity"] for item in found] == ([] if state == "healthy" else ["warning"])


def test_problem_says_that_a_task_may_have_been_marked_by_hand(build: Any, live: Live) -> None:
    parent = ("d", "dag")
    bodies = [
        build.run("FAIL", "t", "dag.load", "08:00:00", parent=parent, facets=_TASK | _ERROR),
        build.run("COMPLETE", "t", "dag.load", "08:01:00", parent=parent),
        build.run("COMPLETE", "d", "dag", "08:02:00"),
    ]
    live.ingest(Batch([build.entry(body) for body in bodies]))
    (problem,) = ask(live, load_queries()["problems"], {})["items"]
    assert problem["message"].startswith("reported an error, and later that it completed")
    assert (problem["severity"], problem["error"]) == ("warning", ["bad rows"])
