"""States, rows and findings that are updated after each event equal those of a new projection."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headwater import deadline
from headwater.errors import DeadlineError
from headwater.events import Logged, parse_time, to_micros
from headwater.filter_values import determine_values
from headwater.graph.nodes import Node
from headwater.health.failing import recent_roots
from headwater.health.freshness import is_ad_hoc, rhythm_of
from headwater.health.overdue import overdue_nodes
from headwater.health.rules import found_state
from headwater.health.states import node_states
from headwater.health.writers import rhythm_of_writes
from headwater.log import Entry, entry_of
from headwater.nodes.listed import choose_rows, rows_of
from headwater.nodes.rows import place_by_activity, place_by_name
from headwater.plugins.trust._health import findings_of, health_answer, place_of_finding
from headwater.projection import State, project
from headwater.projection._apply import apply
from headwater.query.models import NodeType
from packages.headwater.tests.support.budgets import examples
from packages.headwater.tests.support.entry_strategies import some_entries
from packages.headwater.tests.support.graphs import DAG, TASK
from packages.headwater.tests.support.random_runs import RUNS, events_of

pytestmark = pytest.mark.replay

_TYPES: tuple[NodeType, ...] = ("job", "dataset")
_MOST_CHECKS = 25  # of a deadline, fewer than a list of 20 datasets needs
_HOUR = 3_600_000_000  # microseconds
_DAY = 24 * _HOUR
_FIRST = to_micros(parse_time("2025-11-21T00:00:00Z"))
_HOURS = st.lists(st.sampled_from((0, 0, 0, 1, 7, 30)), min_size=60, max_size=60)
"""The hours that pass after each event."""


def _at(state: State, now: int) -> State:
    state.now, state.stale_before = now, now - _DAY
    return state


def _nodes(state: State) -> list[Node]:
    return [*map(Node.of_job, state.jobs), *map(Node.of_dataset, set(state.identity))]


def _is_overdue(state: State, node: Node) -> bool:
    """Return True if the usual interval of a node has passed, according to its generations."""
    rhythm = None
    if node.type == "dataset":
        rhythm = rhythm_of_writes(state, node.dataset_name, needs_reason=False)
    elif recent_roots(state, node.job_ref):
        rhythm = rhythm_of(state, node.job_ref, needs_reason=False)
    return rhythm is not None and rhythm.limit < state.now - rhythm.last


def _check(state: State, events: list[Logged]) -> None:
    """Compare all states, rows and findings with those that a new projection determines.

    Some are requested one by one before, so that an update does not find them all computed.
    """
    oracle = _at(project(events), state.now)
    states = node_states(state)
    expected = {node: found_state(oracle, node) for node in _nodes(oracle)}
    assert {node: states.of(node) for node in _nodes(state)} == expected
    overdue = overdue_nodes(state)
    found = {node for type_ in _TYPES for node in overdue.of(type_)}
    ad_hoc = {node for node in expected if node.type == "job" and is_ad_hoc(oracle, node.job_ref)}
    assert found - ad_hoc == {node for node in expected if _is_overdue(oracle, node)}
    findings, others = (sorted(findings_of(s), key=place_of_finding) for s in (state, oracle))
    assert findings == others
    reported = sum(run.has_events for run in oracle.runs.values())
    assert health_answer(state)["counts"]["runs"] == reported
    for type_ in _TYPES:
        nodes = [node for node in expected if node.type == type_]
        rows, facets, _ = choose_rows(state, type_, None, {})
        assert dict(rows) == {node: place_by_activity(oracle, node) for node in nodes}
        assert all(place[-4:] == place_by_name(oracle, node) for node, place in rows)
        for node in nodes:
            values = {**determine_values(oracle, node), "state": (expected[node].state,)}
            assert rows_of(state).of(node).values == values
        counts = {item["value"]: item["count"] for item in facets["state"]}
        assert sum(counts.values()) == len(nodes)
        for value, count in counts.items():
            assert len(choose_rows(state, type_, None, {"state": value})[0]) == count


def _follow(events: list[Logged], hours: list[int], start: int, *, every: int = 1) -> None:
    """Apply events one by one while the time passes, and compare after each."""
    state, now = State(), start
    for number, event in enumerate(events):
        apply(state, event)
        now += hours[number % len(hours)] * _HOUR
        _at(state, now)
        if number % every == 0 or number == len(events) - 1:
            _check(state, events[: number + 1])


def _logged(bodies: list[dict[str, Any]]) -> list[Logged]:
    return [entry_of(orjson.dumps(body)).event for body in bodies]


@settings(max_examples=examples(100))
@given(runs=RUNS, hours=_HOURS, order=st.randoms(use_true_random=False), every=st.integers(1, 3))
def test_states_and_rows_follow_runs_of_every_kind(
    runs: list[dict[str, Any]], hours: list[int], order: Any, every: int, build: Any
) -> None:
    events = _logged(events_of(build, runs))
    order.shuffle(events)
    _follow(events, hours, _FIRST + 8 * _HOUR, every=every)


@settings(max_examples=examples(100))
@given(entries=some_entries(), hours=_HOURS)
def test_states_and_rows_follow_events_with_aliases_and_late_parents(
    entries: list[Entry], hours: list[int]
) -> None:
    _follow([entry.event for entry in entries], hours, _FIRST + 8 * _HOUR)


@pytest.mark.parametrize("parents", [("run-1", "run-4"), ("run-4", "run-1")])
def test_rows_follow_a_run_that_only_a_child_names(parents: tuple[str, str], build: Any) -> None:
    """The child also names itself as its parent, so that no run of the job has a start."""
    bodies = [
        build.run("START", "run-1", "job-0", "08:00:00", parent=(parent, "job-1"))
        for parent in parents
    ]
    _follow(_logged(bodies), [0], _FIRST + 8 * _HOUR)


def test_states_follow_a_retry_of_the_run_above_a_failed_run(build: Any) -> None:
    """The second attempt of the task has no query: no event is about the failed one."""
    bodies = [build.run("START", "dag", "shop", "08:00:00", kind=DAG)]
    for attempt, end in enumerate(("FAIL", "COMPLETE")):
        task = {"parent": ("dag", "shop"), "kind": TASK}
        run, hour = f"load-{attempt}", f"{8 + attempt:02}"
        bodies.append(build.run("START", run, "shop.load", f"{hour}:10:00", **task))
        if end == "FAIL":
            bodies.append(build.run(end, "query", "shop.load.query", f"{hour}:11:00",
                                    parent=(run, "shop.load"), writes=("db|orders",)))  # fmt: skip
        bodies.append(build.run(end, run, "shop.load", f"{hour}:20:00", **task))
    _follow(_logged(bodies), [0], _FIRST + 10 * _HOUR)


_MODELS = {"orders": "file|/in", "daily": "db|orders", "report": "db|daily"}
_DAY_OF = st.fixed_dictionaries(
    {
        "failed": st.sampled_from((None, None, None, "orders", "daily")),
        "skipped": st.sets(st.sampled_from(tuple(_MODELS)), max_size=2),
        "check": st.sampled_from((None, None, True, False)),
        "owner": st.sampled_from((None, None, "growth", "finance")),
        "adhoc": st.sampled_from((False, False, False, True)),
        "extra": st.sampled_from((None, None, "DROP", "TRUNCATE", "open", "consumer", "writer")),
        "is_ended": st.sampled_from((True, True, True, False)),
        "later": st.sampled_from((0, 0, 0, 20, 50)),
    }
)


def _day(build: Any, day: int, about: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a scheduled run of a pipeline of three models, and other runs of the day."""
    run, nominal = f"shop-{day}", {"nominalStartTime": f"2025-11-{day:02}T06:00:00Z"}
    about_dag = {"kind": DAG, "facets": {"nominalTime": nominal}}
    found = [build.run("START", run, "shop", "06:00:00", **about_dag)]
    for model, reads in _MODELS.items():
        if model in about["skipped"]:
            continue
        body = build.run(
            "FAIL" if model == about["failed"] else "COMPLETE", f"{run}-{model}", f"shop.{model}",
            "06:10:00", parent=(run, "shop"), kind=TASK, reads=(reads,), writes=(f"db|{model}",),
        )  # fmt: skip
        if about["owner"]:
            owners = [{"name": about["owner"], "type": "team"}]
            body["job"]["facets"]["ownership"] = {"owners": owners}
        if about["adhoc"]:
            body["job"]["facets"]["tags"] = {"tags": [{"key": "ad-hoc", "value": "true"}]}
        found.append(body)
    if about["check"] is not None:
        check = {"assertion": "not_null", "success": about["check"], "column": "id"}
        body = build.run("COMPLETE", f"t{day}", "shop.test", "06:20:00", kind=TASK,
                         parent=(run, "shop"), reads=("db|orders",))  # fmt: skip
        body["inputs"][0]["inputFacets"] = {"dataQualityAssertions": {"assertions": [check]}}
        found.append(body)
    if about["extra"]:
        found.append(_extra(build, day, about["extra"]))
    if about["is_ended"]:
        end = "FAIL" if about["failed"] else "COMPLETE"
        found.append(build.run(end, run, "shop", "06:30:00", **about_dag))
    return [body | {"eventTime": f"2025-11-{day:02}T{body['eventTime'][11:]}"} for body in found]


