"""The producer's side of the spool: a transport for openlineage-python.

    {"type": "throughline.spool.SpoolTransport", "directory": "/var/spool/lineage"}

Each process appends to a file of its own, one write for one event, and touches no network. An event
that cannot be written is lost with one warning in the log: lineage never breaks a job. Importing
this module loads openlineage-python and nothing of throughline's server.
"""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from throughline.spool_file import SpoolFile

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
        self._directory = config.directory
        self._file: SpoolFile | None = None
        self._warned_in: int | None = None

    def emit(self, event: Event) -> None:
        """Append an event; an error is logged once per process and never raised."""
        try:
            if self._file is None:
                self._file = SpoolFile(self._directory)
            self._file.append(Serde.to_json(event).encode() + b"\n")
        except Exception as error:  # disk error, unreadable home folder or unreadable event
            if self._warned_in != os.getpid():
                log.warning("lineage event not written to %s: %s", self._directory, error)
            self._warned_in = os.getpid()
