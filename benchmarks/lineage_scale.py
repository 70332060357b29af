"""Measure the CPU time of lineage queries in stores of different sizes.

    .venv/bin/python benchmarks/lineage_scale.py [JOBS ...]

Each store (1000 and 20000 jobs) has pipelines of 25 jobs that share no datasets with each other.
Every query asks about one dataset. It is sent once after the store was filled, after each of five
runs of another job of the same pipeline, and again without an event. The event of the pipeline's
own run arrives after that of the job, so it moves the job's run. Times are CPU milliseconds in the
process, without HTTP.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from headwater.lineage.queries import columns_answer, graph_answer, tree_answer
from headwater.log import entry_of
from headwater.plugins.impact.queries import impact_answer
from headwater.plugins.provenance.queries import provenance_answer
from headwater.projection import State, project
from headwater.projection._apply import apply

JOBS, WIDTH, COLUMNS, EVENTS = 25, 5, 5, 5
START = datetime(2026, 11, 1, tzinfo=UTC)


def dataset(name: str, sources: list[str]) -> dict[str, Any]:
    """Return a dataset with column lineage from some sources."""
    columns = [f"c{number}" for number in range(COLUMNS)]
    facets: dict[str, Any] = {"schema": {"fields": [{"name": c, "type": "int"} for c in columns]}}
    if sources:
        facets["columnLineage"] = {
            "fields": {
                column: {
                    "inputFields": [
                        {"namespace": "bench", "name": source, "field": column}
                        for source in sources
                    ]
                }
                for column in columns
            }
        }
    return {"namespace": "bench", "name": name, "facets": facets}


def run_of(pipeline: int, run: str) -> dict[str, Any]:
    """Return the run and the job of a pipeline."""
    return {"run": {"runId": run}, "job": {"namespace": "bench", "name": f"pipeline{pipeline}"}}


def pipeline_event(pipeline: int, run: str, second: int) -> bytes:
    """Return the end of a run of a pipeline."""
    time = (START + timedelta(seconds=second)).isoformat()
    return json.dumps(
        {"eventType": "COMPLETE", "eventTime": time, **run_of(pipeline, run)}
    ).encode()


def event(pipeline: int, job: int, run: str, second: int) -> bytes:
    """Return the end of a run that reads two datasets of a layer and writes one of the next."""
    layer, place = divmod(job, WIDTH)
    reads = [f"p{pipeline}.L{layer}_{(place + number) % WIDTH}" for number in range(2)]
    kind = {"integration": "BENCH", "jobType": "TASK"}
    body = {
        "eventType": "COMPLETE",
        "eventTime": (START + timedelta(seconds=second)).isoformat(),
        "run": {"runId": str(uuid.uuid4()), "facets": {"parent": run_of(pipeline, run)}},
        "job": {
            "namespace": "bench",
            "name": f"pipeline{pipeline}.job{job}",
            "facets": {"jobType": kind},
        },
        "inputs": [dataset(name, []) for name in reads],
        "outputs": [dataset(f"p{pipeline}.L{layer + 1}_{place}", reads)],
    }
    return json.dumps(body).encode()


def joining_event(pipeline: int, number: int, second: int) -> bytes:
    """Return an event with a symlink that joins a dataset of the first layer with a table."""
    body = json.loads(event(pipeline, number, f"joining{number}", second))
    table = {"namespace": "bench", "name": f"p{pipeline}.table{number}", "type": "TABLE"}
    body["inputs"][0]["facets"]["symlinks"] = {"identifiers": [table]}
    return json.dumps(body).encode()


def queries(state: State, node: str) -> dict[str, Callable[[], object]]:
    """Return queries about one dataset."""
    return {
        "graph, 3 up, 1 down": partial(graph_answer, state, node, 3, 1),
        "graph of pipelines": partial(graph_answer, state, node, 3, 1, "pipeline"),
        "graph with columns": partial(graph_answer, state, node, 3, 1, columns=True),
        "tree upstream": partial(tree_answer, state, node),
        "tree downstream": partial(tree_answer, state, node, "down"),
        "impact": partial(impact_answer, state, node),
        "impact of a column": partial(impact_answer, state, node, "c1"),
        "columns upstream": partial(columns_answer, state, node),
        "provenance": partial(provenance_answer, state, node),
    }


def cpu(ask: Callable[[], object]) -> float:
    """Return the CPU milliseconds of a call."""
    before = time.process_time()
    ask()
    return (time.process_time() - before) * 1000


def measure(jobs: int) -> dict[str, tuple[float, float, float]]:
    """Return each query's first time, the median after an event, and the repeated time."""
    count = jobs // JOBS
    state = project(
        entry_of(event(pipeline, job, f"run{pipeline}", pipeline)).event
        for pipeline in range(count)
        for job in range(JOBS)
    )
    gc.collect()
    gc.freeze()  # as the server does
    middle, second, found = count // 2, jobs, {}
    by_name = queries(state, f"dataset:bench:p{middle}.L2_1")
    for name, ask in by_name.items():
        first, after = cpu(ask), []
        for _ in range(EVENTS):
            second += 1
            run = str(uuid.uuid4())
            for body in (event(middle, 7, run, second), pipeline_event(middle, run, second)):
                apply(state, entry_of(body).event)
            after.append(cpu(ask))
        found[name] = first, statistics.median(after), cpu(ask)
    ask = by_name["graph, 3 up, 1 down"]
    first, after = cpu(ask), []
    for number in range(EVENTS):
        second += 1
        apply(state, entry_of(joining_event(middle, number, second)).event)
        after.append(cpu(ask))
    found["graph, names joined"] = first, statistics.median(after), cpu(ask)
    return found


def main() -> None:
    """Print the times of every query in every store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("jobs", type=int, nargs="*", default=[1000, 20000])
    stores = {jobs: measure(jobs) for jobs in parser.parse_args().jobs}
    sys.stdout.write("CPU ms: first, after an event, repeated\n")
    for name in next(iter(stores.values())):
        cells = (f"{jobs} jobs: {' '.join(f'{t:8.1f}' for t in found[name])}"
                 for jobs, found in stores.items())  # fmt: skip
        sys.stdout.write(f"{name:20} {' | '.join(cells)}\n")


if __name__ == "__main__":
    main()
