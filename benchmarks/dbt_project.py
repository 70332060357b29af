"""Events of a dbt-like project of 300 tables, with failures, late tables, owners and tags.

.venv/bin/python -m benchmarks.dbt_project | headwater ingest -
"""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

SOURCES, STAGING, MARTS, REPORTS = 40, 120, 100, 40
DAYS = 10
FAILED = "stg_17"
LATE = "rpt_3"
_NAMESPACE = "snowflake://org-acct"
OWNERS = ("core-data", "growth", "finance")


def _inputs() -> dict[str, list[str]]:
    """Return the tables that each table reads, by table; all reports read `dim_dates`."""
    tables: dict[str, list[str]] = {f"raw_{place}": [] for place in range(SOURCES)}
    tables |= {f"stg_{place}": [f"raw_{place % SOURCES}"] for place in range(STAGING)}
    tables["dim_dates"] = ["stg_0"]
    for place in range(1, MARTS):
        tables[f"mart_{place}"] = ["dim_dates", f"stg_{place}", f"stg_{(place * 7) % STAGING}"]
    for place in range(REPORTS):
        tables[f"rpt_{place}"] = [f"mart_{place + 1}", f"mart_{place * 2 + 1}"]
    return tables


def _event(
    name: str, run: str, at: datetime, state: str, facets: dict[str, Any], owner: str, **io: Any
) -> dict[str, Any]:
    job: dict[str, Any] = {"ownership": {"owners": [{"name": owner}]}}
    integration = "DBT" if name.startswith("dbt") else "AIRFLOW"
    kind = "MODEL" if "." in name else "JOB"
    job["jobType"] = {"processingType": "BATCH", "integration": integration, "jobType": kind}
    return {
        "eventType": state,
        "eventTime": at.isoformat(),
        "producer": "https://example.org/dbt",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": run, "facets": facets},
        "job": {"namespace": "shop", "name": name, "facets": job},
        **io,
    }


def _output(table: str, place: int) -> dict[str, Any]:
    tags = [{"key": "tier", "value": "1"}] if place % 30 == 0 else []
    fields = [{"name": name, "type": "VARCHAR"} for name in ("id", "email", f"v{place}")]
    facets: dict[str, Any] = {"schema": {"fields": fields}, "tags": {"tags": tags}}
    statistics = {"outputStatistics": {"rowCount": 1_000 + 37 * place}}
    return {"namespace": _NAMESPACE, "name": f"shop.prod.{table}", "facets": facets} | {
        "outputFacets": statistics
    }


def events(now: datetime) -> Iterator[dict[str, Any]]:
    """Yield the events of one run per day; in the last run, a staging model fails."""
    tables = _inputs()
    for day in range(DAYS - 1, -1, -1):
        start = now - timedelta(days=day, hours=2)
        broken = {FAILED} if day == 0 else set()
        for pipeline in ("load", "dbt"):
            root = str(uuid.uuid4())
            parent = {
                "parent": {"run": {"runId": root}, "job": {"namespace": "shop", "name": pipeline}}
            }
            for place, (table, reads) in enumerate(tables.items()):
                if (pipeline == "load") != table.startswith("raw_"):
                    continue
                if broken & set(reads):
                    broken.add(table)
                    continue
                if table == LATE and day < 4:
                    continue
                facets: dict[str, Any] = dict(parent)
                is_failed = table in broken
                if is_failed:
                    message = (
                        f"Database Error in model {table}\n  numeric value 'n/a' is not recognized"
                    )
                    facets["errorMessage"] = {"message": message, "programmingLanguage": "SQL"}
                inputs = [{"namespace": _NAMESPACE, "name": f"shop.prod.{name}"} for name in reads]
                if not reads:
                    inputs = [{"namespace": "s3://landing", "name": f"shop/{table}"}]
                at = start + timedelta(seconds=20 + 5 * place)
                yield _event(
                    f"{pipeline}.{table}", str(uuid.uuid4()), at,
                    "FAIL" if is_failed else "COMPLETE", facets, OWNERS[place % len(OWNERS)],
                    inputs=inputs, outputs=[_output(table, place)],
                )  # fmt: skip
            state = "FAIL" if broken and pipeline == "dbt" else "COMPLETE"
            yield _event(pipeline, root, start + timedelta(minutes=28), state, {}, OWNERS[0])


def main() -> None:
    """Print one event per line."""
    for event in events(datetime.now(UTC)):
        sys.stdout.write(json.dumps(event) + "\n")


if __name__ == "__main__":
    main()
