"""A small lineage with every case that responses can contain.

A shop's nightly pipeline on 21 November 2025: a Spark query loads files into a table, a job writes
a report from it, and a model is trained. One load failed, one check failed, and one run has no end
event.
"""

from __future__ import annotations

from typing import Any

import orjson

from headwater.events import parse_time, to_micros
from headwater.health.findings import finding
from headwater.health.models import Finding
from headwater.keys.store import add_key
from headwater.log import EventLog, RejectedLine, entry_of
from headwater.plugins.alerts._store import Alerts
from headwater.plugins.aliases._service import alias_entry
from headwater.plugins.delivery._store import Deliveries
from headwater.projection.live import Batch, Live

_PRODUCER = "https://example.org/shop/1.0"
_RUN = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
_TABLE = ("hive://lake:9083", "shop.orders")
_PLACE = ("s3://lake", "warehouse/shop/orders")
_RAW = ("s3://landing", "orders.csv")
_AIRFLOW = "https://airflow.example.org/dags/shop_daily/runs/scheduled__2025-11-21T02"
_REPORT = ("postgres://db:5432", "shop.public.revenue")
_MODEL = ("mlflow://models", "forecast")


def run_id(number: int) -> str:
    """Return the id of a run of the sample."""
    return f"00000000-0000-4000-8000-{number:012d}"


def sample(database: str = "sqlite://") -> Live:
    """Return the sample in a log; by default in the memory of the current thread."""
    log = EventLog(database)
    refused = RejectedLine(
        "/var/spool/lineage/shop.jsonl:3", "$: received 'oops', expected JSON", "oops"
    )
    live = Live(log)
    live.ingest(Batch([entry_of(raw) for raw in sample_events()], rejected_lines=[refused]))
    with live.reading() as state:
        at = parse_time("2025-11-21T09:00:00Z")
        twin = "dataset:postgres://db:5432:shop.public.imported"
        alias = alias_entry(
            state,
            "dataset:postgres://db:5432:shop.public.hourly",
            twin,
            to_micros(at),
            is_removed=False,
        )
    live.ingest(Batch([alias]))
    add_key(log, "spark", ["write"])
    alerts = Alerts(log)
    alerts.fire("failed loads", {run_id(8): _alert()}, [0])
    alerts.done(alerts.pending()[0], 0, "POST https://hooks.example.org: 500")
    marquez = Deliveries(log, "marquez")
    marquez.cursor()
    marquez.advance(1)
    marquez.advance(2, "422: eventTime must not be null")
    marquez.fail("connection refused")
    Deliveries(log, "console").cursor()
    return live


def _alert() -> Finding:
    subject = "job:shop:shop_hourly.load"
    return {**finding("failed", subject, "connection refused", "start it"), "runId": run_id(8)}


def sample_events() -> list[bytes]:
    """Return the events of the sample as JSON."""
    return [orjson.dumps(body) for body in _events()]


