"""Forecasting models as plain functions over DataFrames.

A training frame has the columns of Nixtla's libraries: `unique_id` (pickup zone, int), `ds`
(hour, New York wall clock) and `y` (rides), with one row per zone and hour. For a model that
needs weather, it also has the columns of `with_weather`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from datetime import datetime, timedelta
from typing import ClassVar, Protocol, Self

import pandas as pd

from lakehouse.errors import PipelineError
from metaflow_flows.train_forecast_model.weather_model import WeatherModel

DAY, DAY_HOURS, WEEK_HOURS = timedelta(days=1), 24, 168
HOLDOUT_DAYS = 3


class BadWindow(PipelineError):
    """The parameters specify an invalid time, zone or service."""


class UnknownModel(PipelineError):
    """The parameters specify an unknown model."""


class Model(Protocol):
    """A forecasting model. The fitted model is an artifact of the flow, so it can be pickled.

    `days_needed` is the minimum history for fitting. `needs_weather` is True if the training
    frame must contain weather.
    """

    days_needed: ClassVar[int]
    needs_weather: ClassVar[bool]

    def fit(self, training: pd.DataFrame) -> Self:
        """Fit the model to a training frame."""

    def predict(self, hours: int) -> pd.DataFrame:
        """Return `unique_id`, `ds`, `forecast` (rides) for the `hours` after the training frame."""


class SeasonalNaive:
    """Forecast each hour as the same hour seven days before."""

    days_needed: ClassVar[int] = 7
    needs_weather: ClassVar[bool] = False

    def fit(self, training: pd.DataFrame) -> Self:
        """Store the last week."""
        from statsforecast import StatsForecast
        from statsforecast.models import SeasonalNaive as Naive

        self.fitted = StatsForecast(
            models=[Naive(season_length=WEEK_HOURS, alias="forecast")], freq="h"
        )
        self.fitted.fit(training[["unique_id", "ds", "y"]])
        return self

    def predict(self, hours: int) -> pd.DataFrame:
        """Repeat the last week as often as needed."""
        predicted = self.fitted.predict(h=hours)
        assert isinstance(predicted, pd.DataFrame)  # of the kind that `fit` got
        return predicted


BASELINE = "seasonal_naive"
MODELS: dict[str, type[Model]] = {BASELINE: SeasonalNaive, "weather": WeatherModel}


def model_named(name: str) -> type[Model]:
    """Return a new model by its name.

    Raises:
        UnknownModel: there is no model with this name.
    """
    if name not in MODELS:
        raise UnknownModel(f"model is {name!r}; use {' or '.join(MODELS)}.")
    return MODELS[name]


def parse_as_of(text: str) -> datetime:
    """Parse an ISO 8601 time.

    Raises:
        BadWindow: the text is not a time.
    """
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise BadWindow(
            f"as_of_datetime is {text!r}; use a time such as 2025-06-01T00:00."
        ) from None


def parse_locations(text: str) -> list[int]:
    """Parse zone numbers that are separated by commas.

    Raises:
        BadWindow: a zone is not a number.
    """
    try:
        return sorted({int(zone) for zone in text.split(",") if zone.strip()})
    except ValueError:
        raise BadWindow(f"locations is {text!r}; use zone numbers such as 132,138.") from None


def check_window(
    as_of: datetime, lookback_days: int, horizon_hours: int, model: str = BASELINE
) -> None:
    """Check that the parameters allow the model to be fitted and evaluated.

    Raises:
        BadWindow: a time is not a whole hour, or the window is too short.
    """
    if as_of.tzinfo or as_of != as_of.replace(minute=0, second=0, microsecond=0):
        raise BadWindow(
            f"as_of_datetime is {as_of.isoformat()}; use a whole hour in New York time without a "
            "time zone, such as 2025-06-01T00:00."
        )
    needed = model_named(model).days_needed
    if lookback_days < needed + 1 or horizon_hours < 1:
        raise BadWindow(
            f"lookback_days is {lookback_days} and predict_horizon_hours is {horizon_hours}; use "
            f"at least {needed + 1} days ({needed} to fit the model {model} and one held-out day) "
            "and 1 hour."
        )


def busiest(actuals: pd.DataFrame, count: int) -> list[int]:
    """Return the zones with most rides, busiest first; equal zones by their id."""
    totals = actuals.groupby("pulocationid")["total_rides"].sum().reset_index()
    ordered = totals.sort_values(["total_rides", "pulocationid"], ascending=[False, True])
    return [int(zone) for zone in ordered["pulocationid"].head(count)]


def training_frame(
    actuals: pd.DataFrame, locations: Sequence[int], start: datetime, end: datetime
) -> pd.DataFrame:
    """Return all hours of [start, end) for all zones, with zero rides for hours without a row.

    Raises:
        BadWindow: a zone had no rides, so it is unknown or too small for a forecast.
    """
    if unknown := sorted(set(locations) - set(actuals["pulocationid"])):
        raise BadWindow(
            f"locations contains {', '.join(map(str, unknown))}, which had no rides from {start} "
            f"to {end}. Use zones with rides, or omit locations for the busiest zones."
        )
    hours = pd.date_range(start, end, freq="h", inclusive="left", name="ds")
    index = pd.MultiIndex.from_product([sorted(locations), hours], names=["unique_id", "ds"])
    rides = actuals.rename(
        columns={"pulocationid": "unique_id", "datetime_hour": "ds", "total_rides": "y"}
    ).set_index(["unique_id", "ds"])["y"]
    return rides.reindex(index, fill_value=0).astype("float64").reset_index()


def fit(training: pd.DataFrame, model: str = BASELINE) -> Model:
    """Return the named model, fitted to the training frame."""
    return model_named(model)().fit(training)


def predict(model: Model, hours: int) -> pd.DataFrame:
    """Return `unique_id`, `ds` and `forecast` for the `hours` after the training frame.

    It uses a copy, because `predict` may change the model. A step that only forecasts would then
    pass on a changed artifact, and lineage would show that the step wrote a model.
    """
    return deepcopy(model).predict(hours)


def holdouts(
    training: pd.DataFrame, days_needed: int
) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """Yield the training data before each of the last three days, and that day, newest first.

    There are fewer days if less than `days_needed` days of data precede them.
    """
    end = training["ds"].max() + timedelta(hours=1)
    days = (end - training["ds"].min()) // DAY
    for back in range(1, 1 + min(HOLDOUT_DAYS, days - days_needed)):
        cut = end - back * DAY
        is_before = training["ds"] < cut
        yield training[is_before], training[~is_before & (training["ds"] < cut + DAY)]


def forecast_held_out(training: pd.DataFrame, model: str = BASELINE) -> pd.DataFrame:
    """Forecast the held-out days with models that are fitted to earlier data only.

    Return `unique_id`, `ds`, `y`, `forecast`, `baseline` (seasonal-naive's forecast) and `change`:
    the mean absolute change from one week to the next in the earlier data over all zones (null if
    it covers only one week).
    """
    days = []
    for before, held_out in holdouts(training, model_named(model).days_needed):
        change = before.groupby("unique_id")["y"].diff(WEEK_HOURS).abs().mean()
        day = held_out[["unique_id", "ds", "y"]].assign(change=change)
        forecasts = {name: predict(fit(before, name), DAY_HOURS) for name in {model, BASELINE}}
        for column, name in (("forecast", model), ("baseline", BASELINE)):
            forecast = forecasts[name].rename(columns={"forecast": column})
            day = day.merge(forecast, on=["unique_id", "ds"])
        days.append(day)
    return pd.concat(days, ignore_index=True)


def measure(held_out: pd.DataFrame) -> dict[str, float]:
    """Return the errors of the forecasts from `forecast_held_out`; all days have equal weight.

    `mae` is the mean absolute error in rides per hour. `mase` is `mae` divided by the day's
    `change`; it is missing without a `change`. `baseline_mae` and `baseline_mase` are the errors
    of seasonal-naive.
    """
    scale = held_out["change"].where(held_out["change"] > 0)
    metrics = {}
    for prefix, column in (("", "forecast"), ("baseline_", "baseline")):
        error = (held_out["y"] - held_out[column]).abs()
        metrics[f"{prefix}mae"] = float(error.mean())
        if scale.notna().any():
            metrics[f"{prefix}mase"] = float((error / scale).mean())
    return metrics
