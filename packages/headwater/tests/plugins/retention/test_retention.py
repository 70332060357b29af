"""Retention: old events are deleted, and no answer about the kept time changes."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.datasets.schemas import drift
from headwater.errors import ConfigError, LogError
from headwater.identity import DatasetName
from headwater.log import Entry, EventLog, read_logged
from headwater.plugins.delivery._store import Deliveries
from headwater.plugins.retention.prune import NEWEST, Plan, plan, prune
from headwater.plugins.retention.pruner import Pruner, workers
from headwater.projection.live import Batch, Live
from headwater.projection.past import Moment
from headwater.settings import Settings
from packages.headwater.tests.conftest import Call
from packages.headwater.tests.support.budgets import examples
from packages.headwater.tests.support.entry_strategies import some_entries
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


def _count(log: EventLog) -> int:
    return sum(1 for _ in log.rows())


def _plan(log: EventLog, cutoff: int = BASE + DAY) -> Plan:
    """Return a plan that keeps only the newest run tree of each job for freshness."""
    return plan(log, cutoff, newest=1)


@pytest.mark.replay
@settings(max_examples=examples(25))
@given(
    entries=history(),
    others=some_entries(),
    second=st.integers(1, 60),
    late=st.sets(st.integers(0, 60), max_size=3),
)
def test_answers_since_the_cutoff_are_unchanged(
    entries: list[Entry], others: list[Entry], second: int, late: set[int]
) -> None:
    cutoff = BASE + second * SECOND
    log = EventLog("sqlite://")
    log.append([*entries, *others[:3]])
    set_arrival(log, BASE)
    set_arrival(log, BASE + DAY, *(e.hash for i, e in enumerate(entries) if i in late))
    live = Live(log)
    moments = [None, Moment(cutoff), Moment(cutoff, cutoff), Moment(None, cutoff)]
    before = [answers_now(live, moment) for moment in moments]
    alerts = [alerts_now(live, moment) for moment in moments]
    violated = [violated_rules(live, moment) for moment in moments]
    prune(log, _plan(log, cutoff))
    pruned = Live(log)
    assert [answers_now(pruned, moment) for moment in moments] == before
    assert [violated_rules(pruned, moment) for moment in moments] == violated
    later = [alerts_now(pruned, moment) for moment in moments]
    assert all(new <= old for new, old in zip(later, alerts, strict=True))
    log.close()


def test_prune_keeps_the_failure_of_a_job_that_completed_below_another(
    log: EventLog, build: Any
) -> None:
    parent = {"parent": {"run": {"runId": "dag"}, "job": {"namespace": "demo", "name": "dag"}}}
    states = ("COMPLETE", "COMPLETE", "FAIL")
    events = [build.run(state, str(n), "load", f"08:0{n}:00") for n, state in enumerate(states)]
    events.append(build.run("COMPLETE", "3", "load", "08:03:00", writes=("db|t",), facets=parent))
    live = Live(log)
    live.ingest(Batch([build.entry(event) for event in events]))
    set_arrival(log, BASE)
    assert violated_rules(live) == [{"no_failed_runs"}]
    prune(log, _plan(log))
    pruned = Live(log)
    with pruned.reading() as state:
        kept = {run.key.run_id for run in state.runs.values() if run.has_events}
        assert kept == {"0", "2", "3"}  # run 0 shows since when the job exists
    assert violated_rules(pruned) == [{"no_failed_runs"}]


def test_prune_keeps_schema_changes_and_the_schemas_next_to_them(log: EventLog, build: Any) -> None:
    def load(minute: int) -> Any:
        event = build.run("COMPLETE", f"load-{minute}", "load", f"08:{minute:02}:00")
        fields = [{"name": "a", "type": "int"}, {"name": "b", "type": "int"}]
        schema = {"fields": fields[: 1 + (minute // 10) % 2]}
        return event | {"outputs": [build.dataset("db|t", schema=schema)]}

    live = Live(log)
    live.ingest(Batch([build.entry(load(minute)) for minute in range(50)]))
    set_arrival(log, BASE)
    before = answers_now(live)
    with live.reading() as state:
        assert len(drift(state, DatasetName("db", "t"))) == 4
    found = _plan(log)
    assert len(found.runs) == 40  # two at each change, the first and the last stay
    prune(log, found)
    assert answers_now(Live(log)) == before


def _nights(build: Any, count: int) -> list[dict[str, Any]]:
    """Return nightly loads of `a` into `b`, each by a task below a DAG run."""
    found = []
    for n in range(count):
        time = f"08:{n:02}:00"
        top = (f"dag-{n}", "dag")
        found += [
            build.run("START", f"dag-{n}", "dag", time, kind="AIRFLOW/DAG"),
            build.run("COMPLETE", f"load-{n}", "dag.load", time, reads=("db|a",), writes=("db|b",),
                      parent=top, kind="AIRFLOW/TASK"),
            build.run("COMPLETE", f"dag-{n}", "dag", f"08:{n:02}:30", kind="AIRFLOW/DAG"),
        ]  # fmt: skip
    return found


def _load(log: EventLog, build: Any, count: int = 20) -> Live:
    live = Live(log)
    live.ingest(Batch([build.entry(body) for body in _nights(build, count)]))
    set_arrival(log, BASE)
    return live


@pytest.mark.each_database
def test_superseded_runs_are_deleted_as_whole_trees(log: EventLog, build: Any) -> None:
    live = _load(log, build)
    before = answers_now(live)
    found = _plan(log)
    assert len(found.seqs) == 3 * 18  # the first and the last night stay
    prune(log, found)
    assert _count(log) == 6
    assert answers_now(Live(log)) == before
    assert _plan(log).seqs == ()
    live.reload()
    assert answers_now(live) == before
    assert live.counts.runs == 4


@pytest.mark.parametrize("kind", ["DROP", "TRUNCATE", "RENAME"])
def test_removals_that_lineage_depends_on_stay(kind: str, log: EventLog, build: Any) -> None:
    def change(minute: int) -> Any:
        event = build.run("COMPLETE", f"change-{minute}", "change", f"08:{minute:02}:00")
        former = {"namespace": "db", "name": f"t{minute}"}
        facet = {"lifecycleStateChange": kind, "previousIdentifier": former}
        return event | {"outputs": [build.dataset("db|t", lifecycleStateChange=facet)]}

    def copy(minute: int, job: str, source: str, target: str) -> Any:
        reads, writes = (f"db|{source}",), (f"db|{target}",)
        time = f"08:{minute:02}:00"
        return build.run("COMPLETE", f"{job}-{minute}", job, time, reads=reads, writes=writes)

    live = Live(log)
    events = [
        change(1),
        copy(2, "old_load", "a", "t"),
        change(5),  # neither the first nor the last, but `report` reads no earlier rows
        copy(6, "load", "b", "t"),
        copy(10, "report", "t", "r"),
        change(20),
        copy(21, "load", "b", "t"),
        change(30),
        change(40),
    ]
    live.ingest(Batch([build.entry(event) for event in events]))
    set_arrival(log, BASE)
    before = answers_now(live)
    prune(log, _plan(log))
    assert answers_now(Live(log)) == before
    kept = {read_logged(kind, body).hash for _, kind, _, body in log.rows()}
    assert (build.entry(change(30)).hash in kept) == (kind == "RENAME")  # with its former name


def test_newest_runs_of_a_job_stay_for_freshness(log: EventLog, build: Any) -> None:
    _load(log, build, 40)
    assert len(plan(log, BASE + DAY).seqs) == 3 * (40 - NEWEST - 1)


def test_past_before_the_cutoff_is_reported_as_deleted(log: EventLog, build: Any) -> None:
    live = _load(log, build)
    cutoff = BASE + 600 * SECOND
    early = Moment(cutoff - 1)
    assert answers_now(live, early)
    prune(log, _plan(log, cutoff))
    for moment in (early, Moment(None, cutoff - 1)):
        with pytest.raises(ConfigError, match="events before 2025-11-21T08:10:00Z were deleted"):
            answers_now(live, moment)
    assert answers_now(Live(log), Moment(cutoff))


def test_resent_deleted_event_is_stored_again_and_changes_nothing(
    log: EventLog, build: Any
) -> None:
    live = _load(log, build)
    prune(log, _plan(log))
    live.reload()
    before = answers_now(live)
    old = build.entry(_nights(build, 20)[4])
    assert live.ingest(Batch([old])).stored == 1
    assert live.ingest(Batch([old])).duplicates == 1
    assert answers_now(live) == before
    set_arrival(log, BASE)
    live.ingest(Batch([build.entry(_nights(build, 21)[-1])]))
    assert len(_plan(log).seqs) == 1


def test_undelivered_events_and_dead_letters_stay(log: EventLog, build: Any) -> None:
    _load(log, build)
    deliveries = Deliveries(log, "marquez")
    deliveries.cursor()
    assert _plan(log).seqs == ()
    deliveries.advance(10, "it is invalid")
    deliveries.advance(45)
    seqs = _plan(log).seqs
    assert seqs == tuple(seq for seq in range(4, 46) if seq not in (10, 11, 12))


def test_events_that_arrived_lately_stay(log: EventLog, build: Any) -> None:
    _load(log, build)
    body = _nights(build, 20)[10]
    set_arrival(log, BASE + 2 * DAY, build.entry(body).hash)
    assert not {10, 11, 12} & set(_plan(log).seqs)


def test_event_of_an_old_run_during_the_prune_stops_it(log: EventLog, build: Any) -> None:
    live = _load(log, build)
    found = _plan(log)
    live.ingest(Batch([build.entry(build.run("COMPLETE", "load-5", "dag.load", "09:00:00"))]))
    with pytest.raises(LogError, match="try again"):
        prune(log, found)
    assert _count(log) == 61


def test_changed_graph_stops_the_prune(log: EventLog, build: Any) -> None:
    _load(log, build)
    found = _plan(log)
    wrong = type(found)(found.cutoff, tuple(range(1, 61)), found.runs, found.newest)
    with pytest.raises(LogError, match="the graph would change"):
        prune(log, wrong)
    assert _count(log) == 60


def test_new_events_are_visible_after_the_prune(log: EventLog, build: Any) -> None:
    live = _load(log, build)
    prune(log, _plan(log))
    event = build.run("COMPLETE", "x", "other", "09:00:00", writes=("db|new",))
    assert live.ingest(Batch([build.entry(event)])).stored == 1
    with live.reading() as state:
        assert ("db", "new") in state.datasets
    live.reload()
    with live.reading() as state:
        assert ("db", "new") in state.datasets


def test_command_counts_first_and_deletes_on_request(
    log: EventLog, database: str, call: Call, build: Any
) -> None:
    _load(log, build, NEWEST + 19)
    arguments = ("prune", "--keep", "1d", "--database", database)
    counted = call(*arguments)
    assert (counted.returncode, _count(log)) == (0, 150)
    assert counted.stdout.startswith("54 events of 36 runs before ")
    assert "nothing was changed: add --yes" in counted.stdout
    deleted = json.loads(call(*arguments, "--yes", "--json").stdout)
    assert (deleted["isDeleted"], deleted["events"], _count(log)) == (True, 54, 96)
    assert call("prune", "--database", database).returncode == 2
    assert call("prune", "--keep", "soon", "--database", database).returncode == 2


@pytest.mark.server
def test_pruner_deletes_in_a_process_and_reloads(log: EventLog, database: str, build: Any) -> None:
    live = _load(log, build, 40)
    pruner = Pruner(database, timedelta(days=30), live.reload)
    pruner.poll()
    process = pruner._process
    assert process is not None
    process.wait()
    pruner.poll()
    assert pruner._process is None  # the next one is due in a day
    assert live.counts.runs == 64
    assert _count(log) == 96
    pruner.poll()
    assert pruner._process is None


def test_server_without_keep_prunes_nothing(live: Live) -> None:
    assert workers(Settings(keep=None))(live) == []
    (pruner,) = workers(Settings(keep=timedelta(days=30)))(live)
    pruner.start()
    pruner.stop()  # before the first process starts
    assert pruner._process is None


_PRUNE_AND_WAIT = """
import sys, time
from headwater.log import EventLog
from headwater.plugins.retention.prune import plan, prune

def wait(*_):
    print("deleted, not committed", flush=True)
    time.sleep(60)

EventLog.set_pruned_until = wait
log = EventLog(sys.argv[1], must_exist=True)
prune(log, plan(log, int(sys.argv[2]), newest=1))
"""


@pytest.mark.server
@pytest.mark.each_database
def test_killed_prune_changes_nothing_and_the_next_one_finishes(
    log: EventLog, database: str, build: Any
) -> None:
    live = _load(log, build)
    before = answers_now(live)
    command = (sys.executable, "-c", _PRUNE_AND_WAIT, database, str(BASE + DAY))
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"deleted, not committed\n"
        process.kill()  # SIGKILL
    assert _count(log) == 60
    assert answers_now(Live(log)) == before
    prune(log, _plan(log))
    assert _count(log) == 6
    assert answers_now(Live(log)) == before
