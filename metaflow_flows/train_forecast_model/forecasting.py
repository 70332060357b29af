"""The science, as plain functions over DataFrames.

A training frame has the columns of Nixtla's libraries: `unique_id` (pickup zone, int), `ds`
(hour, New York wall clock) and `y` (rides), with a row for every zone and hour.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pandas as pd

from lakehouse.errors import PipelineError

if TYPE_CHECKING:
    from statsforecast import StatsForecast

WEEK_HOURS = 168
HOLDOUT_HOURS = 24


class BadWindow(PipelineError):
    """The parameters name a time that cannot be trained on."""


def parse_as_of(text: str) -> datetime:
    """Raises:
    BadWindow: it is no time.
    """
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise BadWindow(
            f"as_of_datetime is {text!r}; it must be a time such as 2025-06-01T00:00."
        ) from None


def parse_locations(text: str) -> list[int]:
    """Raises:
    BadWindow: a zone is not a number.
    """
    try:
        return sorted({int(zone) for zone in text.split(",") if zone.strip()})
    except ValueError:
        raise BadWindow(
            f"locations is {text!r}; it must be zone numbers such as 132,138."
        ) from None


def check_window(as_of: datetime, lookback_days: int, horizon_hours: int) -> None:
    """Raises:
    BadWindow: the model could only answer with zeros or nothing.
    """
    if as_of.tzinfo or as_of != as_of.replace(minute=0, second=0, microsecond=0):
        raise BadWindow(
            f"as_of_datetime is {as_of.isoformat()}; it must be a whole hour of New York's clock "
            "without a zone, such as 2025-06-01T00:00."
        )
    if lookback_days < 8 or horizon_hours < 1:
        raise BadWindow(
            f"lookback_days is {lookback_days} and predict_horizon_hours {horizon_hours}; at least "
            "8 days (a week and the day that is held out) and 1 hour are needed."
        )


def busiest(actuals: pd.DataFrame, count: int) -> list[int]:
    """The zones with most rides, busiest first; the lower zone id first among equals."""
    totals = actuals.groupby("pulocationid")["total_rides"].sum().reset_index()
    ordered = totals.sort_values(["total_rides", "pulocationid"], ascending=[False, True])
    return [int(zone) for zone in ordered["pulocationid"].head(count)]


def training_frame(
    actuals: pd.DataFrame, locations: Sequence[int], start: datetime, end: datetime
) -> pd.DataFrame:
    """Every hour of [start, end) for every zone; an hour without a row had no ride.

    Raises:
        BadWindow: a zone had no ride at all, so it is not one, or too small to be forecast.
    """
    if unknown := sorted(set(locations) - set(actuals["pulocationid"])):
        raise BadWindow(
            f"locations names {', '.join(map(str, unknown))}, where nobody was picked up from "
            f"{start} to {end}; give zones with rides, or none for the busiest."
        )
    hours = pd.date_range(start, end, freq="h", inclusive="left", name="ds")
    index = pd.MultiIndex.from_product([sorted(locations), hours], names=["unique_id", "ds"])
    rides = actuals.rename(
        columns={"pulocationid": "unique_id", "datetime_hour": "ds", "total_rides": "y"}
    ).set_index(["unique_id", "ds"])["y"]
    return rides.reindex(index, fill_value=0).astype("float64").reset_index()


def fit(training: pd.DataFrame) -> StatsForecast:
    """Seasonal-naive: an hour is forecast as the same hour seven days before."""
    from statsforecast import StatsForecast
    from statsforecast.models import SeasonalNaive

    model = StatsForecast(models=[SeasonalNaive(season_length=WEEK_HOURS)], freq="h")
    model.fit(training)
    return model


def predict(model: StatsForecast, hours: int) -> pd.DataFrame:
    """`unique_id`, `ds`, `forecast` for the `hours` after the training frame's last.

    On a copy, because `predict` leaves traces in the object: a step that only forecasts would
    otherwise hand on a changed model, and lineage would rightly say that it wrote one.
    """
    predicted = deepcopy(model).predict(h=hours)
    name = next(column for column in predicted if column not in ("unique_id", "ds"))
    return predicted.rename(columns={name: "forecast"})


def evaluate(training: pd.DataFrame) -> dict[str, float]:
    """Mean absolute error on the last day, by a model that did not see it; rides an hour."""
    cut = training["ds"].max() - timedelta(hours=HOLDOUT_HOURS - 1)
    seen, held_out = training[training["ds"] < cut], training[training["ds"] >= cut]
    both = held_out.merge(predict(fit(seen), HOLDOUT_HOURS), on=["unique_id", "ds"])
    return {"mae": float((both["y"] - both["forecast"]).abs().mean())}
