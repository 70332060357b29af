from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pytest

from lakehouse.settings import Settings, load_settings
from metaflow_flows.train_forecast_model import card
from metaflow_flows.train_forecast_model.card_commands import keep_cards_home
from metaflow_flows.train_forecast_model.plan import Plan
from metaflow_openlineage import Dataset

pytestmark = pytest.mark.filterwarnings("ignore:The _yaml extension module")  # Metaflow's own

START, AS_OF = datetime(2025, 5, 29), datetime(2025, 6, 1)
TABLE = Dataset("hive://lakehouse", "nyc_taxi.yellow_rides_hourly_actuals", version="123")
TARGET = Dataset("hive://lakehouse", "nyc_taxi.yellow_rides_hourly_forecast")
ZONES = {7: 2, 5: 9, 3: 9, 8: 1, 1: 4, 2: 5, 4: 3, 6: 0}
"""Rides of every hour, by zone."""


@pytest.fixture
def held_out() -> pd.DataFrame:
    """Return three held-out days with constant rides per zone and random forecasts."""
    hours = pd.date_range(START, AS_OF, freq="h", inclusive="left")
    rng = np.random.default_rng(1)
    count = len(ZONES) * len(hours)
    return pd.DataFrame(
        {
            "unique_id": np.repeat(list(ZONES), len(hours)),
            "ds": np.tile(hours, len(ZONES)),
            "y": np.repeat(list(map(float, ZONES.values())), len(hours)),
            "forecast": rng.uniform(0, 10, count),
            "baseline": rng.uniform(0, 10, count),
            "change": 2.0,
        }
    )


@pytest.fixture
def ahead() -> pd.DataFrame:
    hours = pd.date_range(AS_OF, periods=24, freq="h")
    zone, ds = np.repeat(list(ZONES), 24), np.tile(hours, len(ZONES))
    return pd.DataFrame({"unique_id": zone, "ds": ds, "forecast": 1.25})


def rendered(contents: Sequence[Any]) -> list[Any]:
    return [content.render() for content in contents]


def test_hourly_error_is_the_mean_over_days_and_zones(held_out: pd.DataFrame) -> None:
    errors = card.errors_by_hour(held_out, "weather").set_index(["model", "hour"])["error"]
    assert len(errors) == 2 * 24
    for model, column in (("weather", "forecast"), ("seasonal_naive", "baseline")):
        for hour in range(24):
            rows = [row for row in held_out.to_dict("records") if row["ds"].hour == hour]
            assert len(rows) == 3 * len(ZONES)
            error = sum(abs(row["y"] - row[column]) for row in rows) / len(rows)
            assert errors[model, hour] == pytest.approx(error)


def test_busiest_zones_are_shown_with_ties_by_id(held_out: pd.DataFrame) -> None:
    assert card.busiest_zones(held_out) == [3, 5, 2, 1, 4, 7]


def test_zone_chart_has_rides_and_both_forecasts(
    held_out: pd.DataFrame, ahead: pd.DataFrame
) -> None:
    lines = card.zone_lines(held_out, ahead, [3, 2])
    assert set(lines["zone"]) == {2, 3}
    of_zone = lines[lines["zone"] == 3].set_index(["what", "ds"])["rides"]
    assert (of_zone[card.ACTUAL] == 9).all()
    forecast = held_out[held_out["unique_id"] == 3].set_index("ds")["forecast"]
    assert (of_zone[card.HELD_OUT] == forecast).all()
    assert of_zone[card.AHEAD].index[0] == pd.Timestamp(AS_OF)
    assert of_zone.groupby(level="what").size().to_dict() == {
        card.ACTUAL: 72,
        card.HELD_OUT: 72,
        card.AHEAD: 24,
    }


def test_chart_times_are_new_york_time_in_every_browser(
    held_out: pd.DataFrame, ahead: pd.DataFrame
) -> None:
    chart = card.zones_chart(card.zone_lines(held_out, ahead, [3]), [3])
    assert chart["data"]["values"][0]["ds"] == "2025-05-29T00:00Z"
    assert chart["encoding"]["x"]["scale"] == {"type": "utc"}


