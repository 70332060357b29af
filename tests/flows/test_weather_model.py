from __future__ import annotations

import csv
import json
import pickle
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lakehouse.generator import daily_weather, taxi_table
from lakehouse.names import file_dataset
from lakehouse.sources import WEATHER_ELEMENTS
from lakehouse.weather_file import CITY_COUNTIES
from metaflow_flows.train_forecast_model import forecasting
from metaflow_flows.train_forecast_model.weather_model import (
    MANHATTAN,
    ZONES,
    WeatherModel,
    _lags,
    counties,
    with_weather,
)

MONTHS = ("2025-03", "2025-04", "2025-05")
AS_OF = datetime(2025, 6, 1)
MIDMORNING = datetime(2025, 5, 31, 10)
ELEMENTS = [*WEATHER_ELEMENTS]


@pytest.fixture(scope="module")
def actuals() -> pd.DataFrame:
    """Return the generator's rides per hour and zone."""
    columns = {"tpep_pickup_datetime": "datetime_hour", "PULocationID": "pulocationid"}
    months = [taxi_table(month, 60_000).select([*columns]).to_pandas() for month in MONTHS]
    trips = pd.concat(months).rename(columns=columns)
    trips["datetime_hour"] = trips["datetime_hour"].dt.floor("h")
    keys = ["datetime_hour", "pulocationid"]
    return trips.groupby(keys).size().rename("total_rides").reset_index()


@pytest.fixture(scope="module")
def weather() -> pd.DataFrame:
    """Return the generator's weather per county and day, also after `AS_OF`."""
    months = []
    for code in CITY_COUNTIES:
        for month in (*MONTHS, "2025-06"):
            days = pd.DataFrame(daily_weather(code, month))
            dates = pd.date_range(f"{month}-01", periods=len(days))
            months.append(days.assign(county_code=code, date=dates))
    return pd.concat(months)


def frame(
    actuals: pd.DataFrame, weather: pd.DataFrame, as_of: datetime = AS_OF, days: int = 30
) -> pd.DataFrame:
    """Return a training frame like `prepare_training_data`."""
    start = as_of - timedelta(days=days)
    hour = actuals["datetime_hour"]
    window = actuals[(hour >= start) & (hour < as_of)]
    zones = forecasting.busiest(window, 50)
    return with_weather(forecasting.training_frame(window, zones, start, as_of), weather)


@pytest.fixture(scope="module")
def training(actuals: pd.DataFrame, weather: pd.DataFrame) -> pd.DataFrame:
    return frame(actuals, weather)


def forecast(training: pd.DataFrame, hours: int = 24) -> pd.DataFrame:
    return forecasting.predict(forecasting.fit(training, "weather"), hours)


@pytest.mark.replay
@pytest.mark.parametrize("as_of", [datetime(2025, 5, 1), AS_OF, MIDMORNING])
def test_weather_model_is_clearly_better_than_seasonal_naive(
    actuals: pd.DataFrame, weather: pd.DataFrame, as_of: datetime
) -> None:
    held_out = forecasting.forecast_held_out(frame(actuals, weather, as_of), "weather")
    metrics = forecasting.measure(held_out)
    assert metrics["mae"] < 0.85 * metrics["baseline_mae"]
    assert metrics["mase"] < 0.85 * metrics["baseline_mase"]


@pytest.mark.replay
def test_fitted_effects_match_the_generators_rain_and_temperature(training: pd.DataFrame) -> None:
    rain, *others = WeatherModel().fit(training).weather_effects
    assert 0.2 < rain < 0.35  # in the generator, 18 mm add 60 %, so 10 mm add log(1.33)
    assert max(map(abs, others)) < 0.1


@pytest.mark.replay
def test_rides_of_a_rainy_week_are_adjusted_downwards(training: pd.DataFrame) -> None:
    """Use the same rides with the weather of a dry and of a wet week."""
    last_week = training["ds"] >= AS_OF - timedelta(days=7)
    model = WeatherModel().fit(training)
    levels = []
    for rain in (0.0, 18.0):
        said = training.assign(prcp=training["prcp"].mask(last_week, rain))
        levels.append(WeatherModel().fit(said).adjusted[-7:].mean())
    assert model.weather_effects[0] > 0
    assert levels[1] < 0.95 * levels[0]


