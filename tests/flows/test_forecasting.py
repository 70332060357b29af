from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest

from metaflow_flows.train_forecast_model import forecasting

START, END = datetime(2025, 5, 2), datetime(2025, 6, 1)


@pytest.fixture(scope="module")
def training() -> pd.DataFrame:
    hours = pd.date_range(START, END, freq="h", inclusive="left")
    rng = np.random.default_rng(1)
    actuals = pd.DataFrame(
        {
            "datetime_hour": np.tile(hours, 2),
            "pulocationid": np.repeat([10, 4], len(hours)),
            "total_rides": rng.integers(0, 40, 2 * len(hours)),
        }
    )
    return forecasting.training_frame(actuals, [10, 4], START, END)


@pytest.mark.replay
def test_seasonal_naive_repeats_the_hour_of_last_week(training: pd.DataFrame) -> None:
    predicted = forecasting.predict(forecasting.fit(training), 24)
    before = training.assign(ds=training["ds"] + timedelta(days=7))
    both = predicted.merge(before, on=["unique_id", "ds"])
    assert len(both) == len(predicted) == 48
    assert (both["forecast"] == both["y"]).all()
    assert predicted["ds"].min() == pd.Timestamp(END)


@pytest.mark.replay
def test_forecasting_does_not_change_the_model(training: pd.DataFrame) -> None:
    model = forecasting.fit(training)
    before = pickle.dumps(model)
    forecasting.predict(model, 24)
    assert pickle.dumps(model) == before


def test_hour_without_rides_has_a_zero_row() -> None:
    actuals = pd.DataFrame(
        {
            "datetime_hour": [datetime(2025, 5, 2, 5), datetime(2025, 5, 9, 5)],
            "pulocationid": [7, 7],
            "total_rides": [3, 5],
        }
    )
    frame = forecasting.training_frame(actuals, [7], START, END)
    assert len(frame) == 30 * 24
    assert frame["y"].sum() == 8
    with pytest.raises(forecasting.BadWindow, match="locations contains 8, 9, which had no rides"):
        forecasting.training_frame(actuals, [9, 7, 8], START, END)


@pytest.mark.parametrize(
    ("parse", "text"),
    [(forecasting.parse_as_of, "banana"), (forecasting.parse_locations, "132,JFK")],
)
def test_invalid_parameter_error_has_an_example(parse: Callable[[str], object], text: str) -> None:
    with pytest.raises(forecasting.BadWindow, match=rf"is '{text}'; use .* such as"):
        parse(text)


def test_rides_outside_the_window_are_ignored() -> None:
    actuals = pd.DataFrame({"datetime_hour": [END], "pulocationid": [7], "total_rides": [1_000]})
    assert forecasting.training_frame(actuals, [7], START, END)["y"].sum() == 0


@pytest.mark.parametrize(
    ("as_of", "days", "hours"),
    [
        (datetime(2025, 6, 1, 10, 30), 30, 24),
        (datetime(2025, 6, 1, tzinfo=UTC), 30, 24),
        (END, 7, 24),
        (END, 30, 0),
    ],
)
def test_window_that_is_too_short_is_rejected(as_of: datetime, days: int, hours: int) -> None:
    with pytest.raises(forecasting.BadWindow):
        forecasting.check_window(as_of, days, hours)
    forecasting.check_window(END, 30, 24)


def test_busiest_zones_are_sorted_with_ties_by_id() -> None:
    actuals = pd.DataFrame({"pulocationid": [3, 1, 2, 2], "total_rides": [5, 5, 4, 4]})
    assert forecasting.busiest(actuals, 2) == [2, 1]


@pytest.mark.replay
def test_errors_are_measured_on_held_out_days(
    training: pd.DataFrame,
) -> None:
    week_before = training.assign(ds=training["ds"] + timedelta(days=7))
    both = training.merge(week_before, on=["unique_id", "ds"])
    change = (both["y_x"] - both["y_y"]).abs()
    days = [END - timedelta(days=back) for back in (1, 2, 3)]
    errors = [change[both["ds"].between(day, day + timedelta(hours=23))].mean() for day in days]
    scales = [change[both["ds"] < day].mean() for day in days]
    metrics = forecasting.measure(forecasting.forecast_held_out(training))
    assert metrics["mae"] == metrics["baseline_mae"] == pytest.approx(np.mean(errors))
    scaled = np.mean([error / scale for error, scale in zip(errors, scales, strict=True)])
    assert metrics["mase"] == metrics["baseline_mase"] == pytest.approx(scaled)


@pytest.mark.replay
def test_short_window_has_fewer_held_out_days(training: pd.DataFrame) -> None:
    def days(count: int) -> pd.DataFrame:
        return training[training["ds"] >= END - timedelta(days=count)]

    assert [len(list(forecasting.holdouts(days(n), 7))) for n in (8, 9, 10, 11)] == [1, 2, 3, 3]

    def measured(count: int) -> set[str]:
        return set(forecasting.measure(forecasting.forecast_held_out(days(count))))

    assert measured(8) == {"mae", "baseline_mae"}
    assert measured(9) == {"mae", "mase", "baseline_mae", "baseline_mase"}


def test_unknown_model_error_lists_the_models() -> None:
    with pytest.raises(
        forecasting.UnknownModel, match=r"model is 'banana'; use seasonal_naive or weather\."
    ):
        forecasting.model_named("banana")


def test_weather_model_needs_two_weeks_and_a_day() -> None:
    forecasting.check_window(END, 15, 24, "weather")
    with pytest.raises(
        forecasting.BadWindow, match=r"at least 15 days \(14 to fit the model weather"
    ):
        forecasting.check_window(END, 14, 24, "weather")
