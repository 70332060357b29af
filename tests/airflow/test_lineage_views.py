"""The addresses of the lineage views in Airflow."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from commands.environment import child_environ
from lakehouse.settings import REPOSITORY, load_settings

pytestmark = pytest.mark.airflow

PRINT_ADDRESSES = """
import json, sys
sys.path.append("airflow/plugins")
from fastapi.testclient import TestClient
from lineage_links import LineagePlugin

(part,) = LineagePlugin.fastapi_apps
client = TestClient(part["app"], "http://data.example:8080", follow_redirects=False)
def target(href):
    return client.get("/" + href.partition("/")[2]).headers["location"]
views = LineagePlugin.external_views
print(json.dumps([[view["href"], target(view["href"])] for view in views]))
"""


def test_views_lead_to_the_host_that_the_browser_uses(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    settings = load_settings(state_dir=tmp_path_factory.mktemp("views"), headwater_port=9102)
    done = subprocess.run(
        [sys.executable, "-c", PRINT_ADDRESSES],
        cwd=REPOSITORY,
        env=child_environ(settings),
        capture_output=True,
        text=True,
        check=True,
    )
    addresses = json.loads(done.stdout.splitlines()[-1])
    assert len(addresses) == 5
    for href, target in addresses:
        assert href.startswith("lineage-page/")
        assert target.startswith("http://data.example:9102/")
        assert "embed" in target
