"""Build the contents of a run's card from DataFrames.

The charts use Vega-Lite, which Metaflow cards include. They need no plotting library, and a card
loads nothing from other hosts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote

import pandas as pd

from lakehouse.backends import is_embedded
from lakehouse.settings import Settings
from metaflow_flows.train_forecast_model.forecasting import BASELINE, DAY_HOURS, busiest
from metaflow_flows.train_forecast_model.plan import Plan
from metaflow_flows.train_forecast_model.reproduce import FLOW
from metaflow_openlineage import Dataset, flow_run_id

if TYPE_CHECKING:
    from metaflow.cards import MetaflowCardComponent

Spec: TypeAlias = dict[str, Any]
Row: TypeAlias = "list[str | MetaflowCardComponent]"

ZONES_SHOWN = 6
ACTUAL, HELD_OUT, AHEAD = "actual", "forecast of a held-out day", "forecast"
GRAY, BLUE, ORANGE = "#8c8c8c", "#1f6fb4", "#d9730d"


def forecast_contents(
    plan: Plan, metrics: Mapping[str, float], held_out: pd.DataFrame, ahead: pd.DataFrame
) -> list[MetaflowCardComponent]:
    """Return the model's errors and its forecasts.

    `held_out` comes from `forecast_held_out`; `ahead` has the columns `unique_id`, `ds` and
    `forecast`.
    """
    from metaflow.cards import Table, VegaChart

    zones = busiest_zones(held_out)
    days = held_out["ds"].nunique() // DAY_HOURS
    return [
        _text(
            f"# {plan.service.capitalize()} rides as of {plan.as_of:%Y-%m-%d %H:%M}\n"
            f"Model **{plan.model}**, trained on {held_out['unique_id'].nunique()} zones from "
            f"{plan.window_start:%Y-%m-%d %H:%M}; forecasts {plan.horizon_hours} hours. "
            "All times are New York time."
        ),
        _text(
            f"## Errors on held-out days\nEach of the {days} days was forecast by a model trained "
            "on earlier data only. MASE is MAE divided by the mean change from week to week."
        ),
        Table(metric_rows(metrics, plan.model), ["", "MAE, rides per hour", "MASE"]),
        VegaChart(errors_chart(errors_by_hour(held_out, plan.model))),
        _text(f"## The {len(zones)} busiest zones"),
        VegaChart(zones_chart(zone_lines(held_out, ahead, zones), zones)),
    ]


def lineage_contents(
    settings: Settings, run: str, read: Sequence[Dataset], written: Dataset | None
) -> list[MetaflowCardComponent]:
    """Return the tables that the run reads and writes; `written` is None in a reproduction."""
    from metaflow.cards import Table

    rows: list[Row] = [["read", table.name, f"snapshot {table.version}"] for table in read]
    if written:
        rows.append(["written next", written.name, f"model_version {run}"])
    contents: list[MetaflowCardComponent] = [_text("## Lineage")]
    contents.append(Table(rows, ["", "table", "version"]))
    if is_embedded(settings):
        contents.append(_text(lineage_links(settings, run, written or read[0])))
    return contents


def busiest_zones(held_out: pd.DataFrame) -> list[int]:
    """Return the zones to show, by their rides on the held-out days."""
    rides = held_out.rename(columns={"unique_id": "pulocationid", "y": "total_rides"})
    return busiest(rides, ZONES_SHOWN)


def zone_lines(held_out: pd.DataFrame, ahead: pd.DataFrame, zones: Sequence[int]) -> pd.DataFrame:
    """Return `zone`, `ds`, `rides` and their kind (`what`): actual or one of the forecasts."""
    parts = [(ACTUAL, held_out, "y"), (HELD_OUT, held_out, "forecast"), (AHEAD, ahead, "forecast")]
    lines = pd.concat(
        pd.DataFrame({"zone": of["unique_id"], "ds": of["ds"], "rides": of[rides], "what": what})
        for what, of, rides in parts
    )
    return lines[lines["zone"].isin(zones)].sort_values(["zone", "ds"], ignore_index=True)


def errors_by_hour(held_out: pd.DataFrame, model: str) -> pd.DataFrame:
    """Return `hour` (0 to 23), `error` (mean absolute error in rides) and `model`."""
    parts = []
    for name, column in {BASELINE: "baseline", model: "forecast"}.items():
        error = (held_out["y"] - held_out[column]).abs()
        by_hour = error.groupby(held_out["ds"].dt.hour.rename("hour")).mean()
        parts.append(by_hour.rename("error").reset_index().assign(model=name))
    return pd.concat(parts, ignore_index=True)


def metric_rows(metrics: Mapping[str, float], model: str) -> list[Row]:
    """Return a row of metrics for the model and one for the baseline."""
    rows: list[Row] = []
    for name, prefix in {model: "", BASELINE: "baseline_"}.items():
        values = [metrics.get(prefix + metric) for metric in ("mae", "mase")]
        rows.append([name, *("–" if value is None else f"{value:.3f}" for value in values)])
    return rows


def lineage_links(settings: Settings, run: str, dataset: Dataset) -> str:
    """Return links to the run's lineage on this machine's lineage server."""
    page = f"{settings.headwater_url}/lineage?node="
    node = quote(f"dataset:{dataset.namespace}:{dataset.name}", safe="")
    flow = quote(f"job:{settings.job_namespace}:{FLOW}", safe="")
    return (
        "On the lineage server:"
        f" [upstream of {dataset.name}]({page}{node}&up=20), "
        f"[this run and its steps]({page}{flow}&open=run%3A{flow_run_id(FLOW, run)})."
    )


def errors_chart(errors: pd.DataFrame) -> Spec:
    """Return the chart of the error per hour of the day, one line per model."""
    models = errors["model"].unique()[::-1]
    return {
        "data": {"values": errors.round(3).to_dict("records")},
        "mark": {"type": "line", "point": True},
        "encoding": {
            "x": {
                "field": "hour",
                "type": "quantitative",
                "title": "hour of the day",
                "scale": {"domain": [0, 23]},
                "axis": {"values": list(range(0, 24, 3)), "format": "02d"},
            },
            "y": {"field": "error", "type": "quantitative", "title": "mean error, rides"},
            "color": _colors("model", dict(zip(models, (BLUE, GRAY), strict=False))),
        },
        "height": 180,
    }


def zones_chart(lines: pd.DataFrame, zones: Sequence[int]) -> Spec:
    """Return small charts of actual and forecast rides, one per zone, busiest first."""
    # Times are labeled and drawn as UTC, so that every browser shows New York time.
    rows = lines.assign(
        ds=lines["ds"].dt.strftime("%Y-%m-%dT%H:%MZ"), zone="zone " + lines["zone"].astype(str)
    )
    order = [f"zone {zone}" for zone in zones]
    return {
        "data": {"values": rows.round(2).to_dict("records")},
        "mark": {"type": "line", "strokeWidth": 1.5},
        "encoding": {
            "facet": {"field": "zone", "columns": 2, "title": None, "sort": order},
            "x": {
                "field": "ds",
                "type": "temporal",
                "title": None,
                "scale": {"type": "utc"},
                "axis": {"format": "%a %-d %b", "tickCount": "day"},
            },
            "y": {
                "field": "rides",
                "type": "quantitative",
                "title": "rides per hour",
                "axis": {"minExtent": 24},  # aligns all charts
            },
            "color": _colors("what", {ACTUAL: GRAY, HELD_OUT: BLUE, AHEAD: ORANGE}),
        },
        "resolve": {"scale": {"y": "independent"}},
        "width": 365,
        "height": 120,
    }


def _colors(field: str, colors: Mapping[str, str]) -> Spec:
    scale = {"domain": list(colors), "range": list(colors.values())}
    legend = {"orient": "top", "title": None}
    return {"field": field, "type": "nominal", "scale": scale, "legend": legend}


def _text(markdown: str) -> MetaflowCardComponent:
    from metaflow.cards import Markdown

    return Markdown(markdown)  # type: ignore[no-untyped-call]  # untyped in Metaflow
