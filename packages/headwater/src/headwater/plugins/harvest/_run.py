"""Run a harvester: keep its cursor, drop known events, store the new ones, and count them.

A `Harvest` reads and stores the portions of a `Harvester`. The next harvest continues at the
cursor. A source may repeat events after it, so the hashes of the newest events are kept as well,
and known events are dropped.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO

import orjson

from headwater.collect.lines import Lines
from headwater.collect.store import Store
from headwater.errors import LogError
from headwater.events import DatasetEvent, RunEvent, to_micros
from headwater.log import Entry, RejectedLine
from headwater.plugins.harvest.harvester import Cursor, Harvester, Portion
from headwater.redaction import Redactor

_REASONS = 10
_MOST_RECENT = 20_000  # recent events that are recognized without querying the store


@dataclass(slots=True)
class JobSummary:
    """The events of one job; dataset events have an empty job name. Times in microseconds."""

    events: int = 0
    new: int = 0
    runs: set[str] = field(default_factory=set)
    inputs: set[str] = field(default_factory=set)
    outputs: set[str] = field(default_factory=set)
    first: int = 0
    last: int = 0

    def add(self, entry: Entry, *, is_new: bool) -> None:
        """Count an event."""
        event = entry.event
        self.first = min(self.first or event.time, event.time)
        self.last = max(self.last, event.time)
        self.events += 1
        self.new += is_new
        if isinstance(event, RunEvent):
            self.runs.add(event.run_id)
        if isinstance(event, DatasetEvent):
            self.outputs.add(event.dataset.name)
            return
        self.inputs.update(dataset.name for dataset in getattr(event, "inputs", ()))
        self.outputs.update(dataset.name for dataset in getattr(event, "outputs", ()))


@dataclass(slots=True)
class Summary:
    """Counts of a harvest; the size depends on jobs, runs and datasets, not on events."""

    jobs: dict[tuple[str, str], JobSummary] = field(default_factory=dict)
    refused: int = 0
    older: int = 0
    """Events before the requested start time, which were dropped."""
    reasons: list[str] = field(default_factory=list)
    stored: Counter[str] = field(default_factory=Counter)

    @property
    def new(self) -> int:
        """The number of events that were not imported before."""
        return sum(job.new for job in self.jobs.values())

    def add(self, entry: Entry, *, is_new: bool) -> None:
        """Count an event with its job."""
        job = getattr(entry.event, "job", None) or ("", "")
        self.jobs.setdefault((job[0], job[1]), JobSummary()).add(entry, is_new=is_new)

    def refuse(self, rejected_lines: list[RejectedLine]) -> None:
        """Count rejected lines; keep the first reasons."""
        self.refused += len(rejected_lines)
        room = _REASONS - len(self.reasons)
        self.reasons += [f"{line.source}: {line.reason}" for line in rejected_lines[:room]]


@dataclass(slots=True)
class State:
    """The cursor of a source for one store, saved in its own file."""

    path: Path
    cursor: Cursor = field(default_factory=dict)
    recent: deque[str] = field(default_factory=lambda: deque(maxlen=_MOST_RECENT))

    @classmethod
    def of(cls, folder: Path, source: str, target: str, *, is_reset: bool = False) -> State:
        """Load the state; empty if there is no file or `is_reset`. Raises LogError.

        `source` is the identity of the harvester, and `target` the server or log to store in. Each
        pair has its own file in `folder`.
        """
        digest = hashlib.sha256(f"{source}\n{target}".encode()).hexdigest()[:16]
        state = cls(folder / f"{source.partition(':')[0]}-{digest}.json")
        if is_reset:
            return state
        try:
            content = json.loads(state.path.read_bytes())
            state.cursor = content["cursor"]
            state.recent.extend(content["recent"])
        except FileNotFoundError:
            pass
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise LogError(
                f"{state.path}: the cursor of {source} cannot be read ({error}): delete the file,"
                " or read everything with --from-start"
            ) from None
        return state

    def write(self) -> None:
        """Write the file atomically.

        A crash leaves the old file. Raises LogError.
        """
        content = orjson.dumps({"cursor": self.cursor, "recent": list(self.recent)})
        temporary = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self.path)
        except OSError as error:
            raise LogError(f"{self.path}: cannot be written: {error.strerror}") from None
        finally:
            with suppress(OSError):
                temporary.unlink()


class Harvest:
    """One harvest: read the new events, count them, and store them now or after confirmation.

    Use either `store`, or `count` and then `store_from`. `since` drops older events, also for later
    harvests.
    """

    def __init__(
        self,
        harvester: Harvester,
        state: State,
        redactor: Redactor,
        since: datetime | None = None,
    ) -> None:
        """Start a harvest at the position in `state`, whose recent events are left out."""
        self._state = state
        self._redactor = redactor
        self._recent_hashes = set(state.recent)
        self._since = to_micros(since) if since else 0
        self._portions = harvester.harvest(state.cursor, since, redactor)
        self.summary = Summary()

    def count(self, buffer: IO[bytes] | None = None) -> Summary:
        """Count all events without storing them; write new ones to `buffer`, for `store_from`."""
        for lines, cursor in self._new_portions():
            if buffer is not None:
                bodies = [entry.body for entry in lines.entries]
                buffer.write(orjson.dumps({"bodies": bodies, "cursor": cursor}) + b"\n")
        return self.summary

    def store_from(self, buffer: IO[bytes], store: Store) -> None:
        """Store the events of `buffer`, the file that `count` wrote."""
        buffer.seek(0)
        for line in buffer:
            portion = orjson.loads(line)
            lines = Lines(self._redactor)
            for body in portion["bodies"]:
                lines.add(body.encode(), "")
            self._store(lines, portion["cursor"], store)

    def store(self, store: Store) -> Summary:
        """Store portion by portion; an interrupted harvest continues after the last one."""
        for lines, cursor in self._new_portions():
            self._store(lines, cursor, store)
        return self.summary

    def _new_portions(self) -> Iterator[tuple[Lines, Cursor]]:
        """Yield each portion without the events imported before."""
        for portion in self._portions:
            yield self._new_lines(portion), portion.cursor

    def _new_lines(self, portion: Portion) -> Lines:
        """Return the lines of a portion with only its new events; count all of them."""
        lines = Lines(self._redactor)
        self.summary.refuse(portion.lines.rejected_lines)
        for entry in portion.lines.entries:
            if entry.event.time < self._since:
                self.summary.older += 1
                continue
            digest = entry.hash[:16]
            is_new = digest not in self._recent_hashes
            self.summary.add(entry, is_new=is_new)
            if is_new:
                self._recent_hashes.add(digest)
                lines.entries.append(entry)
        return lines

    def _store(self, lines: Lines, cursor: Cursor, store: Store) -> None:
        """Store the events of a portion, then its cursor: a crash in between repeats them."""
        if lines.entries:
            stored, duplicates = store(lines)
            self.summary.stored.update(taken=stored, repeated=duplicates)
        self._state.recent.extend(entry.hash[:16] for entry in lines.entries)
        self._state.cursor = cursor
        self._state.write()
