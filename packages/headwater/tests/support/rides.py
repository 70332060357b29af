"""Generator of the sample: two weeks of a pipeline like this repository's.

Airflow loads rides and weather each night with Spark, Metaflow trains on them. On one day, the
weather became an input of the model; one load failed, and one column was added.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

Body = dict[str, Any]
_How = dict[str, tuple[str, str]]
DAYS = 14
WEATHER_SINCE = 8  # days before the last
_RIDES = {"tpep_pickup_datetime": "timestamp", "PULocationID": "int", "DOLocationID": "int",
          "passenger_count": "bigint", "trip_distance": "double", "fare_amount": "double",
          "tip_amount": "double", "tolls_amount": "double", "total_amount": "double",
          "payment_type": "bigint", "VendorID": "int", "RatecodeID": "bigint"}  # fmt: skip
_HOURS = {"hour": "timestamp", "PULocationID": "int", "rides": "bigint", "mean_distance": "double"}
_WEATHER = {"date": "date", "county": "string", "prcp": "double", "tavg": "double"}
_FORECAST = {"hour": "timestamp", "PULocationID": "int", "rides_forecast": "double"}
_LAKE = "hive://lake:9083"
_FLOW = "metaflow://local"


def rides(end: datetime) -> Iterator[Body]:
    """Yield the events; the last night ends at `end`."""
    for back in range(DAYS - 1, -1, -1):
        yield from _Night(end - timedelta(days=back), back).events()


class _Night:
    def __init__(self, end: datetime, back: int) -> None:
        self._at = end - timedelta(minutes=40)
        self._back = back
        self._month = (self._at - timedelta(days=60)).strftime("%Y-%m")

    def events(self) -> Iterator[Body]:
        url = (
            f"https://d37ci6vzurychx.cloudfront.net/trip-data/yellow_tripdata_{self._month}.parquet"
        )
        landed = _dataset("file", "/data/landing/yellow_tripdata.parquet")
        fields = {**_RIDES, **({"cbd_congestion_fee": "double"} if self._back < 5 else {})}
        staged, raw = (_table(f"yellow_taxi_{item}", fields) for item in ("staging", "raw"))
        taxi = "ingest_yellow_taxi_data"
        yield from self._task(taxi, "download", 0, [_dataset("https", url[8:])], [landed])
        yield from self._query(taxi, "stage", 2, landed, staged, dict.fromkeys(fields), 84.0)
        yield from self._task(taxi, "check_staging", 4, [_checked(staged, self._back > 0)], [])
        failed = self._back == 3
        merged = "merge_upsert_staging_into_raw_yellow"
        if failed:
            yield from self._task(
                taxi,
                merged,
                5,
                [staged],
                [],
                error="CommitFailedException: branch main has changed",
            )
        yield from self._query(taxi, merged, 7, staged, raw, dict.fromkeys(fields), 131.0)
        yield from self._dag(taxi, 0, 10)
        yield from self._beside()
        clouds, sky = _table("weather_staging", _WEATHER), _table("weather_raw", _WEATHER)
        files = [
            _dataset("file", f"/data/landing/{kind}-cty-scaled.csv") for kind in ("prcp", "tavg")
        ]
        weather = "ingest_weather_data"
        if self._back == 0:
            yield from self._task(
                weather,
                "stage",
                1,
                files,
                [clouds],
                error="HTTPError: 503 Service Unavailable for url ncei.noaa.gov",
            )
            yield from self._dag(weather, 1, 5, is_good=False)
        else:
            yield from self._task(weather, "stage", 1, files, [clouds])
            yield from self._query(
                weather,
                "merge_upsert_staging_into_raw_weather",
                3,
                clouds,
                sky,
                dict.fromkeys(_WEATHER),
                22.0,
            )
            yield from self._dag(weather, 1, 5)
        yield from self._training(raw, sky)

    def _training(self, raw: Body, sky: Body) -> Iterator[Body]:
        flow, actuals = "TrainForecastModelFlow", _table("yellow_rides_hourly_actuals", _HOURS)
        columns = {
            "hour": "tpep_pickup_datetime",
            "PULocationID": None,
            "rides": "tpep_pickup_datetime",
            "mean_distance": "trip_distance",
        }
        yield from self._query(flow, "compute_actuals", 14, raw, actuals, columns, 41.0, _HOW)
        data, model = _artifact(flow, "training_data"), _artifact(flow, "model", "MODEL")
        reads = [actuals, sky] if self._back <= WEATHER_SINCE else [actuals]
        yield from self._task(flow, "prepare_training_data", 17, reads, [data])
        yield from self._task(flow, "train", 19, [data], [model, _artifact(flow, "metrics")])
        forecast = _table("yellow_rides_hourly_forecast", _FORECAST)
        yield from self._task(flow, "write_forecasts_to_table", 25, [model], [forecast])
        yield from self._dag(flow, 13, 27, upstream="ingest_yellow_taxi_data")

    def _beside(self) -> Iterator[Body]:
        """Yield unrelated jobs: a late, a stale and a running one."""
        if self._back > 1:
            yield from self._dag("archive_landing_files", -200, -190)
        if self._back == 1:
            yield self._begun("refresh_dashboards", 0)
        if self._back == 0:
            yield self._begun("publish_forecast_report", 36)

    def _begun(self, name: str, begin: float) -> Body:
        return {**self._run("START", name, begin, begin), "eventTime": self._time(begin)}

    def _dag(
        self, name: str, begin: float, end: float, upstream: str = "", is_good: bool = True
    ) -> Iterator[Body]:
        run = self._run("COMPLETE" if is_good else "FAIL", name, begin, end)
        if upstream:
            other = {"job": _job(upstream), "run": {"runId": self._id(upstream)}}
            run["run"]["facets"]["jobDependencies"] = _facet(upstream=[other])
        yield {**run, "eventType": "START", "eventTime": self._time(begin)}
        yield run

    def _task(
        self,
        dag: str,
        task: str,
        begin: float,
        reads: list[Body],
        writes: list[Body],
        error: str = "",
    ) -> Iterator[Body]:
        end = begin + 1.2 + self._back % 3 * 0.3
        run = self._run("FAIL" if error else "COMPLETE", f"{dag}.{task}", begin, end, salt=error)
        run["inputs"], run["outputs"] = reads, [self._written(write, begin) for write in writes]
        run["run"]["facets"] |= {"parent": _facet(run={"runId": self._id(dag)}, job=_job(dag))}
        if error:
            run["run"]["facets"]["errorMessage"] = _facet(message=error, programmingLanguage="java")
            log = f"https://airflow.example/dags/{dag}/runs/nightly/tasks/{task}?try_number=1"
            run["run"]["facets"]["airflow"] = _facet(taskInstance={"log_url": log})
        yield from self._started(run, begin)

    def _query(
        self, dag: str, task: str, begin: float, of: Body, target: Body,
        columns: dict[str, str | None], seconds: float, how: _How | None = None,
    ) -> Iterator[Body]:  # fmt: skip
        """Yield a task that runs a Spark query, with column lineage."""
        name = f"{dag}.{task}"
        fields = {}
        for field, source in columns.items():
            kind = {"type": "DIRECT", "subtype": (how or {}).get(field, ("IDENTITY",))[0]}
            column = {"namespace": of["namespace"], "name": of["name"], "field": source or field}
            fields[field] = {"inputFields": [{**column, "transformations": [kind]}]}
        written = self._written(target, begin)
        lineage = _facet(_producer=_LISTENER, fields=fields)
        written["facets"] = {**written["facets"], "columnLineage": lineage}
        run = self._run("COMPLETE", f"{name}.write", begin, begin + seconds / 60)
        run["job"]["facets"]["jobType"] = _kind("SPARK", "SQL_JOB")
        run["job"]["facets"]["sql"] = _facet(
            query=_sql(target, of, columns, how or {}, self._month)
        )
        parent = {"run": {"runId": self._id(name)}, "job": _job(name)}
        run["run"]["facets"]["parent"] = _facet(**parent)
        run["inputs"], run["outputs"] = [of], [written]
        yield from self._started(run, begin)
        yield from self._task(dag, task, begin, [], [])

    def _started(self, run: Body, begin: float) -> Iterator[Body]:
        """Yield the start of a run, without data, and its end."""
        start = {"eventType": "START", "eventTime": self._time(begin), "inputs": [], "outputs": []}
        yield {**run, **start}
        yield run

    def _written(self, target: Body, begin: float) -> Body:
        version = str(abs(hash_of(target["name"], self._time(begin))) % 10**18)
        facets = {**target["facets"], "version": _facet(datasetVersion=version)}
        rows = (
            3_000_000 + 12_345 * (DAYS - self._back) if "yellow_taxi" in target["name"] else 48_840
        )
        is_table = "/warehouse/" in target["name"]
        result = {"outputStatistics": _facet(rowCount=rows)} if is_table else {}
        return {**target, "facets": facets, "outputFacets": result}

    def _run(self, type_: str, job: str, begin: float, end: float, salt: str = "") -> Body:
        is_flow, is_task = job.startswith("Train"), "." in job
        kind = ("STEP" if is_task else "FLOW") if is_flow else ("TASK" if is_task else "DAG")
        facets = {
            "jobType": _kind("METAFLOW" if is_flow else "AIRFLOW", kind),
            "ownership": _facet(owners=[{"name": "forecasting" if is_flow else "ingestion"}]),
            "documentation": _facet(description=f"The {kind.lower()} {job.split('.')[-1]}."),
            "sourceCodeLocation": _facet(type="git", url="https://github.com/example/rides",
                repoUrl="https://github.com/example/rides", path="jobs.py", version="9f3c2a71d0"),
        }  # fmt: skip
        return {
            "eventType": type_, "eventTime": self._time(end), "producer": "https://example.org/rides",
            "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
            "run": {"runId": self._id(job + salt), "facets": {}},
            "job": {**_job(job), "facets": facets}, "inputs": [], "outputs": [],
        }  # fmt: skip

    def _id(self, job: str) -> str:
        return str(uuid.UUID(int=hash_of(job, self._time(0))))

    def _time(self, minutes: float) -> str:
        return (self._at + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


_SQL = """INSERT OVERWRITE {target}
SELECT {columns} -- one month replaces itself
FROM {of}
WHERE source_month = '{month}'"""
_HOW = {
    "hour": ("TRANSFORMATION", "date_trunc('hour', {})"),
    "rides": ("AGGREGATION", "count({})"),
    "mean_distance": ("AGGREGATION", "avg({})"),
}
"""Kind of transformation and expression of the columns of the actuals."""


def _sql(target: Body, of: Body, columns: dict[str, str | None], how: _How, month: str) -> str:
    """Return a query that matches the column lineage."""
    items = [
        f"{how[field][1].format(source or field)} AS {field}" if field in how else field
        for field, source in columns.items()
    ]
    listed = ",\n       ".join(items) if how else "*"
    names = (item["name"].rsplit("/", 1)[-1] for item in (target, of))
    return _SQL.format(
        columns=listed, month=month, **dict(zip(("target", "of"), names, strict=True))
    )


def _kind(integration: str, kind: str) -> Body:
    return _facet(integration=integration, jobType=kind, processingType="BATCH")


def hash_of(*texts: str) -> int:
    """Return a number that is equal in all processes."""
    return uuid.uuid5(uuid.NAMESPACE_URL, " ".join(texts)).int


def _checked(table: Body, is_good: bool) -> Body:
    asserted = [
        {"assertion": "not_null", "success": True, "column": "PULocationID"},
        {"assertion": "not_negative", "success": is_good, "column": "fare_amount"},
    ]
    return {**table, "inputFacets": {"dataQualityAssertions": _facet(assertions=asserted)}}


def _table(name: str, fields: dict[str, str]) -> Body:
    keys = {"tier": "gold", "owner_checked": "true"} if "raw" in name else {}
    tags = [{"key": key, "value": value} for key, value in keys.items()]
    if name == "yellow_taxi_raw":
        tags.append({"key": "pii", "value": "true", "field": "tip_amount"})
    result = [{"name": field, "type": type_} for field, type_ in fields.items()]
    facets = {
        "schema": _facet(fields=result),
        "symlinks": _facet(
            identifiers=[{"namespace": _LAKE, "name": f"nyc_taxi.{name}", "type": "TABLE"}]
        ),
        **({"tags": _facet(tags=tags)} if tags else {}),
    }
    return {**_dataset("file", f"/warehouse/nyc_taxi/{name}"), "facets": facets}


def _artifact(flow: str, name: str, type_: str = "JOB_OUTPUT") -> Body:
    return {
        **_dataset(_FLOW, f"{flow}/{name}"),
        "facets": {"datasetType": _facet(datasetType=type_)},
    }


def _dataset(namespace: str, name: str) -> Body:
    return {"namespace": namespace, "name": name, "facets": {}}


def _job(name: str) -> dict[str, str]:
    return {"namespace": "nyc_taxi", "name": name}


_LISTENER = "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/spark"
"""The producer of column lineage with every use of columns."""


def _facet(**content: Any) -> Body:
    return {
        "_producer": "https://example.org/rides",
        "_schemaURL": "https://example.org/1.json",
        **content,
    }
