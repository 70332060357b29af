"""Checks of one complete run of the pipeline (see conftest.py)."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import sys
import time
from collections import Counter, defaultdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from commands.demo import explain
from commands.environment import child_environ
from commands.services import lineage_caught_up
from headwater.plugins.provenance.envelope import verified
from lakehouse.catalog import PROVENANCE, load_table
from lakehouse.forecasts import FORECAST, newest_forecasts
from lakehouse.names import Table
from lakehouse.provenance import PUBLIC_KEY
from lakehouse.settings import REPOSITORY
from lakehouse.sources import YELLOW
from packages.headwater.tests.support.datahub_server import endpoint_error
from spark_jobs.lineage import PRODUCER
from tests.conftest import card_of
from tests.pipeline.conftest import FLOW, TAXI_DAG, TRAIN_DAG, Json, Pipeline, snapshots

pytestmark = pytest.mark.airflow

TABLES = {"nyc_taxi." + name: name for name in (
    "yellow_taxi_staging",
    "yellow_taxi_quarantine",
    "yellow_taxi_raw",
    "weather_staging",
    "weather_raw",
    "yellow_rides_hourly_actuals",
    "yellow_rides_hourly_forecast",
)}  # fmt: skip


def edges_of_docs() -> dict[str, tuple[set[str], set[str]]]:
    """Return what each job reads and writes by the table of docs/reference/pipeline.md."""
    lines = (REPOSITORY / "docs/reference/pipeline.md").read_text().splitlines()
    rows = [line.strip("|").split("|") for line in lines if line.startswith("| `")]
    cells = [
        [set(cell.replace("`", "").strip().split(", ")) - {""} for cell in row] for row in rows
    ]
    return {job.pop(): (reads, writes) for job, reads, writes in cells}


EDGES = edges_of_docs()


def known_as(pipeline: Pipeline, namespace: str, name: str) -> str:
    """Return a dataset's name as docs/reference/pipeline.md has it."""
    if name in TABLES:
        return TABLES[name]
    if namespace != "file":
        return name
    path = Path(name)
    for kind in ("taxi", "weather"):
        url = getattr(pipeline.settings, f"{kind}_url")
        if path.is_relative_to(unquote(urlsplit(url).path)):
            return f"{kind} URL"
    folder = path.relative_to(pipeline.settings.landing_dir).parts[0]
    return f"{'taxi' if folder == 'yellow' else folder} landing file"


def test_data_edges_between_tasks_are_those_of_the_docs(pipeline: Pipeline) -> None:
    edges: dict[str, tuple[set[str], set[str]]] = defaultdict(lambda: (set(), set()))
    for edge in pipeline.get("/api/v2/edges", level="task", kind="data")["items"]:
        dataset = known_as(pipeline, edge["dataset"]["namespace"], edge["dataset"]["name"])
        edges[edge["job"]["name"]][edge["direction"] == "writes"].add(dataset)
    assert dict(edges) == EDGES


def test_pipeline_keeps_its_contract(pipeline: Pipeline) -> None:
    contract = yaml.safe_load((REPOSITORY / "contracts" / "pipeline.yaml").read_text())
    answer = pipeline.get("/api/v2/check", contract=json.dumps(contract))
    assert answer["findings"] == []


def test_airflow_spark_and_pyiceberg_name_one_node_for_a_table(pipeline: Pipeline) -> None:
    export = pipeline.get("/api/v1/search", q="yellow_taxi_raw")
    nodes = {r["nodeId"] for r in export["results"] if r["type"] == "DATASET"}
    assert len(nodes) == 1
    producers = {
        event["producer"].split("/tree/")[0].rsplit("/", 1)[-1]
        for event in pipeline.events()
        for dataset in event.get("inputs", []) + event.get("outputs", [])
        if "yellow_rides_hourly_actuals" in json.dumps(dataset)
        or "yellow_taxi_raw" in dataset["name"]
    }
    assert len(producers) >= 3, producers


