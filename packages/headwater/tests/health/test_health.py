"""Health: late jobs, failures, and missing lineage."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.health.findings import failed_run
from headwater.health.states import health_of
from headwater.lookup import find_node
from headwater.plugins.trust._health import health_answer
from headwater.plugins.trust.completeness import completeness_answer
from headwater.plugins.trust.queries import findings_answer, freshness_answer, pipelines_answer
from headwater.projection import State
from packages.headwater.tests.support.graphs import APP, DAG, STEP, TASK
from packages.headwater.tests.support.moments import DAY_SECONDS, WEEK, at
from packages.headwater.tests.support.reports import checked, schema, wrote


def _found(answer: Any) -> list[tuple[str, str]]:
    return [(finding["kind"], finding["subject"]) for finding in answer["items"]]


def _ran(build: Any, *starts: str, job: str = "daily") -> list[dict[str, Any]]:
    """Return a run at each start, given as 2025-11-DD with an optional time."""
    events = []
    for start in starts:
        event = build.run("COMPLETE", f"{job} {start}", job, "00:00:00")
        event["eventTime"] = start if "T" in start else f"{start}T06:00:00Z"
        events.append(event)
    return events


_TWO_WEEKS = (*(f"2025-11-0{day}" for day in range(3, 8)), *WEEK)


@pytest.mark.parametrize(
    ("starts", "now", "late"),
    [
        (WEEK, "2025-11-15T08:00:00Z", False),  # two hours after its time
        (WEEK, "2025-11-15T18:30:00Z", True),
        (_TWO_WEEKS, "2025-11-16T18:30:00Z", False),  # a Sunday: the job never runs on weekends
        (_TWO_WEEKS, "2025-11-17T20:00:00Z", True),
        (("2025-11-10", "2025-11-11"), "2025-11-20T00:00:00Z", False),  # two runs: no interval
        (("2025-11-10", "2025-11-10T06:01:00Z", "2025-11-13"), "2025-11-15", False),
        (("2025-11-10",) * 3, "2025-11-20", False),
    ],
)
def test_job_is_late_by_its_own_rhythm(
    starts: tuple[str, ...], now: str, late: bool, build: Any
) -> None:
    state = at(build.state(*_ran(build, *starts)), f"{now}T06:30:00Z" if "T" not in now else now)
    assert bool(freshness_answer(state)["items"]) is late


def test_late_and_stopped_jobs_report_their_delay(
    build: Any,
) -> None:
    state = at(build.state(*_ran(build, *WEEK)), "2025-11-16T06:00:00Z")
    assert freshness_answer(state)["items"] == [
        {
            "job": {"namespace": "demo", "name": "daily"},
            "lastStartedAt": "2025-11-14T06:00:00Z",
            "everySeconds": DAY_SECONDS,
            "dueAt": "2025-11-15T06:00:00Z",
            "lateSeconds": DAY_SECONDS,
            "isStopped": False,
        }
    ]
    assert health_answer(state)["isHealthy"] is False
    stopped = findings_answer(at(state, "2025-12-20T06:00:00Z"))
    assert health_answer(state)["isHealthy"] is True
    assert _found(stopped) == [("stopped", "job:demo:daily")]


def test_state_of_a_stopped_job_is_unknown(build: Any) -> None:
    state = at(build.state(*_ran(build, *WEEK)), "2025-12-20T06:00:00Z")
    health = health_of(state, find_node(state, "daily"))
    assert (health["state"], health["message"]) == ("unknown", "has stopped; it was due")
    assert health["at"] == "2025-11-15T06:00:00Z"


def test_retries_and_mapped_elements_are_one_start_of_a_task(build: Any) -> None:
    events = []
    for day in WEEK:
        for number in range(3):
            (event,) = _ran(build, f"{day}T06:0{number}:00Z", job="dag.t")
            event["run"]["facets"]["parent"] = {
                "run": {"runId": f"d{day}"},
                "job": {"namespace": "demo", "name": "dag"},
            }
            events.append(event)
    state = at(build.state(*events), "2025-11-15T08:00:00Z")
    assert freshness_answer(state)["items"] == []
    late = freshness_answer(at(state, "2025-11-16T06:00:00Z"))["items"]
    assert {item["job"]["name"] for item in late} == {"dag", "dag.t"}
    assert {item["everySeconds"] for item in late} == {DAY_SECONDS}
    assert _found(findings_answer(state)) == [("late", "job:demo:dag")]


def _failing(build: Any, hour: str = "08") -> list[dict[str, Any]]:
    """Return a DAG that failed because the second attempt of a task's query failed."""
    dag, error = (f"d{hour}", "dag"), {"errorMessage": {"message": "no space left"}}
    return [
        build.run("FAIL", *dag, f"{hour}:30:00", kind=DAG),
        build.run("COMPLETE", f"ok{hour}", "dag.ok", f"{hour}:01:00", parent=dag, kind=TASK),
        build.run("FAIL", f"q1{hour}", "dag.load", f"{hour}:02:00", parent=dag, kind=TASK),
        build.run("FAIL", f"q2{hour}", "dag.load", f"{hour}:03:00", parent=dag, kind=TASK),
        build.run("FAIL", f"s{hour}", "query", f"{hour}:02:30", parent=(f"q2{hour}", "dag.load"),
                  facets=error),
        build.run("FAIL", f"r1{hour}", "dag.flaky", f"{hour}:02:00", parent=dag, kind=TASK),
        build.run("COMPLETE", f"r2{hour}", "dag.flaky", f"{hour}:03:00", parent=dag, kind=TASK),
    ]  # fmt: skip


