"""Imports store each event once, regardless of batches and interruptions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.collect.lines import Lines
from headwater.errors import LogError
from headwater.events import parse_time
from headwater.plugins.harvest._logs import LogFiles
from headwater.plugins.harvest._run import Harvest, State
from headwater.plugins.harvest.harvester import Cursor, Portion
from headwater.plugins.harvest.printing import print_summary
from headwater.redaction import DEFAULT, Redactor
from packages.headwater.tests.conftest import Build

_PORTIONS = st.lists(st.lists(st.integers(0, 12), max_size=4), max_size=5)


@dataclass
class _Source:
    """A source whose portions are lists of numbers, one event each; the cursor counts portions."""

    portions: list[list[int]]
    source: str = "numbers:here"

    def harvest(
        self, cursor: Cursor, _since: datetime | None, redactor: Redactor
    ) -> Iterator[Portion]:
        """Yield the portions after the cursor."""
        for index in range(cursor.get("at", 0), len(self.portions)):
            lines = Lines(redactor)
            for number in self.portions[index]:
                lines.add(orjson.dumps(_event(number)), "here")
            yield Portion(lines, {"at": index + 1})


def _event(number: int) -> dict[str, Any]:
    return Build.run("COMPLETE", f"r{number}", f"j{number % 3}", f"08:{number:02}:00")


@dataclass
class _Store:
    """Stores events by their run; fails at the nth call."""

    fails_at: int = -1
    runs: list[str] = field(default_factory=list)
    calls: int = 0

    def __call__(self, lines: Lines) -> tuple[int, int]:
        """Store the events; return how many are new and old."""
        self.calls += 1
        if self.calls == self.fails_at:
            raise LogError("gone")
        runs = [json.loads(entry.body)["run"]["runId"] for entry in lines.entries]
        new = [run for run in runs if run not in self.runs]
        self.runs += new
        return len(new), len(runs) - len(new)


def _expected(portions: list[list[int]]) -> list[str]:
    return list(dict.fromkeys(f"r{number}" for portion in portions for number in portion))


def _state(folder: Path) -> State:
    return State.of(folder, "numbers:here", "http://there")


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("harvests")


@settings(max_examples=40)
@given(portions=_PORTIONS, fails_at=st.integers(1, 6))
def test_interrupted_harvest_loses_and_repeats_nothing(
    portions: list[list[int]], fails_at: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("harvests")
    store = _Store(fails_at)
    for _ in range(2):
        try:
            Harvest(_Source(portions), _state(folder), DEFAULT).store(store)
        except LogError:
            continue
        break
    assert store.runs == _expected(portions)
    assert _state(folder).cursor == ({"at": len(portions)} if portions else {})
    rest = Harvest(_Source(portions), _state(folder), DEFAULT).store(store)
    assert (rest.new, store.runs) == (0, _expected(portions))


@settings(max_examples=40)
@given(portions=_PORTIONS)
def test_storing_after_confirmation_equals_storing_at_once(
    portions: list[list[int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    asked, direct = (tmp_path_factory.mktemp("harvests") for _ in range(2))
    later, at_once, buffer = _Store(), _Store(), BytesIO()
    harvest = Harvest(_Source(portions), _state(asked), DEFAULT)
    counted = harvest.count(buffer)
    assert later.runs == []
    assert not list(asked.iterdir())
    harvest.store_from(buffer, later)
    stored = Harvest(_Source(portions), _state(direct), DEFAULT).store(at_once)
    assert later.runs == at_once.runs == _expected(portions)
    assert counted.jobs == stored.jobs
    assert counted.stored == stored.stored
    assert _state(asked).cursor == _state(direct).cursor


def test_overlap_of_the_last_harvest_is_not_new(folder: Path) -> None:
    store = _Store()
    Harvest(_Source([[1, 2]]), _state(folder), DEFAULT).store(store)
    state = _state(folder)
    state.cursor = {}  # as a source that reads the last hour again
    again = Harvest(_Source([[1, 2, 3]]), state, DEFAULT).store(store)
    assert (again.new, sum(job.events for job in again.jobs.values())) == (1, 3)
    assert again.stored == {"taken": 1, "repeated": 0}


def test_events_before_since_are_counted_and_dropped(folder: Path) -> None:
    store = _Store()
    since = parse_time("2025-11-21T08:02:00Z")
    summary = Harvest(_Source([[1, 2, 3]]), _state(folder), DEFAULT, since).store(store)
    assert (summary.older, store.runs) == (1, ["r2", "r3"])


def test_state_belongs_to_one_source_and_store(folder: Path) -> None:
    state = _state(folder)
    state.cursor = {"at": 3}
    state.write()
    assert _state(folder).cursor == {"at": 3}
    assert State.of(folder, "numbers:here", "http://there", is_reset=True).cursor == {}
    assert State.of(folder, "numbers:here", "http://elsewhere").cursor == {}
    assert State.of(folder, "numbers:there", "http://there").cursor == {}
    assert [path.suffix for path in folder.iterdir()] == [".json"]


def test_failed_write_keeps_the_last_state(folder: Path) -> None:
    state = _state(folder)
    state.cursor = {"at": 1}
    state.write()
    state.path.unlink()
    state.path.mkdir()  # a file cannot replace a folder
    with pytest.raises(LogError, match="cannot be written"):
        state.write()
    assert list(folder.iterdir()) == [state.path]
    in_the_way = folder / "file"
    in_the_way.write_text("")
    with pytest.raises(LogError, match="cannot be written"):
        State(in_the_way / "x.json").write()


def test_summary_lists_the_largest_jobs_and_the_first_reasons(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = Lines(DEFAULT)
    for job in range(45):
        for run in range(2 if job == 30 else 1):
            reads = tuple(f"s3://lake|in/{name}" for name in "abcde")
            event = Build.run("COMPLETE", f"{job}-{run}", f"job{job}", "08:00:00", reads=reads)
            lines.add(orjson.dumps(event), "here")
    for number in range(12):
        lines.add(b"{broken", f"line{number}")
    source = _Source([])
    source.harvest = lambda *_: iter([Portion(lines, {})])  # type: ignore[method-assign]
    print_summary(Harvest(source, _state(folder), DEFAULT).count())
    shown = capsys.readouterr()
    rows = [line.split() for line in shown.out.splitlines() if "job" in line[:5]]
    assert rows[1][:3] == ["job30", "2", "a"]
    assert len(rows) == 41  # with the head
    assert "and 2 more" in shown.out
    assert "and 5 more jobs\nevents 46, new 46, rejected 12\n" in shown.out
    assert shown.err.count("expected JSON") == 10
    assert "line0: " in shown.err


@settings(max_examples=40)
@given(cuts=st.lists(st.integers(1, 400), max_size=3), names=st.permutations(["a.log", "b.out"]))
def test_growing_logs_give_every_event_once(
    cuts: list[int], names: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    logs, folder = tmp_path_factory.mktemp("logs"), tmp_path_factory.mktemp("harvests")
    text = "".join(
        f"26/11/21 08:00:00 INFO ConsoleTransport: {json.dumps(_event(number))}\n"
        for number in range(6)
    ).encode()
    store = _Store()
    for end in [*sorted(cuts), len(text)]:
        for name in names:
            with (logs / name).open("ab") as file:
                file.write(text[file.tell() : end])
        Harvest(LogFiles("spark-logs", [logs]), _state(folder), DEFAULT).store(store)
    assert sorted(store.runs) == _expected([list(range(6))])
