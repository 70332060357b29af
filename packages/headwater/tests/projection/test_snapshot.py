"""Snapshots: a state from a snapshot equals a state from the whole log."""

from __future__ import annotations

import gzip
import inspect
import os
import pickle
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, func, select, update

import headwater
from headwater.events import JobRef, parse_event
from headwater.log import Entry, EventLog, read_logged, schema
from headwater.projection import State, apply, project
from headwater.projection.live import Batch, Live
from headwater.projection.past import Moment, Past
from headwater.projection.snapshot_writer import Snapshotter
from headwater.projection.snapshots import _table as snapshots
from headwater.projection.snapshots import state as snapshot
from headwater.projection.snapshots._table import Snapshots
from headwater.projection.snapshots.state import restore, save
from headwater.recent import Changes
from headwater.sql.changes import table_change
from packages.headwater.tests.conftest import Call
from packages.headwater.tests.support.budgets import examples
from packages.headwater.tests.support.entry_strategies import canonical, some_entries
from packages.headwater.tests.support.graphs import loads
from packages.headwater.tests.support.servers import Server, until


def _keep(live: Live) -> int:
    with live.reading() as state:
        save(live.log, state, live.newest)
    return live.newest


def _held(log: EventLog) -> set[int]:
    with log.reading() as connection:
        return set(connection.execute(select(schema.snapshots.c.seq)).scalars())


