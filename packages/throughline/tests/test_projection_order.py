from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from throughline.graph.answers import edges_answer, latest_of, tree_answer
from throughline.log import alias_of, entry_of
from throughline.projection import State, export, project
from throughline.projection.apply import apply
from throughline.spec import Logged

from .graphs import DAG, SQL, TASK

_TYPES = ("START", "RUNNING", "COMPLETE", "FAIL", "ABORT", "OTHER")
_DATASETS = ("file|/a", "file://|/a", "s3a://b|k", "s3://b|k", "hive://h|db.t", "metaflow|F/x")


def _canonical(events: list[Logged]) -> bytes:
    """Everything that can be asked: the export, and all edges of all levels."""
    state = project(events)
    edges = [
        edges_answer(state, level, kind)["items"]
        for level in ("query", "task", "pipeline")
        for kind in ("data", "control")
    ]
    return orjson.dumps([export(state), edges], default=list, option=orjson.OPT_SORT_KEYS)


@st.composite
def _events(draw: st.DrawFn) -> list[Logged]:
    """Events of a few runs of a few jobs, interleaved, with equal times and late symlinks."""
    bodies: list[dict[str, Any]] = []
    for _ in range(draw(st.integers(1, 14))):
        run = draw(st.integers(0, 4))
        job = draw(st.sampled_from((run, run, run, 0)))  # some producers share a run id among jobs
        facets: dict[str, Any] = {}
        if draw(st.booleans()):
            above = draw(st.integers(0, 4))
            reference = {"run": {"runId": f"run-{above}"}, "job": _job(above % 3)}
            root = {"run": {"runId": "run-0"}, "job": _job(0)}
            facets["parent"] = {**reference, "root": root}
        if draw(st.booleans()):
            facets["jobDependencies"] = {"upstream": [{"job": _job(draw(st.integers(0, 2)))}]}
        job_facets: dict[str, Any] = {"sql": {"query": draw(st.text(max_size=2))}}
        if draw(st.booleans()):
            job_facets["jobType"] = {"jobType": draw(st.sampled_from(("DAG", "TASK", "QUERY")))}
        bodies.append(
            {
                "eventType": draw(st.sampled_from(_TYPES)),
                "eventTime": f"2025-11-21T08:00:0{draw(st.integers(0, 5))}Z",
                "run": {"runId": f"run-{run}", "facets": facets},
                "job": {**_job(job % 3), "facets": job_facets},
                "inputs": draw(st.lists(_dataset(), max_size=2)),
                "outputs": draw(st.lists(_dataset(), max_size=2)),
            }
        )
    return [entry_of(orjson.dumps(body)).event for body in bodies]


def _job(number: int) -> dict[str, Any]:
    return {"namespace": "n", "name": f"job-{number}"}


@st.composite
def _dataset(draw: st.DrawFn) -> dict[str, Any]:
    namespace, name = draw(st.sampled_from(_DATASETS)).split("|")
    facets: dict[str, Any] = {}
    if draw(st.booleans()):
        facets["version"] = {"datasetVersion": str(draw(st.integers(1, 3)))}
    if draw(st.integers(0, 4)) == 0:
        other, table = draw(st.sampled_from(_DATASETS)).split("|")
        facets["symlinks"] = {"identifiers": [{"namespace": other, "name": table, "type": "TABLE"}]}
    return {"namespace": namespace, "name": name, "facets": facets}


@st.composite
def _logged(draw: st.DrawFn) -> list[Logged]:
    """The same, with declared jobs and names joined by hand among them."""
    events = draw(_events())
    for number in range(draw(st.integers(0, 3))):
        names = [draw(st.sampled_from(_DATASETS)).split("|") for _ in range(2)]
        time = f"2025-11-21T08:00:0{draw(st.integers(0, 5))}Z"
        if draw(st.booleans()):
            one, other = ((namespace, name) for namespace, name in names)
            entry = alias_of(one, other, number, is_removed=draw(st.booleans()))
        else:
            inputs, outputs = ([{"namespace": n, "name": m}] for n, m in names)
            declared = {"eventTime": time, "job": _job(draw(st.integers(0, 3)))}
            entry = entry_of(orjson.dumps({**declared, "inputs": inputs, "outputs": outputs}))
        events.insert(draw(st.integers(0, len(events))), entry.event)
    return events


