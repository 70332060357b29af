"""Answers as of a past time from some of the events equal those from the whole state."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.errors import HeadwaterError
from headwater.events import parse_time, to_micros
from headwater.graph.nodes import Node, node_id
from headwater.log import Entry, EventLog
from headwater.plugins.past.answer import QUERIES, PartialPast
from headwater.projection import State
from headwater.projection.live import Batch, Live
from headwater.projection.past import Moment
from headwater.query.registry import load_queries
from packages.headwater.tests.support.entry_strategies import some_entries
from packages.headwater.tests.support.random_runs import RUNS, events_of

pytestmark = pytest.mark.replay

_Question = tuple[str, dict[str, Any]]


def _questions(nodes: list[str]) -> Iterator[_Question]:
    """Yield queries about each node, and about its path to another."""
    for node, other in zip(nodes, [*nodes[1:], *nodes[:1]], strict=True):
        for level in (None, "pipeline", "query"):
            yield "tree", {"node": node, "direction": "both", "level": level, "control": True}
        yield "tree", {"node": node, "direction": "both", "evidence": "verified"}
        yield "graph", {"node": node, "up": 3, "down": 3, "columns": True}
        yield "graph", {"node": node, "up": 1, "down": 1, "datasets": True, "level": "pipeline"}
        for direction in ("up", "down"):
            yield "columns", {"node": node, "direction": direction, "indirect": True}
        for name in ("impact", "provenance", "node", "history"):
            yield name, {"node": node}
        for field in ("x", "y"):
            yield "impact", {"node": node, "field": field}
            yield "column", {"node": node, "field": field}
        yield "tree", {"node": node.rpartition(":")[2][-1:]}  # a short name
        yield "path", {"from_": node, "to": other, "control": True}
        yield "why", {"from_": node, "to": other}


def _nodes(state: State) -> list[str]:
    datasets = sorted(map(Node.of_dataset, set(state.identity)))
    return [node_id(node) for node in (*datasets, *sorted(map(Node.of_job, state.jobs)))]


def _outcome(state: State, question: _Question) -> bytes:
    """Return the answer to a query, or its error, as JSON."""
    name, parameters = question
    try:
        found = load_queries()[name].answer(state, **parameters)
    except HeadwaterError as error:
        return repr(error).encode()
    return orjson.dumps(found, default=str, option=orjson.OPT_SORT_KEYS)


def _compare(live: Live, time: int, *, share: float) -> list[str]:
    """Compare the answers as of a time; return the queries that were answered in part."""
    past = PartialPast(live, least=0, share=share, whole=0)
    with live.reading(Moment(as_of=time)) as whole:
        expected = {
            (name, repr(parameters)): ((name, parameters), _outcome(whole, (name, parameters)))
            for name, parameters in _questions(_nodes(whole))
        }
    answered = []
    for question, outcome in expected.values():
        found = past.answer(time, partial(_outcome, question=question))
        if found is not None:
            assert found == outcome, question
            answered.append(question[0])
    return answered


def _check(entries: list[Entry], share: float, at: int, folder: Path) -> None:
    database = folder / "log.db"
    for file in folder.glob("log.db*"):
        file.unlink()
    log = EventLog(f"sqlite:///{database}")
    try:
        live = Live(log)
        live.ingest(Batch(entries))
        times = sorted({entry.event.time for entry in entries})
        _compare(live, times[at % len(times)], share=share)
    finally:
        log.close()


_EXTRAS = st.lists(
    st.tuples(
        st.integers(0, 20),
        st.sampled_from(("failed check", "passed check", "tags", "skipped", "local name", "task")),
    ),
    max_size=5,
)


def _add_extras(build: Any, events: list[dict[str, Any]], extras: list[tuple[int, str]]) -> None:
    """Add what random runs lack: checks, tags, skipped tasks, local names and levels of jobs."""
    for at, kind in extras:
        event = events[at % len(events)]
        sides = [*event.get("inputs", ()), *event.get("outputs", ())]
        items = [event["dataset"]] if "dataset" in event else sides
        for item in items:
            if kind.endswith("check"):
                result = {"assertion": "not_null", "column": "x", "success": kind[0] == "p"}
                item["facets"]["dataQualityAssertions"] = {"assertions": [result]}
            elif kind == "tags":
                item["facets"]["tags"] = {"tags": [{"key": "pii", "value": "true", "field": "x"}]}
            elif kind == "local name":
                links = [{"namespace": "hive://ip-10-0-9-12.ec2.internal:9083", "name": "t"}]
                item["facets"]["symlinks"] = {"identifiers": links}
        if kind == "task" and "job" in event:
            event["job"]["facets"]["jobType"] = {"integration": "AIRFLOW", "jobType": "TASK"}
        if kind == "skipped":
            time = event["eventTime"][11:19]
            dag = build.run("COMPLETE", "d0", "dag_d0", time, kind="AIRFLOW/DAG")
            states = dict.fromkeys("pqrs"[: at % 5], "skipped")
            dag["run"]["facets"]["airflowState"] = {"tasksState": states}
            events.append(dag)


_SHARES = st.sampled_from((1.0, 1.0, 0.5, 0.1))


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(runs=RUNS, extras=_EXTRAS, share=_SHARES, at=st.integers(0, 20))
def test_answers_about_random_runs_equal_those_of_the_whole_state(
    runs: list[dict[str, Any]],
    extras: list[tuple[int, str]],
    share: float,
    at: int,
    build: Any,
    tmp_path: Path,
) -> None:
    events = events_of(build, runs)
    _add_extras(build, events, extras)
    _check([build.entry(event) for event in events], share, at, tmp_path)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(entries=some_entries(), share=_SHARES, at=st.integers(0, 20))
def test_answers_about_random_events_equal_those_of_the_whole_state(
    entries: list[Entry], share: float, at: int, tmp_path: Path
) -> None:
    _check(entries, share, at, tmp_path)


def test_every_query_about_one_node_is_answered_in_part(build: Any, tmp_path: Path) -> None:
    """A chain and an unrelated one: the answers need only the events of the first."""
    events = []
    for number, side in enumerate(("a", "b", "a", "b")):
        columns = {"x": {"inputFields": [{"namespace": "db", "name": side, "field": "x"}]}}
        event = build.run("COMPLETE", f"r{number}", f"j{number}", f"08:00:{number:02}")
        event["inputs"] = [build.dataset(f"db|{side}")]
        event["outputs"] = [build.dataset(f"db|{side}{number}", columnLineage={"fields": columns})]
        events.append(event)
    log = EventLog(f"sqlite:///{tmp_path / 'log.db'}")
    try:
        live = Live(log)
        live.ingest(Batch([build.entry(event) for event in events]))
        time = to_micros(parse_time(events[-1]["eventTime"]))
        assert {*_compare(live, time, share=1)} == QUERIES
    finally:
        log.close()
