"""The compose file: valid, and nothing in it that the code does not know."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from commands.docker import COMPOSE_FILE, DATABASE_VARIABLE, SECRETS, write_secrets
from lakehouse.settings import Settings, load_settings
from throughline.config import SETTINGS as THROUGHLINE_SETTINGS

Json = dict[str, Any]

AWS_CREDENTIALS = {
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_DEFAULT_REGION",
}
TEXT = COMPOSE_FILE.read_text()
VARIABLES = re.findall(r"\$\{(\w+)(?::([?-])([^}]*))?\}", TEXT)


@pytest.fixture(scope="module")
def services() -> dict[str, Json]:
    """The services by name."""
    found: dict[str, Json] = yaml.safe_load(TEXT)["services"]
    return found


def _names(settings: Settings) -> set[str]:
    return {name.upper() for name in type(settings).model_fields}


def test_the_compose_file_is_valid_by_the_specification() -> None:
    checker = str(Path(sys.executable).with_name("check-jsonschema"))
    schema = ["--builtin-schema", "vendor.compose-spec"]
    done = subprocess.run([checker, *schema, COMPOSE_FILE], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def _compose() -> list[str]:
    for command in (["docker", "compose"], ["docker-compose"]):
        if (
            shutil.which(command[0])
            and not subprocess.run([*command, "version"], capture_output=True).returncode
        ):
            return command
    pytest.skip("neither `docker compose` nor `docker-compose` is installed")


def test_compose_takes_the_file_with_the_secrets_that_the_command_makes(tmp_path: Path) -> None:
    compose = _compose()
    secrets = write_secrets(load_settings(state_dir=tmp_path))
    arguments = ["--env-file", str(secrets), "--file", str(COMPOSE_FILE), "config"]
    done = subprocess.run([*compose, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    password = secrets.read_text().split("POSTGRES_PASSWORD=")[1].split("\n")[0]
    assert f"pipeline:{password}@postgres/airflow" in done.stdout


def test_compose_refuses_to_start_without_the_secrets(tmp_path: Path) -> None:
    compose = _compose()
    (tmp_path / "empty.env").touch()
    arguments = ["--env-file", str(tmp_path / "empty.env"), "--file", str(COMPOSE_FILE), "config"]
    done = subprocess.run([*compose, *arguments], capture_output=True, text=True)
    assert done.returncode != 0
    assert "./run airflow-docker makes it" in done.stderr


def test_every_variable_is_a_setting_or_a_secret_that_must_be_given() -> None:
    assert VARIABLES
    for name, operator, _ in VARIABLES:
        if name in SECRETS:
            assert operator == "?", f"{name} must be given, so that no default is ever used"
        else:
            assert name.lower() in Settings.model_fields, name
    assert set(SECRETS) == {name for name, operator, _ in VARIABLES if operator == "?"}


def test_every_default_is_that_of_the_setting() -> None:
    defaults = {(name, given) for name, operator, given in VARIABLES if operator == "-"}
    assert defaults
    for name, given in defaults:
        assert given == str(Settings.model_fields[name.lower()].default)


def test_no_secret_is_written_down(services: dict[str, Json]) -> None:
    for service in services.values():
        for name, value in service["environment"].items():
            if re.search("PASSWORD|SECRET|TOKEN|KEY", name):
                assert value is None or str(value).startswith("${"), name
            elif "://" in str(value) and "@" in str(value):
                assert re.search(r"//\w+:\$\{POSTGRES_PASSWORD:\?", value), name


def test_airflow_is_given_every_setting_and_nothing_that_it_does_not_know(
    services: dict[str, Json],
) -> None:
    given = set(services["airflow"]["environment"])
    settings = _names(load_settings())
    assert settings - given == set()
    airflow = {name for name in given - settings if name.startswith("AIRFLOW__")}
    assert DATABASE_VARIABLE in airflow
    assert given - settings - airflow - AWS_CREDENTIALS == set()
    options = _airflow_options()
    for name in airflow:
        section, option = name.lower().split("__")[1:]
        assert option in options[section]["options"], name


def _airflow_options() -> Json:
    spec = find_spec("airflow")
    assert spec is not None
    assert spec.origin is not None
    file = Path(spec.origin).parent / "config_templates" / "config.yml"
    options: Json = yaml.safe_load(file.read_text())
    return options


def test_the_lineage_server_is_given_settings_that_it_has(services: dict[str, Json]) -> None:
    given = services["throughline"]["environment"]
    assert set(given) <= {setting.variable for setting in THROUGHLINE_SETTINGS}
    assert given["THROUGHLINE_HOST"] == "0.0.0.0"
    airflow = services["airflow"]["environment"]["AIRFLOW_PORT"]
    assert given["THROUGHLINE_FRAME_ORIGINS"] == f"http://localhost:{airflow}"
    assert given["THROUGHLINE_API_KEY"].startswith("${THROUGHLINE_API_KEY:?")


def test_the_lineage_server_reads_the_spool_that_airflow_writes(
    services: dict[str, Json],
) -> None:
    airflow, throughline = services["airflow"], services["throughline"]
    spool = load_settings(state_dir=airflow["environment"]["STATE_DIR"]).spool_dir
    assert throughline["environment"]["THROUGHLINE_SPOOL"] == str(spool)
    assert "state:/state" in airflow["volumes"]
    assert "state:/state" in throughline["volumes"]


def test_ports_can_be_reached_from_this_machine_only(services: dict[str, Json]) -> None:
    ports = [port for service in services.values() for port in service.get("ports", [])]
    assert len(ports) == 2
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_every_path_and_volume_exists(services: dict[str, Json]) -> None:
    declared = set(yaml.safe_load(TEXT)["volumes"])
    used = set()
    for service in services.values():
        for volume in service["volumes"]:
            source = volume.split(":")[0]
            if source.startswith("."):
                assert (COMPOSE_FILE.parent / source).is_file(), source
            else:
                used.add(source)
        if "build" in service:
            context = COMPOSE_FILE.parent / service["build"]["context"]
            assert (context / service["build"]["dockerfile"]).is_file()
            assert (context / "uv.lock").is_file()
    assert used == declared


def test_who_waits_for_a_healthy_service_waits_for_one_that_checks_its_health(
    services: dict[str, Json],
) -> None:
    waits = 0
    for service in services.values():
        for name, wait in service.get("depends_on", {}).items():
            assert wait["condition"] == "service_healthy"
            assert services[name]["healthcheck"]["test"]
            waits += 1
    assert waits == 3


def test_the_databases_are_those_that_postgresql_makes(services: dict[str, Json]) -> None:
    script = (COMPOSE_FILE.parent / "postgres.sql").read_text()
    made = {services["postgres"]["environment"]["POSTGRES_DB"]}
    made |= set(re.findall(r"CREATE DATABASE (\w+);", script))
    assert set(re.findall(r"@postgres/(\w+)", TEXT)) == made
