"""A transport for openlineage-python that writes to a spool folder.

    {"type": "headwater_client.spool.SpoolTransport", "directory": "/var/spool/lineage"}

Each process appends to its own file, with one write per event and without network access. An event
that cannot be written is dropped; each process logs the first such error. A lineage error never
fails a job. Importing this module loads openlineage-python, but not the lineage server.
"""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openlineage.client.serde import Serde
from openlineage.client.transport.transport import Config, Transport

from headwater_client.spool_file import SpoolFile

if TYPE_CHECKING:
    from openlineage.client.client import Event

__all__ = ["SpoolConfig", "SpoolTransport"]

_EXAMPLE = '{"type": "headwater_client.spool.SpoolTransport", "directory": "/var/spool/lineage"}'
log = logging.getLogger(__name__)


@dataclass
class SpoolConfig(Config):
    """The configuration of the transport: its spool folder."""

    directory: str

    @classmethod
    def from_dict(cls, params: dict[str, Any]) -> SpoolConfig:
        """Return the configuration from a dict; `directory` is required."""
        directory = params.get("directory")
        if not directory:
            raise ValueError(
                f"directory: received {directory!r}, expected a spool folder, as in {_EXAMPLE}"
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
