"""Measure the CPU time and the size of answers in stores of different sizes.

    .venv/bin/python benchmarks/lineage_scale.py [JOBS ...] [--only TEXT] [--stores FOLDER]

Each store (1,000 and 50,000 jobs) has two days of runs of the pipelines of `scale_events`. A
separate process restores it as a server does. Each question is asked once after the start (and the
questions above it), again without a new event, and after the events of a task and its pipeline (the
median of three). Times are CPU milliseconds in the process, without HTTP. A question is stopped
after 30 CPU-s and marked with D (DeadlineError). SQL texts are read and the index of the past is
built before, as in the background of a server. `--stores` keeps the stores.
"""

from __future__ import annotations

import argparse
import gc
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.scale_events import (
    DAY,
    DOMAIN,
    NAMESPACE,
    TASKS,
    WIDTH,
    events,
    output,
    pipeline_event,
    task_event,
    tasks_of,
)
from headwater import deadline
from headwater.errors import HeadwaterError
from headwater.http.routes import encoded
from headwater.log import EventLog, entry_of
from headwater.plugins.marquez._graphs import get_lineage
from headwater.plugins.past.store import Index
from headwater.plugins.sql.background import SqlReader
from headwater.projection.live import Batch, Live
from headwater.projection.snapshots.state import gc_paused, save
from headwater.query.registry import ask, find_query, load_queries

EVENTS, DAYS, SECONDS, BATCH = 3, 2, 30.0, 1_000
NOON, NEXT_NOON = "2026-09-01T12:00:00Z", "2026-09-02T12:00:00Z"


def build(path: Path, jobs: int) -> None:
    """Write the log of a store and the snapshot of its projection."""
    log = EventLog(str(path))
    with gc_paused():
        live = Live(log)
        batch = []
        for body in events(jobs, DAYS):
            batch.append(entry_of(body))
            if len(batch) == BATCH:
                live.ingest(Batch(batch))
                batch = []
        live.ingest(Batch(batch))
        with live.reading() as state:
            save(log, state, live.newest)
        reader = SqlReader(live)
        reader.read_all()  # as the server does in the background
        reader.close()
        index = Index(log)
        while index.advance(BATCH):  # likewise
            pass


def _inputs(pipeline: int) -> list[str]:
    return [name for reads, _ in tasks_of(pipeline)[:WIDTH] for name in reads]


def questions(live: Live, jobs: int) -> dict[str, Callable[[], Any]]:
    """Return the questions by name; those about a part ask about the middle of the store."""
    pipelines = jobs // TASKS
    middle = f"dataset:{NAMESPACE}:{output(pipelines // 2, 2, 1)}"
    last = (output(number, WIDTH - 1, place) for number in range(DOMAIN) for place in range(WIDTH))
    readers = Counter(name for number in range(pipelines) for name in _inputs(number))
    core = f"dataset:{NAMESPACE}:{max(last, key=readers.__getitem__)}"

    def question(name: str, **parameters: Any) -> Callable[[], Any]:
        return partial(ask, live, find_query(name), parameters)

    def marquez() -> Any:
        with live.reading() as state:
            return get_lineage(state, middle, 20)

    around = {"node": middle, "up": 3, "down": 1}
    return {
        "graph, 3 up and 1 down": question("graph", **around),
        "graph with columns": question("graph", **around, columns=True),
        "tree upstream": question("tree", node=middle),
        "columns upstream": question("columns", node=middle),
        "provenance": question("provenance", node=middle),
        "impact": question("impact", node=middle),
        "impact of a core table": question("impact", node=core),
        "search": question("search", text=f"p{pipelines // 2}_l2"),
        "page of 25 jobs": question("jobs", limit=25),
        "page of 25 late jobs": question("jobs", limit=25, state_="late"),
        "page of 25 datasets": question("datasets", limit=25, sort="written"),
        "health": question("health"),
        "findings": question("findings", limit=100),
        "problems": question("problems", limit=25),
        "completeness": question("completeness"),
        "v1 lineage, depth 20": marquez,
        "difference of a day": question("diff", from_=NOON, to=NEXT_NOON),
        # Each has its own time, because questions about the same one share what they read.
        "graph as of a past": question("graph", **around, as_of=NOON),
        "tree as of a past": question("tree", node=middle, as_of="2026-09-01T12:00:01Z"),
        "columns as of a past": question("columns", node=middle, as_of="2026-09-01T12:00:02Z"),
        "impact as of a past": question("impact", node=middle, as_of="2026-09-01T12:00:03Z"),
    }


class Cost(NamedTuple):
    """The CPU milliseconds of an answer, its size in bytes, and why there is none."""

    milliseconds: float
    size: int
    error: str = ""

    def __str__(self) -> str:
        return f"{self.error[:1]}{self.milliseconds:,.1f}"


def cost(question: Callable[[], Any]) -> Cost:
    """Return the cost of an answer."""
    before, size, failure = time.process_time(), 0, ""
    deadline.start(SECONDS, time.process_time)
    try:
        size = len(encoded(question()))
    except HeadwaterError as error:
        failure = type(error).__name__
    return Cost((time.process_time() - before) * 1000, size, failure)


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def resident() -> str:
    """Return the resident memory of the process in megabytes."""
    with open("/proc/self/statm") as file:
        return f"{int(file.read().split()[1]) * os.sysconf('SC_PAGE_SIZE') / 1e6:,.0f} MB"


def measure(path: Path, jobs: int, only: str) -> None:
    """Print a line for each question."""
    load_queries()
    before = time.process_time()
    live = Live(EventLog(str(path)), clock=lambda: 1_788_400_000.0)  # the evening of the second day
    SqlReader(live).load()
    gc.collect()
    gc.freeze()  # as the server does, like the thresholds
    gc.set_threshold(50_000, 20, 100)
    started = time.process_time() - before
    _print(f"{jobs:,} jobs: start {started:.1f} CPU-s, {resident()}")
    _print(f"{'CPU-ms':24} {'first':>12} {'again':>12} {'after':>12} {'bytes':>12} {'memory':>9}")
    pipeline, number = jobs // TASKS // 2, 0
    for name, question in questions(live, jobs).items():
        if only not in name:
            continue
        first, again, after = cost(question), cost(question), []
        for _ in range(EVENTS):
            number += 1
            run, second = f"later {time.time_ns()}", DAYS * DAY + number  # also new in a kept store
            task = task_event(pipeline, 7, run, second, tasks_of(pipeline))
            live.ingest(Batch([entry_of(task), entry_of(pipeline_event(pipeline, run, second))]))
            after.append(cost(question))
        shown = " ".join(f"{cell!s:>12}" for cell in (first, again, sorted(after)[EVENTS // 2]))
        _print(f"{name:24} {shown} {first.size:12,} {resident():>9}")


def main() -> None:
    """Build and measure every store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("jobs", type=int, nargs="*", default=[1_000, 50_000])
    parser.add_argument("--only", default="", help="only the questions with this text")
    parser.add_argument("--stores", type=Path, help="a folder for the stores")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.stores or Path(temporary)
        for jobs in options.jobs:
            path = folder / f"{jobs}.db"
            if options.child:
                measure(path, jobs, options.only)
                continue
            if not path.exists():
                build(path, jobs)
            command = [sys.executable, __file__, str(jobs), "--only", options.only]
            subprocess.run([*command, "--stores", str(folder), "--child"], check=True)


if __name__ == "__main__":
    main()
