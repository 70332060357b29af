"""The Compose files are valid and match the code and the docs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from commands.containers import DATABASES
from commands.docker import (
    COMPOSE_FILE,
    FOLDER,
    HOSTED,
    PROJECT,
    SECRETS,
    file_of,
    in_container,
    write_secrets,
)
from headwater.settings import Settings as HeadwaterSettings
from headwater.settings import variable_of
from lakehouse.settings import REPOSITORY, Settings, load_settings

Json = dict[str, Any]

AWS_CREDENTIALS = {
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_DEFAULT_REGION",
}
NETWORK = {
    *("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "AWS_CA_BUNDLE"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"),
}
CA_BUNDLE = "CONTAINER_CA_BUNDLE"
DOCKERFILE = (FOLDER / "Dockerfile").read_text()
FILES = [COMPOSE_FILE, *map(file_of, HOSTED)]
TEXTS = {file.name: file.read_text() for file in FILES}
SERVICES: dict[str, Json] = {
    name: service
    for text in TEXTS.values()
    for name, service in yaml.safe_load(text)["services"].items()
}
VARIABLE = re.compile(r"(?<!\$)\$\{(\w+)(?::([?-])([^}]*))?\}")
VARIABLES = VARIABLE.findall("".join(TEXTS.values()))
PROFILES = [chosen for n in range(len(HOSTED) + 1) for chosen in combinations(HOSTED, n)]
README = (FOLDER / "README.md").read_text()
WALKTHROUGH = (REPOSITORY / "docs/learn/walkthrough.md").read_text()
# From the documentation of third-party images, because the images are not available here.
LISTENS = {
    "airflow": {9090},
    "datahub-broker": {29092, 39092},
    "datahub-database": {3306},
    "datahub-gms": {8080},
    "datahub-page": {9002},
    "datahub-search": {9200},
    "marquez": {5000, 5001},
    "marquez-database": {5432},
    "marquez-page": {3000},
    "openmetadata": {8585, 8586},
    "openmetadata-database": {5432},
    "openmetadata-search": {9200},
    "postgres": {5432},
    "headwater": {9002},
}
KEEPS = {
    "cp-kafka": "/var/lib/kafka/data",
    "elasticsearch": "/usr/share/elasticsearch/data",
    "mysql": "/var/lib/mysql",
    "opensearch": "/usr/share/opensearch/data",
    "postgres": "/var/lib/postgresql/data",
}


def test_every_file_in_docker_is_checked() -> None:
    assert {file.name for file in FOLDER.glob("*.yaml")} == set(TEXTS)


@pytest.mark.server
def test_compose_files_match_the_specification() -> None:
    checker = str(Path(sys.executable).with_name("check-jsonschema"))
    schema = ["--builtin-schema", "vendor.compose-spec"]
    done = subprocess.run([checker, *schema, *FILES], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@cache
def _compose() -> list[str]:
    for command in (["docker", "compose"], ["docker-compose"]):
        version = [*command, "version"]
        if shutil.which(command[0]) and not subprocess.run(version, capture_output=True).returncode:
            return command
    pytest.skip("neither `docker compose` nor `docker-compose` is installed")


def _config(
    secrets: Path, files: list[Path], profiles: tuple[str, ...] = (), **settings: Path
) -> Any:
    """Return the configuration that Compose resolves from files."""
    options = [word for file in files for word in ("--file", str(file))]
    options += [word for profile in profiles for word in ("--profile", profile)]
    project = ["--project-name", PROJECT, "--env-file", str(secrets)]
    command = [*_compose(), *project, *options, "config"]
    environ = os.environ | {name.upper(): str(value) for name, value in settings.items()}
    return subprocess.run(command, env=environ, capture_output=True, text=True)


def _services(done: Any) -> set[str]:
    assert done.returncode == 0, done.stderr
    return set(yaml.safe_load(done.stdout)["services"])


@pytest.mark.server
def test_compose_accepts_all_files_with_generated_secrets(tmp_path: Path) -> None:
    secrets = write_secrets(load_settings(state_dir=tmp_path))
    done = _config(secrets, FILES, tuple(HOSTED), state_dir=tmp_path)
    assert _services(done) == set(SERVICES)
    unasked = {name for name, service in SERVICES.items() if "profiles" not in service}
    assert unasked == {"airflow", "postgres", "headwater"}
    password = secrets.read_text().split("POSTGRES_PASSWORD=")[1].split("\n")[0]
    assert f"pipeline:{password}@postgres/airflow" in done.stdout


@pytest.mark.server
def test_each_profile_contains_one_complete_backend(tmp_path: Path) -> None:
    secrets = write_secrets(load_settings(state_dir=tmp_path))
    for name in HOSTED:
        own = set(yaml.safe_load(TEXTS[f"{name}.yaml"])["services"])
        assert _services(_config(secrets, [file_of(name)], (name,))) == own
        assert all(SERVICES[service]["profiles"] == [name] for service in own)


@pytest.mark.server
def test_compose_rejects_missing_secrets(tmp_path: Path) -> None:
    (tmp_path / "empty.env").touch()
    done = _config(
        tmp_path / "empty.env", [COMPOSE_FILE], state_dir=tmp_path
    )  # every file requires it in the same way, see below
    assert done.returncode != 0
    assert "./run airflow-docker creates it" in done.stderr


def test_every_variable_is_a_setting_or_required_secret() -> None:
    assert VARIABLES
    for name, operator, message in VARIABLES:
        if name in SECRETS:
            assert (operator, message) == ("?", "./run airflow-docker creates it"), (
                f"{name} must be given, so that no default is ever used"
            )
        elif name != CA_BUNDLE:
            assert name.lower() in Settings.model_fields, name
    required = {name for name, operator, _ in VARIABLES if operator == "?"}
    assert required == {*SECRETS, "STATE_DIR"}


def test_variable_defaults_match_the_settings() -> None:
    defaults = {(name, default) for name, operator, default in VARIABLES if operator == "-"}
    assert defaults
    for name, default in defaults:
        if name == CA_BUNDLE:
            assert f"SSL_CERT_FILE={default} " in DOCKERFILE
            continue
        assert default == str(Settings.model_fields[name.lower()].default)


def test_compose_files_contain_no_secrets() -> None:
    for service in SERVICES.values():
        for name, value in service["environment"].items():
            if re.search("PASSWORD|SECRET|TOKEN|KEY|SALT", name):
                assert value is None or str(value).startswith("${"), name
            elif "://" in str(value) and "@" in str(value):
                assert re.search(r"//\w+:\$\{POSTGRES_PASSWORD:\?", value), name


@pytest.mark.parametrize("service", ["airflow", "headwater"])
def test_containers_receive_exactly_the_known_settings(
    service: str,
) -> None:
    variables = set(SERVICES[service]["environment"])
    settings = {name.upper() for name in Settings.model_fields}
    not_in_this_one = {"AIRFLOW_PORT", "HEADWATER_SERVER_URL"} if service == "headwater" else set()
    host_only = {"AWS_PROFILE"}  # containers get its keys instead
    assert settings - variables == not_in_this_one | host_only
    server_variables = {variable_of(name) for name in HeadwaterSettings.model_fields}
    airflow = {name for name in variables - settings if name.startswith("AIRFLOW__")}
    assert (
        variables - settings - AWS_CREDENTIALS - NETWORK
        == (variables & server_variables) - settings | airflow
    )
    assert set(DATABASES.values()) & variables
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


def test_lineage_server_requires_a_key_and_allows_airflows_frame() -> None:
    environment = SERVICES["headwater"]["environment"]
    assert environment["HEADWATER_HOST"] == "0.0.0.0"
    assert environment["HEADWATER_API_KEY"].startswith("${HEADWATER_API_KEY:?")
    airflow = SERVICES["airflow"]["environment"]
    assert environment["HEADWATER_FRAME_ORIGINS"] == "${HEADWATER_FRAME_ORIGINS-}"
    assert airflow["HEADWATER_API_KEY"] == environment["HEADWATER_API_KEY"]
    port = environment["HEADWATER_PORT"]
    assert airflow["HEADWATER_SERVER_URL"] == f"http://headwater:{port}"


def test_lineage_server_reads_airflows_spool() -> None:
    airflow, headwater = SERVICES["airflow"], SERVICES["headwater"]
    spool = load_settings(state_dir="/some/state").spool_dir
    read = headwater["environment"]["HEADWATER_SPOOL"]
    assert read.replace("${STATE_DIR}", "/some/state") == str(spool)
    mounted = ["${STATE_DIR}:${STATE_DIR}:z"]
    assert airflow["volumes"] == headwater["volumes"] == mounted


def _published(service: Json, environ: dict[str, str]) -> list[str]:
    def value(match: re.Match[str]) -> str:
        return environ.get(match[1], match[3])

    return [VARIABLE.sub(value, port) for port in service.get("ports", [])]


@pytest.mark.parametrize("backends", PROFILES, ids=",".join)
def test_published_ports_are_unique_and_local(
    backends: tuple[str, ...],
) -> None:
    inside = in_container(load_settings(lineage_backend=",".join(("embedded", *backends))))
    started = [
        service
        for service in SERVICES.values()
        if set(service.get("profiles", backends)) <= set(backends)
    ]
    ports = [port for service in started for port in _published(service, inside.environ())]
    assert all(port.startswith("127.0.0.1:") for port in ports)
    outside = [port.split(":")[1] for port in ports]
    assert len(set(outside)) == len(outside) >= 2 + len(backends), outside
    assert str(inside.headwater_port) in outside
    assert all(f":{port}" in README for port in outside)


def test_backend_has_the_same_port_inside_and_outside() -> None:
    for name, backend in HOSTED.items():
        inside, outside = (
            urlsplit(url) for url in (backend.url, Settings.model_fields[backend.setting].default)
        )
        assert inside.hostname in yaml.safe_load(TEXTS[f"{name}.yaml"])["services"]
        ports = _published(SERVICES[str(inside.hostname)], {})
        assert ports == [f"127.0.0.1:{outside.port}:{inside.port}"]
        page = urlsplit(backend.page.split()[0]).port
        assert f"127.0.0.1:{page}:{page}" in _published(SERVICES[backend.last], {})


def test_every_host_name_is_a_listening_service() -> None:
    host_pattern = re.compile(r"(?:(?<=//)|(?<=@)|(?<![\w.:/-]))([a-z][a-z-]+)(?::(\d+)\b|(?=/\w))")
    checked = 0
    for own, service in SERVICES.items():
        environ = {name: _filled(str(value)) for name, value in service["environment"].items()}
        reached: set[tuple[str, str]] = set()
        for name, value in environ.items():
            if name.endswith("_HOST") and ":" not in value:
                reached.add((value, environ.get(name.replace("_HOST", "_PORT"), "")))
            elif "://" in value or re.search(r":\d{4,5}\b", value):
                reached |= set(host_pattern.findall(value))
        check = " ".join(service.get("healthcheck", {}).get("test", ()))
        reached |= {
            (own if host == "localhost" else host, port)
            for host, port in re.findall(r"([a-z-]+):(\d+)", check)
        }
        for host, port in reached - {("localhost", "9090"), ("0.0.0.0", "9002"), ("datahub", "")}:
            assert host in LISTENS, (own, host)
            assert not port or int(port) in LISTENS[host], (own, host, port)
            checked += 1
        for published in map(_filled, service.get("ports", ())):
            assert int(published.split(":")[2]) in LISTENS[own], published
    assert checked > 20


def _filled(text: str) -> str:
    """Return a text of a Compose file with its defaults."""
    return VARIABLE.sub(lambda match: match[3] if match[2] == "-" else "given", text)


def test_paths_and_volumes_exist_and_are_unique() -> None:
    all_volumes: set[str] = set()
    for text in TEXTS.values():
        parsed = yaml.safe_load(text)
        declared, used = set(parsed["volumes"]), set()
        for service in parsed["services"].values():
            image = service["image"].split(":")[0].split("/")[-1]
            for volume in service.get("volumes", []):
                source, inside = volume.split(":")[:2]
                if source == "${STATE_DIR}":
                    assert inside == source
                elif source.startswith("."):
                    assert volume.endswith(":ro"), volume
                    assert (FOLDER / source).is_file(), source
                    read = f"/docker-entrypoint-initdb.d/{Path(source).name}"
                    assert inside in {read, *map(str, service["environment"].values())}, volume
                else:
                    used.add(source)
                    assert inside == KEEPS[image], volume
            if "build" in service:
                context = FOLDER / service["build"]["context"]
                assert (context / service["build"]["dockerfile"]).is_file()
                assert (context / "uv.lock").is_file()
        assert used == declared
        assert not all_volumes & declared
        all_volumes |= declared


def test_dependencies_have_health_checks() -> None:
    waits = 0
    for service in SERVICES.values():
        for name, wait in service.get("depends_on", {}).items():
            if wait["condition"] == "service_healthy":
                assert SERVICES[name]["healthcheck"]["test"]
            else:
                assert wait["condition"] == "service_completed_successfully"
                assert "restart" not in SERVICES[name], "it would never be over"
            waits += 1
    assert waits > 10


def test_images_are_pinned_and_listed_in_the_readme() -> None:
    images = {service["image"] for service in SERVICES.values() if "build" not in service}
    assert len(images) > 8
    for image in images:
        assert re.search(r":v?\d", image), image
        assert f"`{image}`" in README, image


def test_readme_lists_exactly_the_untested_images() -> None:
    listed = README.partition("These images were never run:")[2].partition("Their ports")[0]
    by_hosted = {
        SERVICES[name]["image"]
        for file in TEXTS
        if file != COMPOSE_FILE.name
        for name in yaml.safe_load(TEXTS[file])["services"]
    }
    run = {SERVICES["postgres"]["image"]}
    assert set(re.findall(r"`([^`]+)`", listed)) == by_hosted - run


def test_mentioned_commands_exist() -> None:
    commands_ = set(re.findall(r"^([\w-]+) +\S", (REPOSITORY / "run").read_text(), re.MULTILINE))
    for text in (*TEXTS.values(), README, WALKTHROUGH):
        for command in re.findall(r"\./run ([a-z][a-z-]+)", text):
            assert command in commands_, command


def test_database_urls_match_the_created_databases() -> None:
    created = {SERVICES["postgres"]["environment"]["POSTGRES_DB"], "headwater"}
    assert set(re.findall(r"@postgres/(\w+)", TEXTS["compose.yaml"])) == created
    assert created == {"airflow", "headwater"}  # the names in commands/containers.py


def test_marquez_configuration_matches_its_compose_file() -> None:
    database, server = SERVICES["marquez-database"]["environment"], SERVICES["marquez"]
    config = yaml.safe_load((FOLDER / "marquez.config.yml").read_text())
    url = f"jdbc:postgresql://marquez-database:5432/{database['POSTGRES_DB']}"
    assert (config["db"]["url"], config["db"]["user"]) == (url, database["POSTGRES_USER"])
    assert config["db"]["password"] == "${MARQUEZ_PASSWORD}"
    assert server["environment"]["MARQUEZ_PASSWORD"] == database["POSTGRES_PASSWORD"]
    mounted = f"./marquez.config.yml:{server['environment']['MARQUEZ_CONFIG']}:ro"
    assert server["volumes"] == [mounted]
    (api,) = config["server"]["applicationConnectors"]
    (admin,) = config["server"]["adminConnectors"]
    assert _published(server, {}) == [f"127.0.0.1:{api['port']}:{api['port']}"]
    assert f":{admin['port']}/" in server["healthcheck"]["test"][1]
