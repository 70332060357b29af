"""Differences of the parts that may differ equal those of the whole states."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.events import AliasEvent, parse_time, to_micros
from headwater.log import Entry, EventLog
from headwater.plugins.aliases._entry import make_alias
from headwater.plugins.changes import _candidates
from headwater.plugins.changes.queries import diff_answer
from headwater.plugins.past.answer import PartialPast
from headwater.projection import State
from headwater.projection.live import Batch, Live
from headwater.projection.past import Moment
from packages.headwater.tests.support.entry_strategies import some_entries
from packages.headwater.tests.support.random_runs import RUNS, events_of

pytestmark = pytest.mark.replay

_LEVELS = ("query", "task", "pipeline")


def _bytes(answer: Any) -> bytes:
    return orjson.dumps(answer, default=str, option=orjson.OPT_SORT_KEYS)


def _in_part(past: PartialPast, live: Live, times: tuple[int, int | None], level: Any) -> Any:
    """Return a difference of parts, as the registry computes it."""
    begin, end = times

    def answer(before: State) -> Any:
        with live.reading() as present:
            of_after: Callable[[State], Any] = partial(
                diff_answer, before, level=level, present=present
            )
            return of_after(present) if end is None else past.answer(end, of_after)

    return past.answer(begin, answer)


def _compare(live: Live, times: tuple[int, int | None], *, has_rules: bool = False) -> None:
    """Compare the differences at all levels; rules for names need the whole states."""
    past = PartialPast(live, least=0, share=1.0, whole=0)
    begin, end = times
    for level in _LEVELS:
        moment = None if end is None else Moment(as_of=end)
        with live.reading(Moment(as_of=begin)) as before, live.reading(moment) as after:
            expected = _bytes(diff_answer(before, after, level=level))
        found = _in_part(past, live, times, level)
        if found is None and has_rules:
            continue
        assert _bytes(found) == expected, (level, times)


def _check(entries: list[Entry], at: tuple[int, int | None], folder: Path) -> None:
    for file in folder.glob("log.db*"):
        file.unlink()
    log = EventLog(f"sqlite:///{folder / 'log.db'}")
    try:
        live = Live(log)
        live.ingest(Batch(entries))
        times = sorted({entry.event.time for entry in entries})
        begin = times[at[0] % len(times)]
        end = None if at[1] is None else times[at[1] % len(times)]
        between = (begin, end) if end is None or begin <= end else (end, begin)
        events = (entry.event for entry in entries)
        has_rules = any(isinstance(e, AliasEvent) and e.relation == "rule" for e in events)
        _compare(live, between, has_rules=has_rules)
    finally:
        log.close()


_AT = st.tuples(st.integers(0, 99), st.none() | st.integers(0, 99))
_SETTINGS = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


@_SETTINGS
@given(runs=RUNS, at=_AT)
def test_difference_of_random_runs_equals_that_of_the_whole_states(
    runs: list[dict[str, Any]], at: tuple[int, int | None], build: Any, tmp_path: Path
) -> None:
    _check([build.entry(event) for event in events_of(build, runs)], at, tmp_path)


@_SETTINGS
@given(entries=some_entries(), at=_AT)
def test_difference_of_random_events_equals_that_of_the_whole_states(
    entries: list[Entry], at: tuple[int, int | None], tmp_path: Path
) -> None:
    _check(entries, at, tmp_path)


def test_run_was_below_its_root_until_its_parent_sent_an_event(build: Any, tmp_path: Path) -> None:
    query = build.run("START", "q", "query", "08:00:00", parent=("t", "task"))
    root = {"run": {"runId": "d"}, "job": {"namespace": "demo", "name": "dag"}}
    query["run"]["facets"]["parent"]["root"] = root
    events = [
        build.run("START", "x", "other", "07:00:00"),
        query,
        build.run("ABORT", "d", "dag", "08:00:01"),
        build.run("START", "t", "task", "08:00:02"),
    ]
    _check([build.entry(event) for event in events], (0, 2), tmp_path)


_DAYS, _TASKS = 4, "abcd"
_KINDS = (
    "no run", "failed", "no end", "no outputs", "one input", "other input", "more inputs", "schema",
    "no schema", "other type", "no type", "other parent", "no parent", "symlink", "dropped",
    "overwritten", "truncated", "part", "view", "code", "source", "text", "other text", "long",
    "skipped", "query", "twice", "job event", "dataset event", "late input", "new job",
)  # fmt: skip
_CHANGE = st.tuples(st.integers(0, _DAYS - 1), st.sampled_from(_TASKS), st.sampled_from(_KINDS))


def _daily(build: Any, changes: list[tuple[int, str, str]], nested: str = "") -> list[Any]:
    """Return events of two pipelines on some days, equal but for some changes.

    Runs below the `nested` tasks use their datasets.
    """
    events: list[dict[str, Any]] = []
    for day in range(_DAYS):
        for place, task in enumerate(_TASKS):
            kinds = {kind for at, job, kind in changes if (at, job) == (day, task)}
            later = {kind for at, job, kind in changes if job == task and at > day}
            if "no run" not in kinds and "new job" not in later:
                events += _runs(build, day, place, kinds, is_nested=task in nested)
        for dag in ("d0", "d1"):
            events.append(build.run("COMPLETE", f"{dag}-{day}", f"dag_{dag}", _time(day, 9)))
    return events


def _time(day: int, second: int) -> str:
    return f"{day * 5:02}:00:{second:02}"


def _runs(
    build: Any, day: int, place: int, kinds: set[str], *, is_nested: bool
) -> list[dict[str, Any]]:
    """Return the events of the run of a task on a day."""
    task, dag = _TASKS[place], "d0" if place < 2 else "d1"
    parent = (f"other-{day}", "dag_other")
    if "other parent" not in kinds:
        parent = (f"{dag}-{day}", f"dag_{dag}")
    above = None if "no parent" in kinds else parent
    run, sides = f"{task}-{day}", _sides(place, kinds)
    end = "FAIL" if "failed" in kinds else "RUNNING" if "no end" in kinds else "COMPLETE"
    time = _time(day + ("long" in kinds), place + 1)
    bodies = [build.run("START", run, task, _time(day, place), parent=above)]
    if is_nested or "query" in kinds:
        bodies.append(build.run(end, f"q-{run}", f"{task}.q", time, parent=(run, task), **sides))
        sides = {}
    early = _sides(place, kinds | {"one input"}) if sides and "late input" in kinds else sides
    bodies.append(build.run(end, run, task, time, parent=above, **early))
    if early != sides:
        bodies.append(build.run(end, run, task, _time(day, 20), parent=above, **sides))
    if "twice" in kinds:
        sides = _sides(place, kinds | {"one input"})
        bodies.append(build.run("COMPLETE", f"{run}-again", task, time, parent=above, **sides))
    for body in bodies:
        if not body["job"]["name"].endswith(".q"):
            _add_job_facets(body, day, kinds)
        _add_dataset_facets(body, day, place, kinds)
    return [*bodies, *_other_events(build, day, place, kinds, parent)]


def _sides(place: int, kinds: set[str]) -> dict[str, tuple[str, ...]]:
    """Return the inputs and outputs of a run of a task."""
    reads = ["db|z"] if "other input" in kinds else [f"db|t{place}", "db|core"]
    reads += ["db|z"] if "more inputs" in kinds else []
    reads = reads[:1] if "one input" in kinds else reads
    return {
        "reads": tuple(dict.fromkeys(reads)),
        "writes": () if "no outputs" in kinds else (f"db|t{place + 1}",),
    }


def _add_job_facets(body: dict[str, Any], day: int, kinds: set[str]) -> None:
    facets = body["job"]["facets"]
    if "no type" not in kinds:
        kind = "DAG" if "other type" in kinds else "TASK"
        facets["jobType"] = {"integration": "AIRFLOW", "jobType": kind}
    if "code" in kinds:
        facets["sourceCodeLocation"] = {"type": "git", "url": "u", "version": str(day)}
    if "source" in kinds:
        facets["sourceCode"] = {"language": "python", "sourceCode": str(day)}


def _other_events(
    build: Any, day: int, place: int, kinds: set[str], parent: tuple[str, str]
) -> list[dict[str, Any]]:
    """Return events that are not about the run of a task itself."""
    found, time = [], f"2025-11-21T{_time(day, place + 1)}Z"
    about = {"producer": "https://example.org/tests", "eventTime": time}
    if "skipped" in kinds:
        dag_run = build.run("COMPLETE", *parent, _time(day, 9), kind="AIRFLOW/DAG")
        dag_run["run"]["facets"]["airflowState"] = {"tasksState": {_TASKS[place]: "skipped"}}
        found.append(dag_run)
    if "job event" in kinds:
        job = {"namespace": "demo", "name": _TASKS[place]}
        found.append({**about, "job": job, "inputs": [build.dataset("db|declared")]})
    if "dataset event" in kinds:
        fields = [{"name": f"e{day}"}]
        found.append({**about, "dataset": build.dataset("db|core", schema={"fields": fields})})
    return found


def _add_dataset_facets(body: dict[str, Any], day: int, place: int, kinds: set[str]) -> None:
    for item in (*body["inputs"], *body["outputs"]):
        if "no schema" not in kinds:
            fields = [{"name": "x"}, {"name": f"y{day}" if "schema" in kinds else "y"}]
            item["facets"]["schema"] = {"fields": fields}
        if "symlink" in kinds and item["name"] == f"t{place + 1}":
            link = {"namespace": "postgres://h:1", "name": f"d.s.l{day % 2}", "type": "TABLE"}
            item["facets"]["symlinks"] = {"identifiers": [link]}
    states = {"dropped": "DROP", "truncated": "TRUNCATE", "overwritten": "OVERWRITE"}
    for item in body["outputs"]:
        for kind in kinds & states.keys():
            item["facets"]["lifecycleStateChange"] = {"lifecycleStateChange": states[kind]}
        if "view" in kinds:
            item["facets"]["datasetType"] = {"datasetType": "VIEW"}
        if "part" in kinds:
            partitions = [{"identifier": str(day), "dimensions": {}}]
            condition = {"type": "partition", "partitions": partitions}
            item.setdefault("outputFacets", {})["subset"] = {"outputCondition": condition}
    if kinds & {"text", "other text"}:
        other = "db.unlisted" if "other text" in kinds else f"t{place}"
        query = f"insert into t{place + 1} select x from {other}"
        body["job"]["facets"]["sql"] = {"query": query, "dialect": "duckdb"}


@_SETTINGS
@given(changes=st.lists(_CHANGE, max_size=5), nested=st.sampled_from(("", "ab", "cd")), at=_AT)
def test_difference_of_daily_runs_equals_that_of_the_whole_states(
    changes: list[tuple[int, str, str]],
    nested: str,
    at: tuple[int, int | None],
    build: Any,
    tmp_path: Path,
) -> None:
    events = _daily(build, changes, nested)
    _check([build.entry(event) for event in events], at, tmp_path)


@pytest.mark.parametrize("kind", _KINDS)
def test_difference_with_one_kind_of_change_equals_that_of_the_whole_states(
    build: Any, tmp_path: Path, kind: str
) -> None:
    """Two tasks change on one day, and two others from a day on; each time, one is nested."""
    changes = [(1, "a", kind), (1, "c", kind)]
    changes += [(day, task, kind) for day in (2, 3) for task in "bd"]
    events = _daily(build, changes, nested="cd")
    log = EventLog(f"sqlite:///{tmp_path / 'log.db'}")
    try:
        live = Live(log)
        live.ingest(Batch([build.entry(event) for event in events]))
        days = [to_micros(parse_time(f"2025-11-21T{day * 5 + 4:02}:00:00Z")) for day in range(4)]
        during = [to_micros(parse_time(f"2025-11-21T{_time(2, at)}.5Z")) for at in (2, 15)]
        for pair in zip(days, [*days[1:], None], strict=True):
            _compare(live, pair)
        _compare(live, (during[0], during[1]))
        _compare(live, (during[1], None))
    finally:
        log.close()


@pytest.mark.parametrize("nested", ["", "abcd"])
def test_equal_days_have_no_candidates(build: Any, nested: str) -> None:
    state = build.state(*_daily(build, [], nested))
    begin = min(run.last for run in state.runs.values() if run.key.run_id.endswith("-1"))
    found = _candidates.Candidates(state, begin + 30_000_000, inf)
    found.add_removed()
    found.add_edges()
    assert (found.names, found.jobs, found.derived) == (set(), set(), set())


def test_only_changed_pipelines_are_compared(build: Any) -> None:
    state = build.state(*_daily(build, [(2, "a", "other input")]))
    begin = min(run.last for run in state.runs.values() if run.key.run_id.endswith("-1"))
    found = _candidates.Candidates(state, begin + 30_000_000, inf)
    found.add_removed()
    found.add_edges()
    assert {ref.name for ref in found.jobs} == {"a", "b", "dag_d0"}


def test_difference_needs_the_whole_states_after_a_rule_for_names(
    build: Any, tmp_path: Path
) -> None:
    """A rule joins names that no event of the producers states together."""
    entries = [build.entry(event) for event in _daily(build, [])]
    times = sorted({entry.event.time for entry in entries})
    rule = make_alias(("db", "t%s"), ("db", "z%s"), times[-1], "rule")
    log = EventLog(f"sqlite:///{tmp_path / 'log.db'}")
    try:
        live = Live(log)
        live.ingest(Batch([*entries, rule]))
        past = PartialPast(live, least=0, share=1.0)
        assert _in_part(past, live, (times[-2], None), "task") is None
    finally:
        log.close()
