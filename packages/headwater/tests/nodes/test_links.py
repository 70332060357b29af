"""Links from runs and jobs to the pages of their orchestrator."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.graph.current import generations_of
from headwater.nodes.queries import node_answer
from headwater.projection import State
from headwater.runs.service import run_answer

_DAG = "http://localhost:9090/dags/rides"
_RUN = f"{_DAG}/runs/manual__2026-11-21T08%3A33"


def _task(url: Any) -> dict[str, Any]:
    return {"airflow": {"taskInstance": {"log_url": url}}}


@pytest.fixture
def state(build: Any) -> State:
    result = _task(f"{_RUN}/tasks/load.stage?try_number=2")
    dag = {"airflowDagRun": {"dagRun": {"run_id": "manual__2026-11-21T08:33"}}}
    above = ("d", "rides")
    return build.state(
        build.run("COMPLETE", "d", "rides", "08:09:00", facets=dag),
        build.run("COMPLETE", "n", "rides.none", "08:00:30", parent=above),
        build.run("COMPLETE", "t", "rides.load.stage", "08:01:00", parent=above, facets=result),
        build.run("COMPLETE", "q", "query", "08:01:00", parent=("t", "rides.load.stage")),
        build.run("COMPLETE", "x", "apart", "08:01:00"),
    )


@pytest.mark.parametrize(
    ("run", "links"),
    [
        ("t", [("Task instance in Airflow", f"{_RUN}/tasks/load.stage?try_number=2")]),
        ("q", [("Task instance in Airflow", f"{_RUN}/tasks/load.stage?try_number=2")]),
        ("d", [("DAG run in Airflow", _RUN)]),
        ("x", []),
    ],
)
def test_run_links_to_its_page_or_that_of_an_ancestor(
    run: str, links: list[tuple[str, str]], state: State
) -> None:
    result = run_answer(generations_of(state), run)["links"]
    assert [(item["name"], item["url"]) for item in result] == links


@pytest.mark.parametrize(
    ("job", "links"),
    [
        ("rides.load.stage", [("Task in Airflow", f"{_DAG}/tasks/load.stage")]),
        ("rides", [("DAG in Airflow", _DAG)]),
        ("query", []),
    ],
)
def test_job_links_to_its_page(job: str, links: list[tuple[str, str]], state: State) -> None:
    result = node_answer(state, f"job:demo:{job}")["links"]
    assert [(item["name"], item["url"]) for item in result] == links


def test_mapped_task_links_to_the_page_of_all_elements(build: Any) -> None:
    result = _task(f"{_RUN}/tasks/load/mapped/3?try_number=1")
    state = build.state(build.run("COMPLETE", "t", "rides.load", "08:01:00", facets=result))
    assert node_answer(state, "job:demo:rides.load")["links"][0]["url"] == f"{_DAG}/tasks/load"


def test_metaflow_task_links_to_its_page(build: Any) -> None:
    reported = {"metaflow_task": {"url": "https://ui.example.org/Flow/17/a/3"}}
    state = build.state(build.run("COMPLETE", "t", "Flow.a", "08:01:00", facets=reported))
    (link,) = run_answer(generations_of(state), "t")["links"]
    assert link == {"name": "Task in Metaflow", "url": "https://ui.example.org/Flow/17/a/3"}


@pytest.mark.parametrize("url", ["javascript:alert(1)", "file:///etc/passwd", "//x", "", None, 7])
def test_unsafe_urls_are_not_linked(url: Any, build: Any) -> None:
    state = build.state(build.run("COMPLETE", "t", "rides.load", "08:01:00", facets=_task(url)))
    assert run_answer(generations_of(state), "t")["links"] == []
    assert node_answer(state, "job:demo:rides.load")["links"] == []


def test_failed_run_links_to_the_logs_of_its_lowest_failed_runs(build: Any) -> None:
    dag, task, url = ("d", "rides"), ("t2", "rides.load"), f"{_RUN}/tasks/load?try_number=2"
    error = {"errorMessage": {"message": "503", "programmingLanguage": "python"}}
    state = build.state(
        build.run("FAIL", "d", "rides", "08:09:00"),
        build.run("START", "t1", "rides.load", "08:00:00", parent=dag),
        build.run("FAIL", "t1", "rides.load", "08:01:00", parent=dag),
        build.run("START", "t2", "rides.load", "08:02:00", parent=dag),
        build.run("FAIL", "t2", "rides.load", "08:03:00", parent=dag, facets=_task(url)),
        build.run("FAIL", "q", "query", "08:02:30", parent=task, facets=error),
        build.run("COMPLETE", "c", "rides.check", "08:04:00", parent=dag),
    )
    (cause,) = run_answer(generations_of(state), "d")["causes"]
    assert (cause["runId"], cause["error"], cause["links"][0]["url"]) == ("q", "503", url)
    assert run_answer(generations_of(state), "q")["causes"] == []
    assert run_answer(generations_of(state), "c")["causes"] == []