def test_datahubs_converter_accepts_every_event(pipeline: Pipeline) -> None:
    errors = {(event["job"]["name"], endpoint_error(event)) for event in pipeline.events()}
    assert {reason for _, reason in errors} == {None}, errors
    commits = {
        (event["job"]["name"], event["run"]["facets"]["processing_engine"]["name"])
        for event in pipeline.events()
        if event["producer"] == PRODUCER and event["eventType"] == "RUNNING"
    }
    assert (f"{FLOW}.compute_actuals", "metaflow") in commits
    assert {engine for job, engine in commits if not job.startswith(FLOW)} == {"Airflow"}


def test_every_run_has_one_root_per_trigger(pipeline: Pipeline) -> None:
    roots: dict[str, set[tuple[str, str]]] = defaultdict(set)
    parents: dict[str, str] = {}
    jobs: dict[str, str] = {}
    for event in pipeline.events():
        run = event["run"]["runId"]
        jobs[run] = event["job"]["name"]
        parent = event["run"].get("facets", {}).get("parent")
        if parent:
            parents[run] = parent["run"]["runId"]
            root = parent["root"]
            roots[run].add((root["job"]["name"], root["run"]["runId"]))
    for run, run_roots in roots.items():
        assert len(run_roots) == 1, f"{jobs[run]} names several roots: {run_roots}"
        top = run
        while top in parents:
            top = parents[top]
            assert top in jobs, f"{jobs[run]} has an unreported parent"
        assert (jobs[top], top) == next(iter(run_roots))
    tops = {jobs[run] for run in jobs if run not in parents}
    assert tops == {"ingest_yellow_taxi_data", "ingest_weather_data", "train_forecast_model"}


def test_flow_and_queries_are_children_of_their_dag(pipeline: Pipeline) -> None:
    parents = {}
    for event in pipeline.events():
        parent = event["run"].get("facets", {}).get("parent")
        if parent:
            parents[event["job"]["name"]] = parent["job"]["name"]
    query = next(job for job in parents if job.startswith("yellow_rides_hourly_actuals.overwrite"))
    chain = [query]
    while chain[-1] in parents:
        chain.append(parents[chain[-1]])
    assert chain[1:] == [
        "yellow_rides_hourly_actuals",
        f"{FLOW}.compute_actuals",
        FLOW,
        "train_forecast_model.run_flow",
        "train_forecast_model",
    ]


def test_each_load_of_new_data_triggers_one_training(pipeline: Pipeline) -> None:
    ends = [event["job"]["name"] for event in pipeline.events() if event["eventType"] == "COMPLETE"]
    loads = len(pipeline.months) + 1  # and the one by hand
    assert (ends.count(TRAIN_DAG), ends.count(FLOW)) == (loads, loads)


def test_interrupted_training_failed_and_was_repeated(pipeline: Pipeline) -> None:
    assert pipeline.airflow.run_state(TRAIN_DAG, pipeline.cut_off) == "failed"
    assert not pipeline.airflow.unfinished(TRAIN_DAG)
    runs = pipeline.get("/api/v2/runs", job=TRAIN_DAG, limit=100)["items"]
    assert Counter(run["state"] for run in runs) == {"FAILED": 1, "COMPLETED": 3}
    flows = pipeline.get("/api/v2/runs", job=FLOW, limit=100)["items"]
    assert Counter(run["state"] for run in flows) == {"FAILED": 1, "COMPLETED": 3}


def test_tables_loaded_month_by_month_come_from_every_file(pipeline: Pipeline) -> None:
    files = {YELLOW.files(pipeline.settings, m)[0].filename for m in pipeline.months}
    assert len(files) == 2
    for table in ("yellow_taxi_raw", "yellow_rides_hourly_forecast"):
        tree = json.dumps(pipeline.get("/api/v2/tree", node=table)["up"])
        assert [file for file in files if file not in tree] == [], table


