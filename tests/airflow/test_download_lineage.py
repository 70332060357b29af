"""The lineage of the download task: each landing file has one source."""

from __future__ import annotations

import pytest

from lakehouse.settings import load_settings
from tests.airflow.airflow_python import printed_by

pytestmark = pytest.mark.airflow

TELL = """
import json, sys
from openlineage.client.serde import Serde
from pipeline_tasks import DownloadOperator
from lakehouse.download import LandedFile
from lakehouse.ingest import Landing
from lakehouse.sources import YELLOW

task = DownloadOperator(task_id="download", source=YELLOW)
files = [
    LandedFile(f"/landing/{month}", f"https://tlc.example/{month}", month, "etag", 1, "sha")
    for month in ("2025-03", "2025-04")
]
task.landing = Landing((), tuple(files), ())
facets = task.get_openlineage_facets_on_complete(None)
print("FACETS" + Serde.to_json(facets.job_facets["lineage"]))
"""


def test_each_downloaded_file_has_only_its_own_url(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    settings = load_settings(state_dir=tmp_path_factory.mktemp("download"))
    entries = printed_by(TELL, settings, "FACETS")["entries"]
    assert {e["name"]: [source["name"] for source in e["inputs"]] for e in entries} == {
        "/landing/2025-03": ["2025-03"],
        "/landing/2025-04": ["2025-04"],
    }
