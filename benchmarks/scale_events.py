"""Events of a large organization: pipelines of 25 tasks that share tables with other pipelines.

A pipeline has five layers of five tasks. A task reads one to three datasets and writes one with ten
columns. Forty pipelines are a domain. Of the inputs of the first layer, 17 % are outputs of another
pipeline of the domain, and 3 % are core tables: outputs of the first domain.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

TASKS, WIDTH, DOMAIN = 25, 5, 40
NAMESPACE, JOBS = "hive://lake:9083", "airflow"
START = datetime(2026, 9, 1, tzinfo=UTC)
DAY = 86_400  # seconds
_COLUMNS = [f"c{number}" for number in range(10)]
_SPEC = "https://openlineage.io/spec"
_ABOUT = {"_producer": "https://example.org/bench", "_schemaURL": f"{_SPEC}/facets/1-1-1/X.json"}
_SCHEMA = {
    **_ABOUT,
    "fields": [
        {"name": column, "type": "bigint" if number % 2 else "string"}
        for number, column in enumerate(_COLUMNS)
    ],
}


def output(pipeline: int, layer: int, place: int) -> str:
    """Return the name of the dataset that a task writes."""
    return f"dom{pipeline // DOMAIN}.p{pipeline}_l{layer}_{place}"


def tasks_of(pipeline: int) -> list[tuple[list[str], str]]:
    """Return the inputs and the output of each task."""
    chance = random.Random(pipeline * 7919 + 1)
    return [
        (
            list(dict.fromkeys(
                _input(chance, pipeline, *divmod(task, WIDTH), number)
                for number in range(chance.randint(1, 3))
            )),
            output(pipeline, *divmod(task, WIDTH)),
        )
        for task in range(TASKS)
    ]  # fmt: skip


def _input(chance: random.Random, pipeline: int, layer: int, place: int, number: int) -> str:
    if layer:
        return output(pipeline, layer - 1, (place + number) % WIDTH)
    kind, first = chance.random(), pipeline - pipeline % DOMAIN
    if kind < 0.03 and first:
        return output(chance.randrange(DOMAIN), WIDTH - 1, chance.randrange(WIDTH))
    if kind < 0.2 and pipeline > first:
        return output(chance.randrange(first, pipeline), WIDTH - 1, chance.randrange(WIDTH))
    return f"raw.p{pipeline}_s{(place + number) % WIDTH}"


def events(jobs: int, days: int) -> Iterator[bytes]:
    """Yield the ends of the runs of every task, and of its pipeline, on each day."""
    for day in range(days):
        for pipeline in range(jobs // TASKS):
            tasks = tasks_of(pipeline)
            second = day * DAY + pipeline % 20_000 * 4
            for task in range(TASKS):
                yield task_event(pipeline, task, str(day), second + task // WIDTH * 2, tasks)
            yield pipeline_event(pipeline, str(day), second + 12)


def task_event(
    pipeline: int, task: int, run: str, second: int, tasks: list[tuple[list[str], str]]
) -> bytes:
    """Return the end of a run of a task; `run` names the run of its pipeline."""
    reads, writes = tasks[task]
    parent = _run(pipeline, run)
    query = f"insert overwrite {writes} select {', '.join(_COLUMNS)} from {' join '.join(reads)}"
    nominal = {**_ABOUT, "nominalStartTime": _time(second - second % DAY)}
    engine = {**_ABOUT, "name": "spark", "version": "3.5.1"}
    return _event(
        second,
        {"runId": _id(pipeline, run, task), "facets": {
            "parent": {**_ABOUT, **parent, "root": parent},
            "nominalTime": nominal,
            "processing_engine": engine,
        }},
        f"dag{pipeline}.task{task}",
        {"jobType": _type("TASK"), "sql": {**_ABOUT, "query": query}},
        inputs=[_dataset(name) for name in reads],
        outputs=[_written(writes, reads)],
    )  # fmt: skip


def pipeline_event(pipeline: int, run: str, second: int) -> bytes:
    """Return the end of a run of a pipeline."""
    about = _run(pipeline, run)
    return _event(second, about["run"], about["job"]["name"], {"jobType": _type("DAG")})


def _event(second: int, run: object, job: str, facets: object, **datasets: object) -> bytes:
    return orjson.dumps(
        {
            "eventType": "COMPLETE",
            "eventTime": _time(second),
            "producer": _ABOUT["_producer"],
            "schemaURL": f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent",
            "run": run,
            "job": {"namespace": JOBS, "name": job, "facets": facets},
            **datasets,
        }
    )


def _time(second: int) -> str:
    return (START + timedelta(seconds=second)).isoformat()


def _id(*parts: object) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, repr(parts)))


def _run(pipeline: int, run: str) -> dict[str, Any]:
    job = {"namespace": JOBS, "name": f"dag{pipeline}"}
    return {"run": {"runId": _id(pipeline, run)}, "job": job}


def _type(name: str) -> dict[str, str]:
    return {**_ABOUT, "processingType": "BATCH", "integration": "AIRFLOW", "jobType": name}


def _dataset(name: str) -> dict[str, Any]:
    source = {**_ABOUT, "name": NAMESPACE, "uri": NAMESPACE}
    facets: dict[str, Any] = {"schema": _SCHEMA, "dataSource": source}
    return {"namespace": NAMESPACE, "name": name, "facets": facets}


def _written(name: str, reads: list[str]) -> dict[str, Any]:
    """Return an output with the lineage of each column from the same column of every input."""
    dataset = _dataset(name)
    kind = [{"type": "DIRECT", "subtype": "TRANSFORMATION"}]
    dataset["facets"]["columnLineage"] = {**_ABOUT, "fields": {
        column: {"inputFields": [
            {"namespace": NAMESPACE, "name": read, "field": column, "transformations": kind}
            for read in reads
        ]}
        for column in _COLUMNS
    }}  # fmt: skip
    dataset["outputFacets"] = {"outputStatistics": {**_ABOUT, "rowCount": 1_000, "size": 100_000}}
    return dataset