def test_failed_run_is_reported_with_its_lowest_failed_runs(build: Any) -> None:
    state = at(build.state(*_failing(build)), "09:00:00")
    assert health_answer(state)["isHealthy"] is False
    assert health_answer(state)["counts"]["errors"] == 1
    (failed,) = findings_answer(state)["items"]
    assert (failed["kind"], failed["subject"], failed["runId"]) == ("failed", "job:demo:dag", "d08")
    assert failed["message"] == "failed (query: no space left)"
    causes = [(cause["subject"], cause["runId"], cause["message"]) for cause in failed["causes"]]
    assert causes == [("job:demo:query", "s08", "failed: no space left")]


def test_cause_is_listed_once_if_parents_form_a_cycle(build: Any) -> None:
    names = dict(zip("abcd", "bcda", strict=True))
    state = build.state(
        *(
            build.run(end, run, f"job-{run}", "08:00:00", parent=(above, f"job-{above}"))
            for (run, above), end in zip(names.items(), ("FAIL", "COMPLETE") * 2, strict=True)
        )
    )
    (run,) = (state.runs[key] for key in state.runs_by_id["a"])
    assert [cause["runId"] for cause in failed_run(state, run)["causes"]] == ["c"]


def test_other_map_index_of_a_task_is_no_retry(build: Any) -> None:
    dag = ("d", "dag")

    def element(type_: str, index: int, minute: int) -> dict[str, Any]:
        facets = {"airflow": {"taskInstance": {"map_index": index}}}
        time = f"08:0{minute}:00"
        return build.run(type_, time, "dag.m", time, parent=dag, kind=TASK, facets=facets)

    completed = build.run("COMPLETE", *dag, "08:30:00", kind=DAG)
    events = [element("FAIL", 0, 1), element("COMPLETE", 1, 2), completed]
    assert _found(findings_answer(at(build.state(*events), "09:00:00"))) == [
        ("failed", "job:demo:dag.m")
    ]
    events.append(element("COMPLETE", 0, 3))
    assert findings_answer(at(build.state(*events), "09:00:00"))["items"] == []


def test_later_success_clears_a_failure(build: Any) -> None:
    tasks = [
        build.run(
            "COMPLETE", f"{task}09", f"dag.{task}", "09:02:00", parent=("d09", "dag"), kind=TASK
        )
        for task in ("ok", "load", "flaky")
    ]
    again = build.run("COMPLETE", "d09", "dag", "09:30:00", kind=DAG)
    state = at(build.state(*_failing(build), *tasks, again), "10:00:00")
    assert findings_answer(state)["items"] == []
    assert health_answer(state)["isHealthy"] is True


