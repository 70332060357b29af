"""Workflows, issue forms and editor configuration are valid and match the project."""

from __future__ import annotations

import gzip
import json
import lzma
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from lakehouse.settings import REPOSITORY, Settings

GITHUB = REPOSITORY / ".github"
COMMANDS = set(re.findall(r"^([\w-]+) +\S", (REPOSITORY / "run").read_text(), re.MULTILINE))


@pytest.mark.server
@pytest.mark.parametrize(
    ("schema", "folder", "count"),
    [
        ("vendor.github-workflows", "workflows", 3),
        ("custom.github-workflows-require-timeout", "workflows", 3),
        ("vendor.github-issue-forms", "ISSUE_TEMPLATE", 2),
        ("vendor.github-actions", "actions/lineage-check", 1),
        ("vendor.gitlab-ci", "../packages/headwater/examples", 1),
    ],
)
def test_forge_files_match_their_schema(schema: str, folder: str, count: int) -> None:
    files = list((GITHUB / folder).glob("*.yml"))
    assert len(files) == count
    checker = str(Path(sys.executable).with_name("check-jsonschema"))
    command = [checker, "--builtin-schema", schema, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


OLD_NAME = (
    *(
        ".github/actions/lineage-check/action.yml",
        "CHANGELOG.md",
        "docs/decisions/0020-the-name.md",
    ),
    *("commands/containers.py", "commands/docker.py"),
    *("lakehouse/setting_sources.py", "lakehouse/settings.py"),
    *(f"packages/headwater/src/headwater/{name}.py" for name in ("old_name", "settings")),
    "packages/headwater-client/src/headwater_client/old_name.py",
    "packages/headwater/web/src/api/stored.ts",
    "packages/headwater/tests/log/test_old_name.py",
    "tests/commands/test_repository_files.py",
    *("tests/docker/test_commands.py", "tests/lakehouse/test_setting_sources.py"),
)
"""The files that find stores and settings of headwater's old name, and say so."""


def test_old_name_is_only_in_files_that_find_it() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True)
    files = [REPOSITORY / name for name in listed.stdout.decode().split("\0")[:-1]]
    found = {
        str(file.relative_to(REPOSITORY))
        for file in files or pytest.fail("not a checkout of git")
        if file.is_file()  # else deleted in the working tree
        and (b"throughline" in _content(file).lower() or "throughline" in str(file).lower())
    }
    assert found == set(OLD_NAME)


def _content(file: Path) -> bytes:
    content = file.read_bytes()
    match file.suffix:
        case ".xz":
            return lzma.decompress(content)
        case ".gz":
            return gzip.decompress(content)
    return content


def test_ci_tests_every_supported_python() -> None:
    job = yaml.safe_load((GITHUB / "workflows" / "ci.yml").read_text())["jobs"]["test"]
    pyproject = (REPOSITORY / "pyproject.toml").read_text()
    bounds = re.search(r'requires-python = ">=3\.(\d+),<3\.(\d+)"', pyproject)
    assert bounds
    supported = [f"3.{minor}" for minor in range(int(bounds[1]), int(bounds[2]))]
    assert job["strategy"]["matrix"]["python"] == supported
    assert job["env"] == {"UV_PYTHON": "${{ matrix.python }}"}
    assert (REPOSITORY / job["steps"][-1]["run"]).is_file()


def test_dev_container_forwards_the_default_ports() -> None:
    container = json.loads((REPOSITORY / ".devcontainer" / "devcontainer.json").read_text())
    names = ("headwater_port", "airflow_port")
    ports = [Settings.model_fields[name].default for name in names]
    assert container["forwardPorts"] == ports
    assert set(container["portsAttributes"]) == set(map(str, ports))
    assert _command(container["postCreateCommand"]) in COMMANDS


def test_editor_tasks_run_existing_commands() -> None:
    tasks = json.loads((REPOSITORY / ".vscode" / "tasks.json").read_text())["tasks"]
    commands = [_command(task["command"]) for task in tasks]
    assert commands == ["demo", "test", "lint"]
    assert set(commands) <= COMMANDS


def test_guides_only_mention_existing_files_and_commands() -> None:
    for name in ("AGENTS.md", "CONTRIBUTING.md", "SECURITY.md"):
        text = (REPOSITORY / name).read_text()
        assert set(re.findall(r"\./run ([a-z][\w-]+)", text)) <= COMMANDS, name
        for link in re.findall(r"\]\(([^)#]+)\)", text):
            assert (REPOSITORY / link).exists(), (name, link)
    for path in re.findall(r"`([\w./-]+/)`", (REPOSITORY / "AGENTS.md").read_text()):
        assert (REPOSITORY / path).is_dir(), path


def _command(line: str) -> str:
    match = re.match(r"\./run ([\w-]+)", line)
    assert match, line
    return match[1]


PACKAGES = [path.name for path in sorted((REPOSITORY / "packages").iterdir())]


@pytest.mark.parametrize("name", PACKAGES)
def test_package_has_the_license_and_type_information(name: str) -> None:
    package = REPOSITORY / "packages" / name
    assert (package / "LICENSE").read_text() == (REPOSITORY / "LICENSE").read_text()
    project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
    assert (project["license"], project["license-files"]) == ("Apache-2.0", ["LICENSE"])
    assert (package / "src" / name.replace("-", "_") / "py.typed").is_file()


def test_extra_all_of_headwater_has_all_other_extras() -> None:
    file = REPOSITORY / "packages" / "headwater" / "pyproject.toml"
    extras = tomllib.loads(file.read_text())["project"]["optional-dependencies"]
    (whole,) = extras.pop("all")
    assert whole == f"headwater[{','.join(extras)}]"
