"""A dataset that several pipelines write is late in every answer if one of them is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headwater.events import JobRef
from headwater.graph.nodes import Node, node_id
from headwater.health.late import late_writes
from headwater.health.rules import lateness_of
from headwater.health.states import counts_of_states, health_of, state_of
from headwater.identity import DatasetName
from headwater.plugins.alerts._causes import Changed, find_late
from headwater.plugins.alerts.rules import Rule
from headwater.plugins.map._index import PROBLEMS, MapIndex
from headwater.plugins.search._freshness import datasets_freshness_answer
from headwater.plugins.search.queries import datasets_answer, jobs_answer, search_answer
from headwater.plugins.trust._doctor import doctor
from headwater.plugins.trust._health import health_answer
from headwater.plugins.trust._lateness import lateness_answer
from headwater.plugins.trust._problems import problems_answer
from headwater.plugins.trust.gate import gate_answer
from headwater.plugins.trust.models import ProblemKind
from headwater.plugins.trust.queries import findings_answer, freshness_answer
from headwater.projection import State
from packages.headwater.tests.support.graphs import DAG, TASK
from packages.headwater.tests.support.moments import at

_FIRST = datetime(2025, 11, 1, 6, tzinfo=UTC)
_TABLE = "db:t"


class _Pipeline(NamedTuple):
    """A pipeline whose task writes tables in each of its runs."""

    name: str
    first: float
    """Days after the start of the first run."""
    every: float
    """Days."""
    runs: int
    reads: str = "files|in"
    writes: tuple[str, ...] = ("db|t",)
    is_ad_hoc: bool = False
    task: str = "load"
    last_fails: bool = False
    without: int = 0
    """Later runs without the task."""

    @property
    def last(self) -> float:
        return self.first + (self.runs - 1) * self.every

    def events(self, build: Any) -> list[dict[str, Any]]:
        found = []
        for number in range(self.runs + self.without):
            end = "FAIL" if self.last_fails and number == self.runs - 1 else "COMPLETE"
            time = (_FIRST + timedelta(days=self.first + number * self.every)).isoformat()
            run = f"{self.name}-{self.task}-{number}"
            pipeline = build.run(end, run, self.name, "06:00:00", kind=DAG)
            if self.is_ad_hoc:
                pipeline["job"]["facets"]["tags"] = {"tags": [{"key": "ad-hoc", "value": "true"}]}
            task = build.run(end, f"{run}-task", f"{self.name}.{self.task}", "06:00:00",
                             parent=(run, self.name), kind=TASK, reads=(self.reads,),
                             writes=self.writes)  # fmt: skip
            bodies = (pipeline, task) if number < self.runs else (pipeline,)
            found += [body | {"eventTime": time} for body in bodies]
        return found


def _state(build: Any, pipelines: list[_Pipeline], now: float) -> State:
    """Return the state of pipelines at a time: in days after the start."""
    events = [event for pipeline in pipelines for event in pipeline.events(build)]
    return at(build.state(*events), (_FIRST + timedelta(days=now)).isoformat())


def _health(state: State, name: str = "t") -> tuple[str, str]:
    health = health_of(state, Node.of_dataset(DatasetName("db", name)))
    return health["state"], health["message"]


_EAST = _Pipeline("east", 0, 1, 6, "files|east")
_WEST = _Pipeline("west", 0.1, 1, 10, "files|west")


def test_table_is_late_if_one_of_its_pipelines_is(build: Any) -> None:
    state = _state(build, [_EAST, _WEST], 9.5)
    assert state_of(state, Node.of_job(JobRef("demo", "west"))) == "healthy"
    health = health_of(state, Node.of_dataset(DatasetName("db", "t")))
    assert (health["state"], health["message"], health["at"], health["by"]) == (
        "late",
        "not written by east, which was due",
        "2025-11-07T06:00:00Z",
        [{"id": "job:demo:east", "type": "job", "namespace": "demo", "name": "east"}],
    )
    answer = lateness_answer(state, _TABLE)
    assert (answer["isLate"], answer["job"]) == (True, {"namespace": "demo", "name": "east"})
    assert [item["subject"] for item in findings_answer(state)["items"]] == ["job:demo:east"]
    (problem,) = problems_answer(state)["items"]
    assert [item["id"] for item in problem["affected"]] == ["dataset:db:t"]
    (gated,) = gate_answer(state, [_TABLE], '{"fresh": true}')["datasets"]
    assert [item["subject"] for item in gated["violations"]] == ["job:demo:east"]
    late = datasets_freshness_answer(state, due="late")["items"]
    assert [(item["id"], item["dueAt"]) for item in late] == [
        ("dataset:db:t", "2025-11-07T06:00:00Z")
    ]


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ({}, ["job:demo:east"]),
        ({"datasets": ["t"]}, ["dataset:db:t"]),
        ({"datasets": ["u"]}, []),
        ({"jobs": ["west"]}, []),
        ({"jobs": ["east"], "datasets": ["db/t"]}, ["job:demo:east", "dataset:db:t"]),
    ],
)
def test_alerts_of_a_late_table(patterns: dict[str, Any], expected: list[str], build: Any) -> None:
    state = _state(build, [_EAST, _WEST], 9.5)
    rule = Rule(name="late", kind="late", actions=[], **patterns)
    found = [finding for _, finding in find_late(state, rule, Changed((), ()))]
    assert [finding["subject"] for finding in found] == expected


@pytest.mark.parametrize("last_fails", [False, True])
def test_alert_of_a_failed_job_that_is_due_has_its_state(last_fails: bool, build: Any) -> None:
    state = _state(build, [_EAST._replace(last_fails=last_fails)], 9.5)
    rule = Rule(name="late", kind="late", actions=[], jobs=["east"])
    ((_, found),) = find_late(state, rule, Changed((), ()))
    assert found["message"] == (
        "was due at 2025-11-07T06:00:00Z, but is failed: the newest run failed"
        if last_fails
        else "is late: it usually runs every 24 h and was due at 2025-11-07T06:00:00Z"
    )


def test_table_is_due_when_the_next_of_its_pipelines_is(build: Any) -> None:
    state = _state(build, [_EAST, _WEST], 5.5)
    answer = lateness_answer(state, _TABLE)
    assert _health(state)[0] == "healthy"
    assert (answer["dueAt"], answer["job"]) == (
        "2025-11-07T06:00:00Z",
        {"namespace": "demo", "name": "east"},
    )


def test_pipeline_that_ran_without_the_table_is_named(build: Any) -> None:
    others = _EAST._replace(first=6, runs=4, task="other", writes=("db|u",))
    state = _state(build, [_EAST, _WEST, others], 9.5)
    expected = "not run since 2025-11-06; east ran 4 times without it; was due"
    assert _health(state) == ("late", expected)
    (found,) = findings_answer(state)["items"]
    assert (found["subject"], found["message"]) == (
        "dataset:db:t",
        "is late: east usually writes it every 24 h and was due at 2025-11-07T06:00:00Z",
    )
    assert [item["subject"] for item in doctor(state) if item["kind"] == "late"] == ["dataset:db:t"]


_REPLACED = _Pipeline("renamed", 6, 1, 4, "files|east")


@pytest.mark.parametrize("runs", [1, 2, 4])
def test_replaced_pipeline_does_not_make_its_table_late(runs: int, build: Any) -> None:
    """Until the new pipeline has a rhythm of its own, the rhythm of both counts."""
    renamed = _REPLACED._replace(runs=runs)
    assert _health(_state(build, [_EAST, renamed], renamed.last + 0.5))[0] == "healthy"
    assert _health(_state(build, [_EAST, renamed], renamed.last + 2.5))[0] == "late"


def test_pipeline_that_took_over_one_of_two_tables_replaces_it_only_there(build: Any) -> None:
    both = _EAST._replace(writes=("db|t", "db|u"))
    state = _state(build, [both, _REPLACED], 9.5)
    assert [_health(state, name)[0] for name in ("t", "u")] == ["healthy", "late"]


def test_stopped_pipeline_counts_until_another_job_writes_the_table(build: Any) -> None:
    hourly = _Pipeline("hourly", 0, 1 / 24, 80, "files|east")
    daily = _Pipeline("daily", 0, 1, 8, "files|west")
    stops = hourly.last + 31 / 24
    assert _health(_state(build, [hourly, daily._replace(runs=5)], stops - 0.1))[0] == "late"
    state = _state(build, [hourly, daily._replace(runs=5)], stops + 0.1)
    assert _health(state) == ("unknown", "hourly has stopped; it was due")
    assert _health(_state(build, [hourly, daily], 7.5))[0] == "healthy"


def test_jobs_without_a_rhythm_of_their_own_count_together(build: Any) -> None:
    dated = [_Pipeline(f"load_{day}", day, 1, 1) for day in range(6)]
    assert _health(_state(build, dated, 5.5))[0] == "healthy"
    assert _health(_state(build, dated, 8))[0] == "late"
    assert lateness_answer(_state(build, dated, 8), _TABLE)["job"] is None


def test_branches_of_one_pipeline_count_together(build: Any) -> None:
    branch = _EAST._replace(first=5, runs=5, task="other_branch")
    before = _EAST._replace(first=-1, runs=1, task="other_branch")
    assert _health(_state(build, [before, _EAST, branch], 9.5))[0] == "healthy"


def test_pipeline_on_request_is_not_due(build: Any) -> None:
    by_hand = _EAST._replace(is_ad_hoc=True)
    assert _health(_state(build, [by_hand, _WEST], 9.5))[0] == "healthy"
    assert _health(_state(build, [by_hand, _WEST], 12))[0] == "late"


def _pipelines(
    fails: st.SearchStrategy[bool], without: st.SearchStrategy[int]
) -> st.SearchStrategy[list[_Pipeline]]:
    """Return a strategy for pipelines of which none reads its own output."""
    pipelines = st.builds(
        _Pipeline,
        name=st.sampled_from(("a", "b", "c", "d")),
        first=st.sampled_from((0, 0.1, 3, 6.2, 9)),
        every=st.sampled_from((1 / 24, 0.5, 1, 2)),
        runs=st.integers(1, 12),
        reads=st.sampled_from(("files|in", "files|other", "db|u")),
        writes=st.sampled_from((("db|t",), ("db|u",), ("db|t", "db|u"))),
        is_ad_hoc=st.sampled_from((False, False, False, True)),
        task=st.just("load"),
        last_fails=fails,
        without=without,
    ).filter(lambda pipeline: pipeline.reads not in pipeline.writes)
    return st.lists(pipelines, min_size=1, max_size=4, unique_by=lambda pipeline: pipeline.name)


_LATER = st.sampled_from((0, 0.1, 1, 1.7, 3, 40))
"""Days after the last run."""


def _is_replaced(pipeline: _Pipeline, table: str, others: list[_Pipeline]) -> bool:
    return any(
        other.name != pipeline.name
        and other.first >= pipeline.last
        and other.reads == pipeline.reads
        and table in other.writes
        for other in others
    )


def _is_retired(pipeline: _Pipeline, table: str, others: list[_Pipeline]) -> bool:
    """Return True if another pipeline wrote the table after this one had stopped."""
    return any(
        other is not pipeline
        and not other.is_ad_hoc
        and table in other.writes
        and other.last - pipeline.last > 30 * pipeline.every
        for other in others
    )


@pytest.mark.replay
@settings(max_examples=150)
@given(pipelines=_pipelines(st.just(False), st.just(0)), later=_LATER)
@example(pipelines=[_EAST, _WEST], later=0.4)
def test_table_is_late_exactly_if_a_current_pipeline_is(
    pipelines: list[_Pipeline], later: float, build: Any
) -> None:
    """The state of each pipeline is determined from its own runs only."""
    state = _state(build, pipelines, max(pipeline.last for pipeline in pipelines) + later)
    for table in {name for pipeline in pipelines for name in pipeline.writes}:
        writers = [pipeline for pipeline in pipelines if table in pipeline.writes]
        current = {
            pipeline.name: Node.of_job(JobRef("demo", pipeline.name))
            for pipeline in writers
            if not _is_replaced(pipeline, table, writers)
            and not _is_retired(pipeline, table, writers)
        }
        name = DatasetName("db", table.partition("|")[2])
        found = state_of(state, Node.of_dataset(name))
        late = {job for job, node in current.items() if state_of(state, node) == "late"}
        if late:
            assert found == "late", (table, late)
            assert {rhythm.job.name for rhythm in late_writes(state, name) if rhythm.job} <= late
        elif any(lateness_of(state, node) for node in current.values()):
            assert found != "late", table


@pytest.mark.replay
@settings(max_examples=100)
@given(
    pipelines=_pipelines(st.sampled_from((False, False, True)), st.sampled_from((0, 0, 4))),
    later=_LATER,
)
def test_all_answers_count_the_same_late_nodes(
    pipelines: list[_Pipeline], later: float, build: Any
) -> None:
    """Lists count nodes. Findings, problems and `doctor` count the causes, which explain these."""
    state = _state(build, pipelines, max(pipeline.last for pipeline in pipelines) + later)
    nodes = [*map(Node.of_job, state.jobs), *map(Node.of_dataset, set(state.identity))]
    late = {node_id(node) for node in nodes if state_of(state, node) == "late"}

    findings = findings_answer(state)["items"]
    kinds: tuple[ProblemKind, ...] = ("late", "stopped")
    subjects = {kind: _subjects(findings, kind) for kind in kinds}
    assert subjects == {kind: _subjects(doctor(state), kind) for kind in subjects}
    for kind, found in subjects.items():
        assert problems_answer(state, kind=kind)["total"] == len(found)
    assert health_answer(state)["counts"]["problems"] == problems_answer(state)["total"]
    assert late.issuperset(subjects["late"])

    assert sorted(_listed(state)) == sorted(late)
    assert {item["id"] for item in search_answer(state, "state:late", limit=200)["items"]} == late
    counts = counts_of_states(state)
    assert counts["job", "late"] + counts["dataset", "late"] == len(late)
    assert datasets_freshness_answer(state)["counts"]["late"] == counts["dataset", "late"]
    jobs = [item for item in freshness_answer(state)["items"] if not item["isStopped"]]
    assert {f"job:demo:{item['job']['name']}" for item in jobs} == {
        node for node in late if node.startswith("job:")
    }
    index = MapIndex(state)
    index.update()
    on_map = {node: state_of(state, node) for node in index.paths}
    assert {node: found for node, found in index.problems().items() if node in on_map} == {
        node: found for node, found in on_map.items() if found in PROBLEMS
    }
    _assert_explained(state, late, subjects["late"])


def _subjects(findings: Any, kind: str) -> list[str]:
    return sorted(item["subject"] for item in findings if item["kind"] == kind)


def _listed(state: State) -> list[str]:
    lists = jobs_answer(state, state_="late"), datasets_answer(state, state_="late")
    return [item["id"] for answer in lists for item in answer["items"]]


def _assert_explained(state: State, late: set[str], subjects: list[str]) -> None:
    """Assert that each late pipeline has a finding, and each other late node is late with one."""
    for id_ in late:
        name = id_.rpartition(":")[2]
        if id_.startswith("job:"):
            assert f"job:demo:{name.partition('.')[0]}" in subjects
            continue
        rhythms = late_writes(state, DatasetName("db", name))
        pipelines = {node_id(Node.of_job(ref)) for rhythm in rhythms for ref in rhythm.jobs}
        assert {id_, *pipelines}.intersection(subjects)
