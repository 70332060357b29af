"""The weather model: combine lagged rides after removing the effects of calendar and weather.

1. A Poisson regression over the rides per county and hour yields a factor for every hour: the
   effect of its calendar (hour, weekday, federal holiday) and of its day's weather on the rides.
2. Rides are divided by their factors, so that last week's rain does not affect the forecast.
3. Non-negative least squares over all zones yields the weights of the lags that are known when a
   day begins: the days before, the week before and the means of the last weeks.
4. A forecast is the weighted sum of the lags times the factors. From the second day on, earlier
   forecasts serve as lags, so one model covers all horizons.

The effects are estimated from observed weather. Future weather is unknown, so its factor is the
mean of the last four weeks (yesterday's factor and last week's mean had larger errors). A day's
weather counts as known after the end of the day, both in forecasts and for held-out days.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import pandas as pd

from headwater_client import lineage
from lakehouse.sources import WEATHER_ELEMENTS

ZONES = Path(__file__).with_name("zones.csv")
"""NCEI's county code of each TLC zone. Newark Airport (1) is outside New York and uses Richmond,
the nearest county. The unknown zones (264, 265) use Manhattan, where most rides start."""
MANHATTAN = "30061"

DAY = 24
RECENT_DAYS = 28
HEAVY_RAIN = 20.0
"""Rain in mm per day above which more rain has no further effect."""
RIDGE = 1e-4
"""Ridge penalty of the regression, because there are few days to estimate weather effects."""
FEW_RIDES = 40_000
"""Total rides below which the penalty is larger, so that single rides do not determine a factor."""
LEAST_RIDES = 0.01
"""Minimum of the expected rides per hour in the weight of an error."""

Array: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]


@lineage(job="read_zone_lookup", inputs=[("file", str(ZONES))])
def counties() -> pd.Series[str]:
    """Return the county code by zone."""
    return pd.read_csv(ZONES, index_col="zone", dtype={"county_code": "str"})["county_code"]


def with_weather(training: pd.DataFrame, weather: pd.DataFrame) -> pd.DataFrame:
    """Add `county_code` and prcp (mm), tavg, tmin, tmax (degrees Celsius) to a training frame.

    The values are those of the zone's county on the hour's day. They are null if `weather`
    (`county_code`, `date` and the elements, one row per county and day) lacks them.
    """
    keys = training.assign(
        county_code=training["unique_id"].map(counties()).fillna(MANHATTAN),
        date=training["ds"].dt.normalize(),
    )
    both = keys.merge(weather, on=["county_code", "date"], how="left", validate="many_to_one")
    return both.drop(columns="date")


class WeatherModel:
    """One model for all zones.

    After fitting: `zones` (zones,); `origin`, the first hour after the training data;
    `calendar_effects` (56,) and `weather_effects` (3,), the logarithms of the factors;
    `usual_weather` (zones,), the factor of a future day; `adjusted` (days, 24 hours, zones), the
    last rides divided by their factors; `mix` (8,), the weights of the lags.
    """

    days_needed: ClassVar[int] = 14
    needs_weather: ClassVar[bool] = True

    def fit(self, training: pd.DataFrame) -> Self:
        """Fit the model to a frame from `with_weather` with 14 days or more."""
        rides = training.pivot(index="ds", columns="unique_id", values="y")
        hours = pd.DatetimeIndex(rides.index)
        self.zones = rides.columns.to_numpy()
        self.origin = (hours[-1] + pd.Timedelta(hours=1)).to_pydatetime()
        over = hours < pd.Timestamp(self.origin).normalize()
        of_zone = training.drop_duplicates("unique_id").set_index("unique_id")["county_code"]
        county, codes = pd.factorize(of_zone.reindex(self.zones))
        weather = _weather(training, codes, hours, hours[over])
        calendar = _calendar(hours)

        by_county = np.stack([rides.to_numpy()[:, county == c].sum(1) for c in range(len(codes))])
        regressors = np.stack([np.hstack([calendar[over], own[over]]) for own in weather])
        effects = _regress(by_county[:, over], regressors)
        self.calendar_effects, self.weather_effects = np.split(effects, [calendar.shape[1]])

        factors = np.exp(weather @ self.weather_effects)
        usual = factors[:, over][:, -RECENT_DAYS * DAY :].mean(1)
        self.usual_weather = usual[county]
        factors = factors[county].T * np.exp(calendar @ self.calendar_effects)[:, None]

        part = len(hours) % DAY  # hours of an incomplete first day
        factors = factors[part:].reshape(-1, DAY, len(self.zones))
        adjusted = rides.to_numpy()[part:].reshape(factors.shape) / factors
        self.mix = _mix(adjusted, factors)
        self.adjusted = adjusted[-RECENT_DAYS:]
        return self

    def predict(self, hours: int) -> pd.DataFrame:
        """Return `unique_id`, `ds` and `forecast` (rides) for the `hours` from `origin`."""
        days = self.adjusted
        for _ in range(-(-hours // DAY)):
            days = np.concatenate([days, (_lags(days) @ self.mix)[None]])
        ahead = pd.date_range(self.origin, periods=hours, freq="h")
        level = days[len(self.adjusted) :].reshape(-1, len(self.zones))[:hours]
        forecast = level * np.exp(_calendar(ahead) @ self.calendar_effects)[:, None]
        return pd.DataFrame(
            {
                "unique_id": np.repeat(self.zones, hours),
                "ds": np.tile(ahead.to_numpy(), len(self.zones)),
                "forecast": (forecast * self.usual_weather).T.ravel(),
            }
        )


def _calendar(hours: pd.DatetimeIndex) -> Array:
    """Return indicators of hour, hour on days off, weekday and holiday: (hours, 56) of 0 and 1."""
    from pandas.tseries.holiday import USFederalHolidayCalendar

    days = hours.normalize()
    holiday = days.isin(USFederalHolidayCalendar().holidays(days[0], days[-1]))
    off = holiday | (hours.dayofweek >= 5)
    hour, weekday = np.eye(DAY)[hours.hour], np.eye(7)[hours.dayofweek]
    return np.hstack([hour, hour * off[:, None], weekday, holiday[:, None]])


def _weather(
    training: pd.DataFrame, codes: pd.Index[str], hours: pd.DatetimeIndex, over: pd.DatetimeIndex
) -> Array:
    """Return centered rain, temperature and daily range per county: (counties, hours, 3).

    A missing value is replaced by the previous day's, or else by the element's mean.
    """
    first = training.drop_duplicates("county_code")["unique_id"]
    observed = training[training["unique_id"].isin(first) & training["ds"].isin(over)]
    elements = observed.set_index(["county_code", "ds"])[[*WEATHER_ELEMENTS]]
    every = elements.reindex(pd.MultiIndex.from_product([codes, hours]))
    every = every.groupby(level=0).ffill(limit=DAY).fillna(elements.mean()).fillna(0.0)
    values = every.to_numpy().reshape(len(codes), len(hours), len(WEATHER_ELEMENTS))
    prcp, tavg, tmin, tmax = np.moveaxis(values, -1, 0)
    weather = np.stack([np.minimum(prcp, HEAVY_RAIN), tavg, tmax - tmin], axis=-1) / 10
    return np.asarray(weather - weather.mean((0, 1)))


def _regress(rides: Array, regressors: Array) -> Array:
    """Return the coefficients of a ridge Poisson regression of `rides` (counties, hours)."""
    from statsmodels.api import GLM, families  # type: ignore[import-untyped]

    level = np.maximum(rides.mean(1), LEAST_RIDES)
    design = regressors.reshape(rides.size, -1)
    design = np.hstack([np.ones((len(design), 1)), design])
    weights = np.repeat(level / level.mean(), rides.shape[1])
    shares = (rides / level[:, None]).ravel()
    model = GLM(shares, design, family=families.Poisson(), var_weights=weights)
    pull = RIDGE * (1 + FEW_RIDES / max(rides.sum(), 1.0))
    ridge = np.r_[0.0, np.full(design.shape[1] - 1, pull)]
    return np.asarray(model.fit_regularized(alpha=ridge, L1_wt=0).params[1:])


def _lags(days: Array) -> Array:
    """Return the lags that are known when a day begins: (hours, zones, 8).

    They are the rides 24, 48 and 168 hours before; the hour's mean over the last week, over four
    weeks and over the same weekdays of the four weeks; and the zone's mean over the last week and
    over four weeks.
    """
    recent, week = days[-RECENT_DAYS:], days[-7:]
    hourly = [days[-1], days[-2], days[-7], week.mean(0), recent.mean(0), recent[-7::-7].mean(0)]
    return np.stack(np.broadcast_arrays(*hourly, week.mean((0, 1)), recent.mean((0, 1))), axis=-1)


def _mix(adjusted: Array, factors: Array) -> Array:
    """Return the weights of `_lags` that best fit the later half of the days, at most four weeks.

    Errors are weighted by the expected rides, because they are larger where there are more rides.
    """
    from scipy.optimize import nnls  # type: ignore[import-untyped]

    first = max(len(adjusted) // 2, len(adjusted) - RECENT_DAYS)
    lags = np.stack([_lags(adjusted[:day]) for day in range(first, len(adjusted))])
    weight = np.sqrt(factors[first:] / np.maximum(lags.mean(-1), LEAST_RIDES))
    regressors = (lags * weight[..., None]).reshape(-1, lags.shape[-1])
    return np.asarray(nnls(regressors, (adjusted[first:] * weight).ravel())[0])