@pytest.mark.replay
@pytest.mark.parametrize("as_of", [AS_OF, MIDMORNING])
def test_forecast_does_not_depend_on_later_weather(
    actuals: pd.DataFrame, weather: pd.DataFrame, as_of: datetime
) -> None:
    later = weather["date"] >= pd.Timestamp(as_of).normalize()
    changed = weather.assign(**{name: weather[name].mask(later, 99.0) for name in ELEMENTS})
    pd.testing.assert_frame_equal(
        forecast(frame(actuals, weather, as_of)),
        forecast(frame(actuals, changed, as_of)),
        check_exact=True,
    )


@pytest.mark.replay
@pytest.mark.parametrize("as_of", [AS_OF, MIDMORNING])
def test_held_out_errors_do_not_depend_on_later_weather(
    actuals: pd.DataFrame, weather: pd.DataFrame, as_of: datetime
) -> None:
    training = frame(actuals, weather, as_of)
    origin = pd.Timestamp(as_of) - timedelta(days=1)
    later = training["ds"] >= origin.normalize()
    changed = training.assign(**{name: training[name].mask(later, 99.0) for name in ELEMENTS})
    assert not changed.equals(training)
    pd.testing.assert_frame_equal(
        forecasting.forecast_held_out(changed, "weather"),
        forecasting.forecast_held_out(training, "weather"),
        check_exact=True,
    )


def test_two_fits_give_identical_forecasts(training: pd.DataFrame) -> None:
    first, second = (forecast(training.copy(), 168)["forecast"].to_numpy() for _ in range(2))
    assert first.tobytes() == second.tobytes()


def test_every_zone_and_hour_has_a_non_negative_forecast(
    training: pd.DataFrame,
) -> None:
    predicted = forecast(training, 170)
    hours = pd.date_range(AS_OF, periods=170, freq="h")
    zones = sorted(training["unique_id"].unique())
    assert list(predicted["unique_id"]) == list(np.repeat(zones, 170))
    assert list(predicted["ds"]) == list(hours) * 50
    assert predicted["forecast"].between(0, 100).all()


def test_repeating_weeks_are_forecast_exactly(weather: pd.DataFrame) -> None:
    """Use days without a federal holiday; later days use forecasts as lags."""
    as_of = datetime(2025, 5, 19)
    hours = pd.date_range(as_of - timedelta(days=28), as_of, freq="h", inclusive="left")
    weeks = np.random.default_rng(1).integers(0, 60, (3, 168))
    training = pd.DataFrame(
        {"unique_id": np.repeat([4, 7, 132], len(hours)), "ds": np.tile(hours, 3)}
    ).assign(y=np.tile(weeks, 4).ravel().astype(float))
    forecasts = forecast(with_weather(training, weather), 168)["forecast"].to_numpy()
    assert np.abs(forecasts - weeks.ravel()).max() < 0.5


def test_lags_only_use_earlier_days() -> None:
    days = np.broadcast_to(np.arange(30.0)[:, None, None], (30, 24, 2))
    assert _lags(days).shape == (24, 2, 8)
    week, recent, weekdays = 26.0, 15.5, (23 + 16 + 9 + 2) / 4
    assert list(_lags(days)[5, 1]) == [29, 28, 23, week, recent, weekdays, week, recent]


def test_missing_day_uses_the_previous_days_weather(training: pd.DataFrame) -> None:
    day = training["ds"].dt.normalize()
    one, before = (pd.Timestamp(2025, 5, n) for n in (20, 19))
    filled = training.copy()
    filled.loc[day == one, ELEMENTS] = training.loc[day == before, ELEMENTS].to_numpy()
    missing = training.copy()
    missing.loc[day == one, ELEMENTS] = np.nan
    assert not filled.equals(training)
    pd.testing.assert_frame_equal(forecast(missing), forecast(filled))