def _events() -> list[dict[str, Any]]:
    dag, load, query = run_id(1), run_id(2), run_id(3)
    above = _facet(run={"runId": dag}, job=_job("shop_daily"))
    inside = _facet(
        run={"runId": load},
        job=_job("shop_daily.load"),
        root={"run": {"runId": dag}, "job": _job("shop_daily")},
    )
    events = [
        _run(
            "START",
            dag,
            "02:00:00",
            "shop_daily",
            "AIRFLOW/DAG",
            nominalTime=_nominal(),
            airflowDagRun=_facet(dagRun={"run_id": "scheduled__2025-11-21T02:00:00+00:00"}),
        ),
        _run(
            "START",
            load,
            "02:00:05",
            "shop_daily.load",
            "AIRFLOW/TASK",
            parent=above,
            airflow=_facet(taskInstance={"log_url": f"{_AIRFLOW}/tasks/load?try_number=1"}),
        ),
        _load("START", query, "02:00:10", "1", inside),
        _load("COMPLETE", query, "02:01:00", "1", inside),
        _run("COMPLETE", load, "02:01:05", "shop_daily.load", "AIRFLOW/TASK", parent=above),
        _make_report(run_id(4), "02:02:00", above, columns=("day", "revenue")),
        _run("COMPLETE", dag, "02:05:00", "shop_daily", "AIRFLOW/DAG", nominalTime=_nominal()),
        _load("COMPLETE", run_id(5), "03:00:00", "2", None),
        _make_report(run_id(6), "03:02:00", None, columns=("day", "revenue", "orders")),
        _train(run_id(7), "04:00:00"),
        _fail(run_id(8), "05:00:00"),
        _run("START", run_id(9), "06:00:00", "shop_weekly", None),
        _run("COMPLETE", run_id(10), "07:00:00", "shop_daily.load", "AIRFLOW/TASK"),
    ]
    hourly = [_check(run_id(20 + hour), f"{hour:02}:30:00") for hour in range(8, 12)]
    return [*events, *hourly, *_later(), *_declared()]


def _later() -> list[dict[str, Any]]:
    """Return changes of code, columns and inputs, and datasets without lineage."""
    report = _make_report(run_id(11), "12:00:00", None, columns=("day", "orders"))
    report["outputs"][0]["facets"]["schema"]["fields"][0]["type"] = "date"
    report["outputs"][0]["facets"].pop("columnLineage")
    report["inputs"] = [_dataset(("postgres://db:5432", "shop.public.customers"), ("id", "name"))]
    report["job"]["facets"]["sourceCodeLocation"]["version"] = "4d5e6f7"
    above = _facet(run={"runId": run_id(99)}, job=_job("never_heard_of"))
    lone = _run("COMPLETE", run_id(12), "12:10:00", "shop_lone", "AIRFLOW/TASK", parent=above)
    only_written = _run("COMPLETE", run_id(13), "12:20:00", "shop_import", "SPARK/SQL_JOB")
    only_written["outputs"] = [_dataset(("postgres://db:5432", "shop.public.imported"), ("id",))]
    del only_written["job"]["facets"]["sql"]
    code = _facet(language="python", sourceCode='copy("imported", read())')
    only_written["job"]["facets"]["sourceCode"] = code
    only_read = _run("COMPLETE", run_id(14), "12:30:00", "shop_mail", "AIRFLOW/TASK")
    only_read["inputs"] = [_dataset(_REPORT, ())]
    only_read["run"]["facets"]["jobDependencies"] = _facet(
        downstream=[{"job": _job("shop_weekly"), "run": {"runId": run_id(9)}}]
    )
    inner = _facet(run={"runId": run_id(12)}, job=_job("shop_lone_application"))
    lone_query = _run(
        "FAIL", run_id(12), "12:10:30", "shop_lone_query", "SPARK/SQL_JOB", parent=inner
    )
    lone_query["inputs"] = [_dataset(_TABLE, ())]
    told_little = _dataset(("s3://landing", "notes.csv"), ("id",))
    told_little["facets"]["schema"] = _facet(fields=[{"name": "id"}])
    checked = {"assertions": [{"assertion": "row_count", "success": True}]}
    told_little["facets"]["dataQualityAssertions"] = _facet(**checked)
    columns = {"id": {"inputFields": [{**_named(_RAW), "field": "id"}]}}
    told_little["facets"]["columnLineage"] = _facet(fields=columns)
    only_written["outputs"].append(told_little)
    failed = _run("FAIL", run_id(15), "12:40:00", "shop_monthly", "AIRFLOW/DAG")
    return [report, lone, lone_query, only_written, only_read, failed]


def _check(run: str, time: str) -> dict[str, Any]:
    event = _run("COMPLETE", run, time, "shop_check", "AIRFLOW/TASK")
    event["inputs"] = [_dataset(_TABLE, ("id", "mail", "amount"))]
    return event


