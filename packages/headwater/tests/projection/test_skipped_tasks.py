"""Tasks that Airflow skipped wrote nothing, although Airflow reports them as completed."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from headwater.datasets.writes import writes_of
from headwater.graph.current import generations_of
from headwater.lineage.queries import edges_answer
from headwater.projection import State, apply

_TABLE = "pg://shop:5432|shop.daily"


def _events(build: Any, state: str, **airflow: Any) -> list[dict[str, Any]]:
    """Return the events of a DAG run with one task."""
    parent = ("d", "dag")
    facets = {"airflow": {"taskInstance": airflow}}
    states = {"airflowState": {"dagRunState": "success", "tasksState": {"load": state}}}
    return [
        build.run("START", "t", "dag.load", "08:00:00", parent=parent, writes=[_TABLE]),
        build.run(
            "COMPLETE", "t", "dag.load", "08:01:00", parent=parent, facets=facets, writes=[_TABLE]
        ),
        build.run("COMPLETE", "d", "dag", "08:02:00", facets=states),
    ]


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
