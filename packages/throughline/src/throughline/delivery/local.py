"""Local backends: `file` and `console`."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import orjson

from throughline.delivery.backend import Delivery
from throughline.errors import UnavailableError


@dataclass(frozen=True, slots=True)
class FileConfig:
    """`path` is the JSON Lines file to append to; its folder is created."""

    path: str


class File:
    """Appends each event as one line, durably.

    The file is opened for each event, so that it may be moved at any time.
    """

    config_class: ClassVar[type[FileConfig]] = FileConfig

    def __init__(self, config: FileConfig) -> None:
        self._path = Path(config.path).expanduser().absolute()

    def send(self, delivery: Delivery) -> None:
        """Append one event."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a+b", buffering=0) as file:
                _append(file.fileno(), _line(delivery.body))
        except OSError as error:
            raise UnavailableError(f"{self._path}: {error.strerror or error}") from None

    def close(self) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class ConsoleConfig:
    """An empty configuration."""


class Console:
    """Prints each event as one line of stdout."""

    config_class: ClassVar[type[ConsoleConfig]] = ConsoleConfig

    def __init__(self, _config: ConsoleConfig) -> None:
        pass

    def send(self, delivery: Delivery) -> None:
        """Print one event."""
        try:
            sys.stdout.write(_line(delivery.body).decode())
            sys.stdout.flush()
        except OSError as error:
            raise UnavailableError(f"stdout: {error.strerror or error}") from None

    def close(self) -> None:
        """Do nothing."""


def _line(body: str) -> bytes:
    """Return an event as one line; only one with line breaks is encoded again."""
    is_line = "\n" not in body and "\r" not in body
    return (body.encode() if is_line else orjson.dumps(orjson.loads(body))) + b"\n"


def _append(file: int, line: bytes) -> None:
    """Append a complete line or nothing; first terminate an incomplete last line."""
    end = os.fstat(file).st_size
    if end and os.pread(file, 1, end - 1) != b"\n":
        line = b"\n" + line
    try:
        if os.write(file, line) < len(line):
            raise OSError("only a part of the line was written")
        os.fsync(file)
    except OSError:
        os.ftruncate(file, end)
        raise