def test_loads_report_which_partitions_they_replaced(pipeline: Pipeline) -> None:
    found: dict[str, set[str]] = {"yellow_taxi_raw": set(), "yellow_rides_hourly_actuals": set()}
    for event in pipeline.events():
        for output in event.get("outputs", ()):
            table = output["name"].rpartition(".")[2]
            subset = (output.get("outputFacets") or {}).get("subset")
            if table in found and subset:
                for partition in subset["outputCondition"]["partitions"]:
                    found[table] |= set(partition["dimensions"].values())
    files = {f"yellow_tripdata_{month}.parquet" for month in pipeline.months}
    assert found["yellow_taxi_raw"] == files
    assert all("/" in window for window in found["yellow_rides_hourly_actuals"])
    assert found["yellow_rides_hourly_actuals"]


def test_column_comes_from_the_same_column_of_every_file(pipeline: Pipeline) -> None:
    top = pipeline.get("/api/v2/columns", node="yellow_taxi_raw", field="pulocationid")["up"]
    (column,) = top["children"]
    files = set()
    for step in column["children"]:
        assert (step["name"], step["field"]) == ("nyc_taxi.yellow_taxi_staging", "pulocationid")
        files |= {(Path(leaf["name"]).name, leaf["field"]) for leaf in step["children"]}
    assert files == {
        (f"yellow_tripdata_{month}.parquet", "PULocationID") for month in pipeline.months
    }


def test_actuals_columns_come_from_trip_columns(pipeline: Pipeline) -> None:
    top = pipeline.get("/api/v2/columns", node="yellow_rides_hourly_actuals", depth=1)["up"]
    assert {
        column["field"]: {(step["field"], step["transformation"]) for step in column["children"]}
        for column in top["children"]
    } == {
        "datetime_hour": {("tpep_pickup_datetime", "TRANSFORMATION")},
        "pulocationid": {("pulocationid", "IDENTITY")},
        # Spark's listener reports a count as masking its values.
        "total_rides": {("tpep_pickup_datetime", "AGGREGATION, MASKED")},
    }


def test_trigger_is_a_control_dependency(pipeline: Pipeline) -> None:
    control = {
        (edge["upstream"]["name"], edge["downstream"]["name"])
        for edge in pipeline.get("/api/v2/edges", level="task", kind="control")["items"]
    }
    assert (f"{FLOW}.train", f"{FLOW}.write_forecasts_to_table") in control
    assert any(up.startswith(TAXI_DAG) and down.startswith(TRAIN_DAG) for up, down in control), (
        control
    )


def test_own_events_match_openlineages_schemas(pipeline: Pipeline, shared: Path) -> None:
    registry: Registry[Any] = Registry()
    facets = {}
    for path in (shared / "spec").rglob("*.json"):
        schema = json.loads(path.read_text())
        registry = registry.with_resource(schema["$id"], Resource.from_contents(schema))
        for name in schema.get("properties", {}):
            facets[name, schema["$id"].rsplit("/", 2)[-1]] = schema
    core = json.loads((shared / "spec" / "OpenLineage.json").read_text())
    validator = Draft202012Validator(core, registry=registry)
    problems: Counter[str] = Counter()
    checked: Counter[str] = Counter()
    for event in pipeline.events():
        if "integration/spark" in event["producer"] or "apache/airflow" in event["producer"]:
            continue  # other producers' events are only parsed
        checked[event["producer"]] += 1
        for error in validator.iter_errors(event):
            problems[f"{event['job']['name']}: {error.json_path}: {error.message}"] += 1
        for name, facet in _facets(event):
            assert facet["_producer"], name
            document = facet["_schemaURL"].split("#")[0]
            if (name, document.rsplit("/", 1)[-1]) in facets:
                schema = facets[name, document.rsplit("/", 1)[-1]]
                for error in Draft202012Validator(schema, registry=registry).iter_errors(
                    {name: facet}
                ):
                    problems[f"{event['job']['name']}: {name}: {error.message}"] += 1
    assert len(checked) == 2  # metaflow-openlineage, and the checks of the Spark jobs
    assert not problems


