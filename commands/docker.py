"""Run the project and lineage backends in Docker.

This code runs on the host; `commands/containers.py` runs in the containers.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

from dotenv import dotenv_values
from pydantic import SecretStr

from commands.output import confirm, say
from commands.processes import become
from commands.services import claim_data_source, frame_environ, lock_state
from lakehouse.aws_profile import KEYS, credentials
from lakehouse.errors import SettingsError, SetupError
from lakehouse.network import ca_bundle, proxies
from lakehouse.settings import REPOSITORY, Settings

FOLDER = REPOSITORY / "docker"
COMPOSE_FILE = FOLDER / "compose.yaml"
PROJECT = "two-orchestrators-one-lineage"
SECRETS = (
    "POSTGRES_PASSWORD",
    "HEADWATER_API_KEY",
    "DATAHUB_PASSWORD",
    "DATAHUB_SECRET",
    "MARQUEZ_PASSWORD",
    "OPENMETADATA_PASSWORD",
    "OPENMETADATA_FERNET_KEY",
)

HOST = "host.docker.internal"
"""Name of this machine inside containers."""
SERVERS = ("aws_endpoint_url", "datahub_url", "marquez_url", "openmetadata_url")
COMPOSE_TIMEOUT = {"COMPOSE_HTTP_TIMEOUT": "900"}
"""Seconds that Compose waits for the engine; the default of 60 is too short on a busy machine."""
INSTALL = "https://docs.docker.com/engine/install/"


@dataclass(frozen=True)
class Hosted:
    """A backend that Compose can start; its file and profile have its name."""

    setting: str
    """The setting with its URL; if it is set, the backend runs elsewhere."""
    url: str
    """Its URL for other containers."""
    page: str
    """Its UI on this machine, with the credentials."""
    last: str
    """Its last service, which depends on all others."""


HOSTED = {
    "datahub": Hosted(
        "datahub_url",
        "http://datahub-gms:8080",
        "http://localhost:9002  (datahub / datahub)",
        "datahub-page",
    ),
    "marquez": Hosted(
        "marquez_url", "http://marquez:5000", "http://localhost:3000", "marquez-page"
    ),
    "openmetadata": Hosted(
        "openmetadata_url",
        "http://openmetadata:8585",
        "http://localhost:8585  (admin@open-metadata.org / admin)",
        "openmetadata",
    ),
}


def airflow_docker(settings: Settings) -> NoReturn:
    """Build and start Airflow, the lineage server, PostgreSQL and backends; Ctrl-C stops them.

    Raises:
        SetupError: there is no Docker engine or Compose, or the state folder is in use.
        SettingsError: a setting cannot be used in a container.
    """
    inside, backends = in_container(settings), hosted(settings)
    compose = find_compose()
    # Compose inherits the lock, so no other Airflow uses this state folder until it ends.
    os.set_inheritable(lock_state(settings).fileno(), True)
    claim_data_source(settings)
    secrets_file = write_secrets(settings)
    build_image(settings)
    say(f"Airflow  http://localhost:{inside.airflow_port}  (airflow / airflow)")
    say(f"Lineage  {inside.headwater_url}  (bearer token: {secrets_file})")
    for name in backends:
        say(f"{name}  {HOSTED[name].page}")
    profiles = [word for name in backends for word in ("--profile", name)]
    become(
        [*compose, *_project(secrets_file, COMPOSE_FILE, *map(file_of, HOSTED)), *profiles, "up"],
        {
            **os.environ,
            **inside.environ(),
            **frame_environ(inside),
            **profile_keys(settings),
            **network_environ(settings),
            **COMPOSE_TIMEOUT,
        },
    )


def build_image(settings: Settings) -> None:
    """Build the image with this machine's certificate authorities and proxies.

    Raises:
        SetupError: there is no `docker`, or it failed; its output has the reason.
    """
    docker = shutil.which("docker")
    if docker is None:
        raise SetupError(f"There is no `docker` on the PATH, which builds the image. See {INSTALL}")
    bundle = ca_bundle()
    secret = ["--secret", f"id=ca-bundle,src={bundle.path}"] if bundle else []
    network_proxies = proxies()
    names = {"http": "HTTP_PROXY", "https": "HTTPS_PROXY", "no": "NO_PROXY"}
    proxy_environ = {names[key]: url for key, url in network_proxies.items()}
    # A build can reach a proxy at localhost only from the machine's own network.
    is_local = any(_container_url(url) != url for url in network_proxies.values())
    command = [
        *(docker, "build", "--tag", PROJECT, "--file", str(FOLDER / "Dockerfile"), *secret),
        *("--build-arg", f"USER_ID={container_user(docker, settings)}"),
        *(word for name in proxy_environ for word in ("--build-arg", name)),
        *(("--network", "host") if is_local else ()),
        str(REPOSITORY),
    ]
    environ = os.environ | proxy_environ | {"DOCKER_BUILDKIT": "1"}
    if subprocess.run(command, env=environ, check=False).returncode:
        raise SetupError(
            f"Building the image failed; see the output above. Certificate authorities: "
            f"{f'{bundle.path} ({bundle.source})' if bundle else 'those of the image'}. Behind a "
            "company's proxy, set HTTPS_PROXY, and SSL_CERT_FILE to a PEM file with its authority."
        )


def container_user(docker: str, settings: Settings) -> int:
    """Return the user id that owns this machine's state folder inside the containers.

    Rootless Docker maps its user to root.
    """
    command = [docker, "info", "--format", "{{.SecurityOptions}}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return 0 if "name=rootless" in done.stdout else settings.state_dir.stat().st_uid


def network_environ(settings: Settings) -> dict[str, str]:
    """Return the containers' variables for certificate authorities and proxies.

    The bundle is copied into the state folder, which the containers mount.
    """
    environ = {}
    if bundle := ca_bundle():
        copy = settings.state_dir / "ca-bundle.pem"
        copy.write_bytes(bundle.path.read_bytes())
        copy.chmod(0o644)
        environ["CONTAINER_CA_BUNDLE"] = str(copy)
    network_proxies = proxies()
    for scheme in {"http", "https"} & network_proxies.keys():
        environ[f"{scheme.upper()}_PROXY"] = _container_url(network_proxies[scheme])
    if environ.keys() & {"HTTP_PROXY", "HTTPS_PROXY"}:
        hosts = {urlsplit(hosted.url).hostname or "" for hosted in HOSTED.values()}
        inside = ("localhost", "127.0.0.1", HOST, "postgres", "headwater", *sorted(hosts))
        environ["NO_PROXY"] = ",".join(filter(None, (*inside, network_proxies.get("no"))))
    return environ


def profile_keys(settings: Settings) -> dict[str, str]:
    """Return the keys of the AWS profile for containers, which cannot read its files."""
    keys = credentials(settings)
    return {**dict.fromkeys(KEYS, ""), **keys} if keys else {}


def hosted(settings: Settings) -> list[str]:
    """Return the selected backends that Compose starts, because their URL is not set."""
    chosen = {name.strip() for name in settings.lineage_backend.split(",")}
    set_names = settings.model_fields_set
    return [name for name in HOSTED if name in chosen and HOSTED[name].setting not in set_names]


def file_of(backend: str) -> Path:
    """Return the Compose file of a backend."""
    return FOLDER / f"{backend}.yaml"


def _project(secrets_file: Path, *files: Path) -> list[str]:
    """Return Compose's options for files of this project."""
    options = ["--project-name", PROJECT, "--env-file", str(secrets_file)]
    return [*options, *(word for file in files for word in ("--file", str(file)))]