def test_finished_runs_below_unreported_parents_are_not_stale(build: Any) -> None:
    above = {"parent": ("t", "dag.task"), "root": ("d", "dag")}
    first, last = (
        build.run(type_, "s", "dag.task.spark", time, **above)
        for type_, time in (("START", "06:00:00"), ("COMPLETE", "06:05:00"))
    )
    state = at(build.state(first, last), "2025-11-23T08:00:00Z")
    assert health_answer(state)["isHealthy"] is True
    assert findings_answer(state)["items"] == []
    (lost,) = findings_answer(at(build.state(first), "2025-11-23T08:00:00Z"))["items"]
    assert (lost["kind"], lost["subject"]) == ("lost", "job:demo:dag")
    assert lost["at"] == "2025-11-21T06:00:00Z"


def test_stale_run_makes_health_fail(build: Any) -> None:
    state = build.state(build.run("START", "1", "j", "08:00:00"))
    assert health_answer(at(state, "09:00:00"))["isHealthy"] is True
    later = at(state, "2025-11-22T09:00:00Z")
    (stale,) = findings_answer(later)["items"]
    assert (stale["kind"], stale["runId"]) == ("lost", "1")
    assert health_answer(later)["isHealthy"] is False
    assert completeness_answer(later)["measures"]["ends"]["share"] == 0


def test_failed_check_is_a_problem_until_a_newer_one_passes(build: Any) -> None:
    bad = {"assertion": "not_null", "column": "id", "success": False}
    warned = {"assertion": "volume", "success": False, "severity": "warn"}
    good = {"assertion": "not_null", "column": "id", "success": True}
    events = [checked(build, "08", bad, warned)]
    (result,) = findings_answer(at(build.state(*events), "12:00:00"))["items"]
    assert (result["kind"], result["subject"]) == ("quality", "dataset:db:t")
    assert (result["message"], result["column"]) == ("failed its checks: not_null of id", "id")
    assert result["runId"] == "c08"
    events.append(checked(build, "09", good, warned))
    assert findings_answer(at(build.state(*events), "12:00:00"))["items"] == []


def _whole(build: Any, **change: Any) -> dict[str, Any]:
    """Return a run that reports everything except the changes."""
    event: dict[str, Any] = build.run("COMPLETE", "1", "load", "08:00:00", reads=("db|in",))
    lineage: dict[str, Any] = {"fields": {"id": {"inputFields": []}}}
    event["outputs"] = [build.dataset("db|t", schema=schema(id="int"), columnLineage=lineage)]
    event["job"]["facets"]["sourceCodeLocation"] = {"type": "git", "url": "u", "version": "a"}
    for key, value in change.items():
        event[key] = value
    return event


def _shares(answer: Any) -> dict[str, float | None]:
    return {key: measure["share"] for key, measure in answer["measures"].items()}


def test_run_that_reports_everything_is_complete(build: Any) -> None:
    result = completeness_answer(build.state(_whole(build)))
    assert set(_shares(result).values()) == {1}
    assert result["orphans"] == []


@pytest.mark.parametrize(
    ("change", "lost"),
    [
        ({"inputs": []}, {"inputs"}),
        ({"outputs": []}, {"outputs"}),
        ({"job": {"namespace": "demo", "name": "load"}}, {"code"}),
        ({"outputs": [{"namespace": "db", "name": "t",
                       "facets": {"schema": schema(id="int")}}]}, {"columns"}),
        ({"outputs": [{"namespace": "mf", "name": "model"}]}, set()),  # no schema, no columns
    ],
)  # fmt: skip
def test_every_missing_item_is_reported(change: dict[str, Any], lost: set[str], build: Any) -> None:
    result: Any = completeness_answer(build.state(_whole(build, **change)))
    assert {key for key, share in _shares(result).items() if share == 0} == lost
    for measure in lost:
        (named,) = result["measures"][measure]["findings"]
        assert (named["kind"], named["subject"]) == (f"incomplete {measure}", "job:demo:load")
        assert named["message"].startswith("1 run without ")
        assert named["runId"] == "1"


def test_remedy_fits_the_producer(build: Any) -> None:
    """A user of `headwater run` changes the script, not the producer."""
    remedies = []
    for kind in ("SPARK", "HEADWATER"):
        event = _whole(build, job={"namespace": "demo", "name": "load", "facets": {}})
        event["job"]["facets"]["jobType"] = {"processingType": "BATCH", "integration": kind}
        (found,) = completeness_answer(build.state(event))["measures"]["code"]["findings"]
        remedies.append("producer" in found["remedy"])
    assert remedies == [True, False]


