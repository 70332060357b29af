"""Send the events of a log, a server or files to one backend, independent of its cursor."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import orjson

from headwater.collect.files import read_files
from headwater.collect.lines import Lines
from headwater.collect.server_events import events_of_server
from headwater.console.client import settings_of
from headwater.errors import ConfigError, DeliveryError, EventError, UnavailableError
from headwater.log import EventLog, read_entry
from headwater.log.reading import seq_of
from headwater.plugins.delivery.backend import Backend, Delivery
from headwater.posting import Backoff
from headwater.projection.live import Batch, Live
from headwater.redaction import Redactor
from headwater.settings import Settings
from headwater.text import counted

_SERVER = ("http://", "https://")
_SQLITE = b"SQLite format 3\0"
_AT_ONCE = 1_000
_TRIES = 5
_MOST_LISTED = 10


@dataclass(slots=True)
class Replayed:
    """The numbers of events of a replay, with the first rejected ones."""

    sent: int = 0
    older: int = 0
    """Events before the requested time, which were not sent."""
    rejected: int = 0
    reasons: list[str] = field(default_factory=list)
    """The position and the reason of the first rejected events."""
    position: int = 0
    """The `seq` of the last event that was sent, rejected or left out."""

    def reject(self, seq: int, reason: str) -> None:
        """Count a rejected event; keep the first reasons."""
        self.rejected += 1
        if len(self.reasons) < _MOST_LISTED:
            self.reasons.append(f"event {seq}: {reason}")


@dataclass(frozen=True, slots=True)
class Events:
    """The events of a source, with the number and the first reason of its invalid ones."""

    live: Live
    invalid: int = 0
    reason: str = ""


@contextmanager
def opened_events(source: str, api_key: str | None) -> Iterator[Events]:
    """Open a log, or copy the events of a server or of files to a temporary one.

    Args:
        source: an http(s) URL of a server, a SQLAlchemy URL or a file of a log, a file with events,
            or a folder with such files.

    Raises:
        ConfigError: there are no events.
        ServerError: the server does not respond.

    `api_key` is that of the server; empty for none. A temporary log is deleted at the end.
    """
    if _is_log(source):
        settings = settings_of(database=source)
        with closing(EventLog.of(settings, must_exist=True)) as log:
            yield Events(Live(log, settings.lost_after))
        return
    is_server = source.startswith(_SERVER)
    settings = settings_of(url=source, api_key=api_key) if is_server else settings_of()
    redactor = Redactor.of(settings.redact)
    lines = _of_server(settings, redactor) if is_server else _of_files(source, redactor)
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(EventLog(f"sqlite:///{folder}/events.db", redactor=redactor)) as log,
    ):
        events = _copied(Live(log, settings.lost_after), lines)
        if not events.live.newest:
            reason = events.reason and f"; the first invalid one: {events.reason}"
            raise ConfigError(f"--from: found no valid events in {source}{reason}")
        yield events


def _is_log(source: str) -> bool:
    """Return True if a source is a log. Raises ConfigError if its path does not exist."""
    if "://" in source:
        return not source.startswith(_SERVER)
    path = Path(source)
    if not path.exists():
        raise ConfigError(
            f"--from: there is no {source}, expected a log, files of events, or the URL of a server"
        )
    if path.is_dir():
        return False
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def _of_server(settings: Settings, redactor: Redactor) -> Iterator[Lines]:
    """Yield the events of a server, in portions of 1,000, with the invalid ones."""
    events = events_of_server(settings)
    while portion := list(islice(events, _AT_ONCE)):
        lines = Lines(redactor)
        for event in portion:
            lines.add(orjson.dumps(event), settings.url)
        yield lines


def _of_files(source: str, redactor: Redactor) -> Iterator[Lines]:
    return (lines for _, lines in read_files([source], redactor))


def _copied(live: Live, portions: Iterable[Lines]) -> Events:
    """Store events in a log; duplicates are stored once.

    `reason` of the result begins with the place of the invalid event.
    """
    invalid, reason = 0, ""
    for lines in portions:
        if lines.rejected and not reason:
            first = lines.rejected_lines[0]
            reason = f"{first.source}: {first.reason}"
        invalid += lines.rejected
        live.ingest(Batch(lines.entries))
    return Events(live, invalid, reason)


def replay_events(
    live: Live, backend: Backend, *, since: int, after: int, backoff: Backoff | None = None
) -> Replayed:
    """Send the events of a log in order of arrival.

    Args:
        since: the earliest event, in microseconds.
        after: the `seq` of the event after which to begin.

    Raises:
        UnavailableError: several attempts for one event failed; names the position to continue.

    `backoff` are the waits between attempts; the default ones if None.
    """
    result = Replayed(position=after)

    def was_sent(hash_: str) -> bool:
        """Return True if this replay sent the event; see `Delivery.was_sent`."""
        seq = seq_of(live.log, hash_)
        return seq is not None and after < seq <= result.position

    for seq, body in live.log.read(after):
        try:
            if read_entry(body).time < since:
                result.older += 1
                result.position = seq
                continue
            delivery = Delivery(seq, body, live.reading, was_sent, live.log.redactor)
            _send_patiently(backend, delivery, result, backoff or Backoff())
            result.sent += 1
        except UnavailableError:
            raise
        except (DeliveryError, EventError) as error:
            result.reject(seq, str(error))
        result.position = seq
    return result


def _send_patiently(
    backend: Backend, delivery: Delivery, result: Replayed, backoff: Backoff
) -> None:
    """Send an event; try several times while the backend is unavailable.

    Raises:
        UnavailableError: all attempts failed.
        DeliveryError: the backend rejects the event, or only this event fails.
    """
    for tries in range(1, _TRIES + 1):
        try:
            backend.send(delivery)
            return
        except UnavailableError as error:
            if tries < _TRIES:
                time.sleep(backoff.after(tries, error.retry_after))
            elif error.is_doubtful and result.sent:  # other events arrive: this one is the cause
                raise DeliveryError(str(error)) from None
            else:
                raise UnavailableError(
                    f"{error}; gave up after {tries} attempts for event {delivery.seq}."
                    f" Sent {counted(result.sent, 'event')}; continue with --after"
                    f" {result.position}"
                ) from None