def in_container(settings: Settings) -> Settings:
    """Return the settings for a container on this machine.

    Raises:
        SettingsError: the data source is a folder, which the container cannot read.
    """
    source = settings.data_source
    if source not in ("generator", "real") and not source.startswith(("http://", "https://")):
        raise SettingsError(
            f"DATA_SOURCE is {source}, a folder that a container cannot read. In Docker, use "
            "`generator`, `real` or a URL."
        )
    changed: dict[str, object] = {name: _container_url(getattr(settings, name)) for name in SERVERS}
    changed |= {HOSTED[name].setting: HOSTED[name].url for name in hosted(settings)}
    names = [name.strip() for name in settings.lineage_backend.split(",")]
    changed["lineage_backend"] = ",".join(_container_url(name) for name in names)
    return settings.model_copy(update=changed)


def _container_url(url: str) -> str:
    """Replace `localhost` in a URL by this machine's name inside containers."""
    host = urlsplit(url).hostname if "://" in url else None
    return url.replace(host, HOST, 1) if host in ("localhost", "127.0.0.1") else url


def write_secrets(settings: Settings) -> Path:
    """Create missing secrets of the containers and return their file, readable by its owner."""
    path = settings.state_dir / "docker.env"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.chmod(0o600)
    # OpenMetadata requires keys of 32 bytes in this encoding; the others accept any.
    values = dotenv_values(path)
    missing = [name for name in SECRETS if name not in values]
    # A key that was created under the server's old name stays valid.
    former = {name: values.get(name.replace("HEADWATER", "THROUGHLINE")) for name in missing}
    new = [
        f"{name}={former[name] or urlsafe_b64encode(secrets.token_bytes(32)).decode()}"
        for name in missing
    ]
    path.write_text("\n".join([*path.read_text().splitlines(), *new, ""]))
    return path


