"""Retention with a horizon: answers that become shorter report it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.lineage.queries import edges_answer
from headwater.log import Entry, EventLog
from headwater.plugins.provenance.queries import provenance_answer
from headwater.plugins.retention.prune import plan, prune
from headwater.plugins.trust.gate import gate_answer
from headwater.projection.live import Batch, Live
from headwater.projection.past import Moment
from packages.headwater.tests.support.budgets import examples
from packages.headwater.tests.support.retention_logs import (
    BASE,
    DAY,
    SECOND,
    alerts_now,
    answers_now,
    history,
    set_arrival,
    violated_rules,
)


def _incremental(build: Any, days: int, kind: str = "reads its table") -> list[Any]:
    """Return daily loads of a new file into a table; each also reads the table, or adds rows."""
    loads = [
        build.run("COMPLETE", f"load-{day}", "load", f"08:{day:02}:30",
                  reads=("db|staging", "db|t"), writes=("db|t",))
        for day in range(days)
    ]  # fmt: skip
    for load in loads if kind == "inserts" else ():
        text = "insert into t (x) select x from staging"
        load["job"]["facets"]["sql"] = {"query": text, "dialect": "postgres"}
        load["inputs"].pop()
    return loads + [
        build.run("COMPLETE", f"stage-{day}", "stage", f"08:{day:02}:00",
                  reads=("file|/a",), writes=("db|staging",))
        for day in range(days)
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["reads its table", "inserts"])
def test_runs_before_the_horizon_are_deleted_and_answers_report_it(
    kind: str, log: EventLog, build: Any
) -> None:
    live = Live(log)
    live.ingest(Batch([build.entry(event) for event in _incremental(build, 30, kind)]))
    set_arrival(log, BASE)
    live.reload()
    at = BASE + 20 * 60 * SECOND
    assert len(plan(log, BASE + DAY, newest=1).runs) < 3  # each load depends on the one before
    found = plan(log, BASE + DAY, newest=1, horizon=at)
    assert len(found.runs) > 30
    with live.reading() as state:
        edges = edges_answer(state, "task", "data")
        assert provenance_answer(state, "dataset:db:t")["deletedSources"] is None
        assert gate_answer(state, ["dataset:db:t"])["passed"]
    prune(log, found)
    live.reload()
    for moment in (None, Moment(BASE + DAY)):
        with live.reading(moment) as state:
            assert edges_answer(state, "task", "data") == edges
            answer = provenance_answer(state, "dataset:db:t")
            assert len(answer["runs"]) < 30
            assert answer["deletedSources"] is not None
            assert answer["deletedSources"]["before"] == "2025-11-21T08:20:00Z"
            assert provenance_answer(state, "dataset:db:staging")["deletedSources"] is None
            (gated,) = gate_answer(state, ["dataset:db:t"])["datasets"]
            assert [violation["kind"] for violation in gated["violations"]] == ["deleted_sources"]
            policy = '{"allow_deleted_sources": true}'
            assert gate_answer(state, ["dataset:db:t"], policy)["passed"]


def test_horizon_keeps_a_run_that_replaced_data_of_a_run_that_stays(
    log: EventLog, build: Any
) -> None:
    kept_rows = {"icebergCommitReport": {"commitMetrics": {"addedRecords": 1, "totalRecords": 9}}}
    append = build.run("RUNNING", "2", "other", "08:00:02", writes=("db|t",))
    append["outputs"][0]["outputFacets"] = kept_rows
    events = [
        # The first and last run that reads `former` stays, and run 1 replaced its data.
        build.run("RUNNING", "0", "load", "08:00:00", reads=("db|former",), writes=("db|t",)),
        build.run("COMPLETE", "1", "load", "08:00:01", writes=("db|t",)),
        append,
        build.run("COMPLETE", "3", "load", "08:00:03", writes=("db|t",)),
        build.run("COMPLETE", "4", "load", "08:00:04", writes=("db|t",)),
    ]
    live = Live(log)
    live.ingest(Batch([build.entry(event) for event in events]))
    set_arrival(log, BASE)
    before = answers_now(live)
    prune(log, plan(log, BASE + DAY, newest=1, horizon=BASE + DAY))
    assert answers_now(Live(log)) == before


def test_horizon_keeps_the_sources_of_older_rows_whose_load_stays(
    log: EventLog, build: Any
) -> None:
    events = [
        build.run("COMPLETE", "1", "copy", "08:00:01", reads=("db|former",), writes=("db|k",)),
        build.run("COMPLETE", "2", "copy", "08:00:02", writes=("db|k",)),
        # The only run that reads `k` stays, and it read what run 2 wrote, not run 1.
        build.run("COMPLETE", "3", "load", "08:00:03", reads=("db|k", "db|t"), writes=("db|t",)),
    ]
    for n in range(10, 40):
        time = f"08:{n}:00"
        load = build.run("COMPLETE", f"l{n}", "load", time, reads=("db|t",), writes=("db|t",))
        events += [load, build.run("COMPLETE", f"c{n}", "copy", time, writes=("db|k",))]
    live = Live(log)
    live.ingest(Batch([build.entry(event) for event in events]))
    set_arrival(log, BASE)
    before = answers_now(live)["trees"]
    found = plan(log, BASE + DAY, newest=1, horizon=BASE + DAY)
    assert len(found.runs) > 40
    prune(log, found)
    assert answers_now(Live(log))["trees"] == before


def test_horizon_keeps_a_run_that_replaced_rows_of_a_kept_run(log: EventLog, build: Any) -> None:
    append = build.run("COMPLETE", "3", "load", "08:00:03", writes=("db|t",))
    report = {"icebergCommitReport": {"commitMetrics": {"addedRecords": 1, "totalRecords": 9}}}
    append["outputs"][0]["outputFacets"] = report
    events = [
        # Run 1 is kept as the writer of `k`, which run 5 tried to update; run 2 replaced its `t`.
        build.run("COMPLETE", "1", "load", "08:00:01", reads=("db|t",), writes=("db|t", "db|k")),
        build.run("COMPLETE", "2", "load", "08:00:02", writes=("db|t",)),
        append,
        build.run("COMPLETE", "4", "load", "08:00:04", reads=("db|t",), writes=("db|u",)),
        build.run("FAIL", "5", "load", "08:00:05", reads=("db|k",), writes=("db|k",)),
    ]
    live = Live(log)
    live.ingest(Batch([build.entry(event) for event in events]))
    set_arrival(log, BASE)
    before = answers_now(live)["trees"]
    prune(log, plan(log, BASE + DAY, newest=1, horizon=BASE + DAY))
    assert answers_now(Live(log))["trees"] == before


def _edges(tree: Any, above: str = "") -> dict[tuple[str, str], str]:
    """Return the edges of a tree, each with the first time that it was seen.

    The runs may differ: where a horizon deleted a run that added rows to its own table, an older
    one of the same job that did so too takes its place, and subtrees of the two can be repeated.
    """
    found: dict[tuple[str, str], str] = {}
    for node in filter(None, (tree.get("up"), tree.get("down"), *tree.get("children", ()))):
        found |= {(above, node["id"]): (node.get("seen") or {}).get("first") or ""}
        found |= _edges(node, node["id"])
    return found


@pytest.mark.replay
@settings(max_examples=examples(25))
@given(entries=history(), second=st.integers(1, 60), before=st.integers(0, 60))
def test_answers_shortened_by_a_horizon_are_marked(
    entries: list[Entry], second: int, before: int
) -> None:
    log = EventLog("sqlite://")
    log.append(entries)
    set_arrival(log, BASE)
    moments = [None, Moment(BASE + second * SECOND)]
    kept = Live(log)
    earlier = [
        (answers_now(kept, m), alerts_now(kept, m), violated_rules(kept, m)) for m in moments
    ]
    horizon = BASE + min(second, before) * SECOND
    prune(log, plan(log, BASE + second * SECOND, newest=1, horizon=horizon))
    pruned = Live(log)
    for moment, (answers, alerts, violated) in zip(moments, earlier, strict=True):
        assert alerts_now(pruned, moment) <= alerts
        for old_rules, rules in zip(violated, violated_rules(pruned, moment), strict=True):
            assert rules == old_rules or "deleted_sources" in rules
        later = answers_now(pruned, moment)
        for old, new in zip(answers.pop("provenance"), later.pop("provenance"), strict=True):
            assert new["deletedSources"] or new == old
        for old, new in zip(answers.pop("trees"), later.pop("trees"), strict=True):
            edges, edges_now = _edges(old), _edges(new)
            assert edges.keys() == edges_now.keys()
            assert all(edges[edge] <= edges_now[edge] for edge in edges)
        assert later == answers
    log.close()
