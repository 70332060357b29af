"""Keep the log and its projection in sync: one writer, any number of readers.

A caller submits a batch of events and gets a future. One thread appends all waiting batches in one
transaction, passes the new events to the readers and resolves the futures. Acknowledged events are
therefore durable, and every later query reads them. No batch waits for a running query (see
headwater.projection._readers). Events appended by another process are read with the next append or
by `follow`.

`seq` is the number that the log gives an event on arrival. A *snapshot* is a stored projection of
all events up to a `seq`.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial

from headwater import deadline
from headwater.errors import ConfigError, EventError, LogError, UnstorableError
from headwater.events import Logged, shown_time
from headwater.log import Appended, Entry, EventLog, Offset, RejectedLine, read_logged
from headwater.projection._apply import apply
from headwater.projection._readers import Change, Counts, Readers
from headwater.projection.past import Moment, Past
from headwater.projection.snapshots.state import gc_paused, restore
from headwater.projection.state import State

log = logging.getLogger(__name__)

DAY_SECONDS = 86_400.0

_MOST_BATCHES = 256


@dataclass(frozen=True, slots=True)
class Batch:
    """Events to ingest, with rejected lines and the new offset of a spool file."""

    entries: Sequence[Entry] = ()
    rejected_lines: Sequence[RejectedLine] = ()
    offset: Offset | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """The number of new and of already stored events of a batch."""

    stored: int
    duplicates: int


@dataclass(slots=True)
class Totals:
    """The number of events and rejected lines that this process has ingested."""

    stored: int = 0
    duplicates: int = 0
    rejected_lines: int = 0


_Waiting = tuple[Batch, "Future[Receipt]"]


class Live:
    """An event log with its projection in memory; `clock` returns the time in seconds."""

    def __init__(
        self,
        log: EventLog,
        lost_after: float = DAY_SECONDS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Restore the newest snapshot, and read the events since; `lost_after` is in seconds."""
        self.log = log
        self.totals = Totals()
        self._clock = clock
        self._lost_after = lost_after
        self._horizon = log.horizon()
        state, self.restored = restore(log)  # the last `seq` restored from a snapshot
        self._present = Readers(state)
        self._seq = self.restored
        self._past = Past(log)
        self._past_lock = threading.RLock()
        self._writing = threading.Lock()
        self._waiting: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._listeners: set[Callable[[], None]] = set()
        with gc_paused():
            self.follow()

    def start(self) -> None:
        """Start the writer; without it every `ingest` is its own transaction."""
        self._thread = threading.Thread(target=self._write, name="headwater-writer", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Write the waiting batches, then stop the writer."""
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join()
            self._thread = None

    def submit(self, batch: Batch) -> Future[Receipt]:
        """Queue a batch; the future resolves once it is durable and visible."""
        future: Future[Receipt] = Future()
        if self._thread is None:
            self._store([(batch, future)])
        else:
            self._waiting.put((batch, future))
        return future

    def ingest(self, batch: Batch) -> Receipt:
        """Store a batch and wait until it is durable and visible."""
        return self.submit(batch).result()

    def follow(self) -> None:
        """Apply the events that other processes appended."""
        with self._writing:
            before = self._seq
            self._catch_up()
        if self._seq != before:
            self.wake()

    def reload(self) -> None:
        """Replace the projection by one of the events that are in the log, after some were deleted.

        The state is built before locks are taken, and then gets the events that arrived meanwhile.
        """
        self._horizon = self.log.horizon()
        state, restored = restore(self.log)
        with gc_paused():
            for seq, kind, _, body in self.log.rows(restored):
                with suppress(EventError):  # reported when it was first read
                    apply(state, read_logged(kind, body))
                restored = seq
        with self._writing, self._past_lock:
            state.unreadable.update(self.unreadable)
            self._present.replace(state)
            self._past, self._seq = Past(self.log), restored
            self._catch_up()
        self.wake()

    @property
    def newest(self) -> int:
        """The `seq` of the newest event visible to new queries."""
        return self._seq

    @property
    def unreadable(self) -> Mapping[int, str]:
        """The damaged rows of the log by `seq`, with the reasons."""
        return self._present.unreadable

    @property
    def counts(self) -> Counts:
        """The size of the projection; does not wait for running queries."""
        return self._present.counts

    @contextmanager
    def listening(self, wake: Callable[[], None]) -> Iterator[None]:
        """Call a function after every change, from any thread, while the context is open."""
        self._listeners.add(wake)
        try:
            yield
        finally:
            self._listeners.discard(wake)

    def wake(self) -> None:
        """Call every listener."""
        for wake in tuple(self._listeners):
            wake()

    @contextmanager
    def reading(self, moment: Moment | None = None) -> Iterator[State]:
        """Return the state, now or at a moment; it does not change while it is read.

        The present time of a past state is the moment. Raises ConfigError if events before it were
        deleted.
        """
        if moment is None:
            with self._present.reading() as state:
                yield self._at(state, int(self._clock() * 1e6))
            return
        self._require_kept(moment)
        newest = self._seq
        # Building a state of the past does not block the current one.
        with deadline.acquired(self._past_lock):
            yield self._at(self._past.at(moment, newest), moment.earliest)

    def _at(self, state: State, now: int) -> State:
        """Set the times of a query in a state: now, and before which open runs count as lost."""
        state.now = now
        state.stale_before = now - int(self._lost_after * 1e6)
        state.horizon = self._horizon
        return state

    def _require_kept(self, moment: Moment) -> None:
        """Raise ConfigError for a moment before which events were deleted."""
        pruned = self.log.pruned_until()
        if moment.earliest < pruned:
            raise ConfigError(
                f"the state at {shown_time(moment.earliest)} is unknown: events before"
                f" {shown_time(pruned)} were deleted (HEADWATER_KEEP); use a later time"
            )

    def _write(self) -> None:
        """Store waiting batches until `None` arrives: all that wait at once, in one transaction."""
        is_open = True
        while is_open:
            waiting: list[_Waiting] = []
            item = self._waiting.get()
            while item is not None:
                waiting.append(item)
                if len(waiting) >= _MOST_BATCHES or self._waiting.empty():
                    break
                item = self._waiting.get()
            is_open = item is not None
            item = None  # otherwise, a large batch stays in memory until the next one
            if waiting:
                self._store(waiting)

    def _store(self, waiting: Sequence[_Waiting]) -> None:
        # Setting the result of a canceled future would raise and stop the writer.
        self._append([item for item in waiting if item[1].set_running_or_notify_cancel()])

    def _append(self, waiting: Sequence[_Waiting]) -> None:
        """Store batches in one transaction, apply their new events, and resolve their futures.

        If this fails, each batch is stored alone, unless the database is unavailable. If two
        batches have the same new event, it is stored for the first and a duplicate of the second.
        """
        entries = [entry for batch, _ in waiting for entry in batch.entries]
        offsets = [batch.offset for batch, _ in waiting if batch.offset is not None]
        rejected_lines = [refusal for batch, _ in waiting for refusal in batch.rejected_lines]
        try:
            with self._writing:
                appended = self.log.append(entries, offsets, rejected_lines)
                self._advance(entries, appended)
        except Exception as error:
            is_outage = isinstance(error, LogError) and not isinstance(error, UnstorableError)
            if not is_outage and len(waiting) > 1:  # only the batch that cannot be stored fails
                for item in waiting:
                    self._append([item])
                return
            reason = error if isinstance(error, LogError) else UnstorableError(str(error))
            for _, future in waiting:
                future.set_exception(reason)
            return
        unclaimed = set(appended.new)
        for batch, future in waiting:
            new_hashes = {entry.hash for entry in batch.entries} & unclaimed
            unclaimed -= new_hashes
            receipt = Receipt(len(new_hashes), len(batch.entries) - len(new_hashes))
            self.totals.stored += receipt.stored
            self.totals.duplicates += receipt.duplicates
            self.totals.rejected_lines += len(batch.rejected_lines)
            future.set_result(receipt)
        self.wake()

    def _advance(self, entries: Sequence[Entry], appended: Appended) -> None:
        """Pass the new ones of appended entries to the readers.

        If another process has appended rows before them, all rows since are read from the log
        instead, so that they are applied in the order of the log.
        """
        if appended.before != self._seq:  # another process has written
            self._catch_up()
            return
        for entry in entries:
            if entry.hash in appended.new:
                self._present.add(partial(_apply, entry.event), len(entry.body))
        self._seq = appended.after

    def _catch_up(self) -> None:
        """Pass the rows of the log since `_seq` to the readers; note those that cannot be read."""
        for seq, kind, _, body in self.log.rows(self._seq):
            change: Change
            try:
                change = partial(_apply, read_logged(kind, body))
            except EventError as error:  # damaged, or from an older, less strict version
                log.warning("row %d of the log cannot be read: %s", seq, error)
                change = partial(_note_unreadable, seq, str(error))
            self._present.add(change, len(body))
            self._seq = seq


def _apply(event: Logged, state: State) -> None:
    """Apply an event; log an exception, so that later events are still applied."""
    try:
        apply(state, event)
    except Exception:
        log.exception("event %s is in the log, but the projection failed on it", event.hash)


def _note_unreadable(seq: int, reason: str, state: State) -> None:
    state.unreadable[seq] = reason
