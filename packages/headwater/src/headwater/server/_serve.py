"""`headwater serve`: run the server, the spool tail, deliveries and alerts."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import uvicorn
from fastapi import FastAPI

from headwater.collect.spool import SpoolTail, make_spool_folder
from headwater.console.render import log_to_stderr, print_line
from headwater.errors import ConfigError, ExposureError
from headwater.keys.store import keys_of
from headwater.log import EventLog
from headwater.memory import return_large_blocks
from headwater.old_name import report
from headwater.plugin import load_all
from headwater.projection.live import Live
from headwater.projection.snapshot_writer import Snapshotter
from headwater.server._connections import BoundedProtocol
from headwater.server._options import ServerOptions
from headwater.server._stream import end_streams
from headwater.server.app import make_app
from headwater.settings import Settings, default_database

log = logging.getLogger(__name__)

_SWITCH_SECONDS = 0.001
"""Longest time in seconds that a query holds the interpreter; Python's default is 0.005."""
_POLL_SECONDS = 0.25
_FOLLOW_SECONDS = 1.0
_STALL_SECONDS = 3.0
_STOP_SECONDS = 2  # for running requests


class Worker(Protocol):
    """A background worker of a plugin."""

    def start(self) -> None:
        """Start the worker in a thread of its own."""

    def stop(self) -> None:
        """Stop the worker within seconds."""