def _check(log: EventLog, entries: list[Entry], chance: Random) -> None:
    """Apply events, some late or repeated, store snapshots in between, and compare all states."""
    live = Live(log)
    for entry in [*entries, *chance.choices(entries, k=len(entries) // 3)]:
        live.ingest(Batch([entry]))
        if chance.random() < 0.4:
            _keep(live)
    held = _held(log)
    again = Live(log)
    assert again.restored == max(held, default=0)
    with live.reading() as state, again.reading() as other:
        assert canonical(other) == canonical(state)
        assert canonical(state) == canonical(project(entry.event for entry in entries))
    table = schema.events
    with log.reading() as connection:
        times = select(table.c.seq, table.c.event_time, table.c.received_at)
        rows = connection.execute(times).all()
    for as_of, known_at in (
        (chance.choice(rows).event_time, None),
        (None, chance.choice(rows).received_at),
        (chance.choice(rows).event_time, chance.choice(rows).received_at),
    ):
        later = [
            row.seq
            for row in rows
            if (as_of is not None and row.event_time > as_of)
            or (known_at is not None and row.received_at > known_at)
        ]
        usable = [seq for seq in held if seq < min(later, default=live.newest + 1)]
        assert restore(log, as_of, known_at)[1] == max(usable, default=0)
        result = Past(log).at(Moment(as_of, known_at), live.newest)
        assert result.is_past
        every = log.rows(as_of=as_of, known_at=known_at)
        expected = project(read_logged(kind, body) for _, kind, _, body in every)
        assert canonical(result) == canonical(expected)


@pytest.mark.replay
@settings(max_examples=examples(60))
@given(some_entries(), st.integers())
def test_snapshot_and_later_events_equal_all_events(entries: list[Entry], seed: int) -> None:
    log = EventLog("sqlite://")
    _check(log, entries, Random(seed))
    log.close()


def test_large_snapshot_is_stored_in_parts(log: EventLog, build: Any) -> None:
    Live(log).ingest(Batch([build.entry(event) for event in loads(build, "a")]))
    data = Random(7).randbytes(17 * 2**20)
    snapshots.Snapshots(log).add(1, "format", data)
    with log.reading() as connection:
        assert connection.execute(select(func.max(schema.snapshots.c.part))).scalar_one() == 2
    assert snapshots.Snapshots(log).data(1) == data


def test_snapshot_does_not_depend_on_query_time(live: Live, build: Any) -> None:
    live.ingest(Batch([build.entry(event) for event in loads(build, "a")]))
    with live.reading() as state:
        canonical(state)
        assert state.derived
        state.is_past = True
    _keep(live)
    state, _ = restore(live.log)
    assert (state.now, state.stale_before, state.is_past) == (0, 0, False)
    assert state.derived == {}
    assert state.changed_runs.since(0) == []


def test_fewer_old_snapshots_are_kept(log: EventLog) -> None:
    for seq in range(1, 101):
        Snapshots(log).add(seq, "f", b"x")
    distances = sorted(100 - seq for seq in _held(log))
    assert len(distances) == 10
    assert (distances[0], distances[-1]) == (0, 99)
    assert all(far <= 2 * near + 2 for near, far in pairwise(distances[:-1]))


def test_new_snapshot_deletes_other_formats(log: EventLog) -> None:
    Snapshots(log).add(1, "old", b"x")
    Snapshots(log).add(2, "new", b"x")
    assert _held(log) == {2}


class _Runs:
    """Pickles to a function call."""

    def __init__(self, *called: Any) -> None:
        self._called = called

    def __reduce__(self) -> tuple[Any, ...]:
        return self._called[0], self._called[1:]


def _zipped(value: Any) -> bytes:
    return gzip.compress(pickle.dumps(value))


def _naming(name: str) -> bytes:
    """Return a pickle that refers to another name in the module of an allowed class."""
    return gzip.compress(f"cheadwater.projection.state\n{name}\n.".encode())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param(lambda _: _zipped(_Runs(os.mkdir, "made")), "posix.mkdir", id="a function"),
        pytest.param(lambda _: _zipped(_Runs(eval, "1")), "builtins.eval", id="a builtin"),
        pytest.param(lambda _: _naming("State.__init__"), "State.__init__", id="an attribute"),
        pytest.param(lambda _: _naming("dataclass"), "state.dataclass", id="an import"),
        pytest.param(lambda _: _zipped(JobRef("n", "j")), "contains a JobRef", id="another class"),
        pytest.param(lambda _: _zipped({"a": 1}), "contains a dict", id="no class"),
        pytest.param(lambda _: gzip.compress(b"not a pickle"), "", id="no pickle"),
        pytest.param(lambda _: b"not zipped", "", id="not zipped"),
        pytest.param(lambda _: b"", "", id="empty"),
        pytest.param(lambda data: data[: len(data) // 2], "", id="half of it"),
        pytest.param(lambda data: data[:-8] + bytes(8), "CRC", id="a wrong checksum"),
    ],
)
def test_invalid_snapshot_is_ignored_and_runs_no_code(
    change: Callable[[bytes], bytes],
    reason: str,
    live: Live,
    build: Any,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    live.ingest(Batch([build.entry(event) for event in loads(build, "a")]))
    forged = change(Snapshots(live.log).data(_keep(live)))
    with live.log.writing() as connection:
        connection.execute(update(schema.snapshots).values(data=forged))
    _starts_anew(live, caplog, reason)
    assert not (tmp_path / "made").exists()


def _starts_anew(live: Live, caplog: pytest.LogCaptureFixture, reason: str) -> None:
    again = Live(live.log)
    assert again.restored == 0
    with live.reading() as state, again.reading() as other:
        assert canonical(other) == canonical(state)
    (result,) = caplog.messages
    assert "the whole log is read" in result
    assert reason in result


def test_snapshot_of_another_version_is_replaced(
    live: Live, build: Any, caplog: pytest.LogCaptureFixture
) -> None:
    live.ingest(Batch([build.entry(event) for event in loads(build, "a")]))
    seq = _keep(live)
    with live.log.writing() as connection:
        connection.execute(update(schema.snapshots).values(format="0"))
    _starts_anew(live, caplog, "another version")
    assert _keep(live) == seq
    assert Live(live.log).restored == seq


def test_repair_deletes_a_wrong_snapshot(live: Live, database: str, build: Any, call: Call) -> None:
    live.ingest(Batch([build.entry(event) for event in loads(build, "a")]))
    save(live.log, State(), live.newest)
    assert call("repair", "--database", database).stdout == "No row is damaged.\n"
    assert _held(live.log) != set()
    assert call("repair", "--yes", "--database", database).returncode == 0
    assert _held(live.log) == set()


def test_format_changes_with_the_code(tmp_path: Path) -> None:
    code = {*snapshot._CLASSES.values(), apply, parse_event, save, table_change}
    code.discard(Changes)  # empty in a snapshot
    files = {Path(inspect.getsourcefile(item) or "") for item in code}
    root = Path(headwater.__file__).parent
    packages = {".".join(file.parent.relative_to(root).parts) for file in files}
    assert packages == set(snapshot._PACKAGES)
    for package in snapshot._PACKAGES:
        folder = package.replace(".", "/")
        shutil.copytree(root / folder, tmp_path / folder, dirs_exist_ok=True)
    result = {snapshot._format()}
    assert {snapshot._format(tmp_path)} == result
    for file in files:
        copy = tmp_path / file.relative_to(root)
        copy.write_bytes(copy.read_bytes() + b"#")
        result.add(snapshot._format.__wrapped__(tmp_path))
    assert len(result) == 1 + len(files)


def test_snapshot_is_due_after_a_tenth_or_when_idle() -> None:
    begun: list[int] = []

    class Noting(Snapshotter):
        def begin(self, environment: object = None) -> None:
            begun.append(self._reached)

    snapshotter = Noting("nowhere", 500)
    for newest in (1_500, 2_499, 10_499, 10_500, 11_499, 11_499, 11_500, 11_500, 200_000, 222_000):
        snapshotter.poll(newest)
    assert begun == [10_500, 11_500, 200_000]
    for newest in (222_223, 224_400, 224_400, 224_494, 224_494):
        snapshotter.poll(newest)
    assert begun == [10_500, 11_500, 200_000, 222_223, 224_494]


@pytest.mark.server
def test_idle_server_stores_a_snapshot_for_the_next_start(
    serve: Callable[..., Server], log: EventLog, database: str, build: Any
) -> None:
    runs = [build.run("COMPLETE", f"{n}", "j", "08:00:00") for n in range(1_000)]
    log.append([build.entry(run) for run in runs])
    first = serve(database)
    until(lambda: _held(log) == {1_000}, seconds=60)
    assert first.stop() == 0
    with log.writing() as connection:  # only the snapshot contains them now
        connection.execute(delete(schema.events))
    assert serve(database).get("/healthz")["runs"] == 1_000


@pytest.mark.server
def test_failed_snapshot_is_logged_once_and_retried(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    snapshotter = Snapshotter(str(tmp_path / "none.db"), 0)
    for newest in (10_000, 20_000):
        snapshotter.poll(newest)
        process = snapshotter._process
        assert process is not None
        process.wait()
        snapshotter.poll(newest)
        assert snapshotter._process is None
    (result,) = caplog.messages
    assert "there is no log in" in result


@pytest.mark.server
def test_stopped_snapshot_writer_leaves_nothing(log: EventLog, database: str, build: Any) -> None:
    log.append([build.entry(build.run("COMPLETE", "r", "j", "08:00:00"))])
    snapshotter = Snapshotter(database, 0)
    snapshotter.poll(10_000)
    process = snapshotter._process
    snapshotter.stop()
    assert process is not None
    assert process.returncode is not None
    assert _held(log) == set()
