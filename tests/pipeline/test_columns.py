"""Column lineage, code, queries, descriptions and PII of the pipeline's tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow.parquet as pq
import pytest

from lakehouse.catalog import load_table
from lakehouse.descriptions import COLUMNS, TABLES
from lakehouse.names import Table
from lakehouse.sources import YELLOW
from tests.column_truth import BUSIEST, ELEMENTS, TRUTH, assert_same, reported, truth
from tests.pipeline.conftest import FLOW, Json, Pipeline

pytestmark = pytest.mark.airflow

WRITTEN = sorted(TRUTH.keys() - {"yellow_taxi_quarantine"})
"""Quarantine gets no row here; tests/spark/test_column_truth.py has some."""
QUERIED = [table for table in WRITTEN if table.endswith(("_staging", "_raw", "_actuals"))]


def node_of(table: str) -> str:
    """Return the name of a table or an artifact of the flow in lineage."""
    return f"{FLOW}/{table}" if table in ("training_data", "model") else f"nyc_taxi.{table}"


def held(pipeline: Pipeline, table: str) -> tuple[list[str], set[str]]:
    """Return the columns of a table and the files that its rows are from."""
    loaded = load_table(pipeline.settings, Table(table))
    assert loaded is not None
    columns = loaded.schema().column_names
    names = loaded.scan().to_arrow()["filename"].to_pylist() if "filename" in columns else []
    return columns, set(names)


def files(pipeline: Pipeline, names: set[str]) -> dict[str, list[str]]:
    """Return the files of the truth table's names; real weather has two of the four elements."""
    landed = {path.name for path in (pipeline.settings.landing_dir / "weather").iterdir()}
    months = {name[:6] for name in names}
    weather = {
        element: sorted(landed & {f"{element}-{month}-cty-scaled.csv" for month in months})
        for element in ELEMENTS
    }
    return {"trips": sorted(names), **weather}


@pytest.mark.parametrize("table", WRITTEN)
def test_column_lineage_equals_the_truth_table(table: str, pipeline: Pipeline) -> None:
    node = node_of(table)
    tree = pipeline.get("/api/v2/columns", node=node, depth=1, indirect=True)
    if table in ("training_data", "model"):
        columns = [field["name"] for field in pipeline.get("/api/v2/node", node=node)["fields"]]
        sources: dict[str, list[str]] = {}
    else:
        columns, names = held(pipeline, table)
        sources = files(pipeline, names)
    expected = {
        edge
        for edge in truth(TRUTH[table], columns, sources)
        if edge.source not in missing_in_files(pipeline)
    }
    assert_same(table, reported(tree), expected)


def test_zones_selected_by_rides_depend_on_rides(pipeline: Pipeline) -> None:
    runs = pipeline.get("/api/v2/runs", job=FLOW, limit=100)["items"]
    by_hand, of_schedule, *_ = [run["runId"] for run in runs if run["state"] == "COMPLETED"]
    for run, text in ((by_hand, ""), (of_schedule, BUSIEST)):
        params = {"node": node_of("training_data"), "depth": 1, "indirect": True, "asOf": run}
        expected = truth(TRUTH["training_data"] + text, ("unique_id", "ds", "y"), {})
        assert_same("training_data", reported(pipeline.get("/api/v2/columns", **params)), expected)


def missing_in_files(pipeline: Pipeline) -> set[str]:
    """Return the column that the files of some years do not have yet, by file."""
    missing = set()
    for month in pipeline.months:
        file = YELLOW.files(pipeline.settings, month)[0]
        if "cbd_congestion_fee" not in pq.read_schema(unquote(urlsplit(file.url).path)).names:
            missing.add(f"{file.filename}.cbd_congestion_fee")
    return missing


def test_forecasts_have_the_trips_of_every_month_upstream(pipeline: Pipeline) -> None:
    for field, column in {
        "forecasted_total_rides": "tpep_pickup_datetime",
        "hour": "tpep_pickup_datetime",
        "pulocationid": "PULocationID",
    }.items():
        tree = pipeline.get("/api/v2/columns", node="yellow_rides_hourly_forecast", field=field)
        leaves = {(Path(leaf["name"]).name, leaf["field"]) for leaf in _leaves(tree["up"])}
        trips = {(f"yellow_tripdata_{month}.parquet", column) for month in pipeline.months}
        assert {(name, of) for name, of in leaves if name.endswith(".parquet")} == trips
        reached = {(node["name"], node["field"]) for node in _nodes(tree["up"]) if "field" in node}
        assert ("nyc_taxi.yellow_taxi_raw", column.lower()) in reached


def _nodes(top: Json) -> list[Json]:
    return [top, *(node for child in top["children"] for node in _nodes(child))]


def _leaves(top: Json) -> list[Json]:
    return [node for node in _nodes(top) if not node["children"]]


def test_completeness_has_no_findings(pipeline: Pipeline) -> None:
    completeness = pipeline.get("/api/v2/completeness")["measures"]
    measured = ("inputs", "outputs", "columns", "code")
    assert {name: completeness[name]["findings"] for name in measured} == {
        name: [] for name in measured
    }
    assert all(completeness[name]["runs"] > 0 for name in measured)


def test_airflow_tasks_have_their_commit(pipeline: Pipeline) -> None:
    for dag, task in {
        "ingest_yellow_taxi_data": "download",
        "ingest_weather_data": "stage",
        "train_forecast_model": "run_flow",
    }.items():
        code = pipeline.get("/api/v2/node", node=f"job:nyc_taxi:{dag}.{task}")["code"]
        assert code["path"] == f"airflow/dags/{dag}.py"
        assert code["repoUrl"]
        assert len(code["version"].removesuffix("-dirty")) == 40


@pytest.mark.parametrize("table", QUERIED)
def test_column_shows_the_query_that_computes_it(table: str, pipeline: Pipeline) -> None:
    columns, _ = held(pipeline, table)
    (maker, *_) = pipeline.get("/api/v2/column", node=table, field=columns[0])["producers"]
    assert "SELECT" in maker["sql"]
    assert columns[0] in maker["sql"]


@pytest.mark.parametrize("table", [table for table in WRITTEN if table in TABLES])
def test_tables_and_columns_show_their_descriptions_and_pii(table: str, pipeline: Pipeline) -> None:
    node: dict[str, Any] = pipeline.get("/api/v2/node", node=f"nyc_taxi.{table}")
    assert node["description"] == TABLES[table].text
    columns, _ = held(pipeline, table)
    shown = {field["name"]: field["description"] for field in node["fields"]}
    assert shown == {column: COLUMNS[column] for column in columns}
    pii = {f"pii ({column})" for column in TABLES[table].pii}
    assert set(node["tags"]) == {f"domain:{TABLES[table].domain}", *pii}
    assert node["owners"] == [TABLES[table].owner]


def test_counts_and_forecasts_contain_no_pii(pipeline: Pipeline) -> None:
    for table, has_pii in {
        "yellow_taxi_raw": True,
        "yellow_rides_hourly_actuals": False,
        "yellow_rides_hourly_forecast": False,
    }.items():
        (answer,) = pipeline.get("/api/v2/gate", dataset=table)["datasets"]
        assert ("no_pii" in {violation["kind"] for violation in answer["violations"]}) is has_pii
