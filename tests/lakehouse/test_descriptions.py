from __future__ import annotations

from datetime import datetime

import pandas as pd
import pytest
from openlineage.client.serde import Serde
from pyiceberg.schema import Schema
from pyiceberg.types import DoubleType, LongType, NestedField

from lakehouse.catalog import open_catalog
from lakehouse.descriptions import COLUMNS, FORECASTING, TABLES, dataset_facets, describe
from lakehouse.names import DATABASE, Table
from lakehouse.settings import Settings
from metaflow_flows.train_forecast_model import tables
from spark_jobs import taxi, weather
from spark_jobs.taxi.actuals import actuals


def columns_of_tables() -> dict[str, list[str]]:
    """Return the columns of every table that the pipeline writes."""
    specs = [*taxi.SPECS.values(), weather.SPEC]
    schemas = [schema for spec in specs for schema in (spec.staging, spec.raw)]
    schemas += [spec.quarantine for spec in taxi.SPECS.values()]
    schemas += [actuals(service) for service in tables.SERVICES]
    none = pd.DataFrame({"ds": pd.to_datetime([]), "unique_id": [], "forecast": []})
    forecasts = tables.forecast_rows(none, datetime(2025, 6, 1), "m", "1").column_names
    return {schema.table.name: list(schema.columns) for schema in schemas} | {
        tables.forecast(service).name: forecasts for service in tables.SERVICES
    }


def test_exactly_the_existing_tables_and_columns_are_described() -> None:
    by_table = columns_of_tables()
    assert by_table.keys() == TABLES.keys()
    assert {column for columns in by_table.values() for column in columns} == COLUMNS.keys()


def test_pii_tags_name_columns_of_their_table() -> None:
    by_table = columns_of_tables()
    tagged = {name: set(table.pii) for name, table in TABLES.items()}
    assert all(tagged[name] <= set(columns) for name, columns in by_table.items())
    assert {name for name, pii in tagged.items() if pii} == {
        f"{service}_taxi_{kind}"
        for service in ("yellow", "green")
        for kind in ("staging", "quarantine", "raw")
    }


def test_facets_of_a_table_without_declaration_are_empty() -> None:
    assert dataset_facets(Table("scratch")) == {}


def test_every_table_has_an_owner_and_a_domain() -> None:
    for name in TABLES:
        facets = {key: Serde.to_dict(facet) for key, facet in dataset_facets(Table(name)).items()}
        (owner,) = facets["ownership"]["owners"]
        assert owner == {"name": TABLES[name].owner, "type": "OWNER"}
        tags = [tag for tag in facets["tags"]["tags"] if "field" not in tag]
        assert [(tag["key"], tag["value"]) for tag in tags] == [("domain", TABLES[name].domain)]
    assert TABLES["weather_raw"].domain == "weather"
    assert TABLES["green_rides_hourly_forecast"].owner == FORECASTING


@pytest.fixture
def other_schema() -> Schema:
    """Create a table with one described and one undescribed column."""
    return Schema(
        NestedField(1, "prcp", DoubleType(), required=False, doc="An old text."),
        NestedField(2, "own", LongType(), required=False),
    )


def test_descriptions_become_comments_once(settings: Settings, other_schema: Schema) -> None:
    catalog = open_catalog(settings)
    catalog.create_namespace_if_not_exists(DATABASE)
    table = catalog.create_table(Table("weather_raw").identifier, other_schema)
    stale = catalog.load_table(table.name())
    assert describe(table)
    loaded = catalog.load_table(table.name())
    assert loaded.schema().find_field("prcp").doc == COLUMNS["prcp"]
    assert loaded.schema().find_field("own").doc is None
    assert loaded.properties["comment"] == TABLES["weather_raw"].text
    assert not describe(loaded)
    assert not describe(stale)  # another writer has committed
    scratch = catalog.create_table(Table("scratch").identifier, other_schema)
    assert not describe(scratch)
