"""Events of files to which programs still append."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def complete_lines(file: Path) -> list[bytes]:
    """Return the lines of a file that end with a newline; the rest is still being written."""
    return file.read_bytes().split(b"\n")[:-1]


def events_of(files: Iterable[Path]) -> list[dict[str, Any]]:
    """Return the events of spool files, in the order of their names."""
    return [json.loads(line) for file in sorted(files) for line in complete_lines(file)]
