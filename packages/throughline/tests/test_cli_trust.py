"""The commands about trust, as people and CI call them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import orjson
import pytest

from .conftest import Call


@pytest.fixture
def database(tmp_path: Path, build: Any, call: Call) -> str:
    lines = [
        build.run("START", "1", "Flow.train", "08:00:00", reads=("hive://h|db.trips",)),
        build.run("COMPLETE", "1", "Flow.train", "08:01:30", writes=("metaflow|Flow/model",)),
        build.run(
            "FAIL", "2", "Flow.write", "08:02:00",
            reads=("metaflow|Flow/model",), writes=("hive://h|db.forecast",),
        ),
    ]  # fmt: skip
    (tmp_path / "events.jsonl").write_bytes(b"\n".join(map(orjson.dumps, lines)))
    call("ingest", str(tmp_path / "events.jsonl"), "--database", str(tmp_path / "log.db"))
    return str(tmp_path / "log.db")


def _told(text: str) -> list[str]:
    return re.sub(r"  (\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d", "  TIME", text).splitlines()


def test_provenance_lists_runs_with_what_they_read_and_wrote(
    database: str,
    call: Call,
) -> None:
    found = call("provenance", "forecast", "--database", database)
    assert _told(found.stdout) == [
        "Flow.write  FAILED  TIME  0.0 s  2",
        "  read   Flow/model  (metaflow)  version 1",
        "  wrote  db.forecast  (hive://h)  version 2",
        "Flow.train  COMPLETED  TIME  1 min 30 s  1",
        "  read   db.trips  (hive://h)",
        "  wrote  Flow/model  (metaflow)  version 1",
        "Sources, which no run is known to have written:",
        "  db.trips  (hive://h)",
    ]
    assert "\x1b" not in found.stdout