def run_server(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT; then finish running requests.

    Plugins add workers, such as deliveries, which check their settings before the log is opened.
    Raises ConfigError if the port is in use, and ExposureError if other machines could reach a
    server without keys.
    """
    return_large_blocks()
    options = ServerOptions.of(settings)
    prepared = [prepare(settings) for prepare in load_all("workers")]
    if settings.spool:
        make_spool_folder(settings.spool)  # before the log is created
    if settings.database == default_database():
        Path(settings.database).parent.mkdir(parents=True, exist_ok=True)
    event_log = EventLog.of(settings)
    check_exposure(options, settings.host, has_keys=bool(keys_of(event_log)))
    listener = _listen(settings)
    for prepare in load_all("before_restore"):
        prepare(event_log)
    live = Live(event_log, settings.lost_after)
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.freeze()  # the restored state stays: collections need not visit it
    gc.set_threshold(50_000, 20, 100)  # events and answers have no cycles
    tail = None
    if settings.spool:
        tail = SpoolTail(live, settings.spool, settings.spool_remove_after)
    workers = [worker for make in prepared for worker in make(live)]
    snapshotter = Snapshotter(settings.database, live.restored)
    with _running(live, workers, partial(_follow, live, tail, snapshotter)):
        server = Server(make_app(live, options, tail))
        _stop_on_signals(server)
        _announce(settings, event_log, listener)
        server.run(sockets=[listener])
    gc.freeze()  # collections at exit would take seconds


@contextmanager
def _running(
    live: Live, workers: Sequence[Worker], follow: Callable[[threading.Event], None]
) -> Iterator[None]:
    """Run the writer, the workers and the follower; then stop them and close the log.

    `follow` runs in its own thread until the event that it receives is set.
    """
    live.start()
    for worker in workers:
        worker.start()
    stopping = threading.Event()
    follower = threading.Thread(target=follow, args=(stopping,), daemon=True)
    follower.start()
    try:
        yield
    finally:
        stopping.set()
        follower.join()
        live.stop()
        with ThreadPoolExecutor(len(workers) + 1) as pool:  # a peer may hang
            list(pool.map(lambda worker: worker.stop(), workers))
        live.log.close()
        log.info("headwater stopped")


def _stop_on_signals(server: Server) -> None:
    """Stop the server on SIGTERM and SIGINT, also before it runs; running requests end first."""

    def stop(*_: object) -> None:
        server.should_exit = True

    # uvicorn handles signals only while it runs, and raises a received signal again when it ends.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)


def _announce(settings: Settings, event_log: EventLog, listener: socket.socket) -> None:
    """Print the address and log the start. The port may be chosen by the operating system."""
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    log_to_stderr(event_log.redactor)
    log.info("headwater %s starts, log %s", version("headwater"), event_log.shown_url)
    if message := report(settings.database):
        log.warning("%s", message)
    spool = f", spool folder {settings.spool}" if settings.spool else ""
    print_line(f"headwater listens on http://{shown}:{port}, log {event_log.shown_url}{spool}")


class Server(uvicorn.Server):
    """A uvicorn server that limits the number of clients, and slow and silent ones.

    `check` of each connection ends slow clients, see `_connections`.
    """

    def __init__(self, app: FastAPI) -> None:
        """Configure uvicorn for an app of headwater."""
        protocol: Any = partial(BoundedProtocol, app.state.options)
        config = uvicorn.Config(
            app,
            http=protocol,
            log_level="warning",
            log_config=None,  # logging is configured by log_to_stderr
            access_log=False,
            timeout_graceful_shutdown=2 * _STOP_SECONDS,
            ws="none",
            proxy_headers=False,  # client addresses are not used
            server_header=False,
        )
        super().__init__(config)
        self._app = app
        self._checked_at = time.monotonic()

    async def on_tick(self, counter: int) -> bool:
        """Check the connections every second.

        After a stall of the loop, their data is read first: it may have arrived in time.
        """
        if counter % 10 == 0:
            checked_at, self._checked_at = self._checked_at, time.monotonic()
            if self._checked_at - checked_at < _STALL_SECONDS:
                for connection in self._connections():
                    connection.check()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End streams and bodies, wait for running requests, then close all connections.

        uvicorn calls it once. Connections that are open after `_STOP_SECONDS` are cut.
        """
        end_streams(self._app)
        self._app.state.bodies.close()
        cutting = asyncio.create_task(self._cut_connections())
        await super().shutdown(sockets)
        cutting.cancel()

    async def _cut_connections(self) -> None:
        await asyncio.sleep(_STOP_SECONDS)
        for connection in self._connections():
            connection.transport.abort()

    def _connections(self) -> list[BoundedProtocol]:
        connections = list(self.server_state.connections)
        return [item for item in connections if isinstance(item, BoundedProtocol)]


def check_exposure(options: ServerOptions, host: str, *, has_keys: bool) -> None:
    """Refuse to be reachable from other machines without an API key."""
    if options.is_exposed and not (options.api_key or has_keys):
        raise ExposureError(
            f"--host {host} is reachable from other machines: create an API key with"
            " `headwater keys add NAME --scope read,sql,write` (on the same --database), set one"
            " with --api-key or HEADWATER_API_KEY, or listen on 127.0.0.1"
        )


def _listen(settings: Settings) -> socket.socket:
    """Return a socket that listens already, so that errors are reported before the log is read.

    Raises:
        ConfigError: the port is in use, or the address is not one of this machine.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
        listener.listen(128)  # from here on, clients wait instead of being rejected
    except OSError as error:
        listener.close()
        raise ConfigError(
            f"cannot listen on port {settings.port} of {settings.host} ({error.strerror}):"
            " pass another --port or set HEADWATER_PORT"
        ) from None
    return listener


def _follow(
    live: Live,
    tail: SpoolTail | None,
    snapshotter: Snapshotter,
    stopping: threading.Event,
) -> None:
    """Tail the spool, follow other writers and start snapshots, until stopped.

    It runs in a thread of its own. The spool is read four times a second, the rest once a second.
    An error is logged once until a round succeeds again. After the stop, the spool is read once
    more.
    """
    followed = time.monotonic()
    is_warned = False
    while True:
        is_last = stopping.wait(_POLL_SECONDS)
        try:
            if tail is not None:
                tail.poll()
            if time.monotonic() - followed >= _FOLLOW_SECONDS:
                live.follow()
                snapshotter.poll(live.newest)
                followed = time.monotonic()
            if is_warned:
                log.info("the spool and the log are read again")
            is_warned = False
        except Exception as error:  # the next round may succeed
            if not is_warned:
                log.warning("the spool or the log cannot be read, trying again: %s", error)
            is_warned = True
        if is_last:
            snapshotter.stop()
            return
