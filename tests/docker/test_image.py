"""The files, versions and programs in the Dockerfile exist."""

from __future__ import annotations

import json
import re
import tomllib

import yaml

from commands.containers import DATABASES, serve
from commands.docker import COMPOSE_FILE
from commands.page import BUILT, WEB, ensure_page, is_built
from lakehouse.settings import REPOSITORY, Settings
from spark_jobs.runtime import JAVA_VERSIONS

DOCKERFILE = (REPOSITORY / "docker" / "Dockerfile").read_text()
IGNORED = (REPOSITORY / "docker" / "Dockerfile.dockerignore").read_text().splitlines()
PYPROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
JOINED = DOCKERFILE.replace("\\\n", "")


def test_copied_files_exist_in_the_build_context() -> None:
    sources = [
        source
        for line in re.findall(r"^COPY (?!--from)(.+) \S+$", JOINED, re.MULTILINE)
        for source in line.split()
    ]
    assert "uv.lock" in sources
    for source in sources:
        assert (REPOSITORY / source).exists(), source
        assert source == "." or f"!{source.split('/')[0]}" in IGNORED, source


def test_build_context_includes_the_built_page() -> None:
    mark = (BUILT / ".digest").relative_to(REPOSITORY)
    assert IGNORED.index(f"!{mark}") > IGNORED.index("**/.*")


def test_dependencies_are_installed_before_code_is_copied() -> None:
    files = (REPOSITORY / "packages").glob("*/pyproject.toml")
    members = {f"packages/{file.parent.name}/" for file in files}
    assert members == set(re.findall(r"^COPY \S+pyproject.toml (packages/\S+)$", DOCKERFILE, re.M))


def test_image_contains_the_code_and_nothing_private() -> None:
    assert next(line for line in IGNORED if line and not line.startswith("#")) == "*"
    let_in = {line[1:] for line in IGNORED if line.startswith("!")}
    wheel = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert set(wheel) | {"airflow", "packages"} <= let_in
    assert all((REPOSITORY / name).exists() for name in let_in if "/." not in name)
    assert let_in.isdisjoint({".state", ".venv", ".git", "settings.yaml", "tests"})
    folders = [n for n, line in enumerate(IGNORED) if line[:1] == "!" and "/." not in line]
    assert IGNORED.index("**/.*") > max(folders)


def test_page_is_built_with_locked_node_into_the_servers_folder() -> None:
    stage = JOINED.partition("FROM packages AS page")[2].partition("\nFROM ")[0]
    assert "--group node" in stage
    assert "node" in PYPROJECT["dependency-groups"]
    programs = re.findall(r'python -c "([^"]+)"', stage)
    for program in programs:
        compile(program, "page", "exec")
    imported = f"from {ensure_page.__module__} import"
    assert programs == [
        f"{imported} {is_built.__name__}; raise SystemExit(not is_built())",
        f"{imported} {ensure_page.__name__}; ensure_page()",
    ]
    built = re.search(r"^ARG BUILT=/app/(\S+)$", DOCKERFILE, re.MULTILINE)
    assert built is not None
    assert REPOSITORY / built[1] == BUILT
    assert "COPY --from=page ${BUILT} ${BUILT}" in DOCKERFILE
    needed = (path.relative_to(REPOSITORY) for path in (WEB / "package-lock.json", WEB / "src"))
    assert all(f"!{path.parts[0]}" in IGNORED for path in needed)


def test_image_has_no_secret_arguments_or_variables() -> None:
    for line in re.findall(r"^(?:ARG|ENV) .+$", JOINED, re.MULTILINE):
        assert not re.search("PASSWORD|SECRET|TOKEN|KEY", line), line


def test_image_runs_as_the_user_of_the_build_argument() -> None:
    last_stage = DOCKERFILE.rsplit("\nFROM ", 1)[1]
    assert re.findall(r"^USER (\S+)$", last_stage, re.MULTILINE) == ["${USER_ID}"]
    assert "ARG USER_ID=10001\n" in last_stage
    assert "useradd --create-home --non-unique --uid ${USER_ID} pipeline" in last_stage


def test_every_download_step_gets_the_ca_bundle() -> None:
    steps = re.findall(r"^RUN .+$", JOINED, re.MULTILINE)
    downloading = [step for step in steps if re.search(r"\buv sync|pip install|npm", step)]
    assert len(downloading) == 4
    target = re.search(r"SSL_CERT_FILE=(\S+)", DOCKERFILE)
    assert target is not None
    assert all(f"--mount=type=secret,id=ca-bundle,target={target[1]}" in s for s in downloading)


def test_image_uses_the_same_uv_version_as_run() -> None:
    run = (REPOSITORY / "run").read_text()
    version = re.search(r"^UV_VERSION=(\S+)$", run, re.MULTILINE)
    used = re.search(r"uv==(\S+)", DOCKERFILE)
    assert version is not None
    assert used is not None
    assert used[1] == version[1]


def test_image_has_supported_python_and_java_versions() -> None:
    python = re.search(r"^ARG PYTHON=3\.(\d+)\.\d+$", DOCKERFILE, re.MULTILINE)
    java = re.search(r"openjdk-(\d+)-jre-headless", DOCKERFILE)
    assert python is not None
    assert java is not None
    assert PYPROJECT["project"]["requires-python"] == ">=3.11,<3.14"
    assert 11 <= int(python[1]) < 14
    assert int(java[1]) in JAVA_VERSIONS


def test_exposed_ports_match_the_default_settings() -> None:
    exposed = re.search(r"^EXPOSE (.+)$", DOCKERFILE, re.MULTILINE)
    assert exposed is not None
    fields = Settings.model_fields
    defaults = {fields["airflow_port"].default, fields["headwater_port"].default}
    assert {int(port) for port in exposed[1].split()} == defaults


def test_container_commands_exist() -> None:
    command = re.search(r"^CMD (\[.+\])$", JOINED, re.MULTILINE)
    assert command is not None
    services = yaml.safe_load(COMPOSE_FILE.read_text())["services"]
    assert json.loads(command[1]) == services["airflow"]["command"]
    for service, container in (("airflow", "airflow"), ("headwater", "lineage")):
        *program, argument = services[service]["command"]
        assert program == ["python", "-m", serve.__module__]
        assert argument == container
        assert argument in DATABASES


def test_health_check_is_valid_python() -> None:
    check = re.search(r"HEALTHCHECK.+?CMD (\[.+?\])$", JOINED, re.MULTILINE)
    assert check is not None
    python, option, program = json.loads(check[1])
    assert (python, option) == ("python", "-c")
    compile(program, "healthcheck", "exec")
    assert "/api/v2/monitor/health" in program