def with_key(settings: Settings) -> Settings:
    """Return the settings with the key of the lineage server in Docker, unless they have one.

    A lineage server outside Docker ignores the key.
    """
    if settings.headwater_api_key.get_secret_value():
        return settings
    values = dotenv_values(settings.state_dir / "docker.env")
    key = values.get("HEADWATER_API_KEY") or values.get("THROUGHLINE_API_KEY")
    return settings.model_copy(update={"headwater_api_key": SecretStr(key)}) if key else settings


def find_compose() -> list[str]:
    """Return the command of Docker Compose after checking that an engine responds.

    Raises:
        SetupError: Compose is missing, or no engine responds.
    """
    docker, old = shutil.which("docker"), shutil.which("docker-compose")
    if docker and not _failure([docker, "compose", "version"]):
        compose = [docker, "compose"]
    elif old:
        compose = [old]
    else:
        plugin = f"{docker} has no plugin `compose`" if docker else "no `docker` on the PATH"
        raise SetupError(
            f"Docker Compose is missing: {plugin}, and no `docker-compose` either. Install "
            f"Docker Desktop, or Docker Engine with its compose plugin: {INSTALL}"
        )
    if docker and (failure := _failure([docker, "version"])):
        raise SetupError(
            f"No Docker engine responds: {failure} Start Docker Desktop or the service "
            "(`systemctl start docker`), or set DOCKER_HOST."
        )
    return compose


def _failure(command: list[str]) -> str:
    """Return the command's error message; empty if it succeeds."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        return ""
    lines = done.stderr.strip().splitlines() or [f"{' '.join(command)} failed."]
    return lines[-1]


def backend_docker(settings: Settings, backend: str, *, stop: bool = False) -> NoReturn:
    """Start a backend in the background until all its services run, or stop it without data loss.

    Raises:
        SettingsError: there is no Compose file for the backend.
        SetupError: there is no Docker engine or Compose.
    """
    arguments = _compose_command(settings, backend)
    if stop:
        become([*arguments, "stop"], dict(os.environ))
    say(f"{backend}  {HOSTED[backend].page}")
    become([*arguments, "up", "--detach", HOSTED[backend].last], dict(os.environ))


def backend_docker_nuke(settings: Settings, backend: str, yes: bool) -> None:
    """Stop a backend and delete its containers and data, after confirmation."""
    arguments = _compose_command(settings, backend)
    if yes or confirm(f"Delete the containers and all data of {backend}?"):
        # Only its own file is passed, so that nothing else of the project is deleted.
        become([*arguments, "down", "--volumes"], dict(os.environ))
    say("Nothing was deleted.")


def _compose_command(settings: Settings, backend: str) -> list[str]:
    if backend not in HOSTED:
        raise SettingsError(
            f"There is no file for {backend!r} in docker/. Use one of {', '.join(HOSTED)}."
        )
    project = _project(write_secrets(settings), file_of(backend))
    return [*find_compose(), *project, "--profile", backend]
