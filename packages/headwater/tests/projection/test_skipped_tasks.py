"""Skipped tasks and models wrote nothing: Airflow reports them as completed, dbt as aborted."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.datasets.writes import writes_of
from headwater.graph.current import generations_of
from headwater.lineage.queries import edges_answer
from headwater.projection import State, apply, project
from packages.headwater.tests.support.entry_strategies import canonical

_TABLE = "pg://shop:5432|shop.daily"


def _events(build: Any, state: str, **airflow: Any) -> list[dict[str, Any]]:
    """Return the events of a DAG run with one task."""
    parent = ("d", "dag")
    facets = {"airflow": {"taskInstance": airflow}}
    return [
        build.run("START", "t", "dag.load", "08:00:00", parent=parent, writes=[_TABLE]),
        build.run(
            "COMPLETE", "t", "dag.load", "08:01:00", parent=parent, facets=facets, writes=[_TABLE]
        ),
        _dag_run(build, state, "08:02:00"),
    ]


def _dag_run(build: Any, state: str | None, time: str) -> dict[str, Any]:
    """Return an event of a DAG run with the state of its task; without states if that is None."""
    states = {"airflowState": {"dagRunState": "success", "tasksState": {"load": state}}}
    return dict(build.run("COMPLETE", "d", "dag", time, facets=states if state else {}))


def _written(state: State) -> list[int]:
    (name,) = set(state.identity)
    return [len(writes_of(generations_of(state), name)), len(edges_answer(state, "task")["items"])]


def test_skipped_task_writes_nothing_in_any_order_of_events(build: Any) -> None:
    for events in permutations(_events(build, "skipped")):
        state = State()
        for event in events:
            apply(state, build.entry(event).event)
            generations_of(state)
        assert _written(state) == [0, 0]


def test_completed_tasks_and_elements_of_mapped_tasks_are_writers(build: Any) -> None:
    for events in (_events(build, "success"), _events(build, "skipped", map_index=0)):
        assert _written(build.state(*events)) == [1, 1]
    assert _written(build.state(*_events(build, "skipped", map_index=-1))) == [0, 0]


def test_failed_attempt_of_a_skipped_task_keeps_its_edges(build: Any) -> None:
    events = _events(build, "skipped")
    events[1]["eventType"] = "FAIL"
    assert _written(build.state(*events)) == [0, 1]


def test_newest_event_of_the_dag_run_decides_in_any_order(build: Any) -> None:
    for first, last, expected in (("success", "skipped", [0, 0]), ("skipped", "success", [1, 1])):
        task = _events(build, first)
        for events in permutations([*task, _dag_run(build, last, "09:00:00")]):
            state = State()
            for event in events:
                apply(state, build.entry(event).event)
                generations_of(state)
            assert _written(state) == expected


def test_aborted_node_of_dbt_was_skipped_in_any_order_of_events(build: Any) -> None:
    """Other aborted runs, such as a killed invocation, may have written before."""
    parent, facets = ("d", "airflow_task"), {"dbt_run": {"invocation_id": "1"}}
    for node, edges in ({"dbt_node": {"unique_id": "model.shop.daily"}}, 0), ({}, 1):
        bodies = [
            build.run(type_, "t", "model", time, parent=parent, facets=facets, writes=[_TABLE])
            for type_, time in (("START", "08:00:00"), ("ABORT", "08:00:01"))
        ]
        for body in bodies:
            body["job"]["facets"] = node
        bodies.append(build.run("FAIL", "d", "airflow_task", "08:02:00"))
        for events in permutations(bodies):
            assert _written(build.state(*events)) == [0, edges]


_TASK_STATES = st.sampled_from(["skipped", "success", "failed", None])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    states=st.lists(_TASK_STATES, min_size=2, max_size=3),
    ends=st.lists(st.sampled_from(["COMPLETE", "FAIL", "RUNNING"]), max_size=2),
    is_element=st.booleans(),
    data=st.data(),
)
def test_skipped_task_is_found_in_any_order_of_random_events(
    build: Any, states: list[str | None], ends: list[str], is_element: bool, data: st.DataObject
) -> None:
    airflow = {"map_index": 0} if is_element else {}
    start, end, dag_run = _events(build, "success", **airflow)
    others = [
        {**end, "eventType": kind, "eventTime": f"2025-11-21T08:0{minute}:00Z"}
        for minute, kind in enumerate(ends)
    ]
    dag_runs = [_dag_run(build, state, f"08:1{minute}:00") for minute, state in enumerate(states)]
    events = [build.entry(event).event for event in (start, end, *others, *dag_runs)]
    state = State()
    for event in data.draw(st.permutations(events)):
        apply(state, event)
        generations_of(state)  # so that the graph is updated, not built at the end
    expected = project(sorted(events, key=lambda event: (event.time, event.hash)))
    assert canonical(state) == canonical(expected)
    assert _written(state) == _written(expected)