def _answers(state: State) -> dict[str, Any]:
    """What the graph of a state says: edges at each level, what each job did last, trees."""
    latest = latest_of(state)
    names = sorted(set(state.identity))
    return {
        "edges": [edges_answer(state, level) for level in ("query", "task", "pipeline")],
        "latest": {ref: latest.edges_of(ref) for ref in state.jobs},
        "readers": {name: latest.readers_of(name) for name in names},
        "writers": {name: latest.writers_of(name) for name in names},
        "trees": [tree_answer(state, f"dataset:{'|'.join(n)}".replace("|", ":")) for n in names],
    }


@settings(max_examples=150, deadline=None)
@given(events=_logged(), asks=st.lists(st.booleans(), min_size=17, max_size=17))
def test_a_graph_asked_for_between_events_is_the_one_that_all_of_them_together_give(
    events: list[Logged], asks: list[bool]
) -> None:
    state = State()
    for count, event in enumerate(events, 1):
        apply(state, event)
        if asks[count - 1] or count == len(events):
            assert _answers(state) == _answers(project(events[:count]))


def _rare(build: Any) -> dict[str, list[dict[str, Any]]]:
    """Histories whose last event changes what was asked for before it, each by another way."""

    def run(id_: str, job: str, hour: str, **more: Any) -> dict[str, Any]:
        return build.run(more.pop("type", "COMPLETE"), id_, job, f"{hour}:00:00", **more)

    step, reads = {"kind": TASK, "writes": ("db|out",)}, ("db|in",)
    return {
        "the end of a run is that of the open one below it": [
            run("d", "dag", "08", type="START", kind=DAG),
            run("t0", "dag.t", "07", parent=("d", "dag"), reads=("db|old",), **step),
            run("d1", "dag", "09", type="START", kind=DAG),
            run("t1", "dag.t", "10", type="START", parent=("d1", "dag"), reads=reads, **step),
            run("d1", "dag", "11", kind=DAG),
        ],
        "a query does something for another task than before": [
            run("a1", "dag.a", "08", type="START", kind=TASK),
            run("b1", "dag.b", "08", type="START", kind=TASK),
            run("q1", "q", "08", parent=("a1", "dag.a"), kind=SQL, writes=("db|a",)),
            run("q2", "q", "09", parent=("b1", "dag.b"), kind=SQL),
            run("b2", "dag.b", "10", type="START", kind=TASK),
            run("q3", "q", "10", parent=("b2", "dag.b"), kind=SQL, writes=("db|c",)),
        ],
        "a run that never spoke is placed by the second one below it": [
            run("c1", "c", "08", parent=("p1", "p"), root=("r1", "r"), writes=("db|a",)),
            run("e1", "e", "08", parent=("p1", "p"), root=("r1", "r"), writes=("db|b",)),
            run("c2", "c", "09", parent=("p2", "p"), writes=("db|a",)),
            run("e2", "e", "09", parent=("p2", "p"), root=("r2", "r"), writes=("db|b",)),
        ],
        "a job that never spoke turns out to have nothing above it": [
            run("c1", "c", "08", parent=("p1", "p"), root=("r1", "r"), writes=("db|a",)),
            run("p2", "p", "09"),
        ],
    }


@pytest.mark.parametrize("number", range(4))
def test_a_graph_asked_for_before_a_rare_event_is_right_after_it(build: Any, number: int) -> None:
    name, bodies = list(_rare(build).items())[number]
    events = [build.entry(body).event for body in bodies]
    state = State()
    for event in events:
        _answers(state)
        apply(state, event)
    assert _answers(state) == _answers(project(events)), name


@settings(max_examples=120, deadline=None)
@given(events=_events(), random=st.randoms(use_true_random=False), data=st.data())
def test_any_order_with_any_repetition_gives_the_same_projection(
    events: list[Logged], random: Random, data: st.DataObject
) -> None:
    again = events + data.draw(st.lists(st.sampled_from(events), max_size=6))
    random.shuffle(again)
    assert _canonical(again) == _canonical(events)


def test_any_order_of_the_real_events_gives_the_same_projection(shared: Path) -> None:
    folder = shared / "openlineage-events" / "this-stack"
    lines = [line for f in sorted(folder.glob("*.jsonl")) for line in f.read_bytes().splitlines()]
    events = [entry_of(line).event for line in lines]
    expected = _canonical(events)
    for seed in range(3):
        order = events + events[:: seed + 2]
        Random(seed).shuffle(order)
        assert _canonical(order) == expected
    assert _canonical(events[::-1]) == expected