def test_task_includes_child_runs_and_inherits_parent_code(
    build: Any,
) -> None:
    dag, task = ("d", "dag"), ("t", "dag.load")
    above = build.run("COMPLETE", *dag, "09:00:00", kind=DAG)
    above["job"]["facets"]["sourceCodeLocation"] = {"type": "git", "url": "u", "version": "a"}
    state = build.state(
        above,
        build.run("COMPLETE", *task, "08:30:00", parent=dag, kind=TASK),
        build.run("COMPLETE", "1", "app.read", "08:10:00", parent=task, reads=("db|a",)),
        build.run("COMPLETE", "2", "app.write", "08:20:00", parent=task, writes=("db|b",)),
    )
    shares = _shares(completeness_answer(state))
    assert {key: shares[key] for key in ("inputs", "outputs", "code")} == {
        "inputs": 1, "outputs": 1, "code": 1,
    }  # fmt: skip


def test_run_that_only_checks_inputs_needs_no_output(build: Any) -> None:
    assertions = {"assertions": [{"assertion": "not_null", "success": True}]}
    table = build.dataset("db|t") | {"inputFacets": {"dataQualityAssertions": assertions}}
    checked = _whole(build, inputs=[table], outputs=[])
    assert completeness_answer(build.state(checked))["measures"]["outputs"]["runs"] == 0
    checked["inputs"].append(build.dataset("db|other"))
    assert completeness_answer(build.state(checked))["measures"]["outputs"]["share"] == 0


def test_ad_hoc_run_needs_no_output(build: Any) -> None:
    query = _whole(build, outputs=[])
    query["job"]["facets"]["tags"] = {"tags": [{"key": "ad-hoc", "value": "true"}]}
    assert completeness_answer(build.state(query))["measures"]["outputs"]["runs"] == 0
    written = query | {"run": {"runId": "2"}, "outputs": [build.dataset("db|t")]}
    outputs = completeness_answer(build.state(query, written))["measures"]["outputs"]
    assert (outputs["runs"], outputs["share"]) == (1, 1)


def test_created_table_needs_no_column_lineage(build: Any) -> None:
    task = _whole(build)
    task["job"]["facets"]["jobType"] = {"integration": "AIRFLOW", "jobType": "TASK"}
    created = build.run("COMPLETE", "2", "app.create_table", "08:00:00", parent=("1", "load"))
    change = {"lifecycleStateChange": "CREATE"}
    facets = {"schema": schema(id="int"), "lifecycleStateChange": change}
    created["outputs"] = [build.dataset("db|empty", **facets)]
    result = completeness_answer(build.state(task, created))["measures"]["columns"]
    assert (result["share"], result["runs"]) == (1, 1)
    created["inputs"] = [build.dataset("db|in")]  # as CREATE TABLE ... AS SELECT does
    assert completeness_answer(build.state(task, created))["measures"]["columns"]["share"] == 0


def test_completeness_counts_only_the_newest_runs_of_a_job(build: Any) -> None:
    old = [wrote(build, f"{hour:02}", None) for hour in range(3)]  # without inputs
    new = [
        build.run("COMPLETE", f"n{minute}", "load", f"10:{minute}:00", reads=("db|a",),
                  writes=("db|t",))
        for minute in range(10, 20)
    ]  # fmt: skip
    assert completeness_answer(build.state(*old, *new))["measures"]["inputs"] == {
        "share": 1, "unknownRuns": 0, "runs": 10, "findings": [],
    }  # fmt: skip
    assert completeness_answer(build.state(*old, *new[:-1]))["measures"]["inputs"]["share"] == 0.9


def test_nodes_without_edges_are_reported(build: Any) -> None:
    described = {"eventTime": "2025-11-21T08:00:00Z", "dataset": build.dataset("db|alone")}
    state = build.state(
        build.run("COMPLETE", "1", "idle", "08:00:00"),
        build.run("COMPLETE", "2", "busy", "08:00:00", parent=("0", "silent"), reads=("db|a",)),
        described,
    )
    orphans = completeness_answer(state)["orphans"]
    assert [(orphan["kind"], orphan["subject"]) for orphan in orphans] == [
        ("job without datasets", "job:demo:idle"),
        ("dataset without jobs", "dataset:db:alone"),
        ("silent parent run", "job:demo:silent"),
    ]