def _load(type_: str, run: str, time: str, version: str, parent: Any) -> dict[str, Any]:
    facets = {"parent": parent} if parent else {}
    event = _run(type_, run, time, "shop_daily.load.append", "SPARK/SQL_JOB", **facets)
    landed = _facet(datasetVersion="2025-11-21")
    event["inputs"] = [_dataset(_RAW, ("id", "mail", "amount"), version=landed)]
    table = _dataset(
        _TABLE,
        ("id", "mail", "amount"),
        version=_facet(datasetVersion=version),
        symlinks=_facet(identifiers=[{**_named(_PLACE), "type": "LOCATION"}]),
        columnLineage=_columns(_RAW, {name: name for name in ("id", "mail", "amount")}),
        documentation=_facet(description="orders of the shop, one row each"),
        ownership=_facet(owners=[{"name": "team:shop", "type": "MAINTAINER"}]),
        dataSource=_facet(name="lake", uri="hive://lake:9083"),
        lifecycleStateChange=_facet(lifecycleStateChange="OVERWRITE"),
        tags=_facet(
            tags=[
                {"key": "pii", "value": "true", "source": "SHOP", "field": "mail"},
                {"key": "tier", "value": "gold", "source": "SHOP"},
            ]
        ),
        dataQualityAssertions=_facet(
            assertions=[{"assertion": "not_null", "success": False, "column": "mail"}]
        ),
    )
    table["outputFacets"] = {"outputStatistics": _facet(rowCount=120, size=4096, fileCount=2)}
    event["outputs"] = [table]
    return event


def _make_report(run: str, time: str, parent: Any, columns: tuple[str, ...]) -> dict[str, Any]:
    event = _run(
        "COMPLETE",
        run,
        time,
        "shop_daily.report",
        "AIRFLOW/TASK",
        **({"parent": parent} if parent else {}),
    )
    event["run"]["facets"]["jobDependencies"] = _facet(upstream=[{"job": _job("shop_daily.load")}])
    sources = {"day": "id", "revenue": "amount"}
    lineage = _columns(_TABLE, {field: of for field, of in sources.items() if field in columns})
    grouped = {"type": "INDIRECT", "subtype": "GROUP_BY"}
    lineage["dataset"] = [{**_named(_TABLE), "field": "id", "transformations": [grouped]}]
    event["inputs"] = [_dataset(_TABLE, ("id", "mail", "amount"))]
    owned = _facet(owners=[{"name": "team:shop", "type": "MAINTAINER"}])
    event["outputs"] = [_dataset(_REPORT, columns, columnLineage=lineage, ownership=owned)]
    return event


def _train(run: str, time: str) -> dict[str, Any]:
    event = _run("COMPLETE", run, time, "forecast.train", "METAFLOW/STEP")
    event["run"]["facets"]["executionParameters"] = _facet(
        parameters=[{"key": "days", "name": "days", "value": "30"}]
    )
    code = _facet(language="python", sourceCode="fit(read(days))")
    event["job"]["facets"]["sourceCode"] = code
    event["inputs"] = [_dataset(_REPORT, ("day", "revenue", "orders"))]
    event["outputs"] = [_dataset(_MODEL, (), datasetType=_facet(datasetType="MODEL"))]
    return event


def _fail(run: str, time: str) -> dict[str, Any]:
    event = _run("FAIL", run, time, "shop_hourly.load", "AIRFLOW/TASK")
    event["run"]["facets"]["errorMessage"] = _facet(
        message="connection refused", programmingLanguage="python"
    )
    event["outputs"] = [_dataset(("postgres://db:5432", "shop.public.hourly"), ("hour",))]
    del event["producer"]  # causes a warning
    return event


