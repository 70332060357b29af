"""Capture the reads and writes of a Python process that `headwater run` starts.

Each process appends its records to its own file, so a killed process loses at most its last record.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ._active import start
from ._recorder import Capture, Captured, CapturedQuery, is_on

FOLDER = "HEADWATER_CAPTURE_FOLDER"
"""The folder to which a process writes its records."""
_LONGEST_ERROR = 10_000  # characters
_SITE = Path(__file__).parent / "_site"
_PYTHON = re.compile(r"python(?:\d+(?:\.\d+)?)?$")


def is_python(command: Sequence[str]) -> bool:
    """Return True if a command is a Python interpreter with a script or a module."""
    return bool(_PYTHON.match(os.path.basename(command[0]))) and len(command) > 1


def script_name(command: Sequence[str]) -> str | None:
    """Return the name of the script or module that a command of Python runs.

    It is `load` for `python -X dev jobs/load.py` and for `python -m load`. Return None for code in
    the command line or on stdin.
    """
    arguments = list(command[1:]) if is_python(command) else []
    while arguments:
        argument = arguments.pop(0)
        if argument == "-m":
            return arguments[0] if arguments else None
        if argument in ("-W", "-X"):
            arguments = arguments[1:]
        elif argument == "-c" or argument == "-":
            return None
        elif not argument.startswith("-"):
            return Path(argument).stem.replace("/", ".") or None
    return None


def environment_of(folder: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with which Python processes write their records to a folder."""
    path = os.pathsep.join(filter(None, (str(_SITE), environment.get("PYTHONPATH"))))
    return {FOLDER: str(folder), "PYTHONPATH": path}


def start_process() -> None:
    """Record what this process reads and writes, until its end, in a file of the folder.

    Each record is one line of JSON with its kind and time, appended at once. If an exception ends
    the process, its text is written to another file.
    """
    folder = os.environ.get(FOLDER)
    if not folder or not is_on():
        return

    def write(item: Captured | CapturedQuery, kind: str) -> None:
        with suppress(OSError, ValueError):
            record = {"kind": kind, "time": time.time(), **asdict(item)}
            line = json.dumps(record, default=str)
            with open(os.path.join(folder, f"{os.getpid()}.jsonl"), "a") as file:
                file.write(line + "\n")

    def write_error() -> None:
        error = getattr(sys, "last_value", None)  # the exception that Python has printed
        if isinstance(error, BaseException):
            with suppress(Exception):
                text = f"{type(error).__name__}: {error}".removesuffix(": ")
                _error_file(Path(folder), os.getpid()).write_text(text[:_LONGEST_ERROR])

    capture = Capture(on_change=write)
    atexit.register(write_error)
    atexit.register(capture.report_ends)
    start(capture)


def error_of(folder: Path, process: int) -> str | None:
    """Return type and message of the exception that ended a process, unmasked; None without one."""
    try:
        return _error_file(folder, process).read_text()
    except (OSError, ValueError):
        return None


def _error_file(folder: Path, process: int) -> Path:
    return folder / f"{process}.error"


def read_folder(folder: Path) -> Capture:
    """Return a capture with the records of all processes, in the order of their times."""
    capture, records = Capture(), []
    for file in folder.glob("*.jsonl"):
        for line in file.read_text().splitlines():
            with suppress(ValueError):  # an incomplete line of a killed process
                records.append(json.loads(line))
    for record in sorted(records, key=lambda record: float(record["time"])):
        _add(capture, record)
    return capture


def _add(capture: Capture, record: dict[str, Any]) -> None:
    """Add a record of a file to a capture: a JSON object with its `kind` and the fields."""
    kind, at = record.pop("kind"), datetime.fromtimestamp(record.pop("time"), UTC)
    if kind == "query":
        sides = ("inputs", "outputs", "files")
        inputs, outputs, files = (tuple(map(_dataset, record[side])) for side in sides)
        about = record["sql"], record["dialect"], inputs, outputs
        how = record["is_readable"], record["is_whole"], datetime.fromisoformat(record["at"])
        ended = datetime.fromisoformat(record["ended"]) if record["ended"] else None
        capture.add_query(CapturedQuery(*about, *how, files, ended))
    elif kind == "read":
        capture.add_reads([_dataset(record)], at)
    else:
        capture.add_writes([_dataset(record)], at)


def _dataset(record: dict[str, Any]) -> Captured:
    sources = record.get("sources")
    known = None if sources is None else tuple((space, name) for space, name in sources)
    fields = tuple((column, kind) for column, kind in record.get("fields", ()))
    former = record.get("former") and tuple(record["former"])
    return Captured(**{**record, "sources": known, "fields": fields, "former": former})
