"""`throughline deliver`: deliver a log to backends, show their state, retry dead letters."""

from __future__ import annotations

import logging
import signal
import threading
from contextlib import closing
from typing import TYPE_CHECKING
from urllib.parse import quote

import typer

from throughline.console.render import log_to_stderr, moment_of, print_json, print_line
from throughline.console.source import request
from throughline.console.text import counted, escaped
from throughline.delivery.answers import delivery_status_answer, retry_answer
from throughline.delivery.forwarder import Forwarder
from throughline.delivery.settings import read_backends
from throughline.errors import ConfigError, UnavailableError
from throughline.log import EventLog
from throughline.projection.live import Live
from throughline.settings import Settings

if TYPE_CHECKING:
    from throughline.delivery.answers import BackendInfo, Retried

log = logging.getLogger(__name__)

_FOLLOW_SECONDS = 1.0


def run_deliver(settings: Settings, *, once: bool) -> None:
    """Deliver until SIGTERM or SIGINT, or `once` the present events; exit with 1 if some failed."""
    forwarders, live = _open(settings)
    try:
        if once:
            _deliver_once(forwarders, settings.program)
        else:
            _deliver_on(forwarders, live)
    finally:
        for forwarder in forwarders:
            forwarder.stop()
        live.log.close()


def print_status(settings: Settings, *, is_local: bool, as_json: bool) -> None:
    """Print the state of each backend."""
    answer = _status(settings, is_local=is_local)
    if as_json:
        print_json(answer)
        return
    for backend in answer:
        print_line(escaped(_backend_line(backend)))  # also line ends, which backends may send
        for letter in backend["newestDeadLetters"]:
            print_line(escaped(f"  event {letter['seq']}: {letter['reason']}"))
    if not answer:
        print_line("No deliveries yet.")


def retry(settings: Settings, name: str, *, is_local: bool) -> None:
    """Have the dead letters of a backend delivered again."""
    answer: Retried
    if is_local:
        with closing(EventLog(settings.database, must_exist=True)) as event_log:
            answer = retry_answer(event_log, name)
    else:
        answer = request(settings, f"/api/v2/deliver/{quote(name, safe='')}/retry", b"")
    print_line(f"{name}: {counted(answer['retried'], 'dead letter')} queued again")


def _open(settings: Settings) -> tuple[list[Forwarder], Live]:
    if settings.deliver is None:
        raise ConfigError("no backends configured: pass --config FILE or set THROUGHLINE_DELIVER")
    backends = read_backends(settings.deliver)
    live = Live(EventLog(settings.database, must_exist=True), settings.lost_after)
    return [Forwarder(name, backend, live) for name, backend in backends.items()], live


def _deliver_once(forwarders: list[Forwarder], program: str) -> None:
    failed = False
    for forwarder in forwarders:
        name = forwarder.name
        try:
            forwarder.drain_patiently()
        except UnavailableError as error:
            failed = True
            print_line(escaped(f"{name}: {error}"), is_error=True)
        message = f"{name}: {forwarder.delivered} delivered"
        if rejected := forwarder.rejected:
            failed = True
            message += f", {counted(rejected, 'dead letter')}: {program} deliver --status"
        print_line(message, is_error=True)  # backends of the type console write to stdout
    if failed:
        raise typer.Exit(1)


def _deliver_on(forwarders: list[Forwarder], live: Live) -> None:
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    log_to_stderr()
    for forwarder in forwarders:
        forwarder.start()
    names = ", ".join(forwarder.name for forwarder in forwarders)
    log.info("delivering %s to %s", live.log.shown_url, names)
    while not stopping.wait(_FOLLOW_SECONDS):
        live.follow()
    log.info("stopped")


def _status(settings: Settings, *, is_local: bool) -> list[BackendInfo]:
    if not is_local:
        backends: list[BackendInfo] = request(settings, "/api/v2/deliver")
        return backends
    with closing(EventLog(settings.database, must_exist=True)) as event_log:
        return delivery_status_answer(event_log)


def _backend_line(backend: BackendInfo) -> str:
    parts = [backend["backend"], f"lag {backend['lag']}", f"dead letters {backend['deadLetters']}"]
    if backend["isFailing"] and backend["errorAt"]:
        parts.append(f"failing since {moment_of(backend['errorAt'])}: {backend['error']}")
    return "  ".join(parts)
