"""Long lines on terminals and in pipes."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from packages.headwater.tests.conftest import Call


def _widen(monkeypatch: pytest.MonkeyPatch, width: int | None) -> None:
    """Make stdout a terminal of a width, or a pipe."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: width is not None)
    for name, value in {"COLUMNS": str(width), "TERM": "xterm", "FORCE_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("width", [60, 80, None], ids=["60", "80", "pipe"])
def test_long_lines_wrap_on_a_terminal_but_not_in_pipes(
    width: int | None, tmp_path: Path, build: Any, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "/data/a/long/way/to/the/landing/folder/trips_2025-04.parquet"
    events = tmp_path / "events.jsonl"
    long, last = "Flow.a_step_with_a_name_that_says_it_all", "x" * 60
    one = build.run("COMPLETE", "1", long, "08:00:00", reads=(f"file|{path}",), writes=("db|t",))
    two = build.run("COMPLETE", "2", "j", "08:00:00", reads=("db|t",), writes=(f"db|{last}",))
    events.write_bytes(orjson.dumps([one, two]))
    log = ("--database", str(tmp_path / "log.db"))
    call("ingest", str(events), *log)
    _widen(monkeypatch, width)
    tree, runs = (
        re.sub(r"\x1b\[[\d;]*m", "", call(*command, *log).stdout).splitlines()
        for command in (("tree", last), ("runs",))
    )
    job = f"{long}  COMPLETED  2025-11-21 08:00:00"
    if width is None:
        assert tree[2:4] == ["    └── t  (db)", f"        └── {job}"]
        assert (len(tree), len(runs)) == (5, 2)
        assert path in tree[4]
        return
    assert max(map(len, [*tree, *runs])) <= width
    shown = [re.sub("^[ │├└─]*", "", line) for line in tree]
    names = "".join(shown)
    assert [part in names for part in (last, long, path)] == [True] * 3
    assert any("trips_2025-04.parquet" in line for line in shown)  # no break within a word
    assert {"COMPLETED", "2025-11-21 08:00:00"} <= set("  ".join(shown).split("  "))
    assert all("COMPLETED" in line for line in runs if "2025-11-21 08:00:00" in line)


def test_tree_deeper_than_the_terminal_is_wide_shows_every_node(
    tmp_path: Path, build: Any, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [
        build.run(
            "COMPLETE", f"{n}", f"j{n}", "08:00:00", reads=(f"d|{n}",), writes=(f"d|{n + 1}",)
        )
        for n in range(15)
    ]
    (tmp_path / "events.json").write_bytes(orjson.dumps(runs))
    log = ("--database", str(tmp_path / "log.db"))
    call("ingest", str(tmp_path / "events.json"), *log)
    _widen(monkeypatch, 60)
    output = call("tree", "dataset:d:15", "--depth", "100", *log).stdout
    output = re.sub(r"\x1b\[[\d;]*m", "", output)
    assert [f"j{n}  COMPLETED" in output for n in range(15)] == [True] * 15
