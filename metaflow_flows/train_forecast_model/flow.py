"""The training flow; the science is in forecasting.py, the tables in tables.py."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from typing import Any

from metaflow import FlowSpec, Parameter, current, step

from lakehouse.names import Table
from lakehouse.settings import load_settings
from metaflow_flows.train_forecast_model import forecasting, tables
from metaflow_openlineage import Dataset, openlineage, spark_conf, table_read, table_written

BUSIEST_ZONES = 50


def dataset(table: Table) -> Dataset:
    """The table's name in lineage."""
    name = table.dataset(load_settings())
    return Dataset(name.namespace, name.name)


@openlineage
class TrainForecastModelFlow(FlowSpec):
    """Forecast taxi rides for each hour and pickup zone.

    1. Settle the moment as of which to forecast.
    2. Count the rides of each hour and zone before it, with Spark.
    3. Make the training data: the busiest zones, every hour, gaps as zero.
    4. Fit the model and measure it on the last day.
    5. Write the forecasts of the next hours to the lakehouse.
    """

    # Any: in a step, the attribute is the parameter's value, which Metaflow's types do not say.
    as_of_datetime: Any = Parameter(
        "as_of_datetime",
        default="",
        help="Forecast from here (ISO 8601, New York time); the end of the newest loaded month.",
    )
    lookback_days: Any = Parameter("lookback_days", default=30, help="Days of history to train on.")
    predict_horizon_hours: Any = Parameter("predict_horizon_hours", default=24, help="Hours ahead.")
    locations: Any = Parameter(
        "locations",
        default="",
        help=f"Pickup zones, separated by commas; the {BUSIEST_ZONES} busiest.",
    )

    @step
    def start(self) -> None:
        """Settle the moment as of which to forecast."""
        if self.as_of_datetime:
            as_of = forecasting.parse_as_of(self.as_of_datetime)
        else:
            as_of = tables.newest_month_end(load_settings())
        forecasting.check_window(as_of, self.lookback_days, self.predict_horizon_hours)
        forecasting.parse_locations(self.locations)
        self.as_of = as_of
        self.window_start = as_of - timedelta(days=self.lookback_days)
        self.next(self.compute_actuals)

    @step
    def compute_actuals(self) -> None:
        """Count the rides of each hour and zone, in whole days around the window."""
        from spark_jobs.session import open_session
        from spark_jobs.taxi.actuals import compute_actuals

        settings = load_settings()
        first = datetime.combine(self.window_start, time.min)
        last = datetime.combine(self.as_of - timedelta(microseconds=1), time.min)
        with open_session(settings, "yellow_rides_hourly_actuals", spark_conf()) as spark:
            compute_actuals(spark, settings, "yellow", first, last + timedelta(days=1))
        self.next(self.prepare_training_data)

    @step
    def prepare_training_data(self) -> None:
        """Choose the zones and fill every hour without a ride with zero."""
        table, actuals = tables.read_actuals(load_settings(), self.window_start, self.as_of)
        table_read(table, dataset(tables.ACTUALS))
        chosen = forecasting.parse_locations(self.locations)
        self.training_data = forecasting.training_frame(
            actuals,
            chosen or forecasting.busiest(actuals, BUSIEST_ZONES),
            self.window_start,
            self.as_of,
        )
        self.next(self.train)

    @step
    def train(self) -> None:
        """Measure the model on the last day, then fit it on all of them."""
        self.metrics = forecasting.evaluate(self.training_data)
        self.model = forecasting.fit(self.training_data)
        self.next(self.write_forecasts_to_table)

    @step
    def write_forecasts_to_table(self) -> None:
        """Forecast the next hours and replace those forecast as of the same moment."""
        forecasts = forecasting.predict(self.model, self.predict_horizon_hours)
        table = tables.write_forecasts(
            load_settings(), forecasts, self.as_of, "seasonal_naive", str(current.run_id)
        )
        table_written(table, dataset(tables.FORECAST))
        self.next(self.end)

    @step
    def end(self) -> None:
        """Nothing is left to do."""


if __name__ == "__main__":
    TrainForecastModelFlow()  # type: ignore[no-untyped-call]  # Metaflow's own is not typed