def test_tasks_without_datasets_are_one_finding_of_a_pipeline_with_data(build: Any) -> None:
    def step(name: str, kind: str = STEP, **data: Any) -> dict[str, Any]:
        flow, _, _ = name.partition(".")
        event = build.run(
            "COMPLETE", name, name, "08:00:00", parent=(flow, flow), kind=kind, **data
        )
        return dict(event)

    flows = [
        build.run("COMPLETE", flow, flow, "08:00:00", kind="METAFLOW/FLOW")
        for flow in ("Flow", "Silent")
    ]
    steps = [step(f"Flow.{name}") for name in ("start", "evaluate", "end")]
    steps.append(step("Flow.train", reads=("db|a",)))
    orphans = completeness_answer(build.state(*flows, *steps, step("Silent.load")))["orphans"]
    assert [(orphan["subject"], orphan["message"]) for orphan in orphans] == [
        ("job:demo:Silent.load", "has neither inputs nor outputs nor child jobs"),
        ("job:demo:Flow", "1 task without inputs and outputs: evaluate"),
    ]


def test_application_next_to_a_job_with_data_is_not_an_orphan(build: Any) -> None:
    task = {"parent": ("t", "dag.check")}
    state = build.state(
        build.run("COMPLETE", "t", "dag.check", "09:00:00", kind=TASK),
        build.run("COMPLETE", "a", "app", "08:10:00", kind=APP, **task),
        build.run("COMPLETE", "c", "app.checks", "08:10:00", reads=("db|t",), **task),
    )
    assert completeness_answer(state)["orphans"] == []


def test_pipeline_lists_what_its_tasks_do_not_report(build: Any) -> None:
    above = {"parent": ("d", "dag")}
    whole = _whole(build)
    whole["run"]["facets"] = {}
    state = build.state(
        build.run("COMPLETE", "d", "dag", "09:00:00", kind=DAG),
        build.run("COMPLETE", "a", "dag.a", "08:00:00", kind=TASK, writes=("db|t",), **above),
        build.run("COMPLETE", "b", "dag.b", "08:00:00", kind=TASK, reads=("db|t",), **above),
        whole,
    )
    first, second = pipelines_answer(state)["items"]
    assert (first["id"], first["runs"]) == ("job:demo:dag", 3)
    assert [(item["kind"], item["subject"]) for item in first["missing"]] == [
        ("incomplete inputs", "job:demo:dag.a"),
        ("incomplete outputs", "job:demo:dag.b"),
        ("incomplete code", "job:demo:dag.a"),
        ("incomplete code", "job:demo:dag.b"),
    ]
    assert (second["id"], second["missing"]) == ("job:demo:load", [])
    assert (first["isMeasured"], second["isMeasured"]) == (True, True)


def test_completeness_of_a_pipeline_without_a_completed_run_is_unknown(build: Any) -> None:
    state = build.state(build.run("FAIL", "1", "load", "08:00:00", reads=("db|a",)))
    (pipeline,) = pipelines_answer(state)["items"]
    assert (pipeline["missing"], pipeline["isMeasured"]) == ([], False)


def _everything(state: State) -> Any:
    """Return health, findings and completeness."""
    answers = (health_answer, findings_answer, completeness_answer, pipelines_answer)
    return [answer(state) for answer in answers]


@settings(max_examples=30)
@given(random=st.randoms(use_true_random=False))
def test_health_does_not_depend_on_the_order_of_events(random: Random, build: Any) -> None:
    bad = {"assertion": "a", "success": False}
    events = [
        *_failing(build, "07"), *_failing(build), *_ran(build, *WEEK), checked(build, "09", bad),
        _whole(build), build.run("START", "lost", "silent", "06:00:00"),
    ]  # fmt: skip
    expected = _everything(at(build.state(*events), "2025-11-23T00:00:00Z"))
    again = events + events[:5]
    random.shuffle(again)
    assert _everything(at(build.state(*again), "2025-11-23T00:00:00Z")) == expected
