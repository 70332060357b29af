"""What the card of a run shows, made from frames by plain functions.

The charts are Vega-Lite, which Metaflow's cards draw by themselves: no plotting library is needed,
and a card asks nothing of any other host.
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
ACTUAL, HELD_OUT, AHEAD = "actual", "forecast of a day held out", "forecast ahead"
GREY, BLUE, ORANGE = "#8c8c8c", "#1f6fb4", "#d9730d"


def forecast_contents(
    plan: Plan, metrics: Mapping[str, float], held_out: pd.DataFrame, ahead: pd.DataFrame
) -> list[MetaflowCardComponent]:
    """What the model is worth, and what it forecasts.

    `held_out` is of `forecast_held_out`; `ahead` are the forecasts `unique_id`, `ds`, `forecast`.
    """
    from metaflow.cards import Table, VegaChart

    zones = busiest_zones(held_out)
    days = held_out["ds"].nunique() // DAY_HOURS
    return [
        _text(
            f"# {plan.service.capitalize()} rides as of {plan.as_of:%Y-%m-%d %H:%M}\n"
            f"Model **{plan.model}**, trained from {plan.window_start:%Y-%m-%d %H:%M} on "
            f"{held_out['unique_id'].nunique()} zones; forecasts {plan.horizon_hours} hours. "
            "Hours are New York's."
        ),
        _text(
            f"## Errors on the days held out\nThere were {days}, each forecast by a model that saw "
            "nothing later. MASE is MAE over the usual change from a week to the next."
        ),
        Table(metric_rows(metrics, plan.model), ["", "MAE, rides an hour", "MASE"]),
        VegaChart(errors_chart(errors_by_hour(held_out, plan.model))),
        _text(f"## The {len(zones)} busiest zones"),
        VegaChart(zones_chart(zone_lines(held_out, ahead, zones), zones)),
    ]


def lineage_contents(
    settings: Settings, run: str, read: Sequence[Dataset], written: Dataset | None
) -> list[MetaflowCardComponent]:
    """What the run read and goes on to write; `written` is None for one that is done again."""
    from metaflow.cards import Table

    rows: list[Row] = [["read", each.name, f"snapshot {each.version}"] for each in read]
    if written:
        rows.append(["written next", written.name, f"model_version {run}"])
    contents: list[MetaflowCardComponent] = [_text("## Lineage")]
    contents.append(Table(rows, ["", "table", "version"]))
    if is_embedded(settings):
        contents.append(_text(lineage_links(settings, run, written or read[0])))
    return contents


def busiest_zones(held_out: pd.DataFrame) -> list[int]:
    """The zones that are shown, by their rides on the days held out."""
    named = held_out.rename(columns={"unique_id": "pulocationid", "y": "total_rides"})
    return busiest(named, ZONES_SHOWN)


def zone_lines(held_out: pd.DataFrame, ahead: pd.DataFrame, zones: Sequence[int]) -> pd.DataFrame:
    """`zone`, `ds`, `rides` and whether they are the actual or which forecast (`what`)."""
    parts = [(ACTUAL, held_out, "y"), (HELD_OUT, held_out, "forecast"), (AHEAD, ahead, "forecast")]
    lines = pd.concat(
        pd.DataFrame({"zone": of["unique_id"], "ds": of["ds"], "rides": of[rides], "what": what})
        for what, of, rides in parts
    )
    return lines[lines["zone"].isin(zones)].sort_values(["zone", "ds"], ignore_index=True)


def errors_by_hour(held_out: pd.DataFrame, model: str) -> pd.DataFrame:
    """`hour` (0 to 23), `error` (mean, absolute, rides) and whose it is (`model`)."""
    parts = []
    for name, column in {BASELINE: "baseline", model: "forecast"}.items():
        error = (held_out["y"] - held_out[column]).abs()
        by_hour = error.groupby(held_out["ds"].dt.hour.rename("hour")).mean()
        parts.append(by_hour.rename("error").reset_index().assign(model=name))
    return pd.concat(parts, ignore_index=True)


def metric_rows(metrics: Mapping[str, float], model: str) -> list[Row]:
    """A row for the model, and one for what it is measured beside."""
    rows: list[Row] = []
    for name, prefix in {model: "", BASELINE: "baseline_"}.items():
        found = [metrics.get(prefix + metric) for metric in ("mae", "mase")]
        rows.append([name, *("–" if each is None else f"{each:.3f}" for each in found)])
    return rows


def lineage_links(settings: Settings, run: str, dataset: Dataset) -> str:
    """Where the page of this machine's lineage server tells more."""
    page = f"{settings.throughline_url}/lineage?node="
    node = quote(f"dataset:{dataset.namespace}:{dataset.name}", safe="")
    flow = quote(f"job:{settings.job_namespace}:{FLOW}", safe="")
    return (
        "On the lineage server:"
        f" [what {dataset.name} comes from]({page}{node}&up=20), "
        f"[this run and what it started]({page}{flow}&open=run%3A{flow_run_id(FLOW, run)})."
    )


def errors_chart(errors: pd.DataFrame) -> Spec:
    """The error of each hour of the day, a line a model."""
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
            "color": _colors("model", dict(zip(models, (BLUE, GREY), strict=False))),
        },
        "height": 180,
    }


def zones_chart(lines: pd.DataFrame, zones: Sequence[int]) -> Spec:
    """Actual rides and forecasts, a small chart a zone, the busiest first."""
    # Said to be UTC and drawn so, New York's clock is what every browser shows.
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
                "title": "rides an hour",
                "axis": {"minExtent": 24},  # so that all charts begin at the same place
            },
            "color": _colors("what", {ACTUAL: GREY, HELD_OUT: BLUE, AHEAD: ORANGE}),
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

    return Markdown(markdown)  # type: ignore[no-untyped-call]  # Metaflow's own is not typed
