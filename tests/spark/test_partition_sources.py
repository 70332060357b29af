"""Lineage of a load of several months, of which one is corrected later, from real Spark jobs."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.cli import main
from lakehouse.generator import taxi_table
from lakehouse.ingest import Partition
from lakehouse.settings import Settings
from spark_jobs import ingest
from spark_jobs.taxi.actuals import compute_actuals
from tests.spool import events_of

from .test_ingest_jobs import YELLOW_SPEC, trips_file

pytestmark = pytest.mark.spark

_STEPS = {"stage": ingest.stage, "check": ingest.check_staging, "merge": ingest.merge}
_PARENT = "01890a5d-ac96-774b-bcce-b302099a8057"
_JOB = "tests.run"


class _Tasks:
    """Run Spark jobs in one session as if each were a task run of its own."""

    def __init__(self, spark: SparkSession, settings: Settings) -> None:
        self.spark, self.settings = spark, settings
        self.events: list[Any] = []
        self._seen = {*self._spooled()}

    def run(self, name: str, job: Callable[[], object]) -> None:
        """Run a job, and keep its events as those of a task with a name."""
        began, task = datetime.now(UTC), str(uuid.uuid4())
        job()
        self._flush()
        new = [line for line in self._spooled() if line not in self._seen]
        self._seen.update(new)
        text = f"[{','.join(new)}]".replace(_PARENT, task)
        parents = {*self._parents(json.loads(text))} - {(task, _JOB)}
        for application, _ in parents:
            text = text.replace(application, str(uuid.uuid4()))
        self.events += json.loads(text.replace(f'"{_JOB}"', f'"dag.{name}"'))
        above = {"run": {"runId": task}, "job": {"namespace": "nyc_taxi", "name": f"dag.{name}"}}
        for application, job_name in {*self._parents(json.loads(text))} - {(task, _JOB)}:
            self._end(job_name, application, began, parent=above)
        self._end(f"dag.{name}", task, began)

    def download(self, partition: Partition) -> str:
        """Keep the events of a task that writes a file; return its run id."""
        run = str(uuid.uuid4())
        outputs = [{"namespace": "file", "name": path} for path in partition.paths]
        self._end("dag.download", run, datetime.now(UTC), outputs=outputs)
        return run

    def _end(
        self, job: str, run: str, began: datetime, *, outputs: Any = (), parent: Any = None
    ) -> None:
        integration, kind_of_job = ("SPARK", "APPLICATION") if parent else ("AIRFLOW", "TASK")
        job_type = {"processingType": "BATCH", "integration": integration, "jobType": kind_of_job}
        for kind, time in (("START", began), ("COMPLETE", datetime.now(UTC))):
            self.events.append(
                {
                    "eventType": kind,
                    "eventTime": time.isoformat(),
                    "run": {"runId": run, "facets": {"parent": parent} if parent else {}},
                    "job": {
                        "namespace": "nyc_taxi",
                        "name": job,
                        "facets": {"jobType": job_type},
                    },
                    "producer": "https://example.org/test",
                    "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
                    "outputs": list(outputs) if kind == "COMPLETE" else [],
                }
            )

    def _spooled(self) -> list[str]:
        return list(map(json.dumps, events_of(self.settings.spool_dir.rglob("*.jsonl"))))

    def _flush(self) -> None:
        """Wait until Spark's listener has processed all events of the session."""
        self.spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()  # type: ignore[union-attr]

    @staticmethod
    def _parents(events: list[Any]) -> Iterator[tuple[str, str]]:
        for event in events:
            if parent := event["run"]["facets"].get("parent"):
                yield parent["run"]["runId"], parent["job"]["name"]


def test_corrected_month_clears_the_recall_of_its_file(
    spark: SparkSession,
    lake: Settings,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bad = trips_file(tmp_path, "yellow_tripdata_2010-05.parquet", taxi_table("2025-05", 900))
    good = trips_file(tmp_path, "yellow_tripdata_2010-06.parquet", taxi_table("2025-04", 800))
    tasks = _Tasks(spark, lake)

    def load(*partitions: Partition) -> None:
        for name, step in _STEPS.items():
            tasks.run(name, partial(step, spark, lake, YELLOW_SPEC, list(partitions)))

    def count() -> bool:
        days = datetime(2010, 6, 1), datetime(2010, 7, 1)
        changed: list[bool] = []
        tasks.run("count", lambda: changed.append(compute_actuals(spark, lake, "yellow", *days)))
        return changed[0]

    def headwater(*words: str) -> tuple[int, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([*words, "--database", str(tmp_path / "lineage.db")])
        return int(ended.value.code or 0), capsys.readouterr().out

    def is_refused(table: str) -> bool:
        (tmp_path / "events.jsonl").write_text("\n".join(map(json.dumps, tasks.events)))
        status, shown = headwater("ingest", str(tmp_path / "events.jsonl"))
        assert status == 0, shown
        status, shown = headwater("gate", table)
        assert (status, "recalled" in shown) in ((0, False), (1, True)), shown
        return status == 1

    recalled = tasks.download(bad)
    tasks.download(good)
    load(bad, good)
    assert count()
    assert not is_refused("yellow_taxi_raw")
    recall = f"{bad.paths[0]}@{recalled}", "--reason", "a day is missing"
    assert headwater("taint", *recall)[0] == 0
    assert is_refused("yellow_taxi_raw")
    assert is_refused("yellow_rides_hourly_actuals")

    corrected = trips_file(tmp_path, bad.name, taxi_table("2025-05", 900).slice(0, 700))
    tasks.download(corrected)
    load(corrected)
    assert not is_refused("yellow_taxi_raw")
    assert is_refused("yellow_rides_hourly_actuals")
    assert not count()  # June has the same rides
    assert not is_refused("yellow_rides_hourly_actuals")
