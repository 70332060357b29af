"""Reproduction of runs: after expiry, with other code, and without their inputs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from commands.services import lineage_caught_up, lineage_ready, start_headwater
from lakehouse.catalog import load_table
from lakehouse.generator import taxi_table
from lakehouse.ingest import Partition, land
from lakehouse.names import Table
from lakehouse.settings import REPOSITORY, Settings
from lakehouse.sources import WEATHER
from metaflow_flows.train_forecast_model import tables
from metaflow_flows.train_forecast_model.plan import plan_reproduction
from metaflow_flows.train_forecast_model.reproduce import (
    FLOW,
    NotReproducible,
    Recipe,
    code_version,
    read_recipe,
)
from spark_jobs import ingest, taxi, weather
from spark_jobs.maintenance import expire_snapshots
from spark_jobs.taxi.actuals import compute_actuals
from tests.conftest import train
from tests.pipeline.conftest import free_ports

pytestmark = [
    pytest.mark.spark,
    pytest.mark.server,
    pytest.mark.metaflow,
    pytest.mark.filterwarnings("ignore:The _yaml extension module"),  # Metaflow's own
    pytest.mark.filterwarnings("ignore:unclosed file"),  # Metaflow's own import
]

AS_OF = datetime(2025, 6, 1)
PINNED = [tables.forecast("green"), tables.WEATHER, tables.actuals("green")]
"""Tables that a run reads and writes, in the reverse order of the checks."""


@dataclass
class Trained:
    """A run whose inputs and outputs were replaced and expired since."""

    settings: Settings
    recipe: Recipe

    def again(self, flow: Path) -> subprocess.CompletedProcess[str]:
        """Reproduce the run with a copy of the flow."""
        return train(self.settings, "--reproduce", self.recipe.run, flow=flow)


@pytest.fixture(scope="module")
def trained(
    spark: SparkSession, lake: Settings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Trained]:
    changed = {"headwater_port": free_ports(1), "lineage_backend": "embedded"}
    settings = lake.model_copy(update=changed | {"keep_snapshots_days": 0})
    server = start_headwater(settings)
    try:
        server.wait_until(lambda: lineage_ready(settings), 60)
        _load(spark, settings, tmp_path_factory.mktemp("first"), 2_000)
        first = _train(settings)
        _load(spark, settings, tmp_path_factory.mktemp("second"), 3_000)
        _replace_results(spark, settings)
        server.wait_until(lambda: lineage_caught_up(settings), 60)
        expire_snapshots(spark, settings)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("OPENLINEAGE_NAMESPACE", settings.job_namespace)  # as the flow has it
            recipe = read_recipe(settings, first)
        yield Trained(settings, recipe)
    finally:
        server.stop()


def _load(spark: SparkSession, settings: Settings, folder: Path, rows: int) -> None:
    """Publish May again with `rows` trips and other weather."""
    path = folder / "green_tripdata_2025-05.parquet"
    pq.write_table(taxi_table("2025-05", rows, "green"), path)
    loads = [(taxi.SPECS["green"], Partition(path.name, (str(path),), f"{rows} trips"))]
    for published in land(settings, WEATHER, ["2025-05"]).partitions:
        loads.append((weather.SPEC, _warmer(published, folder, rows)))
    for spec, partition in loads:
        for job in (ingest.stage, ingest.check_staging, ingest.merge):
            job(spark, settings, spec, [partition])


def _train(settings: Settings) -> str:
    """Train on May for the two busiest zones; return the run."""
    busy = Counter(taxi_table("2025-05", 2_000, "green")["PULocationID"].to_pylist()).most_common(2)
    zones = ",".join(str(zone) for zone, _ in busy)
    # The tests' Spark application is one task, which also wrote data that other tests reject.
    parameters = ("--ungated", "--as_of_datetime", AS_OF.isoformat(), "--locations", zones)
    done = train(settings, "--service", "green", "--model", "weather", *parameters)
    assert done.returncode == 0, done.stdout[-3000:]
    (run,) = set(re.findall(r"run-id (\d+)", done.stdout))
    return run


def _replace_results(spark: SparkSession, settings: Settings) -> None:
    """Count the rides again and write other forecasts, as another training does."""
    compute_actuals(spark, settings, "green", AS_OF - timedelta(days=30), AS_OF)
    written = load_table(settings, tables.forecast("green"))
    assert written is not None
    forecasts = written.scan(row_filter=f"as_of = '{AS_OF.isoformat()}'").to_arrow()
    column = forecasts.column_names.index("forecasted_total_rides")
    more = pc.add(forecasts["forecasted_total_rides"], 1)
    changed = forecasts.set_column(column, forecasts.schema.field(column), more)
    tables.write_forecasts(settings, "green", changed, AS_OF)


def _warmer(published: Partition, folder: Path, rows: int) -> Partition:
    """Return the weather with changed digits."""
    paths = []
    for path in published.paths:
        paths.append(str(folder / Path(path).name))
        Path(paths[-1]).write_text(re.sub(r"\.\d", f".{rows // 1_000}", Path(path).read_text()))
    return Partition(published.name, tuple(paths), f"{rows}")


def test_run_records_the_version_of_its_code(
    trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert trained.recipe.code == code_version() is not None
    monkeypatch.setenv("OPENLINEAGE_NAMESPACE", trained.settings.job_namespace)
    with pytest.raises(NotReproducible, match=r"server has no run 1234. `./run lineage runs"):
        plan_reproduction(trained.settings, "1234")


@pytest.fixture
def other_code(tmp_path: Path) -> Callable[[str, str], tuple[Path, str]]:
    """Return a function that copies the code with one text replaced and returns its commit."""

    def make(before: str, after: str) -> tuple[Path, str]:
        for name in ("lakehouse", "metaflow_flows", "spark_jobs"):
            ignore = shutil.ignore_patterns("__pycache__")
            shutil.copytree(REPOSITORY / name, tmp_path / name, ignore=ignore)
        path = tmp_path / "metaflow_flows/train_forecast_model/tables.py"
        assert before in path.read_text()
        path.write_text(path.read_text().replace(before, after))
        who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        for command in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "other"]):
            subprocess.run(["git", *command], cwd=tmp_path, check=True)
        command_ = ["git", "rev-parse", "HEAD"]
        commit = subprocess.run(command_, cwd=tmp_path, check=True, capture_output=True, text=True)
        return path.with_name("flow.py"), commit.stdout.strip()

    return make


def test_run_is_reproduced_by_another_commit_after_its_inputs_were_replaced(
    trained: Trained, other_code: Callable[[str, str], tuple[Path, str]], tmp_path: Path
) -> None:
    for table in PINNED:
        current = load_table(trained.settings, table)
        assert current is not None
        pinned = trained.recipe.snapshots.get(table.identifier, trained.recipe.forecasts)
        tag = current.refs()[f"{FLOW}/{trained.recipe.run}"]
        assert (tag.snapshot_id, tag.snapshot_ref_type) == (pinned, "tag")
        assert pinned != current.metadata.current_snapshot_id
    then = trained.recipe.code or "unknown"
    flow, commit = other_code('"""Read and write the flow', '"""Write and read the flow')
    warning = f"The code is commit {commit}, but run {trained.recipe.run} used commit {then}."
    same = trained.again(flow)
    assert same.returncode == 0, same.stdout[-3000:]
    assert f"48 forecasts equal those of run {trained.recipe.run}." in same.stdout
    assert f"warning: {warning}" in same.stdout
    changed = flow.with_name("tables.py")
    changed.write_text(changed.read_text().replace(".round()", ".add(1).round()"))
    program = (
        "from metaflow_flows.train_forecast_model import reproduce as r; print(r.code_version())"
    )
    environ = os.environ | {"PYTHONPATH": str(flow.parents[2])}
    asked = [sys.executable, "-c", program]
    version = subprocess.run(asked, env=environ, cwd=tmp_path, capture_output=True, text=True)
    assert version.stdout == f"{commit}-dirty\n", version.stderr


# Last, because the run cannot be reproduced afterwards.
@pytest.mark.parametrize("table", PINNED, ids=lambda table: table.name)
def test_expired_snapshot_error_has_a_fix(
    trained: Trained, table: Table, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace = trained.settings.job_namespace
    monkeypatch.setenv("OPENLINEAGE_NAMESPACE", namespace)  # as the flow has it
    current = load_table(trained.settings, table)
    assert current is not None
    tag = f"{FLOW}/{trained.recipe.run}"
    snapshot = current.refs()[tag].snapshot_id
    current.manage_snapshots().create_tag(snapshot, tag, max_ref_age_ms=1).commit()
    expire_snapshots(spark, trained.settings)
    message = (
        rf"Snapshot {snapshot} of {table.identifier}, which run "
        rf"{trained.recipe.run} (read|wrote), has expired .* Train again without --reproduce\. .*"
        r"increase KEEP_MODEL_INPUTS_DAYS \(now 365\)"
    )
    with pytest.raises(NotReproducible, match=message):
        plan_reproduction(trained.settings, trained.recipe.run)
