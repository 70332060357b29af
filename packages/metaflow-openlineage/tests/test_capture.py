"""Reads and writes that libraries make in steps of real flows."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog

pytestmark = pytest.mark.metaflow
FLOW = Path(__file__).parent / "flows" / "data.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with the files and tables that the flow reads."""
    folder = tmp_path_factory.mktemp("shop")
    pd.DataFrame({"user_id": [1, 2]}).to_csv(folder / "users.csv", index=False)
    orders = pd.DataFrame({"user_id": [1], "amount": [10]})
    orders.to_parquet(folder / "orders.parquet")
    with sqlite3.connect(folder / "shop.db") as shop:
        shop.execute("create table rates (rate int)")
    shop.close()
    warehouse = {"uri": f"sqlite:///{folder}/cat.db", "warehouse": f"file://{folder}/wh"}
    catalog = load_catalog("c", type="sql", **warehouse)
    catalog.create_namespace("nyc")
    rows = pa.table({"id": [1, 2]})
    catalog.create_table("nyc.trips", rows.schema).append(rows)
    catalog.close()
    return folder


@pytest.fixture(scope="module")
def launch(metaflow, folder):
    launch = metaflow.run(FLOW, DATA_FOLDER=str(folder))
    assert launch.process.returncode == 0, launch.process.stderr
    assert "metaflow-openlineage:" not in launch.process.stdout + launch.process.stderr
    return launch


def edges(launch, step, folder):
    """Return the sources of each output of a step, by names relative to the folder."""
    event = launch.one(f"DataFlow.{step}", "COMPLETE")
    entries = event["job"]["facets"]["lineage"]["entries"]
    return {
        entry["name"].removeprefix(f"{folder}/").removeprefix("DataFlow/"): {
            item["name"].removeprefix(f"{folder}/").removeprefix("DataFlow/")
            for item in entry["inputs"]
        }
        for entry in entries
    }


def test_each_artifact_has_the_read_that_it_is(launch, folder):
    assert edges(launch, "start", folder) == {
        "users": {"users.csv"},
        "orders": {"orders.parquet"},
        "trips": {"wh/nyc/trips"},
        "rates": {"rates"},
    }
    event = launch.one("DataFlow.start", "COMPLETE")
    inputs = {item["name"].rpartition("/")[2]: item for item in event["inputs"]}
    assert inputs["rates"]["namespace"] == f"sqlite://{folder}/shop.db"
    assert inputs["trips"]["facets"]["version"]["datasetVersion"].isdecimal()
    fields = inputs["users.csv"]["facets"]["schema"]["fields"]
    assert [(field["name"], field["type"]) for field in fields] == [("user_id", "int64")]


def test_sources_that_are_not_known_are_stated_as_coarse(launch, folder):
    every_input = {"users", "orders", "users.csv"}
    assert edges(launch, "mixed", folder) == {
        "users.parquet": {"users"},
        "joined.parquet": {"users", "orders"},  # users.csv was read later
        "changed": every_input,
        "shop.main.orders": {"orders.parquet"},
        "shop.main.large": {"orders.parquet"},
    }
    outputs = launch.one("DataFlow.mixed", "COMPLETE")["outputs"]
    coarse = {o["name"].rpartition("/")[2]: o["facets"].keys() for o in outputs}
    marked = {name for name, facets in coarse.items() if "headwater_coarseLineage" in facets}
    assert marked == {"joined.parquet", "changed"}


def test_queries_are_child_runs_whose_text_the_server_can_read(launch, folder):
    queries = [e for e in launch.events if ".mixed.query" in e["job"]["name"]]
    texts = {}
    for event in queries:
        facets = event["job"]["facets"]
        text = facets["sql"]["query"] if "sql" in facets else facets["sourceCode"]["sourceCode"]
        texts[text.split()[4]] = "sql" in facets, [item["name"] for item in event["outputs"]]
    assert texts == {
        "orders": (False, ["shop.main.orders"]),  # names a file, which the parser cannot know
        "large": (True, ["shop.main.large"]),
    }


def test_dropped_and_renamed_tables_are_reported_as_changes(launch):
    event = launch.one("DataFlow.changes", "COMPLETE")
    outputs = {item["name"]: item["facets"]["lifecycleStateChange"] for item in event["outputs"]}
    assert {name: facet["lifecycleStateChange"] for name, facet in outputs.items()} == {
        "shop.main.big": "RENAME",
        "shop.main.scratch": "DROP",
    }
    former = outputs["shop.main.big"]["previousIdentifier"]
    assert former == {
        "namespace": event["outputs"][0]["namespace"],
        "name": "shop.main.large",
    }
    (entry,) = event["job"]["facets"]["lineage"]["entries"]
    assert (entry["name"], [item["name"] for item in entry["inputs"]]) == (
        "shop.main.big",
        ["shop.main.large"],
    )


def test_each_query_of_a_step_has_its_own_times(launch):
    queries = [e for e in launch.events if ".changes.query" in e["job"]["name"]]
    times = [event["eventTime"] for event in queries]
    end = launch.one("DataFlow.changes", "COMPLETE")["eventTime"]
    assert times == sorted(set(times))
    assert times[-1] < end


def test_declared_table_is_not_captured_again(launch):
    event = launch.one("DataFlow.end", "COMPLETE")
    assert [item["name"] for item in event["inputs"]] == ["nyc.trips"]


def test_capture_can_be_turned_off(metaflow, folder):
    launch = metaflow.run(FLOW, DATA_FOLDER=str(folder), HEADWATER_CAPTURE="false")
    assert launch.one("DataFlow.start", "COMPLETE")["inputs"] == []
