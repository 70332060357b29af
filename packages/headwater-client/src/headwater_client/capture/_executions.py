"""Executions of SQL texts: their times, the tables that existed before, and open transactions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from headwater_client.capture._changes import Table
from headwater_client.capture._recorder import Capture, CapturedQuery
from headwater_client.capture._tokens import split


@dataclass
class Transaction:
    """The changes of whole tables in an open transaction, which count once it is committed."""

    is_open: bool = False
    _pending: list[tuple[Capture, CapturedQuery]] = field(default_factory=list)
    _savepoints: dict[str, int] = field(default_factory=dict)

    def add(self, capture: Capture, query: CapturedQuery) -> None:
        """Add a change that is not committed."""
        self._pending.append((capture, query))

    def begin(self) -> None:
        """Start a transaction."""
        self.is_open = True

    def commit(self) -> None:
        """Record the changes."""
        for capture, query in self._pending:
            capture.add_query(query)
        self.roll_back()

    def roll_back(self) -> None:
        """Forget the changes."""
        self.is_open = False
        self._pending, self._savepoints = [], {}

    def save(self, name: str) -> None:
        """Set a savepoint."""
        self._savepoints[name] = len(self._pending)

    def roll_back_to(self, name: str) -> None:
        """Forget the changes after a savepoint."""
        del self._pending[self._savepoints.get(name, 0) :]

    def apply(self, statement: str) -> None:
        """Apply BEGIN, COMMIT or ROLLBACK."""
        effects: dict[str, Callable[[], None]]
        effects = {"BEGIN": self.begin, "COMMIT": self.commit, "ROLLBACK": self.roll_back}
        effects[statement]()


@dataclass
class Execution:
    """One execution of a SQL text."""

    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    ended: datetime | None = None
    """The end; None if it is unknown when the reads end."""
    existing: dict[Table, bool] = field(default_factory=dict)
    """True for each table that existed before, False for one that did not; others are unknown."""
    transaction: Transaction | None = None
    """The open transaction; None if the changes are committed."""

    @property
    def latest_end(self) -> datetime:
        """Return the end, or the present time if it is unknown."""
        return self.ended or datetime.now(UTC)

    def statements(self, sql: str, dialect: str) -> Iterator[tuple[str, Execution]]:
        """Yield the statements of a text, with their executions in order.

        The text has one start and one end, between which the times of its statements are spread.
        """
        texts = split(sql, dialect)
        each = (self.latest_end - self.started) / max(1, len(texts))
        for place, text in enumerate(texts):
            start = self.started + place * each
            yield text, replace(self, started=start, ended=start + each)