def _declared() -> list[dict[str, Any]]:
    spec = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/"
    head = {"producer": _PRODUCER, "eventTime": "2025-11-21T01:00:00Z"}
    job = {**_job("shop_export"), "facets": {"documentation": _facet(description="planned")}}
    table_name = ("postgres://db:5432", "shop.public.customers")
    table = _dataset(table_name, ("id", "name"))
    unused = _dataset(("postgres://db:5432", "shop.public.unused"), ("id",))
    return [
        {
            **head,
            "schemaURL": f"{spec}JobEvent",
            "job": job,
            "inputs": [_dataset(_REPORT, ())],
            "outputs": [_dataset(("s3://exports", "revenue.csv"), ())],
        },
        {**head, "schemaURL": f"{spec}DatasetEvent", "dataset": table},
        {**head, "schemaURL": f"{spec}DatasetEvent", "dataset": unused},
        {
            **head,
            "eventTime": "2025-11-21T01:30:00Z",
            "schemaURL": f"{spec}DatasetEvent",
            "dataset": _dataset(("postgres://db:5432", "shop.public.unused"), ("id", "name")),
        },
        {
            **head,
            "schemaURL": f"{spec}DatasetEvent",
            "dataset": _dataset(
                ("postgres://db:5432", "shop.public.customers_view"),
                ("id",),
                lineage=_facet(inputs=[{**_named(table_name), "type": "DATASET"}]),
            ),
        },
    ]


def _run(
    type_: str, run: str, time: str, job: str, kind: str | None, **facets: Any
) -> dict[str, Any]:
    job_facets: dict[str, Any] = {
        "sql": _facet(query="insert into orders select * from landing"),
        "documentation": _facet(description=f"the job {job}"),
        "ownership": _facet(owners=[{"name": "team:shop"}]),
        "tags": _facet(tags=[{"key": "nightly", "value": "true", "source": "SHOP"}]),
        "sourceCodeLocation": _facet(
            type="git",
            url="https://git.example.org/shop/etl.sql",
            repoUrl="https://git.example.org/shop",
            path="etl.sql",
            version="0a1b2c3",
        ),
    }
    if kind:
        integration, _, job_type = kind.partition("/")
        job_facets["jobType"] = _facet(
            integration=integration, jobType=job_type, processingType="BATCH"
        )
    return {
        "eventType": type_,
        "eventTime": f"2025-11-21T{time}.250Z",
        "producer": _PRODUCER,
        "schemaURL": _RUN,
        "run": {"runId": run, "facets": facets},
        "job": {**_job(job), "facets": job_facets if kind else {}},
        "inputs": [],
        "outputs": [],
    }


def _dataset(name: tuple[str, str], fields: tuple[str, ...], **facets: Any) -> dict[str, Any]:
    schema = _facet(
        fields=[
            {"name": field, "type": "string", "description": f"the {field}"} for field in fields
        ]
    )
    return {**_named(name), "facets": {**({"schema": schema} if fields else {}), **facets}}


def _columns(of: tuple[str, str], sources: dict[str, str]) -> dict[str, Any]:
    how = {"type": "DIRECT", "subtype": "IDENTITY", "description": "as it is", "masking": False}
    reported = {"transformationType": "IDENTITY", "transformationDescription": "as it is"}
    fields = {
        field: {
            "inputFields": [{**_named(of), "field": item, "transformations": [how]}],
            **reported,
        }
        for field, item in sources.items()
    }
    return _facet(fields=fields)


def _nominal() -> dict[str, Any]:
    return _facet(nominalStartTime="2025-11-21T00:00:00Z", nominalEndTime="2025-11-22T00:00:00Z")


def _facet(**content: Any) -> dict[str, Any]:
    return {"_producer": _PRODUCER, "_schemaURL": "https://example.org/facets/1.json", **content}


def _job(name: str) -> dict[str, str]:
    return {"namespace": "shop", "name": name}


def _named(name: tuple[str, str]) -> dict[str, str]:
    return dict(zip(("namespace", "name"), name, strict=True))
