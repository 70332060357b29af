"""Deliver a log to the backends of the deliver file, once or until stopped."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from headwater.errors import ConfigError, UnavailableError
from headwater.log import EventLog
from headwater.plugins.delivery.backends import read_backends
from headwater.plugins.delivery.forwarder import Forwarder
from headwater.projection.live import Live
from headwater.settings import Settings

log = logging.getLogger(__name__)

_FOLLOW_SECONDS = 1.0


def deliver_once(settings: Settings) -> Iterator[tuple[Forwarder, UnavailableError | None]]:
    """Deliver the existing events; yield each forwarder when it is done, with its error."""
    with _opened(settings) as (forwarders, _):
        for forwarder in forwarders:
            failure = None
            try:
                forwarder.drain_patiently()
            except UnavailableError as error:
                failure = error
            yield forwarder, failure


def deliver_until_stopped(settings: Settings) -> None:
    """Deliver until SIGTERM or SIGINT."""
    with _opened(settings) as (forwarders, live):
        stopping = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopping.set())
        for forwarder in forwarders:
            forwarder.start()
        names = ", ".join(forwarder.name for forwarder in forwarders)
        log.info("delivering %s to %s", live.log.shown_url, names)
        while not stopping.wait(_FOLLOW_SECONDS):
            live.follow()
        log.info("stopped")


@contextmanager
def _opened(settings: Settings) -> Iterator[tuple[list[Forwarder], Live]]:
    """Open the log and a forwarder for each backend of the deliver file; close all at the end.

    Raises ConfigError without a deliver file or with an invalid one.
    """
    if settings.deliver is None:
        raise ConfigError("no backends configured: pass --config FILE or set HEADWATER_DELIVER")
    backends = read_backends(settings.deliver)
    with ExitStack() as stack:
        live = Live(EventLog.of(settings, must_exist=True), settings.lost_after)
        stack.callback(live.log.close)
        forwarders = [Forwarder(name, backend, live) for name, backend in backends.items()]
        for forwarder in forwarders:
            stack.callback(forwarder.stop)
        yield forwarders, live
