"""What all harvests have in common: the cursor, what is new, and the way into the store."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO

import orjson

from throughline.collect import Lines
from throughline.errors import LogError
from throughline.harvest.harvester import Cursor, Harvester, Portion
from throughline.harvest.summary import Summary
from throughline.spec import to_micros

Store = Callable[[Lines], tuple[int, int]]
"""Takes events into a server or a log; answers how many were new to it, and how many were not."""

_REMEMBERED = 20_000  # events whose repetition is known without asking the store


@dataclass(slots=True)
class State:
    """How far a source was read for one store, in a file of its own."""

    path: Path
    cursor: Cursor = field(default_factory=dict)
    recent: deque[str] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))

    @classmethod
    def of(cls, folder: Path, source: str, target: str, *, is_anew: bool = False) -> State:
        """What the file says; empty if there is none, or it shall be forgotten. Raises LogError."""
        digest = hashlib.sha256(f"{source}\n{target}".encode()).hexdigest()[:16]
        state = cls(folder / f"{source.partition(':')[0]}-{digest}.json")
        if is_anew:
            return state
        try:
            told = json.loads(state.path.read_bytes())
            state.cursor = told["cursor"]
            state.recent.extend(told["recent"])
        except FileNotFoundError:
            pass
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise LogError(
                f"{state.path}: it does not say how far {source} was read ({error}): delete it, or"
                " read all of it with --anew"
            ) from None
        return state

    def write(self) -> None:
        """Write the file whole or not at all."""
        told = {"cursor": self.cursor, "recent": list(self.recent)}
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self.path.parent, delete=False) as file:
                try:
                    file.write(orjson.dumps(told))
                    file.flush()
                    os.fsync(file.fileno())
                    os.replace(file.name, self.path)
                except BaseException:
                    with suppress(FileNotFoundError):
                        os.unlink(file.name)
                    raise
        except OSError as error:
            raise LogError(f"{self.path}: it cannot be written: {error.strerror}") from None


class Harvest:
    """One harvest: read what is new, count it, and store it now or after a question."""

    def __init__(self, harvester: Harvester, state: State, since: datetime | None = None) -> None:
        self._state = state
        self._known = set(state.recent)
        self._since = to_micros(since) if since else 0
        self._portions = harvester.harvest(state.cursor, since)
        self.summary = Summary()

    def look(self, aside: IO[bytes] | None = None) -> Summary:
        """Count all without storing it; what is new is written `aside`, for `store_from`."""
        for lines, cursor in self._new():
            if aside is not None:
                bodies = [entry.body for entry in lines.entries]
                aside.write(orjson.dumps({"bodies": bodies, "cursor": cursor}) + b"\n")
        return self.summary

    def store_from(self, aside: IO[bytes], store: Store) -> None:
        """Store what was put aside."""
        aside.seek(0)
        for line in aside:
            told = orjson.loads(line)
            lines = Lines()
            for body in told["bodies"]:
                lines.add(body.encode(), "")
            self._store(lines, told["cursor"], store)

    def store(self, store: Store) -> Summary:
        """Store portion by portion: who is stopped goes on after the last one that was taken."""
        for lines, cursor in self._new():
            self._store(lines, cursor, store)
        return self.summary

    def _new(self) -> Iterator[tuple[Lines, Cursor]]:
        """Each portion without what was harvested before."""
        for portion in self._portions:
            yield self._sorted(portion), portion.cursor

    def _sorted(self, portion: Portion) -> Lines:
        lines = Lines()
        self.summary.refuse(portion.lines.refusals)
        for entry in portion.lines.entries:
            if entry.event.time < self._since:
                self.summary.older += 1
                continue
            digest = entry.hash[:16]
            is_new = digest not in self._known
            self.summary.add(entry, is_new=is_new)
            if is_new:
                self._known.add(digest)
                lines.entries.append(entry)
        return lines

    def _store(self, lines: Lines, cursor: Cursor, store: Store) -> None:
        if lines.entries:
            taken, repeated = store(lines)
            self.summary.stored.update(taken=taken, repeated=repeated)
        self._state.recent.extend(entry.hash[:16] for entry in lines.entries)
        self._state.cursor = cursor
        self._state.write()
