"""The plan of a run: its parameters, resolved and checked once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from lakehouse.settings import Settings
from metaflow_flows.train_forecast_model import tables
from metaflow_flows.train_forecast_model.reproduce import (
    NotReproducible,
    Recipe,
    earlier_forecasts,
    other_code,
    read_recipe,
    require_inputs,
)

REQUIRED = {"service", "model_name", "lookback_days", "predict_horizon_hours", "locations"}
"""Parameters that are required to reproduce a run."""


@dataclass(frozen=True)
class Plan:
    """A plan to train on [window_start, as_of) and forecast the next `horizon_hours`."""

    service: str
    model: str
    as_of: datetime
    window_start: datetime
    horizon_hours: int
    locations: tuple[int, ...]
    """Pickup zones; empty for the busiest."""
    recipe: Recipe | None = None
    """The inputs of the run to reproduce, if any."""

    @property
    def needs_weather(self) -> bool:
        """True if the model uses weather."""
        from metaflow_flows.train_forecast_model import forecasting

        return forecasting.model_named(self.model).needs_weather


def make_plan(
    settings: Settings,
    *,
    service: str,
    model: str,
    as_of: str,
    lookback_days: int,
    horizon_hours: int,
    locations: str,
    recipe: Recipe | None = None,
) -> Plan:
    """Return the plan for the flow's parameters; `as_of` defaults to the newest month's end.

    Raises:
        PipelineError: a parameter is invalid, or its data is not loaded.
    """
    from metaflow_flows.train_forecast_model import forecasting

    forecasting.model_named(model)
    if service not in tables.SERVICES:
        raise forecasting.BadWindow(f"service is {service!r}; use {' or '.join(tables.SERVICES)}.")
    moment = forecasting.parse_as_of(as_of) if as_of else tables.newest_month_end(settings, service)
    forecasting.check_window(moment, lookback_days, horizon_hours, model)
    zones = tuple(forecasting.parse_locations(locations))
    start = moment - timedelta(days=lookback_days)
    if recipe is None:
        tables.require_loaded(settings, service, start, moment)
    return Plan(service, model, moment, start, horizon_hours, zones, recipe)


def plan_reproduction(settings: Settings, run: str) -> Plan:
    """Return the plan to reproduce an earlier run from its lineage.

    Raises:
        NotReproducible: the lineage is incomplete, or a snapshot of the run has expired.
    """
    recipe = read_recipe(settings, run)
    parameters = recipe.parameters
    code_difference = other_code(recipe)
    if missing := sorted(REQUIRED - parameters.keys()):
        raise NotReproducible(
            f"Run {run} had no parameter {', '.join(missing)}. {code_difference}".rstrip()
        )
    if code_difference:  # the forecasts may still be equal
        print(f"warning: {code_difference}")  # noqa: T201 - task log
    if parameters.get("reproduce"):
        raise NotReproducible(
            f"Run {run} is itself a reproduction of {parameters['reproduce']}. Reproduce that run."
        )
    require_inputs(settings, recipe)
    as_of, _ = earlier_forecasts(settings, recipe, tables.forecast(parameters["service"]))
    return make_plan(
        settings,
        service=parameters["service"],
        model=parameters["model_name"],
        as_of=as_of.isoformat(),
        lookback_days=int(parameters["lookback_days"]),
        horizon_hours=int(parameters["predict_horizon_hours"]),
        locations=parameters["locations"],
        recipe=recipe,
    )
