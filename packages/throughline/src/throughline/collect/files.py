"""Files of events, read once: JSON Lines, one event, or an array of events."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from throughline.collect.lines import Lines, sort_lines
from throughline.errors import ConfigError, EventError
from throughline.spec import load

_LINES_AT_ONCE = 1_000


def read_files(paths: Iterable[str]) -> Iterator[Lines]:
    """What the files hold, in portions; `-` is the standard input, a folder all *.json[l] in it."""
    for path in paths:
        if path == "-":
            yield from _read(sys.stdin.buffer.read(), "-")
            continue
        for file in _files(Path(path)):
            yield from _read(file.read_bytes(), str(file))


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(p for p in path.rglob("*") if p.suffix in (".json", ".jsonl") and p.is_file())
    if path.is_file():
        return [path]
    raise ConfigError(f"PATH: received {str(path)!r}, expected a file, a folder or -")


def _read(raw: bytes, source: str) -> Iterator[Lines]:
    lines = raw.split(b"\n") if source.endswith(".jsonl") else _documents(raw)
    for start in range(0, len(lines), _LINES_AT_ONCE):
        part = lines[start : start + _LINES_AT_ONCE]
        yield sort_lines((f"{source}:{start + i + 1}", line) for i, line in enumerate(part))


def _documents(raw: bytes) -> list[bytes]:
    """One document when the whole is JSON, else its lines."""
    try:
        load(raw)
    except EventError:
        return raw.split(b"\n")
    return [raw]
