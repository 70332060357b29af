"""The lineage API of Airflow's provider, in the installed version of Airflow."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.airflow.every_version import problems, run_dag

pytestmark = pytest.mark.airflow


def test_lineage_api_and_mapped_tasks_have_exact_edges_and_gates(tmp_path: Path) -> None:
    assert problems(run_dag(Path(sys.executable).parent, tmp_path)) == []
