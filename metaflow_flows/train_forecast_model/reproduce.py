"""Train again what an earlier run trained, from what lineage says of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
FORECAST_COLUMNS = ["year", "month", "day", "hour", "pulocationid", "forecasted_total_rides"]


class NotReproducible(PipelineError):
    """What a run was made from is not to be had any more, or gives something else now."""


@dataclass(frozen=True)
class Recipe:
    """What a run was made from, as lineage tells it."""

    run: str
    parameters: dict[str, str]
    code: str | None
    """Commit of the code, if it was in git."""
    snapshots: dict[str, int]
    """Table name to the snapshot that prepare_training_data read."""
    forecasts: int
    """The snapshot of the forecast table that the run wrote."""

    def snapshot_of(self, table: Table) -> int:
        """The snapshot of a table that the run read.

        Raises:
            NotReproducible: it read none.
        """
        if table.identifier not in self.snapshots:
            raise NotReproducible(f"Lineage does not say which {table.identifier} {self.run} read.")
        return self.snapshots[table.identifier]


def read_recipe(settings: Settings, run: str) -> Recipe:
    """The recipe of a run, by Metaflow's id (the forecasts' model_version) or lineage's.

    Raises:
        NotReproducible: the lineage server does not answer or does not know enough of the run.
    """
    import httpx

    from metaflow_openlineage import flow_run_id

    run_id = flow_run_id(FLOW, run) if run.isdecimal() else run
    try:
        with lineage_server(settings, timeout=30) as server:
            answer = server.get(f"/api/v2/runs/{run_id}")
        told: dict[str, Any] = answer.raise_for_status().json()
    except httpx.HTTPStatusError as error:
        if error.response.status_code != httpx.codes.NOT_FOUND:
            raise NotReproducible(f"The lineage server refuses: {error}") from None
        raise NotReproducible(
            f"Lineage knows no run {run}; `./run lineage runs {FLOW}` lists those it knows."
        ) from None
    except (httpx.HTTPError, ValueError) as error:
        raise NotReproducible(
            f"The lineage server does not answer at {server.base_url} ({error}); "
            "`./run airflow` starts it."
        ) from None
    if told["state"] != "COMPLETED":
        raise NotReproducible(
            f"Run {run} is {told['state']}: it made no forecasts to compare with."
        )
    steps = {each["job"]["name"]: each for each in told["below"]}
    read = _versions(settings, steps, "prepare_training_data", "inputs")
    wrote = _versions(settings, steps, "write_forecasts_to_table", "outputs")
    if len(wrote) != 1:
        raise NotReproducible(f"Lineage does not say what forecasts run {run} wrote.")
    (forecasts,) = wrote.values()
    return Recipe(run, told["parameters"], told["code"].get("version"), read, forecasts)


def _versions(settings: Settings, steps: dict[str, Any], step: str, side: str) -> dict[str, int]:
    """Identifier and snapshot of the tables that a step read or wrote."""
    found = {}
    for dataset in steps.get(f"{FLOW}.{step}", {}).get(side, []):
        table = Table(dataset["name"].rsplit(".", 1)[-1].rsplit("/", 1)[-1])
        name = table.dataset(settings)
        is_named_so = (name.namespace, name.name) == (dataset["namespace"], dataset["name"])
        if is_named_so and (dataset["version"] or "").isdecimal():
            found[table.identifier] = int(dataset["version"])
    return found


def require_inputs(settings: Settings, recipe: Recipe) -> None:
    """Raises:
    NotReproducible: a snapshot that the run read has expired.
    """
    for identifier, snapshot_id in recipe.snapshots.items():
        _kept(settings, recipe, Table(identifier.rsplit(".", 1)[-1]), snapshot_id)


def made_then(settings: Settings, recipe: Recipe, table: Table) -> tuple[datetime, pa.Table]:
    """The moment as of which the run forecast, and the rows that it wrote to `table`.

    Raises:
        NotReproducible: the snapshot has expired.
    """
    held, summary = _kept(settings, recipe, table, recipe.forecasts)
    as_of = str(summary[PARTITION])
    rows = held.scan(row_filter=f"as_of = '{as_of}'", snapshot_id=recipe.forecasts).to_arrow()
    return datetime.fromisoformat(as_of), rows


def _kept(
    settings: Settings, recipe: Recipe, table: Table, snapshot_id: int
) -> tuple[IcebergTable, Summary]:
    """The table and the summary of a snapshot that the run read or wrote."""
    held = load_table(settings, table)
    snapshot = held.snapshot_by_id(snapshot_id) if held else None
    if held is None or snapshot is None or snapshot.summary is None:
        what = "wrote" if snapshot_id == recipe.forecasts else "read"
        raise NotReproducible(
            f"Snapshot {snapshot_id} of {table.identifier}, which run {recipe.run} {what}, has "
            "expired, and nothing brings it back. Train anew without --reproduce; to keep what "
            "later runs need for longer, raise KEEP_MODEL_INPUTS_DAYS (it is "
            f"{settings.keep_model_inputs_days})."
        )
    return held, snapshot.summary


def compare(recipe: Recipe, then: pa.Table, now: pa.Table) -> None:
    """Raises:
    NotReproducible: a forecast differs; says whether the code does too.
    """
    before, after = (_sorted(rows) for rows in (then, now))
    if before.equals(after):
        return
    same = sum(a == b for a, b in zip(before.to_pylist(), after.to_pylist(), strict=False))
    why = other_code(recipe) or "The code is the same commit, perhaps with uncommitted changes."
    raise NotReproducible(
        f"{same:,} of {before.num_rows:,} forecasts of run {recipe.run} came out again. {why}"
    )


def other_code(recipe: Recipe) -> str:
    """How the code has changed since the run, and the remedy; empty if it is the same commit."""
    now = code_version()
    if now and now == recipe.code:
        return ""
    remedy = f" `git checkout {recipe.code}` brings that back." if recipe.code else ""
    return (
        f"The code is commit {now or 'unknown'}, and run {recipe.run} was made by commit "
        f"{recipe.code or 'unknown'}.{remedy}"
    )


def _sorted(rows: pa.Table) -> pa.Table:
    ordered = rows.select(FORECAST_COLUMNS)
    return ordered.sort_by([(column, "ascending") for column in FORECAST_COLUMNS]).combine_chunks()


def code_version() -> str | None:
    """The commit of this code, if it is in git."""
    from metaflow.metaflow_git import get_repository_info

    known = get_repository_info(Path(__file__).parent) or {}
    return str(known["commit_sha"]) if known.get("commit_sha") else None
