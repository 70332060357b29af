"""The producer's side of the spool: a transport for openlineage-python.

    {"type": "throughline.spool.SpoolTransport", "directory": "/var/spool/lineage"}

Each process appends to a file of its own, one write for one event, and touches no network. An event
that cannot be written is lost with one warning in the log: lineage never breaks a job. Importing
this module loads openlineage-python and nothing else of throughline.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
import socket
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

try:
    from openlineage.client.serde import Serde
    from openlineage.client.transport.transport import Config, Transport
except ImportError as error:
    raise ImportError(
        "throughline.spool needs openlineage-python: install throughline's extra `producer`"
    ) from error

if TYPE_CHECKING:
    from openlineage.client.client import Event

__all__ = ["SpoolConfig", "SpoolTransport"]

log = logging.getLogger(__name__)


@dataclass
class SpoolConfig(Config):
    """Where events go."""

    directory: str

    @classmethod
    def from_dict(cls, params: dict[str, Any]) -> SpoolConfig:
        """The configuration of a transport's dict; `directory` is needed."""
        directory = params.get("directory")
        if not directory:
            raise ValueError(
                f"directory: received {directory!r}, expected the spool folder, as in"
                ' {"type": "throughline.spool.SpoolTransport", "directory": "/var/spool/lineage"}'
            )
        return cls(directory=str(directory))


class SpoolTransport(Transport):
    """Append each event as one line to this process's own file in the spool folder."""

    kind = "spool"
    config_class = SpoolConfig

    def __init__(self, config: SpoolConfig) -> None:
        self._directory = Path(config.directory).expanduser().absolute()
        self._path = self._directory
        self._is_warned = False
        self._renew()

    def emit(self, event: Event) -> None:
        """Append an event; an error of the disk is logged once and never raised."""
        line = Serde.to_json(event).encode() + b"\n"
        if os.getpid() != self._pid:  # forked: a file, and a lock, of its own
            self._renew()
        with self._lock:
            try:
                self._append(line)
            except OSError as error:
                if not self._is_warned:
                    log.warning("lineage event not written to %s: %s", self._path, error)
                self._is_warned = True

    def _renew(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._is_warned = False
        host = re.sub(r"[^\w.-]", "_", socket.gethostname())
        name = f"{host}-{self._pid}-{time.time_ns()}-{secrets.token_hex(4)}.jsonl"
        self._path = self._directory / name

    def _append(self, line: bytes) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        # Opened for each event: the collector removes idle files, and a forked child shares none.
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            size = os.fstat(file).st_size
            if os.write(file, line) < len(line):
                os.ftruncate(file, size)  # a full disk: no torn line before the next event
                raise OSError("only a part of the event could be written")
        finally:
            os.close(file)