def _facets(event: Json) -> list[tuple[str, Json]]:
    holders = [event["run"], event["job"], *event.get("inputs", []), *event.get("outputs", [])]
    keys = ("facets", "inputFacets", "outputFacets")
    return [item for h in holders for key in keys for item in (h.get(key) or {}).items()]


def test_events_contain_no_secrets(pipeline: Pipeline) -> None:
    secret = (pipeline.settings.state_dir / "airflow" / "secret").read_text()
    text = "\n".join(json.dumps(event) for event in pipeline.events())
    assert secret not in text
    assert not re.search(r"AKIA[0-9A-Z]{16}|-----BEGIN [A-Z ]*PRIVATE KEY|Bearer [\w.-]{20,}", text)
    assert "airflow:airflow" not in text


def test_raw_contains_every_distinct_trip(pipeline: Pipeline) -> None:
    raw = load_table(pipeline.settings, Table("yellow_taxi_raw"))
    assert raw is not None
    loaded = Counter(raw.scan().to_arrow()["filename"].to_pylist())
    expected = {}
    for month in pipeline.months:
        file = YELLOW.files(pipeline.settings, month)[0]
        trips = pq.read_table(unquote(urlsplit(file.url).path))
        expected[file.filename] = trips.group_by(trips.column_names).aggregate([]).num_rows
    assert loaded == expected


def test_actuals_match_an_independent_count(pipeline: Pipeline) -> None:
    actuals = load_table(pipeline.settings, Table("yellow_rides_hourly_actuals"))
    assert actuals is not None
    end = _month_after(pipeline.months[-1])
    start = end - timedelta(days=30)
    rows = actuals.scan(row_filter=f"datetime_hour >= '{start.isoformat()}'").to_arrow()
    files = [YELLOW.files(pipeline.settings, month)[0].url for month in pipeline.months]
    trips = pa.concat_tables(
        [pq.read_table(unquote(urlsplit(url).path)) for url in files],
        promote_options="permissive",
    )
    trips = trips.group_by(trips.column_names).aggregate([])
    counted = sum(start <= pickup < end for pickup in trips["tpep_pickup_datetime"].to_pylist())
    assert sum(rows["total_rides"].to_pylist()) == counted


def _month_after(month: str) -> datetime:
    return (datetime.strptime(month, "%Y-%m") + timedelta(days=31)).replace(day=1)


def test_every_zone_and_hour_is_forecast_from_last_week(pipeline: Pipeline) -> None:
    forecasts = newest_forecasts(pipeline.settings)
    assert len(forecasts) == 50 * 24
    assert forecasts[0]["as_of"] == _month_after(pipeline.months[-1])
    actuals = load_table(pipeline.settings, Table("yellow_rides_hourly_actuals"))
    assert actuals is not None
    rides = {
        (row["datetime_hour"], row["pulocationid"]): row["total_rides"]
        for row in actuals.scan().to_arrow().to_pylist()
    }
    for row in forecasts:
        before = row["datetime_hour"] - timedelta(days=7)
        assert row["forecasted_total_rides"] == rides.get((before, row["pulocationid"]), 0)


def test_second_demo_changes_no_data(pipeline: Pipeline) -> None:
    before, after = pipeline.versions
    assert before == after != {}
    said = " ".join(pipeline.notes_of_repetition)
    assert "No new taxi data, so no model was trained." in said
    for month in pipeline.months:
        name = YELLOW.files(pipeline.settings, month)[0].filename
        assert f"{name} is already loaded and has not changed." in said


def test_run_without_months_explains_skipped_months(
    pipeline: Pipeline,
) -> None:
    tasks = {
        task["task_id"]: task for task in pipeline.airflow.tasks(TAXI_DAG, pipeline.unattended)
    }
    assert {task["state"] for task in tasks.values()} == {"skipped"}
    log = pipeline.airflow.log(TAXI_DAG, pipeline.unattended, "download", 1)
    assert re.search(r"yellow_tripdata_\d{4}-\d\d\.parquet does not exist", log)


