"""`throughline deliver`: send the log to its backends, say how they stand, put letters back."""

from __future__ import annotations

import logging
import signal
import threading
from contextlib import closing
from typing import Any
from urllib.parse import quote

import typer

from throughline.cli.render import log_to_stderr, moment_of, print_json, print_line
from throughline.cli.source import request
from throughline.config import Settings
from throughline.deliver import Forwarder, delivery_status_answer, read_backends, retry_answer
from throughline.errors import ConfigError, UnavailableError
from throughline.log import EventLog
from throughline.printable import escaped
from throughline.projection.live import Live
from throughline.words import counted

log = logging.getLogger(__name__)

_FOLLOW_SECONDS = 1.0


def run_deliver(settings: Settings, *, once: bool) -> None:
    """Deliver until SIGTERM or SIGINT, or once all that is there; exit code 1: not all could be."""
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


def print_standings(settings: Settings, *, is_local: bool, as_json: bool) -> None:
    """How each backend stands."""
    answer = _local(settings) if is_local else request(settings, "/api/v2/deliver")
    if as_json:
        print_json(answer)
        return
    for each in answer:
        print_line(escaped(_standing(each)))  # also line ends, which backends may send
        for letter in each["newestDeadLetters"]:
            print_line(escaped(f"  event {letter['seq']}: {letter['reason']}"))
    if not answer:
        print_line("Nothing was delivered anywhere yet.")


def retry(settings: Settings, name: str, *, is_local: bool) -> None:
    """Put the dead letters of a backend back."""
    if is_local:
        answer = _local(settings, name)
    else:
        answer = request(settings, f"/api/v2/deliver/{quote(name, safe='')}/retry", b"")
    print_line(f"{name}: {counted(answer['retried'], 'dead letter')} to be sent again")


def _open(settings: Settings) -> tuple[list[Forwarder], Live]:
    if settings.deliver is None:
        raise ConfigError("no backends: name their file with --config or THROUGHLINE_DELIVER")
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
        told = f"{name}: {forwarder.delivered} delivered"
        if refused := forwarder.rejected:
            failed = True
            told += f", {counted(refused, 'dead letter')}: {program} deliver --status"
        print_line(told, is_error=True)  # stdout is a backend's, of the type console
    if failed:
        raise typer.Exit(1)


def _deliver_on(forwarders: list[Forwarder], live: Live) -> None:
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    log_to_stderr()
    for forwarder in forwarders:
        forwarder.start()
    names = ", ".join(each.name for each in forwarders)
    log.info("delivering %s to %s", live.log.shown_url, names)
    while not stopping.wait(_FOLLOW_SECONDS):
        live.follow()
    log.info("stopped")


def _local(settings: Settings, retried: str | None = None) -> Any:
    with closing(EventLog(settings.database, must_exist=True)) as event_log:
        return (
            delivery_status_answer(event_log)
            if retried is None
            else retry_answer(event_log, retried)
        )


def _standing(each: dict[str, Any]) -> str:
    parts = [each["backend"], f"lag {each['lag']}", f"dead letters {each['deadLetters']}"]
    if each["isFailing"]:
        parts.append(f"failing since {moment_of(each['errorAt'])}: {each['error']}")
    return "  ".join(parts)
