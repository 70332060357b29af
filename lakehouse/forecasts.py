"""Read the forecasts back, as the reference query does."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any

from lakehouse.catalog import load_table
from lakehouse.names import Table
from lakehouse.settings import Settings


def forecast_table(service: str) -> Table:
    """Return the table of a taxi service's forecasts."""
    return Table(f"{service}_rides_hourly_forecast")


FORECAST = forecast_table("yellow")


def newest_forecasts(settings: Settings, service: str = "yellow") -> list[dict[str, Any]]:
    """Rows (datetime_hour, pulocationid, forecasted_total_rides, as_of, model_version) of the
    newest as_of, the busiest zone first and by hour; none while nothing was forecast."""
    table = load_table(settings, forecast_table(service))
    if table is None:
        return []
    rows = table.scan().to_arrow().to_pylist()
    newest = max((row["as_of"] for row in rows), default=None)
    found = [
        {
            "datetime_hour": datetime(row["year"], row["month"], row["day"], row["hour"]),
            "pulocationid": row["pulocationid"],
            "forecasted_total_rides": row["forecasted_total_rides"],
            "as_of": row["as_of"],
            "model_version": row["model_version"],
        }
        for row in rows
        if row["as_of"] == newest
    ]
    rides: Counter[int] = Counter()
    for row in found:
        rides[row["pulocationid"]] += row["forecasted_total_rides"]
    return sorted(
        found,
        key=lambda row: (-rides[row["pulocationid"]], row["pulocationid"], row["datetime_hour"]),
    )
