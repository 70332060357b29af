"""The code of the training flow's steps, and the lineage that they declare.

Each function runs in the process of one step, so it imports its own dependencies.
"""

from __future__ import annotations

import hashlib
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from metaflow import current
from metaflow.exception import MetaflowException

from lakehouse.catalog import load_table, note_provenance, pin
from lakehouse.descriptions import dataset_facets
from lakehouse.errors import PipelineError
from lakehouse.gate import check_gate
from lakehouse.names import DatasetName, Table, file_dataset
from lakehouse.provenance import signed_provenance
from lakehouse.settings import load_settings
from metaflow_flows.train_forecast_model import tables
from metaflow_flows.train_forecast_model.parameters import BUSIEST_ZONES, TrainingParameters
from metaflow_flows.train_forecast_model.plan import Plan, make_plan, plan_reproduction
from metaflow_flows.train_forecast_model.reproduce import compare, earlier_forecasts
from metaflow_openlineage import (
    Dataset,
    artifact,
    reads,
    spark_conf,
    table_read,
    table_written,
    writes,
)

if TYPE_CHECKING:
    import pandas as pd


class Refused(MetaflowException):
    """The request cannot be fulfilled; Metaflow prints this error without a traceback."""

    headline = "Refused"


def make_plan_behind_gate(parameters: TrainingParameters) -> tuple[Plan, str]:
    """Return the plan for the parameters, and the result of the provenance gate.

    A reproduction skips the gate, because its results are not used.

    Raises:
        Refused: a parameter is invalid, data is not loaded, or the gate rejects it.
    """
    settings = load_settings()
    try:
        if parameters.reproduce:
            plan, gate = plan_reproduction(settings, parameters.reproduce), "not asked: reproduced"
        else:
            plan = make_plan(
                settings,
                service=parameters.service,
                model=parameters.model_name,
                as_of=parameters.as_of_datetime,
                lookback_days=parameters.lookback_days,
                horizon_hours=parameters.predict_horizon_hours,
                locations=parameters.locations,
            )
            weather = [tables.WEATHER] if plan.needs_weather else []
            how = {"ungated": bool(parameters.ungated), "strict": bool(parameters.strict)}
            gate = check_gate(settings, [tables.raw(plan.service), *weather], **how)
    except PipelineError as error:
        raise Refused(str(error)) from error  # type: ignore[no-untyped-call]
    print(f"Gate: {gate}.")  # noqa: T201
    return plan, gate


def compute_actuals(plan: Plan) -> None:
    """Count the rides with Spark; a reproduction reads the earlier counts."""
    if plan.recipe:
        return
    from spark_jobs.lineage import LAUNCHER
    from spark_jobs.session import open_session
    from spark_jobs.taxi import actuals

    settings = load_settings()
    first = datetime.combine(plan.window_start, time.min)
    last = datetime.combine(plan.as_of - timedelta(microseconds=1), time.min)
    name = tables.actuals(plan.service).name
    with open_session(settings, name, spark_conf() | {LAUNCHER: "metaflow"}) as spark:
        actuals.compute_actuals(spark, settings, plan.service, first, last + timedelta(days=1))


def prepare_training_data(plan: Plan) -> tuple[pd.DataFrame, list[Dataset]]:
    """Return the training data, and the tables that were read."""
    from metaflow_flows.train_forecast_model import columns, forecasting, weather_model

    settings, source = load_settings(), tables.actuals(plan.service)
    snapshot = _snapshot_to_read(plan, source)
    span = (plan.window_start, plan.as_of)
    table, actuals = tables.read_actuals(settings, plan.service, *span, snapshot)
    read = [table_read(table, _dataset(source), snapshot_id=snapshot)]
    zones = plan.locations or forecasting.busiest(actuals, BUSIEST_ZONES)
    training = forecasting.training_frame(actuals, zones, *span)
    written = artifact("training_data")
    writes(columns.training_data(written, _dataset(source), by_rides=not plan.locations))
    if plan.needs_weather:
        snapshot = _snapshot_to_read(plan, tables.WEATHER)
        counties = weather_model.counties().unique()
        table, weather = tables.read_weather(settings, counties, *span, snapshot)
        read.append(table_read(table, _dataset(tables.WEATHER), snapshot_id=snapshot))
        name = file_dataset(str(weather_model.ZONES))
        lookup = reads(Dataset(name.namespace, name.name))
        both = _dataset(tables.WEATHER), lookup
        writes(columns.weather_columns(written, _dataset(source), *both))
        training = weather_model.with_weather(training, weather)
    return training, read


