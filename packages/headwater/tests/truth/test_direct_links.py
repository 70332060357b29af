"""Answers never name the placeholders of direct links between two jobs or two datasets (ADR 25)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.errors import HeadwaterError
from headwater.graph.nodes import Node, node_id
from headwater.plugins.impact.queries import impact_answer
from headwater.plugins.unused.queries import unused_answer
from headwater.projection import State, project
from headwater.query.registry import ApiQuery, Times, load_queries
from packages.headwater.tests.graph.test_folder_updates import EVENTS, event_of
from packages.headwater.tests.support.explicit import dataset, dataset_event, into, job, run_event
from packages.headwater.tests.support.moments import at

pytestmark = pytest.mark.replay

_MARKS = ("\\u0000", '"namespace":""', '"job::', '"dataset::')
"""Texts that an answer contains if it names the placeholder for a missing job or dataset."""


def _state(build: Any) -> State:
    """Return a state with jobs that pass data on, views, a folder with a file, and a rename."""
    columns = {"x": {"inputs": [dataset("c", field="x")]}}
    renamed = dataset_event("renamed", time="2026-03-25T14:00:00Z")
    renamed["dataset"]["facets"] = {
        "lifecycleStateChange": {
            "lifecycleStateChange": "RENAME",
            "previousIdentifier": dataset("z"),
        }
    }
    return build.state(
        run_event("up", reads="a b", run="u", time="2026-03-25T11:00:00Z"),
        run_event("down", into(dataset("c"), job("up")), reads="b", writes="c", run="d"),
        run_event("last_job", into(job("last_job"), job("up")), run="e"),
        dataset_event("view", dataset("c"), job("up"), fields=columns),
        dataset_event("view_of_view", dataset("view")),
        run_event("read_view", reads="view", writes="z", run="v"),
        renamed,
        build.run("COMPLETE", "f", "write_folder", "10:00:00", writes=("s3://b|a",)),
        build.run("COMPLETE", "p", "read_file", "11:00:00", reads=("s3://b|a/p",)),
    )


def _calls(query: ApiQuery, nodes: list[str]) -> Iterator[dict[str, Any]]:
    """Yield parameters for every node, level and direction, with and without a column."""
    runs = ["u", "d", "v", "f", "p"]
    values: dict[str, list[Any]] = dict.fromkeys(("run", "run_id", "subject", "version"), runs)
    values |= {"node": nodes, "dataset": [[node] for node in nodes], "field": ["x"]}
    values |= {"level": ["query", "task", "pipeline"], "direction": ["up", "down"]}
    values |= {"up": [9], "down": [9], "text": ["a"], "tag": ["pii"]}
    if query.name in ("path", "why"):
        values |= {"from_": nodes, "to": nodes}
    parameters = [parameter for parameter in query.parameters if parameter.name in values]
    required = [p for p in parameters if p.name != "field" or p.default is p.empty]
    for names in ([p.name for p in parameters], [p.name for p in required]):
        for chosen in product(*(values[name] for name in names)):
            yield dict(zip(names, chosen, strict=True))


def _answered(query: ApiQuery, state: State, build: Any) -> int:
    """Check the answers about every node of a state; return the number of answers."""
    states = [build.state(), state] if query.times == Times.BETWEEN else [state]
    nodes = [node_id(Node.of_dataset(name)) for name in state.identity]
    nodes += [node_id(Node.of_job(ref)) for ref in state.jobs]
    answered = 0
    for params in _calls(query, nodes):
        try:
            answer = query.answer(*states, **params)
        except HeadwaterError:
            continue  # for example, a job has no columns
        text = orjson.dumps(answer, default=list).decode()
        assert not [mark for mark in _MARKS if mark in text], params
        answered += 1
    return answered


@pytest.mark.parametrize("name", sorted(load_queries()))
def test_answers_name_only_real_jobs_and_datasets(name: str, build: Any) -> None:
    assert _answered(load_queries()[name], _state(build), build)


@settings(max_examples=20)
@given(
    abouts=EVENTS, handoffs=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=2)
)
def test_answers_about_folders_views_and_handoffs_name_only_real_nodes(
    abouts: list[dict[str, Any]], handoffs: list[tuple[int, int]], build: Any
) -> None:
    events = [event_of(about, number, build) for number, about in enumerate(abouts)]
    for source, reader in handoffs:
        ref = {"type": "JOB", "namespace": "demo"}
        body = build.run("COMPLETE", f"r{reader}", f"j{reader}", "00:00:09")
        entry = {**ref, "name": f"j{reader}", "inputs": [{**ref, "name": f"j{source}"}]}
        body["job"]["facets"]["lineage"] = {"entries": [entry]}
        events.append(build.entry(body).event)
    state = at(project(events), "2026-12-31T00:00:00Z")
    for query in load_queries().values():
        _answered(query, state, build)


def _folder(build: Any, *views: str) -> State:
    """Return a state with a job that writes a folder and one that writes a file into it."""
    source = {"namespace": "s3://b", "name": "a", "type": "DATASET"}
    return build.state(
        build.run("COMPLETE", "f", "write_folder", "10:00:00", writes=("s3://b|a",)),
        build.run("COMPLETE", "p", "write_file", "11:00:00", writes=("s3://b|a/p",)),
        build.run("COMPLETE", "q", "read_file", "12:00:00", reads=("s3://b|a/q",)),
        *(dataset_event(view, source) for view in views),
    )


def test_impact_names_views_of_folders_that_contain_a_file(build: Any) -> None:
    found = impact_answer(_folder(build, "view"), "dataset:s3://b:a/q")["unknown"]
    assert [reason["message"] for reason in found] == [
        "1 dataset is derived from a folder that contains the dataset, or from a part of it:"
        " view (a)."
    ]


def test_unwritten_file_is_not_possibly_affected_by_its_folder(build: Any) -> None:
    assert not impact_answer(_folder(build), "dataset:s3://b:a/q")["unknown"]


def test_unused_names_views_of_folders_as_possible_readers(build: Any) -> None:
    state = at(_folder(build, "view"), "2026-12-31T00:00:00Z")
    found = {item["name"]: item["reasons"] for item in unused_answer(state, days=1)["items"]}
    assert "view" in {reason["kind"] for reason in found["a/p"]}


def test_change_of_a_column_may_affect_what_is_downstream_of_a_handoff(build: Any) -> None:
    load = run_event("load", writes="c", run="l", time="2026-03-25T10:00:00Z")
    load["outputs"][0]["facets"] = {"schema": {"fields": [{"name": "x"}]}}
    state = build.state(
        load,
        run_event("up", reads="c", run="u", time="2026-03-25T11:00:00Z"),
        run_event("down", into(dataset("d"), job("up")), writes="d", run="d"),
    )
    assert [node["name"] for node in impact_answer(state, "c", "x")["possible"]] == [
        "up",
        "down",
        "d",
    ]
