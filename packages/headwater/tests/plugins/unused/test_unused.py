"""Unused datasets: their last read, the cost of their writers, and why a reader may be unknown."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.plugins.impact.queries import impact_answer
from headwater.plugins.unused.printing import print_unused
from headwater.plugins.unused.queries import unused_answer
from headwater.projection import State

_NOW = datetime(2026, 11, 27, 6, tzinfo=UTC)


def _at(days: float, minutes: float = 0) -> str:
    """Return a time, in days before now and minutes after this."""
    return (_NOW - timedelta(days=days) + timedelta(minutes=minutes)).isoformat()


def _runs(build: Any, job: str, *days: float, **about: Any) -> list[Any]:
    """Return the events of runs of ten minutes that started some days before now."""
    found = []
    for day in days:
        for type_, minutes in (("START", 0), (about.get("end", "COMPLETE"), 10)):
            named = {key: value for key, value in about.items() if key != "end"}
            event = build.run(type_, f"{job}-{day}", job, "00:00:00", **named)
            found.append({**event, "eventTime": _at(day, minutes)})
    return found


def _state(build: Any, *events: Any) -> State:
    state: State = build.state(*events)
    state.now = int(_NOW.timestamp() * 1e6)
    state.stale_before = state.now - 86_400_000_000
    return state


def _kinds(state: State, name: str, **options: Any) -> list[str] | None:
    """Return the kinds of the reasons about a dataset; None if it is not listed."""
    items = unused_answer(state, **options)["items"]
    found = {item["name"]: [reason["kind"] for reason in item["reasons"]] for item in items}
    return found.get(name)


def _base(build: Any) -> list[Any]:
    """Return a daily load of a table `t` that a report read until 40 days ago."""
    return [
        *_runs(build, "load", 60, 20, 10, reads=("db|src",), writes=("db|t",)),
        *_runs(build, "report", 50, 40, reads=("db|t",), writes=("db|r",)),
        *_runs(build, "board", 50, 5, reads=("db|r",)),
    ]


def test_unused_dataset_has_the_cost_of_its_writers_and_its_last_reader(
    build: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    state = _state(build, *_base(build))
    (item,) = unused_answer(state)["items"]
    assert (item["name"], item["verdict"]) == ("t", "unused")
    assert (item["runCount"], item["runTimeMs"]) == (2, 1_200_000)
    assert item["lastRead"] is not None
    assert item["lastRead"]["job"]["name"] == "report"
    assert item["lastRead"]["runId"] == "report-40"
    assert unused_answer(state, days=45)["items"] == []
    print_unused(unused_answer(state))
    assert "20 min" in capsys.readouterr().out


def test_verdicts_are_counted_with_the_other_filters(
    build: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    view = _runs(build, "show", 20, reads=("db|t",), writes=("db|v",))
    view[-1]["outputs"][0]["facets"] = {"datasetType": {"datasetType": "VIEW"}}
    state = _state(build, *_base(build), *view)

    def counts(**filters: Any) -> tuple[int, int, int]:
        answer = unused_answer(state, **filters)
        found = answer["counts"]
        return answer["total"], found["unused"], found["unknown"]

    total, unused, unknown = counts()
    assert total == unused + unknown > 1
    shown = counts(type_="view")
    assert shown[0] == sum(shown[1:]) == 1
    assert counts(type_="view", verdict="unused")[1:] == shown[1:]
    assert counts(type_="file") == (0, 0, 0)
    print_unused(unused_answer(state, type_="file"))
    assert "unused 0, unknown 0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("add", "kinds"),
    [
        (lambda b: _runs(b, "other", 3, reads=("db|t",), writes=("db|o",)), None),
        (lambda b: _runs(b, "other", 3, reads=("db|t",), end="FAIL"), None),
        (lambda b: _exposed(b), None),
        (lambda b: _declared(b), ["declared"]),
        (
            lambda b: [
                *_runs(b, "dag.load", 2, reads=("db|src",), writes=("db|t",), parent=("d", "dag")),
                *_runs(b, "dag.ship", 2, parent=("d", "dag")),
            ],
            ["no_datasets"],
        ),
        (lambda b: _named_in_text(b), ["sql_text"]),
        (lambda b: _runs(b, "other", 3, reads=("hive://h|t",), writes=("db|o",)), ["other_name"]),
        (lambda b: _dropped(b), None),
    ],
    ids=["read", "failed", "exposed", "declared", "silent task", "text", "name", "dropped"],
)
def test_possible_reader_makes_the_verdict_unknown(
    add: Any, kinds: list[str] | None, build: Any
) -> None:
    assert _kinds(_state(build, *_base(build), *add(build)), "t") == kinds


def _exposed(build: Any) -> list[Any]:
    events = _runs(build, "load", 8, reads=("db|src",))
    exposures = [{"unique_id": "exposure.shop.board", "name": "board"}]
    events[-1]["outputs"] = [build.dataset("db|t", dbt_exposures={"exposures": exposures})]
    return events


def _declared(build: Any) -> list[Any]:
    job = {"namespace": "demo", "name": "monthly"}
    return [{"eventTime": _at(50), "job": job, "inputs": [build.dataset("db|t")], "outputs": []}]


def _named_in_text(build: Any) -> list[Any]:
    events = _runs(build, "scalar", 2, reads=("db|r",), writes=("db|s",))
    for event in events:
        query = "insert into s select r.a, {{ x }} from r where a > (select max(b) from t"
        event["job"]["facets"]["sql"] = {"query": query}
    return events


def _dropped(build: Any) -> list[Any]:
    events = _runs(build, "drop", 2, reads=("db|src",))
    change = {"lifecycleStateChange": "DROP"}
    events[-1]["outputs"] = [build.dataset("db|t", lifecycleStateChange=change)]
    return events


def test_short_or_pruned_log_makes_the_verdict_unknown(build: Any) -> None:
    state = _state(build, *_base(build))
    pruned = int((_NOW - timedelta(days=29)).timestamp() * 1e6)
    assert _kinds(state, "t", stored=pruned) == ["deleted"]
    assert _kinds(state, "t", stored=pruned - 2 * 86_400_000_000) == []
    state = _state(build, *_runs(build, "load", 20, reads=("db|src",), writes=("db|t",)))
    assert _kinds(state, "t") == ["new", "short_log"]


_USES = st.lists(st.sampled_from("abc"), max_size=2, unique=True)
_RUN = st.tuples(st.sampled_from(("j", "k", "l")), st.integers(1, 60), _USES, _USES)


@settings(max_examples=60)
@given(runs=st.lists(_RUN, min_size=1, max_size=8))
def test_listed_datasets_are_those_without_a_reader_in_the_time(
    runs: list[tuple[str, int, list[str], list[str]]], build: Any
) -> None:
    """Compare with the events, and with the jobs that `impact` names as readers."""
    events = [
        event
        for job, day, reads, writes in runs
        for event in _runs(build, job, day, reads=tuple(f"db|{n}" for n in reads),
                           writes=tuple(f"db|{n}" for n in writes))
    ]  # fmt: skip
    state = _state(build, *events)
    answer = unused_answer(state)
    listed = {item["name"]: item for item in answer["items"]}
    # Runs of a job at the same time are one run.
    merged: dict[tuple[str, int], tuple[set[str], set[str]]] = {}
    for job, day, reads, writes in runs:
        uses = merged.setdefault((job, day), (set(), set()))
        uses[0].update(reads)
        uses[1].update(writes)
    written = {name for _, writes in merged.values() for name in writes}
    read = {
        name
        for (_, day), (reads, writes) in merged.items()
        if day <= 30
        for name in reads
        if writes != {name}
    }
    assert set(listed) == written - read
    for name, item in listed.items():
        for node in impact_answer(state, f"dataset:db:{name}")["affected"]:
            if node["type"] == "job" and node["distance"] == 1 and node["run"]:
                job, _, day = node["run"]["runId"].rpartition("-")
                inputs, outputs = merged[job, int(day)]
                assert int(day) > 30 or name not in inputs or outputs == {name}
        if item["verdict"] == "unused":
            days = {at for (_, at), (inputs, _) in merged.items() if inputs}
            assert min(days) <= 30 <= max(days)