def describe_model(plan: Plan, metrics: Any, gate: str) -> None:
    """Declare the fitted model with its facet and the columns that it was trained on."""
    from metaflow_flows.train_forecast_model import columns
    from metaflow_flows.train_forecast_model.facets import MODEL_FACET, ModelFacet

    window = plan.window_start.isoformat(), plan.as_of.isoformat()
    facet = ModelFacet(plan.model, plan.service, *window, metrics, gate)
    described = replace(artifact("model"), facets={MODEL_FACET: facet})
    writes(columns.model(described, artifact("training_data"), needs_weather=plan.needs_weather))


def fill_card(
    plan: Plan, metrics: Any, held_out: pd.DataFrame, model: Any, read: Sequence[Dataset]
) -> None:
    """Show the forecasts and their lineage in the card of the step."""
    from metaflow_flows.train_forecast_model import card, forecasting

    ahead = forecasting.predict(model, plan.horizon_hours)
    target = None if plan.recipe else _dataset(tables.forecast(plan.service))
    shown: Any = current.card  # type: ignore[attr-defined]  # added by the decorator `card`
    shown.extend(card.forecast_contents(plan, metrics, held_out, ahead))
    shown.extend(card.lineage_contents(load_settings(), str(current.run_id), read, target))


def write_forecasts(plan: Plan, model: Any) -> int | None:
    """Forecast, and write the forecasts; return the snapshot.

    A reproduction compares them with the earlier ones instead, and returns None.
    """
    from metaflow_flows.train_forecast_model import columns, forecasting

    settings, target = load_settings(), tables.forecast(plan.service)
    version = str(current.run_id)
    forecasts = forecasting.predict(model, plan.horizon_hours)
    rows = tables.forecast_rows(forecasts, plan.as_of, plan.model, version)
    if plan.recipe:
        _, earlier = earlier_forecasts(settings, plan.recipe, target)
        compare(plan.recipe, earlier, rows)
        print(f"{rows.num_rows:,} forecasts equal those of run {plan.recipe.run}.")  # noqa: T201
        return None
    table = tables.write_forecasts(settings, plan.service, rows, plan.as_of)
    table_written(table, columns.forecasts(_dataset(target), artifact("model")))
    written = _pin_snapshot(target, table.metadata.current_snapshot_id)
    print(  # noqa: T201
        f"Wrote {rows.num_rows:,} forecasts by {plan.model} as of {plan.as_of} to"
        f" {target.name} with model_version {version}."
    )
    return written


def keep_provenance(plan: Plan, written: int | None) -> dict[str, Any] | None:
    """Return the signed provenance of the model; record it on the table with the forecasts.

    None for a reproduction, which writes no forecasts, and if it is unknown; see
    `lakehouse.provenance`.
    """
    if written is None:
        return None
    from metaflow import Run, namespace

    settings, model = load_settings(), artifact("model")
    namespace(None)
    task: Any = Run(f"{current.flow_name}/{current.run_id}")["train"].task
    name = DatasetName(model.namespace, model.name)
    bundle = signed_provenance(settings, name, task["model"].sha)
    table = load_table(settings, tables.forecast(plan.service))
    if bundle and table:
        statement = hashlib.sha256(b64decode(bundle["payload"])).hexdigest()
        note_provenance(table, written, f"{current.pathspec}/provenance", statement)
    return bundle


def _dataset(table: Table) -> Dataset:
    """Return the table as a dataset with its description."""
    name = table.dataset(load_settings())
    return Dataset(name.namespace, name.name, facets=dataset_facets(table))


def _pin_snapshot(table: Table, snapshot_id: int | None = None) -> int | None:
    """Pin a snapshot, by default the current one, for this run; return its id."""
    return pin(load_settings(), table, f"{current.flow_name}/{current.run_id}", snapshot_id)


def _snapshot_to_read(plan: Plan, table: Table) -> int | None:
    """Return the snapshot that the reproduced run read, or else the current one, pinned."""
    return plan.recipe.snapshot_of(table) if plan.recipe else _pin_snapshot(table)
