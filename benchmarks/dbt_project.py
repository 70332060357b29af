"""Events of a dbt-like project of 300 tables, with failures, late tables, owners and tags.

.venv/bin/python -m benchmarks.dbt_project | headwater ingest -
"""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

SOURCES, STAGING, MARTS, REPORTS = 40, 120, 100, 40
DAYS = 10
FAILED = "stg_17"
LATE = "rpt_3"
NEVER_WRITTEN = "seed_regions"
_NAMESPACE = "snowflake://org-acct"
_PIPELINES = {"load": ("AIRFLOW", "DAG", "TASK"), "dbt": ("DBT", "JOB", "MODEL")}
"""Pipelines with their integration and the types of the pipeline and its jobs."""
OWNERS = ("core-data", "growth", "finance")

Json = dict[str, Any]


def _inputs() -> dict[str, list[str]]:
    """Return the tables that each table reads, by table; all reports read `dim_dates`."""
    tables: dict[str, list[str]] = {f"raw_{place}": [] for place in range(SOURCES)}
    tables |= {f"stg_{place}": [f"raw_{place % SOURCES}"] for place in range(STAGING)}
    tables["dim_dates"] = ["stg_0"]
    for place in range(1, MARTS):
        tables[f"mart_{place}"] = ["dim_dates", f"stg_{place}", f"stg_{(place * 7) % STAGING}"]
    for place in range(REPORTS):
        tables[f"rpt_{place}"] = [f"mart_{place + 1}", f"mart_{place * 2 + 1}"]
    tables["rpt_5"].append(NEVER_WRITTEN)
    return tables


@dataclass(frozen=True)
class _Run:
    """A run of a pipeline or of one of its jobs."""

    pipeline: str
    table: str | None
    owner: str
    start: datetime
    end: datetime
    run_id: str = field(default_factory=lambda: str(uuid.uuid4()))

    def events(self, state: str, facets: Json, **io: Any) -> Iterator[Json]:
        """Yield the start and the end of the run."""
        integration, whole, part = _PIPELINES[self.pipeline]
        kind = whole if self.table is None else part
        types = {"processingType": "BATCH", "integration": integration, "jobType": kind}
        job = {
            "namespace": "shop",
            "name": self.pipeline if self.table is None else f"{self.pipeline}.{self.table}",
            "facets": {"ownership": {"owners": [{"name": self.owner}]}, "jobType": types},
        }
        parent = {key: value for key, value in facets.items() if key == "parent"}
        for type_, at, facets_, datasets in (
            ("START", self.start, parent, {}),
            (state, self.end, facets, io),
        ):
            yield {
                "eventType": type_,
                "eventTime": at.isoformat(),
                "producer": "https://example.org/dbt",
                "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
                "run": {"runId": self.run_id, "facets": facets_},
                "job": job,
                **datasets,
            }


def _output(table: str, place: int, reads: list[str]) -> Json:
    """Return a written table: `email` of some sources is PII, and half the marts mask it."""
    tags = [{"key": "tier", "value": "1"}] if place % 30 == 0 else []
    if table.startswith("raw_") and place % 10 == 0:
        tags.append({"key": "pii", "value": "true", "field": "email"})
    names = ("id", "email", f"v{place}")
    facets: Json = {
        "schema": {"fields": [{"name": name, "type": "VARCHAR"} for name in names]},
        "tags": {"tags": tags},
    }
    if source := next((name for name in reads if name != "dim_dates"), None):
        is_masked = table.startswith("mart_") and place % 2 == 0
        facets["columnLineage"] = {
            "fields": {
                name: {"inputFields": [_column(source, name, is_masked and name == "email")]}
                for name in ("id", "email")
            }
        }
    statistics = {"outputStatistics": {"rowCount": 1_000 + 37 * place}}
    return {
        "namespace": _NAMESPACE,
        "name": f"shop.prod.{table}",
        "facets": facets,
        "outputFacets": statistics,
    }


def _column(table: str, name: str, is_masked: bool) -> Json:
    subtype = "TRANSFORMATION" if is_masked else "IDENTITY"
    how = {"type": "DIRECT", "subtype": subtype, "description": "", "masking": is_masked}
    return {
        "namespace": _NAMESPACE,
        "name": f"shop.prod.{table}",
        "field": name,
        "transformations": [how],
    }


def events(now: datetime) -> Iterator[Json]:
    """Yield the events of one run per day; in the last run, a staging model fails."""
    for day in range(DAYS - 1, -1, -1):
        start = now - timedelta(days=day, hours=2)
        broken = {FAILED} if day == 0 else set()
        for pipeline in _PIPELINES:
            root = _Run(pipeline, None, OWNERS[0], start, start + timedelta(minutes=28))
            yield from _models(root, day, broken)
            is_broken = bool(broken) and pipeline == "dbt"
            yield from root.events("FAIL" if is_broken else "COMPLETE", {})


def _models(root: _Run, day: int, broken: set[str]) -> Iterator[Json]:
    """Yield the events of the jobs of a pipeline; those downstream of a broken table do not run."""
    parent = {"run": {"runId": root.run_id}, "job": {"namespace": "shop", "name": root.pipeline}}
    for place, (table, reads) in enumerate(_inputs().items()):
        if (root.pipeline == "load") != table.startswith("raw_") or (table == LATE and day < 4):
            continue
        if broken & set(reads):
            broken.add(table)
            continue
        facets: Json = {"parent": parent}
        if table in broken:
            error = f"Database Error in model {table}\n  numeric value 'n/a' is not recognized"
            facets["errorMessage"] = {"message": error, "programmingLanguage": "SQL"}
        end = root.start + timedelta(seconds=20 + 5 * place)
        owner = OWNERS[place % len(OWNERS)]
        run = _Run(root.pipeline, table, owner, end - timedelta(seconds=3 + place % 15), end)
        inputs = [{"namespace": _NAMESPACE, "name": f"shop.prod.{name}"} for name in reads]
        yield from run.events(
            "FAIL" if table in broken else "COMPLETE",
            facets,
            inputs=inputs or [{"namespace": "s3://landing", "name": f"shop/{table}"}],
            outputs=[_output(table, place, reads)],
        )


def main() -> None:
    """Print one event per line."""
    for event in events(datetime.now(UTC)):
        sys.stdout.write(json.dumps(event) + "\n")


if __name__ == "__main__":
    main()