def test_training_uses_parameters_of_airflows_form(pipeline: Pipeline) -> None:
    table = load_table(pipeline.settings, FORECAST)
    assert table is not None
    moment = datetime.fromisoformat(pipeline.by_hand["as_of_datetime"])
    rows = table.scan(row_filter=f"as_of = '{moment.isoformat()}'").to_arrow().to_pylist()
    assert sorted((row["pulocationid"], row["hour"]) for row in rows) == [
        (zone, hour) for zone in (132, 237) for hour in range(3)
    ]


def test_failed_run_is_explained_by_error_and_log(pipeline: Pipeline) -> None:
    why = explain(pipeline.settings, pipeline.airflow, TAXI_DAG, pipeline.mistyped)
    assert "SettingsError: Unknown parameters of the run: month. Use only months" in why
    assert "::group::" not in why
    path = re.search(r"Its log is (\S+\.log)", why)
    assert path
    assert Path(path[1]).exists()


def test_nothing_is_missing_though_the_lineage_server_was_killed(pipeline: Pipeline) -> None:
    assert pipeline.killed_after > 0
    run_ids = {run["runId"] for run in pipeline.get("/api/v2/export")["runs"]}
    reported = {event["run"]["runId"] for event in pipeline.events()}
    assert reported <= run_ids


def test_model_is_distinguished_from_other_artifacts(pipeline: Pipeline) -> None:
    types = {
        dataset["name"]: dataset["facets"]["datasetType"]["datasetType"]
        for event in pipeline.events()
        for dataset in event.get("outputs", [])
        if dataset["name"].startswith(FLOW)
    }
    assert types[f"{FLOW}/model"] == "MODEL"
    assert types[f"{FLOW}/training_data"] != "MODEL"


def test_model_facet_has_training_period_and_errors(pipeline: Pipeline) -> None:
    facets = [
        output["facets"]["nycTaxi_model"]
        for event in pipeline.events()
        if event["eventType"] == "COMPLETE" and event["job"]["name"] == f"{FLOW}.train"
        for output in event["outputs"]
        if output["name"] == f"{FLOW}/model"
    ]
    assert {facet["model"] for facet in facets} == {"seasonal_naive"}
    assert pipeline.by_hand["as_of_datetime"] in {facet["trainedTo"][:16] for facet in facets}
    assert all(facet["metrics"]["mae"] > 0 for facet in facets)
    gates = {facet["gate"].partition(" (")[0] for facet in facets}
    # The first training ran while the lineage server was killed, which its gate records.
    assert gates - {"not asked: reproduced"} == {"passed", "ungated: unreachable"}


def test_card_shows_forecasts_metrics_and_lineage(pipeline: Pipeline) -> None:
    forecasts = newest_forecasts(pipeline.settings)
    version = forecasts[0]["model_version"]
    card = card_of(pipeline.settings, version)
    errors, zones = (part["spec"]["data"]["values"] for part in card if part["type"] == "vegaChart")
    assert [row["hour"] for row in errors] == list(range(24))
    written = {
        (f"zone {row['pulocationid']}", f"{row['datetime_hour']:%Y-%m-%dT%H:%MZ}"): row
        for row in forecasts
    }
    ahead = [row for row in zones if row["what"] == "forecast"]
    assert len(ahead) == 6 * 24
    for row in ahead:
        assert written[row["zone"], row["ds"]]["forecasted_total_rides"] == round(row["rides"])
    metrics, lineage = (part["data"] for part in card if part["type"] == "table")
    assert metrics[0][0] == "seasonal_naive"
    page, run = (httpx.get(link) for link in re.findall(r"\]\((http.+?)\)", card[-1]["source"]))
    for response in (page, run):
        assert response.headers["content-type"].startswith("text/html"), response.text
        assert response.is_success
    graph = pipeline.get("/api/v2/graph", **page.url.params)
    assert "nyc_taxi.yellow_rides_hourly_forecast" in {node["name"] for node in graph["nodes"]}
    assert pipeline.get("/api/v2/node", node=run.url.params["node"])["kind"] == "pipeline"
    details = pipeline.get(f"/api/v2/runs/{run.url.params['open'].removeprefix('run:')}")
    steps = {step["job"]["name"]: step for step in details["below"]}
    (read,) = steps[f"{FLOW}.prepare_training_data"]["inputs"]
    assert lineage[0] == ["read", read["name"], f"snapshot {read['version']}"]


