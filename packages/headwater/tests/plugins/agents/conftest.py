"""Live logs for the tests of the tools for agents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from headwater.log import EventLog, entry_of
from headwater.projection.live import Batch, Live
from headwater.server.sample import PRESENT, sample_events


@pytest.fixture(scope="module")
def taxi(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """Yield the events of the server's sample in a live log."""
    log = EventLog(f"sqlite:///{tmp_path_factory.mktemp('taxi') / 'log.db'}")
    live = Live(log, clock=PRESENT.timestamp)
    live.ingest(Batch([entry_of(orjson.dumps(event)) for event in sample_events()]))
    yield live
    log.close()


@pytest.fixture
def small(live: Live, build: Any) -> Live:
    """Return a live log: raw → load → table → report, a check and two lone nodes."""
    events = [
        build.run("COMPLETE", "r1", "load", "08:00:00", reads=("db|raw",), writes=("db|table",)),
        build.run("COMPLETE", "r2", "report", "09:00:00", reads=("db|table",), writes=("db|end",)),
        build.run("COMPLETE", "r3", "lone", "09:00:00"),
        build.run("COMPLETE", "r4", "dump", "09:00:00", writes=("db|dumped",)),
        build.run("COMPLETE", "r5", "a.twin", "09:00:00", reads=("db|x.twin",)),
        build.run("COMPLETE", "r6", "put", "09:00:00", reads=("db|x",), writes=("s3://b|in/part",)),
        build.run("COMPLETE", "r7", "scan", "09:00:00", reads=("s3://b|in",)),
    ]
    live.ingest(Batch([build.entry(event) for event in events]))
    return live
