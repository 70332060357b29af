"""Brings every event of the log to one backend: at least once, in the order of arrival.

The cursor is the `seq` of the last event that the backend took, or refused. It is stored at the
latest every hundred events or every second, so a crash repeats that much and loses nothing. What is
refused for good becomes a dead letter and the next one has its turn; what may be taken later holds
up what follows, because the events of a run must not overtake each other.
"""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass

from throughline.deliver.backend import Backend, Delivery, Processing
from throughline.errors import DeliveryError, EventError, LogError, UnavailableError
from throughline.log import Deliveries
from throughline.projection.live import Live
from throughline.spec import load
from throughline.words import counted

log = logging.getLogger(__name__)

_SAVE_EVENTS = 100
_SAVE_SECONDS = 1.0
_LOOK_SECONDS = 1.0
_STOP_SECONDS = 2.0
_ONCE_TRIES = 5
_ONCE_SECONDS = 30.0
"""Seconds without progress after which `drain_patiently` begins no further attempt."""
_DOUBTFUL_TRIES = 10
_LONGEST_ASKED = 3_600.0
_PROCESSED_SECONDS = 900.0
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Backoff:
    """Seconds to wait between tries: twice as long each time, up to a cap."""

    first: float = 0.5
    most: float = 60.0

    def after(self, tries: int, retry_after: float = 0) -> float:
        """The wait after so many tries; at least what the backend asked for, up to an hour."""
        own = min(self.first * 2.0 ** min(tries - 1, 60), self.most)
        return max(own, min(retry_after, _LONGEST_ASKED))


