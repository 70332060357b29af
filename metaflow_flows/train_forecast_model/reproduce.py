"""Reproduce an earlier training run from its lineage."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater_client.git import git_location
from lakehouse.catalog import PARTITION, load_table
from lakehouse.errors import PipelineError
from lakehouse.lineage_server import lineage_server
from lakehouse.names import Table
from lakehouse.settings import Settings

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.table import Table as IcebergTable
    from pyiceberg.table.snapshots import Summary

FLOW = "TrainForecastModelFlow"
_DIRTY = "-dirty"
"""The suffix of a version with uncommitted changes."""
FORECAST_COLUMNS = ["year", "month", "day", "hour", "pulocationid", "forecasted_total_rides"]


class NotReproducible(PipelineError):
    """The run's inputs are no longer available, or the forecasts differ."""


@dataclass(frozen=True)
class Recipe:
    """The inputs of a run according to its lineage."""

    run: str
    parameters: dict[str, str]
    code: str | None
    """Git commit of the code, if known."""
    snapshots: dict[str, int]
    """Snapshot that prepare_training_data read, by table name."""
    forecasts: int
    """The snapshot of the forecast table that the run wrote."""

    def snapshot_of(self, table: Table) -> int:
        """Return the snapshot of a table that the run read.

        Raises:
            NotReproducible: the lineage has no such snapshot.
        """
        if table.identifier not in self.snapshots:
            raise NotReproducible(
                f"The lineage of run {self.run} has no snapshot of {table.identifier}. Train anew "
                "without --reproduce."
            )
        return self.snapshots[table.identifier]


def read_recipe(settings: Settings, run: str) -> Recipe:
    """Return the recipe of a run, by Metaflow's id (the model_version) or by its lineage run id.

    Raises:
        NotReproducible: the lineage server does not respond, or its lineage is incomplete.
    """
    import httpx

    from metaflow_openlineage import flow_run_id

    run_id = flow_run_id(FLOW, run) if run.isdecimal() else run
    try:
        with lineage_server(settings, timeout=30) as server:
            answer = server.get(f"/api/v2/runs/{run_id}")
        details: dict[str, Any] = answer.raise_for_status().json()
    except httpx.HTTPStatusError as error:
        if error.response.status_code != httpx.codes.NOT_FOUND:
            raise NotReproducible(
                f"The lineage server rejected the request: {error}. Check HEADWATER_API_KEY."
            ) from None
        raise NotReproducible(
            f"The lineage server has no run {run}. `./run lineage runs {FLOW}` lists all runs."
        ) from None
    except (httpx.HTTPError, ValueError) as error:
        raise NotReproducible(
            f"The lineage server at {server.base_url} does not respond ({error}). Start it with "
            "`./run airflow`."
        ) from None
    if details["state"] != "COMPLETED":
        raise NotReproducible(
            f"Run {run} is {details['state']}, so it has no forecasts to compare with. Choose a "
            "COMPLETED run."
        )
    steps = {step["job"]["name"]: step for step in details["below"]}
    read = _versions(settings, steps, "prepare_training_data", "inputs")
    wrote = _versions(settings, steps, "write_forecasts_to_table", "outputs")
    if len(wrote) != 1:
        raise NotReproducible(
            f"The lineage of run {run} does not contain the forecasts it wrote. Choose another run."
        )
    (forecasts,) = wrote.values()
    return Recipe(run, details["parameters"], details["code"].get("version"), read, forecasts)


def _versions(settings: Settings, steps: dict[str, Any], step: str, side: str) -> dict[str, int]:
    """Return the snapshot of each table, by identifier, that a step read or wrote."""
    snapshots = {}
    for dataset in steps.get(f"{FLOW}.{step}", {}).get(side, []):
        table = Table(dataset["name"].rsplit(".", 1)[-1].rsplit("/", 1)[-1])
        name = table.dataset(settings)
        is_same_table = (name.namespace, name.name) == (dataset["namespace"], dataset["name"])
        if is_same_table and (dataset["version"] or "").isdecimal():
            snapshots[table.identifier] = int(dataset["version"])
    return snapshots


