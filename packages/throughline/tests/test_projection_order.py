from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from throughline.graph.answers import edges_answer
from throughline.log import entry_of
from throughline.projection import export, project
from throughline.spec import Logged

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
                "job": {**_job(run % 3), "facets": job_facets},
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