def test_seasonal_naive_is_not_compared_with_itself(held_out: pd.DataFrame) -> None:
    metrics = {"mae": 1.5, "baseline_mae": 2.0, "mase": 0.75, "baseline_mase": 1.0}
    naive = {"seasonal_naive": 2.0}
    assert card.metric_rows(metrics, "weather") == [
        ["weather", "1.500", "0.750"],
        ["seasonal_naive", "2.000", "1.000"],
    ]
    assert [row[0] for row in card.metric_rows(metrics, "seasonal_naive")] == list(naive)
    same = held_out.assign(baseline=held_out["forecast"])
    assert set(card.errors_by_hour(same, "seasonal_naive")["model"]) == set(naive)


def test_missing_metric_is_a_dash() -> None:
    assert card.metric_rows({"mae": 1.5, "baseline_mae": 1.5}, "seasonal_naive") == [
        ["seasonal_naive", "1.500", "–"]
    ]


def test_card_lineage_has_snapshots_and_graph_links(
    settings: Settings,
) -> None:
    _, table, links = rendered(card.lineage_contents(settings, "17", [TABLE], TARGET))
    assert table["data"] == [
        ["read", TABLE.name, "snapshot 123"],
        ["written next", TARGET.name, "model_version 17"],
    ]
    graph = f"{settings.headwater_url}/lineage?node=dataset:{TARGET.namespace}:{TARGET.name}&up=20"
    assert graph in unquote(links["source"])
    flow = f"job:{settings.job_namespace}:TrainForecastModelFlow&open=run:"
    assert flow in unquote(links["source"])


def test_reproduction_card_has_no_written_table(settings: Settings) -> None:
    _, table, links = rendered(card.lineage_contents(settings, "17", [TABLE], None))
    assert table["data"] == [["read", TABLE.name, "snapshot 123"]]
    assert TABLE.name in unquote(links["source"])


def test_card_has_no_links_without_an_embedded_backend(settings: Settings) -> None:
    elsewhere = settings.model_copy(
        update={"lineage_backend": "marquez", "lineage_delivery": "direct"}
    )
    text = str(rendered(card.lineage_contents(elsewhere, "17", [TABLE], TARGET)))
    assert "123" in text
    assert "http" not in text


def test_card_has_all_sections_in_order(held_out: pd.DataFrame, ahead: pd.DataFrame) -> None:
    plan = Plan("green", "weather", AS_OF, datetime(2025, 5, 2), 24, ())
    contents = rendered(card.forecast_contents(plan, {"mae": 1.5}, held_out, ahead))
    kinds = ["markdown", "markdown", "table", "vegaChart", "markdown", "vegaChart"]
    assert [content["type"] for content in contents] == kinds
    assert "Green rides as of 2025-06-01 00:00" in contents[0]["source"]
    assert "Each of the 3 days was forecast" in contents[1]["source"]


@pytest.mark.filterwarnings("ignore:unclosed file")  # Metaflow's own import
def test_cards_are_local_and_cached_in_the_state_folder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from metaflow.plugins.cards import card_datastore, card_server

    # Restores their values after the test.
    monkeypatch.setattr(card_datastore, "TEMP_DIR_NAME", "metaflow_card_cache")
    monkeypatch.setattr(card_server, "ThreadingHTTPServer", ThreadingHTTPServer)
    keep_cards_home(["flow.py", "run"])
    assert card_server.ThreadingHTTPServer is ThreadingHTTPServer
    keep_cards_home(["flow.py", "card", "server"])
    with card_server.ThreadingHTTPServer(("", 0), BaseHTTPRequestHandler) as server:
        assert server.server_address[0] == "127.0.0.1"
    assert Path(card_datastore.TEMP_DIR_NAME).is_relative_to(load_settings().state_dir)
