"""Deliver every event of the log to one backend: at least once, in order of arrival.

The cursor is the `seq` of the last event that the backend accepted or rejected. It is stored every
hundred events or every second, so a crash repeats some events and loses none. A permanently
rejected event becomes a dead letter, and delivery continues. While a backend is unavailable, later
events wait, because the events of a run must stay in order. An error is doubtful (`is_doubtful`) if
the event itself may be its cause, such as a timeout.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from headwater.errors import DeliveryError, EventError, LogError, UnavailableError
from headwater.events import load
from headwater.log.reading import seq_of
from headwater.plugins.delivery._store import Deliveries
from headwater.plugins.delivery.backend import Backend, Delivery, Processing
from headwater.plugins.delivery.backends import read_backends
from headwater.posting import Backoff
from headwater.projection.live import Live
from headwater.settings import Settings
from headwater.text import counted
from headwater.worker import ThreadedWorker

log = logging.getLogger(__name__)

_SAVE_EVENTS = 100
_SAVE_SECONDS = 1.0
_STOP_SECONDS = 2.0
_ONCE_TRIES = 5
_DOUBTFUL_TRIES = 10
_MOST_LISTED = 10


class Forwarder(ThreadedWorker):
    """Delivers to one backend: once by `drain`, or in its own thread from `start` to `stop`.

    `name` is that of the deliver file and identifies its cursor. `delivered` and `rejected` count
    the events since the start.
    """

    def __init__(self, name: str, backend: Backend, live: Live, backoff: Backoff | None = None):
        """Continue where the delivery `name` stopped; `backoff` are the waits between attempts."""
        super().__init__(f"deliver-{name}", _STOP_SECONDS)
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
        self._is_down = False  # a warning was logged
        self._processed_at = float("-inf")  # when failures were last queried
        self._processed = ""  # the last message logged about that
        self.delivered = self.rejected = 0  # numbers of events

    def stop(self) -> None:
        """Finish the current event; if it hangs, it is resent on restart."""
        super().stop()
        self._backend.close()

    def drain(self) -> int:
        """Send retried dead letters, then the events after the cursor; return how many arrived.

        Raises:
            UnavailableError: the backend is unavailable; the progress so far is stored.
        """
        before = self.delivered
        for seq, body in self._deliveries.retried():
            self._deliveries.advance(seq, self._send(seq, body))
        try:
            for seq, body in self._live.log.read(self._position):
                if seq > self._live.newest or self._stopping.is_set():
                    break  # not yet visible in the state
                self._advance(seq, self._send(seq, body))
        finally:
            self._save()
        return self.delivered - before

    def drain_patiently(self, tries: int | None = None) -> int:
        """Deliver like `drain`, but retry several times while the backend is unavailable.

        Raises:
            UnavailableError: `tries` attempts for one event failed, or the next one would begin
                later than its `patience` after the backend last accepted or rejected an event.

        None for `tries` means five. A worker that was started retries without a limit instead.
        """
        tries = tries or _ONCE_TRIES
        self._progress_at = time.monotonic()
        while True:
            try:
                return self.drain()
            except UnavailableError as error:
                self._deliveries.fail(str(error))
                wait = self._backoff.after(self._tries, error.retry_after)
                ends_at = self._progress_at + self._backoff.patience
                if self._tries >= tries or time.monotonic() + wait > ends_at:
                    asked = f", and the backend asks to wait {error.retry_after:g} s"
                    raise UnavailableError(
                        f"{error}; gave up after {counted(self._tries, 'attempt')}"
                        f"{asked if error.retry_after else ''}."
                        " Events that were not delivered stay in the log for the next run"
                    ) from None
                self._stopping.wait(wait)

    def run(self) -> None:
        """Send events until stopped."""
        failures = 0
        with self._live.listening(self._woken.set):
            while not self._stopping.is_set():
                self._woken.clear()
                try:
                    pause = self._deliver_round()
                    if failures:
                        log.info("delivery to %s continues", self.name)
                    failures = 0
                except Exception as error:  # such as an error of the log's database
                    failures += 1
                    pause = self._backoff.after(failures)
                    if failures == 1:
                        log.warning("delivery to %s is interrupted: %s", self.name, error)
                if pause:
                    self._stopping.wait(pause)
                else:
                    self._woken.wait(self._backoff.look)  # a retried letter does not notify

    def _deliver_round(self) -> float:
        """Deliver all waiting events; return the seconds to wait before the next attempt.

        0 means that nothing is left to send.
        """
        try:
            self.drain()
        except UnavailableError as error:
            if not self._is_down:
                log.warning("%s is unavailable, trying again: %s", self.name, error)
            self._is_down = True
            self._deliveries.fail(str(error))
            return self._backoff.after(self._tries, error.retry_after)
        if self._is_down:
            log.info("%s is available again", self.name)
        self._is_down = False
        self._log_processing_failures()
        return 0

    def _log_processing_failures(self) -> None:
        """Log the accepted events that the backend could not process."""
        now = time.monotonic()
        is_due = now - self._processed_at >= self._backoff.processed
        if not (isinstance(self._backend, Processing) and is_due):
            return
        self._processed_at = now
        message = ""
        try:
            if failed := list(self._backend.failed()):
                ids = ", ".join(failed[:_MOST_LISTED]) + (", …" if failed[_MOST_LISTED:] else "")
                message = f"could not process {counted(len(failed), 'accepted event')}: {ids}"
        except DeliveryError as error:
            message = f"does not report which events it processed: {error}"
        if message and message != self._processed:
            log.warning("%s %s", self.name, message)
        self._processed = message

    def _send(self, seq: int, body: str) -> str | None:
        """Send an event; return the reason if it was rejected. Raises UnavailableError.

        An event that may itself be the cause of an UnavailableError (`is_doubtful`) is rejected
        after ten tries.
        """
        rejection = None
        try:
            load(body)  # a damaged row is not sent
            redactor = self._live.log.redactor
            delivery = Delivery(seq, body, self._live.reading, self._was_sent, redactor)
            self._backend.send(delivery)
        except UnavailableError as error:
            self._tries += 1
            if not error.is_doubtful or self._tries < _DOUBTFUL_TRIES:
                raise
            rejection = f"{error} (tried {self._tries} times)"
        except (DeliveryError, EventError) as error:
            rejection = str(error)
        except LogError:
            raise
        except Exception as error:  # one event must not stop the delivery
            log.exception("backend %s failed on event %d", self.name, seq)
            rejection = f"{type(error).__name__}: {error}"
        self._tries = 0
        self._progress_at = time.monotonic()
        self.delivered += rejection is None
        self.rejected += rejection is not None
        return rejection

    def _was_sent(self, hash_: str) -> bool:
        seq = seq_of(self._live.log, hash_)
        return seq is not None and seq <= self._position

    def _advance(self, seq: int, rejection: str | None) -> None:
        """Advance past an event that was accepted or whose rejection is stored."""
        if rejection is not None:
            self._deliveries.advance(seq, rejection)  # if this fails, the event is resent
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


def workers(settings: Settings) -> Callable[[Live], list[Forwarder]]:
    """Return a function that creates a forwarder for each backend of the deliver file.

    Raises:
        ConfigError: the file is invalid.
    """
    backends = read_backends(settings.deliver) if settings.deliver else {}
    return lambda live: [Forwarder(name, backend, live) for name, backend in backends.items()]