def test_model_and_forecasts_carry_signed_provenance(pipeline: Pipeline, tmp_path: Path) -> None:
    settings, table = pipeline.settings, load_table(pipeline.settings, FORECAST)
    assert table is not None
    noted = json.loads(table.properties[PROVENANCE])
    assert noted["snapshot"] == table.metadata.current_snapshot_id
    flow, run, step, task, name = noted["artifact"].split("/")
    source = f"json.dumps(metaflow.Task('{flow}/{run}/{step}/{task}')['{name}'].data)"
    program = [sys.executable, "-c", f"import json, metaflow; print({source})"]
    done = subprocess.run(
        program, env=child_environ(settings), capture_output=True, text=True, check=True
    )
    (tmp_path / "bundle.json").write_text(done.stdout)
    statement, _ = verified(tmp_path / "bundle.json", settings.state_dir / PUBLIC_KEY)
    content = base64.b64decode(json.loads(done.stdout)["payload"])
    assert noted["sha256"] == hashlib.sha256(content).hexdigest()
    (subject,) = statement["subject"]
    provenance = pipeline.get(
        "/api/v2/provenance", node=subject["name"], version=subject["digest"]["sha1"]
    )
    lineage = statement["predicate"]["buildDefinition"]["internalParameters"]
    runs = [item["run"]["runId"] for item in lineage["runs"] if item["run"]]
    assert runs == [item["run"]["runId"] for item in provenance["runs"] if item["run"]]
    assert {f"{flow}.train", f"{TAXI_DAG}.download"} <= {
        item["job"]["name"] for item in lineage["runs"]
    }
    assert lineage["checks"]


# The last one, because it adds runs, which the tests above count.
def test_maintenance_expires_snapshots_without_changing_lineage(
    pipeline: Pipeline,
) -> None:
    def lineage_now() -> list[Any]:
        tree = pipeline.get("/api/v2/tree", node="yellow_rides_hourly_forecast")
        return [tree["up"], pipeline.get("/api/v2/edges", level="task", kind="data")]

    def history(name: str) -> set[int]:
        table = load_table(pipeline.settings, Table(name))
        return {snapshot.snapshot_id for snapshot in table.metadata.snapshots} if table else set()

    def pinned(name: str) -> set[int]:
        table = load_table(pipeline.settings, Table(name))
        return {ref.snapshot_id for ref in table.metadata.refs.values()} if table else set()

    versions, lineage = snapshots(pipeline.settings), lineage_now()
    replaced = history("yellow_taxi_staging")
    airflow, dag = pipeline.airflow, "maintain_tables"
    airflow.unpause(dag)
    run = airflow.trigger(dag, {})
    deadline = time.monotonic() + 300
    while airflow.unfinished(dag) or not lineage_caught_up(pipeline.settings):
        assert time.monotonic() < deadline
        time.sleep(1)
    assert airflow.run_state(dag, run) == "success"
    assert len(replaced) > 1
    assert len(history("yellow_taxi_staging")) == 1
    actuals = "yellow_rides_hourly_actuals"
    assert history(actuals) == pinned(actuals)  # what each training read
    assert len(pinned(actuals)) > 1
    assert snapshots(pipeline.settings) == versions
    assert lineage_now() == lineage
