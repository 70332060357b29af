"""What a run is to do: its parameters, settled and checked once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from lakehouse.settings import Settings
from metaflow_flows.train_forecast_model import tables
from metaflow_flows.train_forecast_model.reproduce import (
    NotReproducible,
    Recipe,
    made_then,
    other_code,
    read_recipe,
    require_inputs,
)

NEEDED = {"service", "model_name", "lookback_days", "predict_horizon_hours", "locations"}
"""Parameters without which a run cannot be done again."""


@dataclass(frozen=True)
class Plan:
    """Train on [window_start, as_of), forecast `horizon_hours` from there."""

    service: str
    model: str
    as_of: datetime
    window_start: datetime
    horizon_hours: int
    locations: tuple[int, ...]
    """Zones; none for the busiest."""
    recipe: Recipe | None = None
    """What the run that is done again was made from."""

    @property
    def needs_weather(self) -> bool:
        """Whether the model is made of weather too."""
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
    """The plan of the flow's parameters; without `as_of` from the end of the newest month.

    Raises:
        PipelineError: a parameter names what is not there.
    """
    from metaflow_flows.train_forecast_model import forecasting

    forecasting.model_named(model)
    if service not in tables.SERVICES:
        raise forecasting.BadWindow(
            f"service is {service!r}; it must be {' or '.join(tables.SERVICES)}."
        )
    moment = forecasting.parse_as_of(as_of) if as_of else tables.newest_month_end(settings, service)
    forecasting.check_window(moment, lookback_days, horizon_hours, model)
    zones = tuple(forecasting.parse_locations(locations))
    start = moment - timedelta(days=lookback_days)
    if recipe is None:
        tables.require_loaded(settings, service, start, moment)
    return Plan(service, model, moment, start, horizon_hours, zones, recipe)


def plan_again(settings: Settings, run: str) -> Plan:
    """The plan of an earlier run, as lineage tells it.

    Raises:
        NotReproducible: lineage does not know enough, or what the run read or wrote is gone.
    """
    recipe = read_recipe(settings, run)
    given = recipe.parameters
    other = other_code(recipe)
    if missing := sorted(NEEDED - given.keys()):
        raise NotReproducible(f"Run {run} had no parameter {', '.join(missing)}. {other}".rstrip())
    if other:  # which may well make the same: what counts is what comes out
        print(f"warning: {other}")  # noqa: T201 - task log
    if given.get("reproduce"):
        raise NotReproducible(
            f"Run {run} was itself done again from {given['reproduce']}: reproduce that one."
        )
    require_inputs(settings, recipe)
    as_of, _ = made_then(settings, recipe, tables.forecast(given["service"]))
    return make_plan(
        settings,
        service=given["service"],
        model=given["model_name"],
        as_of=as_of.isoformat(),
        lookback_days=int(given["lookback_days"]),
        horizon_hours=int(given["predict_horizon_hours"]),
        locations=given["locations"],
        recipe=recipe,
    )