def _extra(build: Any, day: int, kind: str) -> dict[str, Any]:
    """Return the event of another job: it drops, reads, writes, or is still running."""
    if kind == "consumer":
        return dict(build.run("COMPLETE", f"c{day}", "consumer", "07:00:00",
                              reads=("db|report",), writes=("db|dashboard",)))  # fmt: skip
    type_ = "RUNNING" if kind == "open" else "COMPLETE"
    body: dict[str, Any] = build.run(type_, f"x{day}", "other", "07:00:00",
                                     reads=("db|orders",), writes=("db|daily",))  # fmt: skip
    if kind in ("DROP", "TRUNCATE"):
        body["inputs"] = []
        body["outputs"][0]["facets"]["lifecycleStateChange"] = {"lifecycleStateChange": kind}
    return body


_NORMAL_DAY: dict[str, Any] = {
    "failed": None, "skipped": set(), "check": None, "owner": None, "adhoc": False, "extra": None,
    "is_ended": True, "later": 0,
}  # fmt: skip
_REPLACED_AD_HOC = [
    _NORMAL_DAY,
    _NORMAL_DAY | {"adhoc": True},
    _NORMAL_DAY | {"skipped": {"orders", "report"}, "extra": "writer", "later": 50},
]


@settings(max_examples=examples(100))
@example(days=_REPLACED_AD_HOC, every=1)
@given(days=st.lists(_DAY_OF, min_size=3, max_size=8), every=st.integers(1, 4))
def test_states_and_rows_follow_a_schedule_with_failures_and_lateness(
    days: list[dict[str, Any]], every: int, build: Any
) -> None:
    state, events, number = State(), list[Logged](), 0
    for day, about in enumerate(days, 1):
        now = _FIRST + (day - 21) * _DAY + 8 * _HOUR
        for event in _logged(_day(build, day, about)):
            apply(state, event)
            events.append(event)
            number += 1
            _at(state, now)
            if number % every == 0:
                _check(state, events)
        if about["later"]:  # without an event
            _check(_at(state, now + about["later"] * _HOUR), events)
            _at(state, now)


def test_an_interrupted_list_continues_with_the_next_query(
    monkeypatch: pytest.MonkeyPatch, build: Any
) -> None:
    runs = [
        build.run("COMPLETE", f"r{number}", f"j{number}", "08:00:00", writes=(f"db|t{number}",))
        for number in range(20)
    ]
    state = _at(build.state(*runs), _FIRST + 9 * _HOUR)
    choose_rows(state, "job", None, {})
    checks, interruptions = 0, 0

    def check() -> None:
        nonlocal checks
        checks += 1
        if checks == _MOST_CHECKS:
            raise DeadlineError("too long")

    monkeypatch.setattr(deadline, "check", check)
    while True:
        checks = 0
        try:
            found = choose_rows(state, "dataset", None, {}).rows
        except DeadlineError:
            interruptions += 1
            assert interruptions < len(runs)
        else:
            break
    assert interruptions > 0
    assert len(found) == len(runs)
