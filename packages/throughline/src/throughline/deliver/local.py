"""Backends of this machine: `file` and `console`."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import orjson

from throughline.deliver.backend import Delivery
from throughline.errors import UnavailableError


@dataclass(frozen=True, slots=True)
class FileConfig:
    """`path` is the file to append to, of JSON Lines; its folder is made."""

    path: str


class File:
    """Appends each event as one line, on the disk before it counts as sent.

    The file is opened for each, so that it may be moved away at any time.
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
        """Nothing is open."""


@dataclass(frozen=True, slots=True)
class ConsoleConfig:
    """There is nothing to set."""


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
        """Nothing is open."""


def _line(body: str) -> bytes:
    """An event as one line; only one that was received over several lines is written anew."""
    is_line = "\n" not in body and "\r" not in body
    return (body.encode() if is_line else orjson.dumps(orjson.loads(body))) + b"\n"


def _append(file: int, line: bytes) -> None:
    """Write a line whole or not at all, after whatever was left of one that was cut off."""
    end = os.fstat(file).st_size
    if end and os.pread(file, 1, end - 1) != b"\n":
        line = b"\n" + line
    try:
        if os.write(file, line) < len(line):
            raise OSError("the disk took only a part of the line")
        os.fsync(file)
    except OSError:
        os.ftruncate(file, end)
        raise
