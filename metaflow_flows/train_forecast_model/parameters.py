"""The parameters of the training flow."""

from __future__ import annotations

from typing import Any, get_args

from metaflow import FlowSpec, Parameter

from lakehouse.settings import ForecastModel, load_settings
from metaflow_flows.train_forecast_model.tables import SERVICES

BUSIEST_ZONES = 50


class TrainingParameters(FlowSpec):
    """A flow with the parameters of a training, but without steps."""

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
        "service", default="yellow", help=f"Taxi service: {' or '.join(SERVICES)}."
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