@pytest.mark.parametrize("hidden", [["tmin", "tmax"], ELEMENTS])
def test_unpublished_elements_have_no_effect(training: pd.DataFrame, hidden: list[str]) -> None:
    training = training.assign(**dict.fromkeys(hidden, np.nan))
    assert forecast(training)["forecast"].notna().all()


def test_county_without_earlier_rides_is_forecast_as_zero(
    training: pd.DataFrame,
) -> None:
    others = training[training["county_code"] != "30085"]
    late = others[others["unique_id"] == others["unique_id"].iloc[0]].assign(
        unique_id=300, county_code="30085", y=lambda zone: (zone["ds"] == zone["ds"].max()) * 1.0
    )
    both = pd.concat([others, late])
    before, _ = next(forecasting.holdouts(both, 14))
    predicted = forecast(before)
    assert (predicted.loc[predicted["unique_id"] == 300, "forecast"] == 0).all()
    assert predicted["forecast"].notna().all()


@pytest.mark.parametrize("rides", [1, 3])
def test_zone_with_few_rides_has_a_small_forecast(training: pd.DataFrame, rides: int) -> None:
    zone = training[training["unique_id"] == training["unique_id"].iloc[0]]
    few = zone.assign(y=0.0)
    few.iloc[[300, 413, 590][:rides], few.columns.get_loc("y")] = 1.0
    assert forecast(few, 168)["forecast"].between(0, 0.2).all()


def test_model_is_unchanged_by_forecasting_and_pickling(
    training: pd.DataFrame,
) -> None:
    model = forecasting.fit(training, "weather")
    before = pickle.dumps(model)
    predicted = forecasting.predict(model, 24)
    assert pickle.dumps(model) == before
    pd.testing.assert_frame_equal(forecasting.predict(pickle.loads(before), 24), predicted)


@pytest.mark.replay
def test_seasonal_naive_ignores_weather(training: pd.DataFrame) -> None:
    bare = training[["unique_id", "ds", "y"]]
    pd.testing.assert_frame_equal(
        forecasting.predict(forecasting.fit(training), 200),
        forecasting.predict(forecasting.fit(bare), 200),
    )


def test_every_zone_has_a_county_and_unknown_zones_use_manhattan() -> None:
    table = counties()
    assert list(table.index) == list(range(1, 266))
    assert set(table) == set(CITY_COUNTIES)
    assert {zone: table[zone] for zone in (1, 132, 264, 265)} == {
        1: "30085", 132: "30081", 264: MANHATTAN, 265: MANHATTAN,
    }  # fmt: skip


def test_load_of_the_zone_lookup_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWATER_SPOOL", str(tmp_path))
    counties()
    (file,) = tmp_path.glob("*.jsonl")
    start, end = map(json.loads, file.read_text().splitlines())
    assert [event["eventType"] for event in (start, end)] == ["START", "COMPLETE"]
    assert end["job"]["name"] == "read_zone_lookup"
    name = file_dataset(str(ZONES))
    (dataset,) = end["inputs"]
    assert (dataset["namespace"], dataset["name"]) == (name.namespace, name.name)


def test_invalid_zone_uses_manhattans_weather(weather: pd.DataFrame) -> None:
    hours = pd.DataFrame(
        {"unique_id": [0, 4], "ds": [datetime(2025, 5, 2, 5)] * 2, "y": [1.0, 1.0]}
    )
    unknown, manhattan = with_weather(hours, weather)[["county_code", *ELEMENTS]].to_numpy()
    assert list(unknown) == list(manhattan)
    assert unknown[0] == MANHATTAN


def test_counties_match_tlcs_boroughs(shared: Path) -> None:
    code = {"Bronx": "30005", "Brooklyn": "30047", "Queens": "30081", "Staten Island": "30085"}
    with (shared / "data" / "zones" / "taxi_zone_lookup.csv").open() as file:
        boroughs = {int(row["LocationID"]): row["Borough"] for row in csv.DictReader(file)}
    expected = {zone: code.get(name, MANHATTAN) for zone, name in boroughs.items()}
    assert counties().to_dict() == {**expected, 1: "30085"}
