"""The DAG that exports lineage, with a real lineage server."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from commands.environment import child_environ
from lakehouse.names import Table
from lakehouse.settings import Settings, load_settings
from tests.airflow.airflow_python import printed_by
from tests.lakehouse.test_gate import lineage as lineage
from tests.lakehouse.test_gate import loaded

pytestmark = [pytest.mark.airflow, pytest.mark.server]

SHOW = """
import json
from airflow.dag_processing.dagbag import DagBag
task = DagBag("airflow/dags/export_lineage.py").dags["export_lineage"].task_dict["export_parquet"]
print("TASK" + json.dumps([task.bash_command, task.env, task.skip_on_exit_code]))
"""


def _task(settings: Settings) -> Any:
    return printed_by(SHOW, settings, "TASK")


def test_export_writes_the_tables_of_the_server(lineage: Settings) -> None:
    loaded(lineage, Table("exported"))
    command, environ, _ = _task(lineage)
    environ = child_environ(lineage) | environ
    done = subprocess.run(["bash", "-c", command], env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    edges = pq.read_table(lineage.state_dir / "lineage" / "edges.parquet").to_pylist()
    assert "nyc_taxi.exported" in {edge["dataset_name"] for edge in edges}


def test_export_is_skipped_without_a_lineage_server(tmp_path: Path) -> None:
    settings = load_settings(state_dir=tmp_path, lineage_backend="console")
    command, _, skipped = _task(settings)
    assert subprocess.run(["bash", "-c", command]).returncode in skipped
