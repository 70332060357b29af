"""Check pages that tests generate."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

_REPOSITORY = Path(__file__).resolve().parents[4]


def check_written(name: str, text: str) -> None:
    """Fail if a page of the repository is not this text; with WRITE_DOCS=1 write it."""
    page = _REPOSITORY / name
    if os.environ.get("WRITE_DOCS"):
        page.write_text(text)
    elif not page.exists() or page.read_text() != text:
        pytest.fail(f"{name} is out of date: run this test with WRITE_DOCS=1 to write it")


def table(head: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> str:
    """Return a Markdown table; escape `|` in cells."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines) + "\n"


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")
