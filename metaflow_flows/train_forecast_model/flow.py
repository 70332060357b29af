"""The training flow. The models are in forecasting.py, the tables in tables.py.

The launcher, each step and each card import this module in separate processes. So modules that
need pandas are imported inside the steps that use them.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import datetime, time, timedelta
from typing import Any, get_args

from metaflow import (  # type: ignore[attr-defined]  # Metaflow defines card during the import
    FlowSpec,
    Parameter,
    card,
    current,
    step,
)
from metaflow.exception import MetaflowException

from lakehouse.catalog import pin
from lakehouse.descriptions import dataset_facets
from lakehouse.errors import PipelineError
from lakehouse.gate import check_gate
from lakehouse.names import Table, file_dataset
from lakehouse.settings import ForecastModel, load_settings
from metaflow_flows.train_forecast_model import tables
from metaflow_flows.train_forecast_model.card_commands import keep_cards_home
from metaflow_flows.train_forecast_model.plan import Plan, make_plan, plan_reproduction
from metaflow_flows.train_forecast_model.reproduce import compare, earlier_forecasts
from metaflow_openlineage import (
    Dataset,
    artifact,
    openlineage,
    reads,
    spark_conf,
    table_read,
    table_written,
    writes,
)

BUSIEST_ZONES = 50


class Refused(MetaflowException):
    """The request cannot be fulfilled; Metaflow prints this error without a traceback."""

    headline = "Refused"


def dataset(table: Table) -> Dataset:
    """Return the table as a dataset with its description."""
    name = table.dataset(load_settings())
    return Dataset(name.namespace, name.name, facets=dataset_facets(table))


def pin_snapshot(table: Table, snapshot_id: int | None = None) -> int | None:
    """Pin a snapshot, by default the current one, for this run; return its id."""
    return pin(load_settings(), table, f"{current.flow_name}/{current.run_id}", snapshot_id)


def snapshot_to_read(plan: Plan, table: Table) -> int | None:
    """Return the snapshot that the reproduced run read, or else the current one, pinned."""
    return plan.recipe.snapshot_of(table) if plan.recipe else pin_snapshot(table)


@openlineage
class TrainForecastModelFlow(FlowSpec):
    """Forecast taxi rides for each hour and pickup zone.

    1. Determine the start of the forecast, and check the data's provenance at the gate.
    2. Count the earlier rides per hour and zone with Spark.
    3. Build the training data: the busiest zones and all hours, with zero for hours without rides.
       For the weather model, add the weather of each zone's county.
    4. Evaluate the model on the last days against seasonal-naive, then fit it.
    5. Write the forecasts of the next hours to the lakehouse.
    """

    # Any, because in a step the attribute is the parameter's value, unlike in Metaflow's types.
    as_of_datetime: Any = Parameter(
        "as_of_datetime",
        default="",
        help="Start of the forecast (ISO 8601, New York time). Default: the end of the newest "
        "loaded month.",
    )
    lookback_days: Any = Parameter("lookback_days", default=30, help="Days of history to train on.")
    predict_horizon_hours: Any = Parameter(
        "predict_horizon_hours", default=24, help="Hours to forecast."
    )
    locations: Any = Parameter(
        "locations",
        default="",
        help=f"Pickup zones, separated by commas. Default: the {BUSIEST_ZONES} busiest.",
    )
    service: Any = Parameter(
        "service", default="yellow", help=f"Taxi service: {' or '.join(tables.SERVICES)}."
    )
    reproduce: Any = Parameter(
        "reproduce",
        default="",
        help="Run to reproduce and compare with: a model_version or an id from `./run lineage "
        "runs`. Its lineage provides all other parameters.",
    )
    # self.model is the artifact of the fitted model.
    model_name: Any = Parameter(
        "model",
        default=lambda _: load_settings().forecast_model,
        help=f"Forecast model: {' or '.join(get_args(ForecastModel))}.",
    )

    ungated: Any = Parameter(
        "ungated",
        default=False,
        help="Train even if the provenance gate rejects the data.",
        is_flag=True,  # type: ignore[arg-type]  # passed on to click
    )
    strict: Any = Parameter(
        "strict",
        default=False,
        help="Fail if the lineage server does not respond to the gate.",
        is_flag=True,  # type: ignore[arg-type]
    )

    @step
    def start(self) -> None:
        """Make the plan from the parameters or the run to reproduce, and check the gate.

        A reproduction skips the gate, because its results are not used.
        """
        try:
            self._plan = self._make_plan()
            self._gate = "not asked: reproduced"
            if self._plan.recipe is None:
                weather = [tables.WEATHER] if self._plan.needs_weather else []
                required = [tables.raw(self._plan.service), *weather]
                how = {"ungated": bool(self.ungated), "strict": bool(self.strict)}
                self._gate = check_gate(load_settings(), required, **how)
            print(f"Gate: {self._gate}.")  # noqa: T201
        except PipelineError as error:
            raise Refused(str(error)) from error  # type: ignore[no-untyped-call]
        self.next(self.compute_actuals)

    def _make_plan(self) -> Plan:
        settings = load_settings()
        if self.reproduce:
            return plan_reproduction(settings, self.reproduce)
        return make_plan(
            settings,
            service=self.service,
            model=self.model_name,
            as_of=self.as_of_datetime,
            lookback_days=self.lookback_days,
            horizon_hours=self.predict_horizon_hours,
            locations=self.locations,
        )

    @step
    def compute_actuals(self) -> None:
        """Count the rides per hour and zone for all days that overlap the window."""
        plan = self._plan
        if plan.recipe is None:  # a reproduction reads the earlier counts
            from spark_jobs.lineage import LAUNCHER
            from spark_jobs.session import open_session
            from spark_jobs.taxi.actuals import compute_actuals

            settings = load_settings()
            first = datetime.combine(plan.window_start, time.min)
            last = datetime.combine(plan.as_of - timedelta(microseconds=1), time.min)
            name = tables.actuals(plan.service).name
            conf = spark_conf() | {LAUNCHER: "metaflow"}
            with open_session(settings, name, conf) as spark:
                compute_actuals(spark, settings, plan.service, first, last + timedelta(days=1))
        self.next(self.prepare_training_data)

    @step
    def prepare_training_data(self) -> None:
        """Select the zones, fill hours without a ride with zero, and add weather if needed."""
        from metaflow_flows.train_forecast_model import columns, forecasting, weather_model

        plan, settings = self._plan, load_settings()
        source = tables.actuals(plan.service)
        snapshot = snapshot_to_read(plan, source)
        span = (plan.window_start, plan.as_of)
        table, actuals = tables.read_actuals(settings, plan.service, *span, snapshot)
        self._read = [table_read(table, dataset(source), snapshot_id=snapshot)]
        zones = plan.locations or forecasting.busiest(actuals, BUSIEST_ZONES)
        training = forecasting.training_frame(actuals, zones, *span)
        written = artifact("training_data")
        writes(columns.training_data(written, dataset(source), by_rides=not plan.locations))
        if plan.needs_weather:
            snapshot = snapshot_to_read(plan, tables.WEATHER)
            counties = weather_model.counties().unique()
            table, weather = tables.read_weather(settings, counties, *span, snapshot)
            self._read.append(table_read(table, dataset(tables.WEATHER), snapshot_id=snapshot))
            name = file_dataset(str(weather_model.ZONES))
            lookup = reads(Dataset(name.namespace, name.name))
            both = dataset(tables.WEATHER), lookup
            writes(columns.weather_columns(written, dataset(source), *both))
            training = weather_model.with_weather(training, weather)
        self.training_data = training
        self.next(self.train)

    @card(type="blank")  # type: ignore[untyped-decorator]
    @step
    def train(self) -> None:
        """Evaluate the model on the last days, fit it on all days, and show both in the card."""
        from metaflow_flows.train_forecast_model import card as cards
        from metaflow_flows.train_forecast_model import columns, forecasting
        from metaflow_flows.train_forecast_model.facets import MODEL_FACET, ModelFacet

        plan, settings = self._plan, load_settings()
        self._held_out = forecasting.forecast_held_out(self.training_data, plan.model)
        self.metrics = forecasting.measure(self._held_out)
        self.model = forecasting.fit(self.training_data, plan.model)
        window = plan.window_start.isoformat(), plan.as_of.isoformat()
        model_facet = ModelFacet(plan.model, plan.service, *window, self.metrics, self._gate)
        described = replace(artifact("model"), facets={MODEL_FACET: model_facet})
        training = artifact("training_data")
        writes(columns.model(described, training, needs_weather=plan.needs_weather))
        ahead = forecasting.predict(self.model, plan.horizon_hours)
        target = None if plan.recipe else dataset(tables.forecast(plan.service))
        card: Any = current.card  # type: ignore[attr-defined]  # added by the decorator
        card.extend(cards.forecast_contents(plan, self.metrics, self._held_out, ahead))
        card.extend(cards.lineage_contents(settings, str(current.run_id), self._read, target))
        self.next(self.write_forecasts_to_table)

    @step
    def write_forecasts_to_table(self) -> None:
        """Forecast the next hours and replace the forecasts with the same `as_of`.

        A reproduction writes nothing, but compares its forecasts with the earlier ones.
        """
        from metaflow_flows.train_forecast_model import columns, forecasting

        plan, settings = self._plan, load_settings()
        target = tables.forecast(plan.service)
        forecasts = forecasting.predict(self.model, plan.horizon_hours)
        version = str(current.run_id)
        rows = tables.forecast_rows(forecasts, plan.as_of, plan.model, version)
        if plan.recipe:
            _, earlier = earlier_forecasts(settings, plan.recipe, target)
            compare(plan.recipe, earlier, rows)
            print(f"{rows.num_rows:,} forecasts equal those of run {plan.recipe.run}.")  # noqa: T201
        else:
            table = tables.write_forecasts(settings, plan.service, rows, plan.as_of)
            table_written(table, columns.forecasts(dataset(target), artifact("model")))
            pin_snapshot(target, table.metadata.current_snapshot_id)
            print(  # noqa: T201
                f"Wrote {rows.num_rows:,} forecasts by {plan.model} as of {plan.as_of} to"
                f" {target.name} with model_version {version}."
            )
        self.next(self.end)

    @step
    def end(self) -> None:
        """End the flow."""


if __name__ == "__main__":
    keep_cards_home(sys.argv)
    TrainForecastModelFlow()  # type: ignore[no-untyped-call]  # untyped in Metaflow
