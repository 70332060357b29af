"""The tables of the index of the past, which can be emptied at any time.

`past_events` has the `seq` of every event that contributes to a key (see `keys`), `past_facts` the
facts of a key with the earliest time of an event that states them. `past_position` has the last
`seq` that the index contains, and the identity of the code and of the deletions for which it is
valid.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from typing import Any

import sqlalchemy as sa

from headwater import deadline
from headwater.errors import EventError, LogError
from headwater.identity import DatasetName, canonical_name
from headwater.log import EventLog, read_logged, schema
from headwater.log.schema import String, Text
from headwater.partial import Key, WholeStateError
from headwater.plugins.past.keys import Fact, number_of, parts_of

_MOST_NEW = 500  # events that are added at once
_LATEST = 2**62  # microseconds
_MOST_VALUES = 500  # of one statement; SQLite allows 999 in old versions
_CODE = ("events", "identity", "projection", "sql")
"""Packages with code that determines keys and facts, besides `keys` and `headwater.partial`."""

metadata = sa.MetaData()
_events = sa.Table(
    "past_events",
    metadata,
    sa.Column("key", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sqlite_with_rowid=False,
)
_facts = sa.Table(
    "past_facts",
    metadata,
    sa.Column("key", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("digest", sa.LargeBinary(16), primary_key=True),
    sa.Column("value", Text, nullable=False),
    sa.Column("event_time", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
_position = sa.Table(
    "past_position",
    metadata,
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("valid_for", String(64), nullable=False),
)


class Index:
    """The index of one log."""

    def __init__(self, log: EventLog) -> None:
        self._log = log

    def position(self) -> int:
        """Return the last `seq` that the index contains; 0 if it is empty or outdated."""
        rows = self._log.fetch(sa.select(_position))
        return int(rows[0].seq) if rows and rows[0].valid_for == self._valid_for() else 0

    def advance(self, most: int) -> int:
        """Add the next events, at most `most`; return their number. Raises LogError.

        Another process may add the same events at the same time.
        """
        before, valid_for = self.position(), self._valid_for()
        seqs: set[tuple[int, int]] = set()
        times: dict[Fact, int] = {}
        count, last = 0, before
        table = schema.events
        query = sa.select(table.c.seq, table.c.kind, table.c.event_time, table.c.body)
        query = query.where(table.c.seq > before).order_by(table.c.seq).limit(most)
        for seq, kind, time, body in self._log.fetch(query):
            count, last = count + 1, seq
            try:
                parts = parts_of(read_logged(kind, body))
            except EventError:  # no state contains a damaged row
                continue
            seqs |= {(number_of(key), seq) for key in parts.keys}
            for fact in parts.facts:
                times[fact] = min(time, times.get(fact, time))
        if count:
            with self._log.writing() as connection:
                self._add(connection, before, valid_for, last, seqs, times)
        return count

    def _add(
        self,
        connection: sa.Connection,
        before: int,
        valid_for: str,
        last: int,
        seqs: set[tuple[int, int]],
        times: dict[Fact, int],
    ) -> None:
        """Add the events and facts of the next events, and move the position to `last`.

        `seqs` has pairs of the number of a key and an event, `times` the earliest time of each
        fact. Nothing is added if the position is no longer `before`; 0 empties the index first.
        """
        if before == 0:
            for table in (_events, _facts):
                connection.execute(sa.delete(table))
        else:
            is_same = (_position.c.seq == before, _position.c.valid_for == valid_for)
            if not connection.execute(sa.select(_position).where(*is_same)).first():
                return  # another process was faster
        insert = _insert_of(connection)
        if seqs:
            rows = [{"key": key, "seq": seq} for key, seq in sorted(seqs)]
            connection.execute(insert(_events).on_conflict_do_nothing(), rows)
        if times:
            new = insert(_facts)
            new = new.on_conflict_do_update(
                index_elements=["key", "digest"],
                set_={"event_time": new.excluded.event_time},
                where=new.excluded.event_time < _facts.c.event_time,
            )
            connection.execute(new, [_row(fact, time) for fact, time in times.items()])
        connection.execute(sa.delete(_position))
        connection.execute(sa.insert(_position).values(seq=last, valid_for=valid_for))

    def seqs(self, keys: Iterable[Key]) -> set[int]:
        """Return the events that contribute to some keys."""
        query = sa.select(_events.c.seq).where(
            _events.c.key.in_(sa.bindparam("keys", expanding=True))
        )
        numbers = map(number_of, keys)
        return {row.seq for some in _portions(numbers) for row in self._log.fetch(query, keys=some)}

    def facts(self, keys: Sequence[Key], as_of: int) -> Iterator[Fact]:
        """Yield the facts of some keys that an event up to a time states."""
        key_of = {number_of(key): key for key in keys}
        query = sa.select(_facts.c.key, _facts.c.value).where(
            _facts.c.key.in_(sa.bindparam("keys", expanding=True)), _facts.c.event_time <= as_of
        )
        for some in _portions(key_of):
            for row in self._log.fetch(query, keys=some):
                yield Fact(key_of[row.key], row.value)

    def names_stated(self, after: float, until: float) -> set[DatasetName]:
        """Return the names in the facts that an event first stated between two times.

        All events are added to the index first.
        """
        try:
            while self.advance(_MOST_NEW):
                deadline.check()
        except LogError:  # such as a full disk; the log can still be read
            raise WholeStateError from None
        begin, end = (int(min(time, _LATEST)) for time in (after, until))
        query = sa.select(_facts.c.value).where(
            _facts.c.event_time > begin, _facts.c.event_time <= end
        )
        return {name for row in self._log.fetch(query) for name in _names_in(row.value)}

    def rows(self, seqs: Iterable[int], as_of: int) -> Iterator[Any]:
        """Yield the rows (seq, kind, body) of events up to a time."""
        table = schema.events
        query = sa.select(table.c.seq, table.c.kind, table.c.body).where(
            table.c.seq.in_(sa.bindparam("seqs", expanding=True)), table.c.event_time <= as_of
        )
        for some in _portions(seqs):
            yield from self._log.fetch(query, seqs=some)

    def has_later(self, after: int, as_of: int) -> bool:
        """Return True if an event up to a time arrived after a `seq`."""
        table = schema.events
        later = (table.c.seq > after, table.c.event_time <= as_of)
        return self._log.value(sa.select(table.c.seq).where(*later).limit(1)) is not None

    def _valid_for(self) -> str:
        """Return the identity of the code and of the deletions: a deleted event states no fact."""
        deleted = (self._log.pruned_until(), self._log.horizon())
        return blake2b(f"{_code_version()} {deleted}".encode(), digest_size=16).hexdigest()


def _names_in(value: str) -> Iterator[DatasetName]:
    """Yield the names of datasets in the value of a fact, and possibly names of jobs."""
    if not value:
        return
    namespace, name, *links = json.loads(value)
    if links and isinstance(links[0], str):  # the kind of node precedes its name
        namespace, name, links = name, links[0], []
    yield canonical_name(namespace, name)
    yield from (canonical_name(*link[:2]) for link in links)


def _row(fact: Fact, time: int) -> dict[str, Any]:
    key = number_of(fact.key)
    return {"key": key, "digest": fact.digest, "value": fact.value, "event_time": time}


def _insert_of(connection: sa.Connection) -> Any:
    """Return the function of the dialect that creates an insert statement."""
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects.postgresql import insert
    else:
        from sqlalchemy.dialects.sqlite import insert  # type: ignore[assignment]
    return insert


def _portions(values: Iterable[int]) -> Iterator[list[int]]:
    found = list(values)
    for start in range(0, len(found), _MOST_VALUES):
        yield found[start : start + _MOST_VALUES]


@cache
def _code_version() -> str:
    """Return the identity of the code, like the format of a snapshot."""
    folders = [files("headwater").joinpath(package) for package in _CODE]
    found = [file for folder in folders for file in folder.iterdir() if file.is_file()]
    digest = blake2b(digest_size=16)
    own = files("headwater").joinpath("partial.py"), files(__package__).joinpath("keys.py")
    for file in (*sorted(found, key=str), *own):
        digest.update(file.read_bytes())
    return digest.hexdigest()
