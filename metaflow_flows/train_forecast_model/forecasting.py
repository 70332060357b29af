"""The science, as plain functions over DataFrames.

A training frame has the columns of Nixtla's libraries: `unique_id` (pickup zone, int), `ds`
(hour, New York wall clock) and `y` (rides), with a row for every zone and hour; for a model that
needs the weather also those of `with_weather`.
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
    """The parameters name a time that cannot be trained on."""


class UnknownModel(PipelineError):
    """The parameters name a model that is none."""


class Model(Protocol):
    """What forecasts; fitted, it is the flow's artifact, so it can be pickled.

    `days_needed` is the least history to fit it on, `needs_weather` whether the training frame
    must have the weather.
    """

    days_needed: ClassVar[int]
    needs_weather: ClassVar[bool]

    def fit(self, training: pd.DataFrame) -> Self:
        """Learn from a training frame."""

    def predict(self, hours: int) -> pd.DataFrame:
        """`unique_id`, `ds`, `forecast` (rides) for the `hours` after the training frame's last."""


class SeasonalNaive:
    """An hour is forecast as the same hour seven days before."""

    days_needed: ClassVar[int] = 7
    needs_weather: ClassVar[bool] = False

    def fit(self, training: pd.DataFrame) -> Self:
        """Remember the last week."""
        from statsforecast import StatsForecast
        from statsforecast.models import SeasonalNaive as Naive

        self.fitted = StatsForecast(
            models=[Naive(season_length=WEEK_HOURS, alias="forecast")], freq="h"
        )
        self.fitted.fit(training[["unique_id", "ds", "y"]])
        return self

    def predict(self, hours: int) -> pd.DataFrame:
        """The last week again, as often as it takes."""
        return self.fitted.predict(h=hours)


BASELINE = "seasonal_naive"
MODELS: dict[str, type[Model]] = {BASELINE: SeasonalNaive, "weather": WeatherModel}


def model_named(name: str) -> type[Model]:
    """Raises:
    UnknownModel: there is none of that name.
    """
    if name not in MODELS:
        raise UnknownModel(f"model is {name!r}; it must be {' or '.join(MODELS)}.")
    return MODELS[name]


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


def check_window(
    as_of: datetime, lookback_days: int, horizon_hours: int, model: str = BASELINE
) -> None:
    """Raises:
    BadWindow: the model could only answer with zeros or nothing.
    """
    if as_of.tzinfo or as_of != as_of.replace(minute=0, second=0, microsecond=0):
        raise BadWindow(
            f"as_of_datetime is {as_of.isoformat()}; it must be a whole hour of New York's clock "
            "without a zone, such as 2025-06-01T00:00."
        )
    needed = model_named(model).days_needed
    if lookback_days < needed + 1 or horizon_hours < 1:
        raise BadWindow(
            f"lookback_days is {lookback_days} and predict_horizon_hours {horizon_hours}; at least "
            f"{needed + 1} days ({needed} to fit the model {model} and the day that is held out) "
            "and 1 hour are needed."
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


def fit(training: pd.DataFrame, model: str = BASELINE) -> Model:
    """The model of that name, fitted."""
    return model_named(model)().fit(training)


def predict(model: Model, hours: int) -> pd.DataFrame:
    """`unique_id`, `ds`, `forecast` for the `hours` after the training frame's last.

    On a copy, because `predict` may leave traces in the object: a step that only forecasts would
    otherwise hand on a changed model, and lineage would rightly say that it wrote one.
    """
    return deepcopy(model).predict(hours)


def holdouts(
    training: pd.DataFrame, days_needed: int
) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """What was seen up to a moment, and the day after it: for each of the last three days,
    the last first; for fewer if less than `days_needed` were seen before."""
    end = training["ds"].max() + timedelta(hours=1)
    days = (end - training["ds"].min()) // DAY
    for back in range(1, 1 + min(HOLDOUT_DAYS, days - days_needed)):
        cut = end - back * DAY
        seen = training["ds"] < cut
        yield training[seen], training[~seen & (training["ds"] < cut + DAY)]


def forecast_held_out(training: pd.DataFrame, model: str = BASELINE) -> pd.DataFrame:
    """The days held out, each forecast by models that saw nothing later.

    `unique_id`, `ds`, `y`, `forecast`, `baseline` (seasonal-naive's forecast) and `change`: the
    mean absolute change from a week to the next in what the models saw, all zones together (null
    if that was no more than a week).
    """
    days = []
    for seen, held_out in holdouts(training, model_named(model).days_needed):
        change = seen.groupby("unique_id")["y"].diff(WEEK_HOURS).abs().mean()
        day = held_out[["unique_id", "ds", "y"]].assign(change=change)
        made = {name: predict(fit(seen, name), DAY_HOURS) for name in {model, BASELINE}}
        for column, name in (("forecast", model), ("baseline", BASELINE)):
            named = made[name].rename(columns={"forecast": column})
            day = day.merge(named, on=["unique_id", "ds"])
        days.append(day)
    return pd.concat(days, ignore_index=True)


def measure(held_out: pd.DataFrame) -> dict[str, float]:
    """Errors of what `forecast_held_out` gave; its days are equally long, so they count the same.

    `mae` is the mean absolute error in rides an hour; `mase` is `mae` over the day's `change` (not
    there without one). `baseline_mae` and `baseline_mase` are seasonal-naive's.
    """
    scale = held_out["change"].where(held_out["change"] > 0)
    metrics = {}
    for prefix, column in (("", "forecast"), ("baseline_", "baseline")):
        error = (held_out["y"] - held_out[column]).abs()
        metrics[f"{prefix}mae"] = float(error.mean())
        if scale.notna().any():
            metrics[f"{prefix}mase"] = float((error / scale).mean())
    return metrics
