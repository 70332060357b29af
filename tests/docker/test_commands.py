"""The docker commands, up to the point at which an engine would be needed."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from commands.docker import (
    COMPOSE_FILE,
    DATAHUB_PORT,
    DATAHUB_VERSION,
    PROJECT,
    SECRETS,
    airflow_environ,
    datahub_docker_nuke,
    find_compose,
    in_container,
    write_secrets,
)
from lakehouse.errors import SettingsError, SetupError
from lakehouse.settings import Settings, load_settings


def _program(folder: Path, name: str, body: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the whole PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_without_docker_it_says_what_was_looked_for_and_what_to_install(programs: Path) -> None:
    with pytest.raises(SetupError, match="no `docker` on the PATH.*no `docker-compose`.*Install"):
        find_compose()


def test_docker_without_its_compose_plugin_is_told_apart(programs: Path) -> None:
    _program(programs, "docker", "exit 1")
    with pytest.raises(SetupError, match="has no plugin `compose`"):
        find_compose()


def test_an_engine_that_does_not_answer_is_told_apart(programs: Path) -> None:
    complaint = "Cannot connect to the Docker daemon."
    _program(programs, "docker", f'[ "$1" = compose ] || {{ echo "{complaint}" >&2; exit 1; }}')
    with pytest.raises(SetupError, match=f"{complaint}.*systemctl start docker"):
        find_compose()


def test_the_plugin_is_preferred_and_the_old_program_will_do(programs: Path) -> None:
    _program(programs, "docker-compose", "exit 0")
    assert find_compose() == [str(programs / "docker-compose")]
    _program(programs, "docker", "exit 0")
    assert find_compose() == [str(programs / "docker"), "compose"]


def test_airflow_docker_starts_compose_with_settings_and_secrets(
    programs: Path, tmp_path: Path
) -> None:
    told = tmp_path / "told"
    record = f'[ "$1" = --project-name ] && {{ echo "$@"; /usr/bin/env; }} > {told}; exit 0'
    _program(programs, "docker-compose", record)
    program = (
        "from commands.docker import airflow_docker; from lakehouse.settings import load_settings; "
        "airflow_docker(load_settings(lineage_backend='datahub', "
        "marquez_url='http://localhost:5000'))"
    )
    environ = os.environ | {"STATE_DIR": str(tmp_path / "state")}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environ, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "Lineage  http://localhost:9003" in done.stdout
    lines = told.read_text().splitlines()
    assert f"--env-file {tmp_path}/state/docker.env" in lines[0]
    assert lines[0].endswith("docker/compose.yaml up --build")
    assert "LINEAGE_BACKEND=datahub" in lines
    assert "THROUGHLINE_PORT=9003" in lines
    assert "DATAHUB_URL=http://host.docker.internal:8080" in lines
    assert "MARQUEZ_URL=http://host.docker.internal:5000" in lines


def test_secrets_are_made_once_and_readable_by_their_owner_only(settings: Settings) -> None:
    path = write_secrets(settings)
    first = path.read_text()
    assert {line.split("=")[0] for line in first.splitlines()} == set(SECRETS)
    assert all(len(line.split("=")[1]) == 48 for line in first.splitlines())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    assert write_secrets(settings).read_text() == first
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_missing_secret_is_added_and_the_others_stay(settings: Settings) -> None:
    path = write_secrets(settings)
    path.write_text("POSTGRES_PASSWORD=mine\n")
    lines = write_secrets(settings).read_text().splitlines()
    assert lines[0] == "POSTGRES_PASSWORD=mine"
    assert lines[1].startswith("THROUGHLINE_API_KEY=")


def test_two_checkouts_have_secrets_of_their_own(tmp_path: Path) -> None:
    texts = {
        write_secrets(load_settings(state_dir=tmp_path / name)).read_text() for name in ("a", "b")
    }
    assert len(texts) == 2


def test_servers_of_this_machine_are_reached_by_the_name_that_a_container_knows() -> None:
    settings = load_settings(
        marquez_url="http://127.0.0.1:5000/base",
        openmetadata_url="https://meta.example.com",
        lineage_backend="embedded, http://localhost:7000/lineage",
    )
    inside = in_container(settings)
    assert inside.marquez_url == "http://host.docker.internal:5000/base"
    assert inside.datahub_url == "http://host.docker.internal:8080"
    assert inside.openmetadata_url == "https://meta.example.com"
    assert inside.lineage_backend == "embedded,http://host.docker.internal:7000/lineage"


@pytest.mark.parametrize(
    ("backend", "given", "port"),
    [(None, None, 9002), ("datahub", None, 9003), ("datahub", 9100, 9100), ("marquez", None, 9002)],
)
def test_the_lineage_server_makes_room_for_datahub_s_page(
    backend: str | None, given: int | None, port: int
) -> None:
    settings = load_settings(throughline_port=given, lineage_backend=backend)
    assert in_container(settings).throughline_port == port


def test_data_of_a_folder_that_no_container_sees_is_refused() -> None:
    with pytest.raises(SettingsError, match="/data/taxi.*generator"):
        in_container(load_settings(data_source="/data/taxi"))


def test_airflow_in_its_container_differs_from_any_other_by_its_address_only(
    settings: Settings,
) -> None:
    from commands.environment import child_environ

    inside, outside = airflow_environ(settings), child_environ(settings)
    assert inside.pop("AIRFLOW__API__HOST") == "0.0.0.0"
    assert outside.pop("AIRFLOW__API__HOST") == "127.0.0.1"
    assert inside == outside


def test_the_container_s_command_does_not_open_airflow_to_the_network_elsewhere(
    tmp_path: Path,
) -> None:
    environ = os.environ | {"STATE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "commands.docker"], env=environ, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr.startswith("SetupError: This is the command of the Airflow container")
    assert list(tmp_path.iterdir()) == []


def test_datahub_s_data_is_not_deleted_without_being_asked_or_told() -> None:
    with pytest.raises(SetupError, match="--yes"):
        datahub_docker_nuke(yes=False)


def test_the_quickstart_has_the_options_that_are_used() -> None:
    pytest.importorskip("datahub", reason="acryl-datahub is in the group `datahub`")
    datahub = str(Path(sys.executable).with_name("datahub"))
    environ = os.environ | {"DATAHUB_TELEMETRY_ENABLED": "false"}
    said = {
        name: subprocess.run(
            [datahub, "docker", name, "--help"], env=environ, capture_output=True, text=True
        ).stdout
        for name in ("quickstart", "nuke")
    }
    assert "--version" in said["quickstart"]
    assert "--stop" in said["quickstart"]
    assert "Remove all Docker containers" in said["nuke"]


def test_the_quickstart_takes_the_pinned_version_for_a_release() -> None:
    versioning = pytest.importorskip("datahub.cli.quickstart_versioning")
    assert versioning._is_release_like_version(DATAHUB_VERSION)
    assert versioning.is_minimum_supported_version(DATAHUB_VERSION)


def test_the_readme_names_the_versions_ports_and_files_of_the_code() -> None:
    readme = (COMPOSE_FILE.parent / "README.md").read_text()
    assert f"release {DATAHUB_VERSION}: http://localhost:{DATAHUB_PORT}" in readme
    assert f":{DATAHUB_PORT + 1}" in readme
    assert f"--project-name {PROJECT} " in readme
    assert "`.state/docker.env`" in readme
    assert "Nothing here was ever run on a Docker engine" in readme
