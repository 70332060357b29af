"""Read the newest forecasts, like the reference query."""

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
    """Return the forecasts of the newest as_of, busiest zone first and by hour; empty without any.

    Columns: datetime_hour, pulocationid, forecasted_total_rides, as_of, model_version.
    """
    table = load_table(settings, forecast_table(service))
    if table is None:
        return []
    stored = table.scan().to_arrow().to_pylist()
    newest = max((row["as_of"] for row in stored), default=None)
    rows = [
        {
            "datetime_hour": datetime(row["year"], row["month"], row["day"], row["hour"]),
            "pulocationid": row["pulocationid"],
            "forecasted_total_rides": row["forecasted_total_rides"],
            "as_of": row["as_of"],
            "model_version": row["model_version"],
        }
        for row in stored
        if row["as_of"] == newest
    ]
    rides: Counter[int] = Counter()
    for row in rows:
        rides[row["pulocationid"]] += row["forecasted_total_rides"]
    return sorted(
        rows,
        key=lambda row: (-rides[row["pulocationid"]], row["pulocationid"], row["datetime_hour"]),
    )
