"""The training flow; the science is in forecasting.py, the tables in tables.py.

Each step, the launcher and each card import this module in a process of their own: what needs
pandas is imported by the steps that use it.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import datetime, time, timedelta
from typing import Any, get_args

from metaflow import (  # type: ignore[attr-defined]  # Metaflow makes card while it is imported
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
from lakehouse.names import Table, file_dataset
from lakehouse.settings import ForecastModel, load_settings
from metaflow_flows.train_forecast_model import tables
from metaflow_flows.train_forecast_model.card_commands import keep_cards_home
from metaflow_flows.train_forecast_model.gate import ask_gate
from metaflow_flows.train_forecast_model.plan import Plan, make_plan, plan_again
from metaflow_flows.train_forecast_model.reproduce import compare, made_then
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
    """What was asked for cannot be done; Metaflow prints such an error without a traceback."""

    headline = "Refused"


def dataset(table: Table) -> Dataset:
    """The table in lineage, with its description."""
    name = table.dataset(load_settings())
    return Dataset(name.namespace, name.name, facets=dataset_facets(table))


def pinned(table: Table, snapshot_id: int | None = None) -> int | None:
    """Keep a snapshot (by default the current one) in the name of this run; its id."""
    return pin(load_settings(), table, f"{current.flow_name}/{current.run_id}", snapshot_id)


def to_read(plan: Plan, table: Table) -> int | None:
    """The snapshot that the run to be done again has read, or else the current one, kept."""
    return plan.recipe.snapshot_of(table) if plan.recipe else pinned(table)


@openlineage
class TrainForecastModelFlow(FlowSpec):
    """Forecast taxi rides for each hour and pickup zone.

    1. Settle the moment as of which to forecast; ask whether lineage vouches for the data.
    2. Count the rides of each hour and zone before it, with Spark.
    3. Make the training data: the busiest zones, every hour, gaps as zero; for the weather model
       with the weather of each zone's county.
    4. Fit the model and measure it on the last days, beside seasonal-naive.
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
    service: Any = Parameter(
        "service", default="yellow", help=f"Whose rides: {' or '.join(tables.SERVICES)}."
    )
    reproduce: Any = Parameter(
        "reproduce",
        default="",
        help="Run (a model_version, or an id of `./run lineage runs`) to train again from what "
        "lineage says of it, and to compare with; all other parameters are then the run's.",
    )
    # self.model is the fitted one, as an artifact.
    model_name: Any = Parameter(
        "model",
        default=lambda _: load_settings().forecast_model,
        help=f"What forecasts: {' or '.join(get_args(ForecastModel))}.",
    )

    ungated: Any = Parameter(
        "ungated",
        default=False,
        help="Train although lineage does not vouch for it.",
        is_flag=True,  # type: ignore[arg-type]  # for click, which knows it
    )
    strict: Any = Parameter(
        "strict",
        default=False,
        help="Train only if lineage could be asked.",
        is_flag=True,  # type: ignore[arg-type]
    )

    @step
    def start(self) -> None:
        """Settle what to do, by the parameters or those of the run to be reproduced; ask the gate.

        A run that is done again is not asked for: it makes nothing that is used.
        """
        try:
            self._plan = self._settled()
            self._gate = "not asked: reproduced"
            if self._plan.recipe is None:
                weather = [tables.WEATHER] if self._plan.needs_weather else []
                asked = [tables.raw(self._plan.service), *weather]
                how = {"ungated": bool(self.ungated), "strict": bool(self.strict)}
                self._gate = ask_gate(load_settings(), asked, **how)
            print(f"Gate: {self._gate}.")  # noqa: T201
        except PipelineError as error:
            raise Refused(str(error)) from error  # type: ignore[no-untyped-call]
        self.next(self.compute_actuals)

    def _settled(self) -> Plan:
        settings = load_settings()
        if self.reproduce:
            return plan_again(settings, self.reproduce)
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
        """Count the rides of each hour and zone, in whole days around the window."""
        plan = self._plan
        if plan.recipe is None:  # else they are read as they were
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
        """Choose the zones, fill every hour without a ride with zero, add weather if needed."""
        from metaflow_flows.train_forecast_model import columns, forecasting, weather_model

        plan, settings = self._plan, load_settings()
        source = tables.actuals(plan.service)
        snapshot = to_read(plan, source)
        span = (plan.window_start, plan.as_of)
        table, actuals = tables.read_actuals(settings, plan.service, *span, snapshot)
        self._read = [table_read(table, dataset(source), snapshot_id=snapshot)]
        zones = plan.locations or forecasting.busiest(actuals, BUSIEST_ZONES)
        training = forecasting.training_frame(actuals, zones, *span)
        written = artifact("training_data")
        writes(columns.training_data(written, dataset(source), by_rides=not plan.locations))
        if plan.needs_weather:
            snapshot = to_read(plan, tables.WEATHER)
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
        """Measure the model on the last days, then fit it on all of them; show both in the card."""
        from metaflow_flows.train_forecast_model import card as cards
        from metaflow_flows.train_forecast_model import columns, forecasting
        from metaflow_flows.train_forecast_model.facets import MODEL_FACET, ModelFacet

        plan, settings = self._plan, load_settings()
        self._held_out = forecasting.forecast_held_out(self.training_data, plan.model)
        self.metrics = forecasting.measure(self._held_out)
        self.model = forecasting.fit(self.training_data, plan.model)
        window = plan.window_start.isoformat(), plan.as_of.isoformat()
        told = ModelFacet(plan.model, plan.service, *window, self.metrics, self._gate)
        described = replace(artifact("model"), facets={MODEL_FACET: told})
        training = artifact("training_data")
        writes(columns.model(described, training, needs_weather=plan.needs_weather))
        ahead = forecasting.predict(self.model, plan.horizon_hours)
        target = None if plan.recipe else dataset(tables.forecast(plan.service))
        card: Any = current.card  # type: ignore[attr-defined]  # it has one, by the decorator
        card.extend(cards.forecast_contents(plan, self.metrics, self._held_out, ahead))
        card.extend(cards.lineage_contents(settings, str(current.run_id), self._read, target))
        self.next(self.write_forecasts_to_table)

    @step
    def write_forecasts_to_table(self) -> None:
        """Forecast the next hours and replace those forecast as of the same moment.

        A run that is done again writes nothing: its forecasts have to be those of the first time.
        """
        from metaflow_flows.train_forecast_model import columns, forecasting

        plan, settings = self._plan, load_settings()
        target = tables.forecast(plan.service)
        forecasts = forecasting.predict(self.model, plan.horizon_hours)
        version = str(current.run_id)
        rows = tables.forecast_rows(forecasts, plan.as_of, plan.model, version)
        if plan.recipe:
            _, then = made_then(settings, plan.recipe, target)
            compare(plan.recipe, then, rows)
            print(f"{rows.num_rows:,} forecasts are those of run {plan.recipe.run}.")  # noqa: T201
        else:
            table = tables.write_forecasts(settings, plan.service, rows, plan.as_of)
            table_written(table, columns.forecasts(dataset(target), artifact("model")))
            pinned(target, table.metadata.current_snapshot_id)
            print(  # noqa: T201
                f"{rows.num_rows:,} forecasts by {plan.model}, as of {plan.as_of}, are in"
                f" {target.name}; their model_version is {version}."
            )
        self.next(self.end)

    @step
    def end(self) -> None:
        """Nothing is left to do."""


if __name__ == "__main__":
    keep_cards_home(sys.argv)
    TrainForecastModelFlow()  # type: ignore[no-untyped-call]  # Metaflow's own is not typed
