"""Measure the CPU time of answers about files in folders, next to a store of tables.

    .venv/bin/python benchmarks/lineage_files.py [FILES ...]

One store has a table per job, one has as many files, 50 in each folder, and one has all files in
one folder. A job reads each folder. Each question is asked once, again, and after an event about
one file (the median of five). Times are CPU milliseconds in the process, without HTTP.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import orjson

from headwater.log import entry_of
from headwater.projection import apply, project
from headwater.query.registry import find_query, load_queries

EVENTS, IN_FOLDER = 5, 50
SOURCE = "dataset:db:source"
BUCKET = "s3://lake"


def _name(kind: str, number: int) -> tuple[str, str]:
    """Return the namespace and name of the output of a job."""
    if kind == "tables":
        return "db", f"table_{number}"
    folder = number // IN_FOLDER if kind == "folders" else 0
    return BUCKET, f"data_{folder}/part-{number}.parquet"


def _event(job: str, run: str, minute: int, reads: list[Any], writes: list[Any]) -> dict[str, Any]:
    return {
        "eventType": "COMPLETE",
        "eventTime": f"2026-09-01T{minute // 60:02}:{minute % 60:02}:00Z",
        "producer": "https://example.org/bench",
        "run": {"runId": run},
        "job": {"namespace": "jobs", "name": job},
        "inputs": [{"namespace": namespace, "name": name} for namespace, name in reads],
        "outputs": [{"namespace": namespace, "name": name} for namespace, name in writes],
    }


def _write(kind: str, number: int, run: str, minute: int) -> dict[str, Any]:
    return _event(f"write_{number}", run, minute, [("db", "source")], [_name(kind, number)])


def events(kind: str, files: int) -> Iterator[dict[str, Any]]:
    """Yield an event of each writer, and of a reader of each folder, or of as many tables."""
    for number in range(files):
        yield _write(kind, number, f"w{number}", number % 60)
    for first in range(0, files, IN_FOLDER):
        tables = [_name(kind, number) for number in range(first, min(first + IN_FOLDER, files))]
        folder = BUCKET, _name(kind, first)[1].partition("/")[0]
        reads = tables if kind == "tables" else [folder]
        yield _event(f"read_{first}", f"r{first}", 60, reads, [("db", f"report_{first}")])


def cost(question: Callable[[], Any]) -> float:
    """Return the CPU milliseconds of an answer."""
    before = time.process_time()
    question()
    return (time.process_time() - before) * 1000


def measure(kind: str, files: int) -> None:
    """Print a line for each question about one store."""
    state = project(entry_of(orjson.dumps(body)).event for body in events(kind, files))
    state.now = 1_788_400_000_000_000
    node = f"dataset:db:report_{files // 2 // IN_FOLDER * IN_FOLDER}"

    def question(name: str, **parameters: Any) -> Callable[[], Any]:
        return partial(find_query(name).answer, state, **parameters)

    asked = {
        "graph of a report": question("graph", node=node, up=3, down=1),
        "page of 25 datasets": question("datasets", limit=25),
        "impact of the source": question("impact", node=SOURCE),
    }
    minute = 120
    for name, ask in asked.items():
        first, again, after = cost(ask), cost(ask), []
        for _ in range(EVENTS):
            minute += 1
            body = _write(kind, files // 2, f"later {minute}", minute)
            apply(state, entry_of(orjson.dumps(body)).event)
            after.append(cost(ask))
        cells = " ".join(f"{cell:10,.1f}" for cell in (first, again, median(after)))
        sys.stdout.write(f"{files:6,} {kind:12} {name:22} {cells}\n")
        sys.stdout.flush()


def main() -> None:
    """Measure each store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=int, nargs="*", default=[1_000, 3_000])
    options = parser.parse_args()
    load_queries()
    sys.stdout.write(f"{'CPU-ms':42} {'first':>10} {'again':>10} {'after':>10}\n")
    for files in options.files:
        for kind in ("tables", "folders", "one folder"):
            measure(kind, files)


if __name__ == "__main__":
    main()
