from __future__ import annotations

import os
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import orjson
import pytest

from headwater.collect.lines import split_torn
from headwater.collect.spool import SpoolTail, stuck_files
from headwater.errors import UnstorableError
from headwater.log import EventLog
from headwater.projection.live import Live

pytestmark = pytest.mark.each_database


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    folder = tmp_path / "spool"
    folder.mkdir()
    return folder


def _line(build: Any, run: str) -> bytes:
    return orjson.dumps(build.run("COMPLETE", run, "j", "08:00:00")) + b"\n"


def _append(path: Path, raw: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(raw)


def _runs(live: Live) -> set[str]:
    with live.reading() as state:
        return set(state.runs_by_id)


def test_every_file_of_the_folder_is_read(live: Live, spool: Path, build: Any) -> None:
    _append(spool / "a.jsonl", _line(build, "a1") + b"\n" + _line(build, "a2"))
    _append(spool / "deep/er/b.jsonl", _line(build, "b"))
    _append(spool / "c.txt", _line(build, "c"))
    tail = SpoolTail(live, spool)
    assert tail.poll() > 0
    assert _runs(live) == {"a1", "a2", "b"}
    assert tail.poll() == 0


def test_partial_last_line_waits_for_its_end(live: Live, spool: Path, build: Any) -> None:
    tail, line = SpoolTail(live, spool), _line(build, "whole")
    _append(spool / "a.jsonl", _line(build, "first") + line[:40])
    tail.poll()
    tail.poll()
    assert _runs(live) == {"first"}
    _append(spool / "a.jsonl", line[40:])
    tail.poll()
    assert _runs(live) == {"first", "whole"}
    assert live.log.rejected_lines() == []


def test_new_process_continues_at_the_offset(live: Live, spool: Path, build: Any) -> None:
    _append(spool / "a.jsonl", _line(build, "one"))
    first = SpoolTail(live, spool).poll()
    _append(spool / "a.jsonl", _line(build, "two"))
    again = Live(live.log)
    second = SpoolTail(again, spool).poll()
    assert _runs(again) == {"one", "two"}
    assert first == second == len(_line(build, "one"))


def test_rejected_line_is_stored_and_blocks_nothing(live: Live, spool: Path, build: Any) -> None:
    bad = b'{"eventTime": "soon", "password": "hunter2"}\nnot json\n'
    _append(spool / "a.jsonl", bad + _line(build, "good"))
    SpoolTail(live, spool).poll()
    assert _runs(live) == {"good"}
    first, second = live.log.rejected_lines()
    assert first.source == f"{spool / 'a.jsonl'}@0"
    assert "eventTime: received 'soon', expected an ISO 8601 time" in first.reason
    assert "hunter2" not in first.line
    assert second.line == "not json"


@pytest.mark.parametrize("how", ["truncated", "replaced", "rewritten", "same size"])
def test_replaced_file_is_read_from_its_start(
    how: str, live: Live, spool: Path, build: Any
) -> None:
    file, tail = spool / "a.jsonl", SpoolTail(live, spool)
    _append(file, _line(build, "before-1") + _line(build, "before-2"))
    tail.poll()
    if how == "replaced":
        file.unlink()
        _append(spool / "other", b"")  # so that the inode is not given out again at once
    filler = b"" if how == "truncated" else _line(build, "filler") * 4
    if how == "same size":
        filler = file.read_bytes()[len(_line(build, "after")) : -1] + b"\n"
    file.write_bytes(_line(build, "after") + filler)
    tail.poll()
    assert "after" in _runs(live)


def test_file_rewritten_after_its_first_bytes_is_read_again(
    live: Live, spool: Path, build: Any
) -> None:
    file, tail = spool / "a.jsonl", SpoolTail(live, spool)
    _append(file, _line(build, "first") * 3 + _line(build, "before"))
    tail.poll()
    file.write_bytes(file.read_bytes().replace(b"before", b"behind"))
    SpoolTail(live, spool).poll()
    assert _runs(live) == {"first", "before", "behind"}


def _make(kind: str, path: Path, target: Path) -> None:
    if kind == "link":
        path.symlink_to(target)
    elif kind == "loop":
        path.symlink_to(path.name)
    elif kind == "FIFO":
        os.mkfifo(path)
    else:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.bind(str(path))


@pytest.mark.parametrize("kind", ["link", "loop", "FIFO", "socket"])
def test_only_regular_files_are_read_and_others_are_listed(
    kind: str, live: Live, spool: Path, build: Any, caplog: pytest.LogCaptureFixture
) -> None:
    outside = spool.parent / "outside.jsonl"
    outside.write_bytes(_line(build, "outside"))
    _make(kind, spool / "a.jsonl", outside)
    _append(spool / "b.jsonl", _line(build, "b"))
    tail = SpoolTail(live, spool)
    tail.poll()
    tail.poll()
    assert _runs(live) == {"b"}
    assert tail.lag() == (0, 0)
    ((file, reason),) = tail.stuck
    assert (file, "expected a regular file" in reason) == ("a.jsonl", True)
    assert stuck_files(spool) == tail.stuck
    assert len(caplog.records) == 1
    (spool / "a.jsonl").unlink()
    tail.poll()
    assert tail.stuck == ()


def test_link_replacing_a_listed_file_is_not_followed(live: Live, spool: Path, build: Any) -> None:
    """A producer can replace the file with a link between listing and opening."""
    _append(spool.parent / "outside.jsonl", _line(build, "outside"))
    (spool / "a.jsonl").symlink_to(spool.parent / "outside.jsonl")
    os.mkfifo(spool / "b.jsonl")
    tail = _Unchecked(live, spool)
    tail.poll()
    assert _runs(live) == set()
    assert [file for file, _ in tail.stuck] == ["a.jsonl", "b.jsonl"]


class _Unchecked(SpoolTail):
    """A reader that does not check the type of files first."""

    def _read_file(self, entry: os.DirEntry[str]) -> int:
        return self._drain(entry.path, entry.path)


def test_file_name_that_is_not_utf_8_is_read_once(live: Live, spool: Path, build: Any) -> None:
    name = os.fsdecode(b"a\xff.jsonl")
    _append(spool / name, _line(build, "odd") + b"broken\n")
    _append(spool / "b.jsonl", _line(build, "b"))
    assert SpoolTail(live, spool).poll() > 0
    assert SpoolTail(live, spool).poll() == 0
    assert _runs(live) == {"odd", "b"}
    (refusal,) = live.log.rejected_lines()
    assert "a\\udcff.jsonl@" in refusal.source


def test_error_of_one_file_is_listed_and_blocks_no_other(
    live: Live, spool: Path, build: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        _append(spool / f"{name}.jsonl", _line(build, name))
    real = live.log.append

    def append(entries: Any, offsets: Any, rejected_lines: Any) -> Any:
        if any(offset.path.endswith("a.jsonl") for offset in offsets):
            raise OverflowError("too large")  # raised by a driver, not by SQLAlchemy
        if any(offset.path.endswith("b.jsonl") for offset in offsets):
            raise UnstorableError("cannot write to the database: no such character")
        return real(entries, offsets, rejected_lines)

    tail = SpoolTail(live, spool)
    with monkeypatch.context() as patched:
        patched.setattr(live.log, "append", append)
        tail.poll()
    assert _runs(live) == {"c"}
    assert tail.stuck == (
        ("a.jsonl", "too large"),
        ("b.jsonl", "cannot write to the database: no such character"),
    )
    tail.poll()
    assert _runs(live) == {"a", "b", "c"}
    assert not tail.stuck


def _torn(build: Any) -> bytes:
    """Return the first part of an event, with an umlaut cut in half at its end."""
    facets = {"a": {"run": {"runId": "inner"}, "job": {"namespace": "x", "name": "ü"}}}
    line = orjson.dumps(build.run("START", "torn", "j", "08:00:00", facets=facets))
    return line[: line.index("ü".encode()) + 1]


@pytest.mark.parametrize("count", [1, 2])
def test_events_appended_to_a_torn_line_are_ingested(
    count: int, live: Live, spool: Path, build: Any
) -> None:
    good = b"".join(_line(build, f"good-{number}").rstrip() for number in range(count))
    _append(spool / "a.jsonl", _torn(build) + good + b"\n" + _line(build, "next"))
    SpoolTail(live, spool).poll()
    assert _runs(live) == {*(f"good-{number}" for number in range(count)), "next"}
    (refusal,) = live.log.rejected_lines()
    assert refusal.line == _torn(build).decode(errors="replace")
    lost = f"ingested, the other {len(_torn(build))} bytes are lost"
    assert refusal.reason.startswith("torn line: ")
    assert refusal.reason.endswith(lost)
    assert [orjson.loads(body)["run"]["runId"] for _, body in live.log.read()][0] == "good-0"


@pytest.mark.parametrize(
    "rest", [b"", b'{"eventTime": "never", "run": {}}', b'{"run": {"runId": "r"}}', b'{"a": 1}']
)
def test_torn_line_without_complete_event_is_rejected(
    rest: bytes, live: Live, spool: Path, build: Any
) -> None:
    _append(spool / "a.jsonl", _torn(build) + rest + b"\n")
    SpoolTail(live, spool).poll()
    (refusal,) = live.log.rejected_lines()
    assert refusal.line == (_torn(build) + rest).decode(errors="replace")
    assert _runs(live) == set()


def test_search_in_a_torn_line_is_bounded() -> None:
    starts = b'{"run":[' * 400_000  # each one is decoded until it is nested too deeply
    assert split_torn(b'{"run":"' + b"x" * 2**20 + b'","job":' + starts) == (
        [],
        b'{"run":"' + (b"x" * 2**20) + b'","job":' + starts,
    )
    long = b'{"run":{"job":{"inputs":[' + b"1," * 2**20
    assert split_torn(long * 3)[0] == []


def test_deeply_nested_folders_are_read(live: Live, spool: Path, build: Any) -> None:
    at = os.open(spool, os.O_RDONLY)
    for _ in range(1_100):
        os.mkdir("d", dir_fd=at)
        at, above = os.open("d", os.O_RDONLY, dir_fd=at), at
        os.close(above)
    file = os.open("a.jsonl", os.O_WRONLY | os.O_CREAT, dir_fd=at)
    os.write(file, _line(build, "deep"))
    os.close(file)
    os.close(at)
    try:
        SpoolTail(live, spool).poll()
    finally:  # too deep for pytest to remove
        subprocess.run(["rm", "-r", str(spool / "d")], check=True)
    assert _runs(live) == {"deep"}


def test_line_longer_than_a_chunk_is_read(live: Live, spool: Path, build: Any) -> None:
    _append(spool / "a.jsonl", _line(build, "long") + _line(build, "next"))
    SpoolTail(live, spool, chunk_size=64).poll()
    assert _runs(live) == {"long", "next"}


def test_idle_files_are_removed_without_losing_events(live: Live, spool: Path, build: Any) -> None:
    idle, busy = spool / "idle.jsonl", spool / "busy.jsonl"
    for file in (idle, busy):
        _append(file, _line(build, file.stem))
    _append(spool / "partial.jsonl", b'{"event')
    past = time.time() - 3_601
    for file in (idle, spool / "partial.jsonl"):
        os.utime(file, (past, past))
    tail = SpoolTail(live, spool, remove_after=3_600, grace=0)
    tail.poll()
    aside = spool / "idle.jsonl.drained"
    assert (idle.exists(), aside.exists(), busy.exists()) == (False, True, True)
    _append(aside, _line(build, "late"))  # a producer that had the file open already
    tail.poll()
    assert not aside.exists()
    assert (spool / "partial.jsonl").exists()
    assert _runs(live) == {"idle", "busy", "late"}
    assert set(live.log.offsets()) == {str(busy)}


def test_files_are_kept_by_default(live: Live, spool: Path, build: Any) -> None:
    _append(spool / "a.jsonl", _line(build, "a"))
    os.utime(spool / "a.jsonl", (0, 0))
    tail = SpoolTail(live, spool)
    tail.poll()
    tail.poll()
    assert (spool / "a.jsonl").exists()


def test_offset_is_never_ahead_of_its_events(tmp_path: Path, spool: Path, build: Any) -> None:
    """A crash between the two would lose events: the offset must be in the same transaction."""
    _append(spool / "a.jsonl", _line(build, "a"))
    log = EventLog(str(tmp_path / "log.db"))
    statements: list[str] = []
    from sqlalchemy import event

    @event.listens_for(log._engine, "before_cursor_execute")
    def _note(*arguments: Any) -> None:
        statements.append(str(arguments[2]).split("(")[0].strip())

    SpoolTail(Live(log), spool).poll()
    begins = [i for i, text in enumerate(statements) if text.startswith("BEGIN")]
    commits = [i for i, text in enumerate(statements) if text == "COMMIT"]
    inserts = [i for i, text in enumerate(statements) if text.startswith("INSERT INTO events")]
    moves = [i for i, text in enumerate(statements) if text.startswith("INSERT INTO offsets")]
    assert begins[-1] < inserts[0] < moves[0] < commits[-1]
    assert not [i for i in commits if inserts[0] < i < moves[0]]
    log.close()


def test_unreadable_file_does_not_block_others(
    live: Live, spool: Path, build: Any, caplog: pytest.LogCaptureFixture
) -> None:
    (spool / "a.jsonl").symlink_to("a.jsonl")  # points at itself: even root cannot read it
    _append(spool / "b.jsonl", _line(build, "b"))
    tail = SpoolTail(live, spool)
    tail.poll()
    tail.poll()
    assert _runs(live) == {"b"}
    assert len(caplog.records) == 1


def test_lag_reads_no_byte_of_an_unfinished_line(live: Live, spool: Path) -> None:
    _append(spool / "a.jsonl", b'{"long": "' + b"x" * 10_000_000)
    tail = SpoolTail(live, spool)
    tail.poll()

    def read_by_this_process() -> int:
        lines = Path("/proc/self/io").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("rchar")).split()[1])

    before = read_by_this_process()
    assert tail.lag() == (10_000_010, 10_000_010)
    assert read_by_this_process() - before < 100_000


def test_lag_is_the_number_of_unread_bytes(live: Live, spool: Path, build: Any) -> None:
    tail, line = SpoolTail(live, spool), _line(build, "a")
    assert tail.lag() == (0, 0)
    _append(spool / "a.jsonl", line)
    _append(spool / "deep/b.jsonl", line)
    assert tail.lag() == (2 * len(line), 0)
    tail.poll()
    assert tail.lag() == (0, 0)
    _append(spool / "a.jsonl", line[:-1])
    tail.poll()
    assert tail.lag() == (len(line) - 1, len(line) - 1)
