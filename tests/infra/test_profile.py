"""Every program that calls AWS uses the AWS profile of the settings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commands.environment import child_environ
from infra.aws import connect
from infra.proxy_local.datazone import DataZoneServer
from lakehouse.aws_profile import KEYS, credentials, use_profile
from lakehouse.aws_profile import endpoint as endpoint_of
from lakehouse.errors import SettingsError
from lakehouse.settings import REPOSITORY, load_settings
from tests.infra.conftest import PROFILE, use_config, write_profile

pytestmark = pytest.mark.server

ASK_AS_THE_OPERATOR_DOES = """
from airflow.providers.amazon.aws.hooks.emr import EmrServerlessHook
hook = EmrServerlessHook(aws_conn_id=None, region_name="us-east-1")
print(hook.conn.meta.endpoint_url, hook.get_credentials().access_key)
"""


def _commands(state: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "commands", *arguments],
        cwd=REPOSITORY,
        env=os.environ | {"STATE_DIR": str(state)} | environ,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("source", ["--profile", "AWS_PROFILE", "settings.yaml"])
def test_create_infra_works_with_only_a_profile(source: str, profile: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(f"aws_profile: {profile}\n" if source == "settings.yaml" else "")
    options = ["--profile", profile] if source == "--profile" else []
    environ = {"AWS_PROFILE": profile} if source == "AWS_PROFILE" else {}
    done = _commands(
        tmp_path, "create-infra", "--yes", *options, SETTINGS_FILE=str(file), **environ
    )
    assert done.returncode == 0, done.stderr
    aws = connect(load_settings(aws_profile=profile))
    assert len(aws.s3.list_buckets()["Buckets"]) == 1


def test_airflow_operators_use_the_profile(profile: str, endpoint: str, tmp_path: Path) -> None:
    settings = load_settings(aws_profile=profile, state_dir=tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", ASK_AS_THE_OPERATOR_DOES],
        env=child_environ(settings),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines()[-1] == f"{endpoint} of-the-profile", done.stderr


def test_harvesters_use_the_profile_of_the_settings_file(profile: str, tmp_path: Path) -> None:
    aws = connect(load_settings(aws_profile=profile))
    aws.glue.create_database(DatabaseInput={"Name": "sales"})
    columns: Any = [{"Name": "id", "Type": "int"}]
    table: Any = {"Name": "orders", "StorageDescriptor": {"Columns": columns}}
    aws.glue.create_table(DatabaseName="sales", TableInput=table)
    (tmp_path / "mine.yaml").write_text(f"aws_profile: {profile}\naws_region: us-east-1\n")
    log = f"sqlite:///{tmp_path}/log.db"
    done = _commands(
        *(tmp_path, "harvest", "glue-tables", "--yes", "--database", log),
        SETTINGS_FILE=str(tmp_path / "mine.yaml"),
        HEADWATER_DATABASE=log,
    )
    assert done.returncode == 0, done.stderr
    search = _commands(tmp_path, "lineage", "search", "orders", "--database", log)
    assert "table/sales/orders" in search.stdout


@pytest.fixture
def datazone() -> Iterator[DataZoneServer]:
    server = DataZoneServer()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_deliveries_to_datazone_use_the_profile(
    datazone: DataZoneServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_config(monkeypatch, write_profile(tmp_path, datazone.url))
    (tmp_path / "mine.yaml").write_text(
        f"aws_profile: {PROFILE}\nlineage_backend: datazone\n"
        "datazone_domain_id: dzd_1\naws_account: 123456789012\n"
    )
    body = {
        "eventType": "COMPLETE",
        "eventTime": "2025-04-01T00:00:00Z",
        "run": {"runId": "01890a5d-ac96-774b-bcce-b302099a8057"},
        "job": {"namespace": "n", "name": "j"},
        "producer": "https://example.org",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json",
    }
    (tmp_path / "event.json").write_text(json.dumps(body))
    log = f"sqlite:///{tmp_path}/log.db"
    file = {"SETTINGS_FILE": str(tmp_path / "mine.yaml")}
    event = str(tmp_path / "event.json")
    assert not _commands(tmp_path, "lineage", "ingest", event, "--database", log, **file).returncode
    done = _commands(tmp_path, "lineage", "deliver", "--once", "--database", log, **file)
    assert done.returncode == 0, done.stderr
    assert len(datazone.accepted) == 1


def test_profile_overrides_keys_in_the_environment(
    profile: str, endpoint: str, tmp_path: Path
) -> None:
    settings = load_settings(aws_profile=profile)
    environ = dict(os.environ)
    use_profile(settings, environ)
    assert environ["AWS_PROFILE"] == profile
    assert not set(KEYS) & environ.keys()
    assert credentials(settings)["AWS_ACCESS_KEY_ID"] == "of-the-profile"
    assert endpoint_of(settings, "glue") == endpoint
    own = settings.model_copy(update={"aws_endpoint_url": "http://own"})
    assert endpoint_of(own, "glue") == "http://own"


def test_without_a_profile_the_environment_is_unchanged() -> None:
    environ = dict(os.environ)
    use_profile(load_settings(), environ)
    assert environ == dict(os.environ)
    assert credentials(load_settings()) == {}


def test_unknown_profile_lists_the_existing_ones(profile: str) -> None:
    with pytest.raises(SettingsError, match="no AWS profile 'sandbx'.* in ~/.aws: sandbox"):
        credentials(load_settings(aws_profile="sandbx"))