class Forwarder:
    """Delivers to one backend: once by `drain`, or in its own thread from `start` to `stop`."""

    def __init__(self, name: str, backend: Backend, live: Live, backoff: Backoff | None = None):
        self.name = name
        self._backend = backend
        self._live = live
        self._backoff = backoff or Backoff()
        self._deliveries = Deliveries(live.log, name)
        self._position = self._deliveries.cursor()
        self._unsaved = 0  # events since the cursor was stored
        self._saved_at = time.monotonic()
        self._tries = 0
        self._progress_at = time.monotonic()  # when the last event was accepted or rejected
        self._is_down = False  # the log said so
        self._processed_at = -_PROCESSED_SECONDS  # when the backend was asked what it processed
        self._processed = ""  # what the log said of that
        self.taken = self.refused = 0  # events since it was made
        self._stopping = threading.Event()
        self._woken = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"deliver-{name}", daemon=True)

    def start(self) -> None:
        """Deliver from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Finish the event that is on its way, unless it hangs: then it is sent again some day."""
        self._stopping.set()
        self._woken.set()
        if self._thread.is_alive():
            self._thread.join(_STOP_SECONDS)
        self._backend.close()

    def drain(self) -> int:
        """Send retried letters, then all beyond the cursor; answers how many events were taken.

        Raises UnavailableError once the backend takes no more; what it took is on record.
        """
        before = self.taken
        for seq, body in self._deliveries.retried():
            self._deliveries.advance(seq, self._send(seq, body))
        try:
            for seq, body in self._live.log.read(self._position):
                if seq > self._live.newest or self._stopping.is_set():
                    break  # what is not visible yet comes the next time
                self._move(seq, self._send(seq, body))
        finally:
            self._save()
        return self.taken - before

    def drain_patiently(self, tries: int | None = None) -> int:
        """Like `drain`, but try an unavailable backend several times, with waits between.

        Raises UnavailableError after so many attempts for one event, or when the next one would
        begin more than 30 seconds after the backend last accepted or rejected an event.
        """
        tries = tries or _ONCE_TRIES
        self._progress_at = time.monotonic()
        while True:
            try:
                return self.drain()
            except UnavailableError as error:
                self._deliveries.fail(str(error))
                wait = self._backoff.after(self._tries, error.retry_after)
                ends_at = self._progress_at + _ONCE_SECONDS
                if self._tries >= tries or time.monotonic() + wait > ends_at:
                    raise UnavailableError(self._gave_up(error)) from None
                self._stopping.wait(wait)

    def _gave_up(self, error: UnavailableError) -> str:
        asked = (
            f", and the backend asks to wait {error.retry_after:g} s" if error.retry_after else ""
        )
        return (
            f"{error}; gave up after {counted(self._tries, 'attempt')}{asked}."
            " Events that were not delivered stay in the log for the next run"
        )

    def _run(self) -> None:
        failures = 0
        with self._live.listening(self._woken.set):
            while not self._stopping.is_set():
                self._woken.clear()
                try:
                    pause = self._round()
                    if failures:
                        log.info("delivery to %s goes on", self.name)
                    failures = 0
                except Exception as error:  # the log's database, for one: it may come back
                    failures += 1
                    pause = self._backoff.after(failures)
                    if failures == 1:
                        log.warning("delivery to %s stands still: %s", self.name, error)
                if pause:
                    self._stopping.wait(pause)
                else:
                    self._woken.wait(_LOOK_SECONDS)  # a letter that is put back wakes nobody

    def _round(self) -> float:
        """Deliver what there is; answers the seconds to leave the backend alone."""
        try:
            self.drain()
        except UnavailableError as error:
            if not self._is_down:
                log.warning("%s takes no events, trying again: %s", self.name, error)
            self._is_down = True
            self._deliveries.fail(str(error))
            return self._backoff.after(self._tries, error.retry_after)
        if self._is_down:
            log.info("%s takes events again", self.name)
        self._is_down = False
        self._look_back()
        return 0

    def _look_back(self) -> None:
        """Say in the log what the backend took before and could not process."""
        now = time.monotonic()
        if not isinstance(self._backend, Processing):
            return
        if now - self._processed_at < _PROCESSED_SECONDS:
            return
        self._processed_at = now
        said = ""
        try:
            if failed := list(self._backend.failed()):
                ids = ", ".join(failed[:_SHOWN]) + (", …" if failed[_SHOWN:] else "")
                said = f"took {counted(len(failed), 'event')} that it could not process: {ids}"
        except DeliveryError as error:
            said = f"does not say what it could process: {error}"
        if said and said != self._processed:
            log.warning("%s %s", self.name, said)
        self._processed = said

    def _send(self, seq: int, body: str) -> str | None:
        """Send an event; answers why it was refused. Raises UnavailableError."""
        refusal = None
        try:
            load(body)  # a damaged row is not sent
            self._backend.send(Delivery(seq, body, self._live.reading, self._was_told))
        except UnavailableError as error:
            self._tries += 1
            if not error.is_doubtful or self._tries < _DOUBTFUL_TRIES:
                raise
            refusal = f"{error} (tried {self._tries} times)"
        except (DeliveryError, EventError) as error:
            refusal = str(error)
        except LogError:
            raise
        except Exception as error:  # a backend that trips over one event must not stop at it
            log.exception("backend %s failed on event %d", self.name, seq)
            refusal = f"{type(error).__name__}: {error}"
        self._tries = 0
        self._progress_at = time.monotonic()
        self.taken += refusal is None
        self.refused += refusal is not None
        return refusal

    def _was_told(self, hash_: str) -> bool:
        seq = self._live.log.seq_of(hash_)
        return seq is not None and seq <= self._position

    def _move(self, seq: int, refusal: str | None) -> None:
        """Advance past an event that was accepted or whose rejection is stored."""
        if refusal is not None:
            self._deliveries.advance(seq, refusal)  # if this fails, the event is resent
            self._position, self._unsaved = seq, 0
            return
        self._position = seq
        self._unsaved += 1
        if self._unsaved >= _SAVE_EVENTS or time.monotonic() - self._saved_at >= _SAVE_SECONDS:
            self._save()

    def _save(self) -> None:
        if self._unsaved:
            self._deliveries.advance(self._position)
        self._unsaved = 0
        self._saved_at = time.monotonic()