def require_inputs(settings: Settings, recipe: Recipe) -> None:
    """Check that the snapshots that the run read still exist.

    Raises:
        NotReproducible: a snapshot has expired.
    """
    for identifier, snapshot_id in recipe.snapshots.items():
        _load_snapshot(settings, recipe, Table(identifier.rsplit(".", 1)[-1]), snapshot_id)


def earlier_forecasts(
    settings: Settings, recipe: Recipe, table: Table
) -> tuple[datetime, pa.Table]:
    """Return the start of the run's forecast and the rows that it wrote to `table`.

    Raises:
        NotReproducible: the snapshot has expired.
    """
    loaded, summary = _load_snapshot(settings, recipe, table, recipe.forecasts)
    as_of = str(summary[PARTITION])
    rows = loaded.scan(row_filter=f"as_of = '{as_of}'", snapshot_id=recipe.forecasts).to_arrow()
    return datetime.fromisoformat(as_of), rows


def _load_snapshot(
    settings: Settings, recipe: Recipe, table: Table, snapshot_id: int
) -> tuple[IcebergTable, Summary]:
    """Return the table and the summary of a snapshot that the run read or wrote."""
    loaded = load_table(settings, table)
    snapshot = loaded.snapshot_by_id(snapshot_id) if loaded else None
    if loaded is None or snapshot is None or snapshot.summary is None:
        what = "wrote" if snapshot_id == recipe.forecasts else "read"
        raise NotReproducible(
            f"Snapshot {snapshot_id} of {table.identifier}, which run {recipe.run} {what}, has "
            "expired and cannot be restored. Train again without --reproduce. To keep inputs of "
            "later runs longer, increase KEEP_MODEL_INPUTS_DAYS (now "
            f"{settings.keep_model_inputs_days})."
        )
    return loaded, snapshot.summary


def compare(recipe: Recipe, then: pa.Table, now: pa.Table) -> None:
    """Compare two tables of forecasts.

    Raises:
        NotReproducible: a forecast differs; the message says whether the code differs too.
    """
    before, after = (_sorted(rows) for rows in (then, now))
    if before.equals(after):
        return
    same = sum(a == b for a, b in zip(before.to_pylist(), after.to_pylist(), strict=False))
    why = other_code(recipe) or "The code is the same commit."
    raise NotReproducible(
        f"Only {same:,} of {before.num_rows:,} forecasts equal those of run {recipe.run}. {why}"
    )


def other_code(recipe: Recipe) -> str:
    """Return the difference in code since the run, with a fix; empty for the same commit."""
    return code_difference(recipe.run, recipe.code, code_version())


def code_difference(run: str, then: str | None, now: str | None) -> str:
    """Return the difference between the code versions of a run and of now, with a fix.

    It is empty if both are the same commit without uncommitted changes.
    """
    commit = (then or "").removesuffix(_DIRTY)
    if then and then == now:
        return then.endswith(_DIRTY) * (
            f"This code and that of run {run} are commit {commit} with uncommitted changes, so it "
            "is unknown whether the code is the same."
        )
    remedy = f" `git checkout {commit}` restores it." if commit else ""
    if commit != (then or ""):
        remedy = f" `git checkout {commit}` restores it without the changes of that run."
    return (
        f"The code is commit {now or 'unknown'}, but run {run} used commit "
        f"{then or 'unknown'}.{remedy}"
    )


def _sorted(rows: pa.Table) -> pa.Table:
    ordered = rows.select(FORECAST_COLUMNS)
    return ordered.sort_by([(column, "ascending") for column in FORECAST_COLUMNS]).combine_chunks()


def code_version() -> str | None:
    """Return the git version of this code as reported in lineage; None outside a repository."""
    location = git_location(Path(__file__))
    return location["version"] if location else None
