"""All answers about a node say the same state."""

from __future__ import annotations

from collections import Counter
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.graph.current import generations_of, graph_of
from headwater.graph.levels import Level
from headwater.graph.nodes import Node, node_id
from headwater.graph.walk import reach
from headwater.health.models import HealthState
from headwater.health.states import counts_of_states, health_of
from headwater.lineage.neighborhood import graph_answer
from headwater.lookup import find_node
from headwater.nodes.queries import node_answer
from headwater.plugins.impact.queries import impact_answer
from headwater.plugins.search.queries import datasets_answer, jobs_answer, search_answer
from headwater.plugins.trust._health import health_answer
from headwater.plugins.trust._lateness import lateness_answer
from headwater.plugins.trust.queries import findings_answer
from headwater.projection import State
from packages.headwater.tests.support.daily_models import TABLES, models_on_day
from packages.headwater.tests.support.moments import at

_PRECEDENCE = get_args(HealthState)

_MODELS = st.sampled_from((None, *TABLES))

_HISTORIES = st.lists(
    st.tuples(_MODELS, st.sets(st.sampled_from(tuple(TABLES)), max_size=2)), min_size=1, max_size=6
)


@pytest.mark.replay
@settings(max_examples=40)
@given(history=_HISTORIES, later=st.integers(0, 40))
def test_all_answers_say_the_same_state(
    history: list[tuple[str | None, set[str]]], later: int, build: Any
) -> None:
    events = [
        event
        for day, (failed, skipped) in enumerate(history, 10)
        for event in models_on_day(build, day, failed, tuple(skipped - {failed or ""}))
    ]
    state = at(build.state(*events), f"2025-11-{9 + len(history):02}T08:00:00Z")
    state.now += later * 3_600_000_000
    listed = {
        item["id"]: item["health"]
        for answer in (datasets_answer(state), jobs_answer(state), search_answer(state, "o"),
                       graph_answer(state, "shop", up=9, down=9))
        for item in answer.get("nodes", answer.get("items"))
    }  # fmt: skip
    names = {name for _, name in state.identity}
    nodes = [*map(Node.of_job, state.jobs), *map(Node.of_dataset, set(state.identity))]
    for node in nodes:
        health = health_of(state, node)
        assert node_answer(state, node_id(node))["health"] == health
        assert listed.get(node_id(node), health) == health
        assert lateness_answer(state, node_id(node))["health"] == health
    shown = {node_id(node): health_of(state, node)["state"] for node in nodes}
    _assert_lists_agree(state, shown)
    affected = impact_answer(state, "/in")["affected"] if "/in" in names else ()
    for item in affected:
        assert item["health"] == health_of(state, find_node(state, item["id"]))
    _assert_findings_agree(state, {node: health_of(state, node)["state"] for node in nodes})


def _assert_lists_agree(state: State, shown: dict[str, HealthState]) -> None:
    """Assert that lists, their filters and the metric agree with the states of the nodes."""
    lists = {
        "job": jobs_answer,
        "dataset": datasets_answer,
        "": lambda state, **filters: search_answer(state, "o", facets=True, **filters),
    }
    for kind, answer in lists.items():
        listed = {item["id"] for item in answer(state)["items"]}
        expected = Counter(shown[id_] for id_ in listed)
        counts = {item["value"]: item["count"] for item in answer(state)["facets"]["state"]}
        assert counts == expected
        for name in get_args(HealthState):
            found = {item["id"] for item in answer(state, state_=name)["items"]}
            assert found == {id_ for id_ in listed if shown[id_] == name}
            if kind:
                assert counts_of_states(state)[kind, name] == expected[name]


def _assert_findings_agree(state: State, states: dict[Node, str]) -> None:
    """Assert that findings and states name the same problems, and that blocks have causes."""
    found = findings_answer(state)["items"]
    for item in found:
        is_left_out = item["kind"] == "failed" and item["severity"] == "warning"
        if is_left_out:
            assert states[find_node(state, item["subject"])] in ("unknown", "blocked", "late")
        elif item["kind"] in ("failed", "quality", "late"):
            expected = {"failed": "failed", "quality": "failed_checks", "late": "late"}
            shown = states[find_node(state, item["subject"])]
            assert _PRECEDENCE.index(shown) <= _PRECEDENCE.index(expected[item["kind"]])
    wrong = {"failed", "failed_checks", "blocked", "late"}
    assert health_answer(state)["isHealthy"] is not bool(wrong.intersection(states.values()))
    graph = graph_of(state, Level.TASK)
    for node, condition in states.items():
        if condition == "blocked" and node.type == "job" and graph.has_job(node.job_ref):
            above = reach(graph, node, "up", -1)
            by = {find_node(state, item["id"]) for item in health_of(state, node)["by"]}
            assert by
            assert by <= {
                *above,
                Node.of_job(generations_of(state).families.of(node.job_ref).jobs[0]),
            }
