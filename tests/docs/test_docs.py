"""The documentation: its site builds, its links work, and its commands are real.

A command in an `sh` or `console` block must be accepted by the command line, and either be executed
by a test or stand in a block after the marker `<!-- needs: AWS -->` (Docker, a network, ...).
The commands of a lesson are all executed by tests/commands/test_lessons.py.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pytest
import typer.main

from commands.cli import app
from headwater.cli import command_line
from lakehouse.settings import REPOSITORY, Settings

GENERATED = re.compile(r"CHANGELOG|docs/reference/(api|cli)\.md|compatibility/|\.github/")
BLOCK = re.compile(
    r"(?:^ *<!-- needs: (?P<needs>[^\n]*) -->\n)?^(?P<indent> *)```(?P<kind>sh|console)\n"
    r"(?P<text>.*?)^(?P=indent)```",
    re.MULTILINE | re.DOTALL,
)
INFRA, AWS = "tests/infra", "packages/headwater-aws/tests"
HEADWATER = "packages/headwater/tests"
EXECUTED = {
    "./run demo": "tests/new_user/test_new_user.py",
    "./run test": "tests/new_user/test_new_user.py",
    "./run lint": ".ci/run",
    "./run lesson": "tests/commands/test_lessons.py",
    "./run sql": "tests/spark/test_sql.py",
    "headwater alias": f"{HEADWATER}/plugins/aliases/test_alias_rules.py",
    "headwater mcp-proxy": f"{HEADWATER}/plugins/agents/test_mcp_proxy.py",
    "./run lineage": "tests/containers/conftest.py",
    "./run create-infra": f"{INFRA}/test_end_to_end.py",
    "./run destroy-infra": f"{INFRA}/test_stack.py",
    "./run datahub-docker": "tests/docker/test_commands.py",
    "./run datahub-docker-nuke": "tests/docker/test_commands.py",
    "./run backend-docker": "tests/docker/test_commands.py",
    "./run airflow-docker": "tests/containers/conftest.py",
    "./run airflow-docker-datahub": "tests/containers/conftest.py",
    "./run training-flow-datahub": "tests/containers/conftest.py",
    "docker compose": "tests/containers/conftest.py",
    "headwater serve": f"{HEADWATER}/support/servers.py",
    "headwater deliver": f"{HEADWATER}/plugins/delivery/test_deliver_processes.py",
    "headwater tree": f"{HEADWATER}/cli/test_cli.py",
    "headwater provenance": f"{HEADWATER}/cli/test_cli_trust.py",
    "headwater verify": f"{HEADWATER}/plugins/provenance/test_bundle.py",
    "headwater gate": f"{HEADWATER}/cli/test_cli_trust.py",
    "headwater check": f"{HEADWATER}/plugins/trust/test_check.py",
    "headwater mute": f"{HEADWATER}/plugins/trust/test_finding_states.py",
    "headwater acknowledge": f"{HEADWATER}/plugins/trust/test_finding_states.py",
    "headwater version": f"{HEADWATER}/plugins/incidents/test_taints.py",
    "headwater incident": f"{HEADWATER}/plugins/incidents/test_taints.py",
    "headwater taint": f"{HEADWATER}/plugins/incidents/test_taints.py",
    "headwater harvest spark-logs": "tests/harvest/test_spark.py",
    "headwater harvest airflow-logs": "tests/harvest/test_airflow.py",
    "headwater harvest dbt": "tests/harvest/test_dbt.py",
    "headwater harvest marquez": f"{HEADWATER}/plugins/harvest/test_harvest_marquez.py",
    "headwater harvest datahub": f"{HEADWATER}/plugins/harvest/test_harvest_catalogs.py",
    "headwater harvest openmetadata": f"{HEADWATER}/plugins/harvest/test_harvest_catalogs.py",
    "headwater replay": f"{HEADWATER}/plugins/delivery/test_replay.py",
    "headwater harvest glue-job-logs": f"{AWS}/test_harvest_logs.py",
    "headwater harvest mwaa-logs": f"{AWS}/test_harvest_logs.py",
    "headwater harvest glue-tables": f"{AWS}/test_harvest_glue.py",
    "headwater harvest redshift": f"{AWS}/test_harvest_redshift.py",
}
"""Beginnings of commands, and the test that executes them."""


@dataclass(frozen=True)
class Command:
    """A command of a page, and what its block needs."""

    page: str
    words: tuple[str, ...]
    needs: str

    def __str__(self) -> str:
        return f"{self.page}: {self.line}"

    @cached_property
    def line(self) -> str:
        """The command as typed in a shell."""
        return shlex.join(self.words)

    def starts_with(self, start: str) -> bool:
        """Return True if the first words of the command are those of `start`."""
        return f"{self.line} ".startswith(f"{start} ")


def pages() -> list[str]:
    """Return the paths of the Markdown files, except generated ones and the changelog."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    names = listed.stdout.split()
    return [n for n in names if not GENERATED.search(n) and (REPOSITORY / n).exists()]


@cache
def commands() -> list[Command]:
    """Return the commands of all pages, without variables before them."""
    found = []
    for page in pages():
        for block in BLOCK.finditer((REPOSITORY / page).read_text()):
            lines = re.sub(r"\\\n\s*", " ", block["text"]).splitlines()
            if block["kind"] == "console":
                lines = [line.strip()[2:] for line in lines if line.strip().startswith("$ ")]
            for line in lines:
                words = shlex.split(line, comments=True)
                while words and re.match(r"[A-Z_]+=", words[0]):
                    words = words[1:]
                if words and words[0] != "export":
                    found.append(Command(page, tuple(words), block["needs"] or ""))
    return found


def parse(command: Any, arguments: list[str], name: str) -> None:
    """Parse the arguments of a command or of one of its subcommands, without running it."""
    with command.make_context(name, arguments) as context:
        rest = [*getattr(context, "_protected_args", ()), *context.args]
        if hasattr(command, "resolve_command"):
            _, subcommand, rest = command.resolve_command(context, rest)
            parse(subcommand, rest, subcommand.name)


@pytest.mark.server
def test_site_builds_without_broken_links(tmp_path: Path) -> None:
    mkdocs = Path(sys.executable).with_name("mkdocs")
    done = subprocess.run(
        [mkdocs, "build", "--strict", "--site-dir", tmp_path],
        cwd=REPOSITORY,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    page = (tmp_path / "reference" / "page.html").read_text()
    assert (tmp_path / "repository/packages/headwater/index.html").exists()
    assert 'href="../decisions/0006-page.html"' in page
    assert "<td><code>--port</code></td>" in (tmp_path / "reference" / "server.html").read_text()


def test_links_and_pictures_exist() -> None:
    pattern = re.compile(r"\]\(([^()\s]+)\)|(?:src|srcset)=\"([^\"]+)\"")
    for page in [*pages(), "CHANGELOG.md"]:
        for groups in pattern.findall((REPOSITORY / page).read_text()):
            target = "".join(groups).partition("#")[0]
            if target and not re.match(r"[a-z]+:", target):
                assert (REPOSITORY / page).parent.joinpath(target).exists(), (page, target)


def test_readme_fits_two_screens_and_its_picture_loads_fast() -> None:
    assert len((REPOSITORY / "README.md").read_text().splitlines()) <= 90
    assert (REPOSITORY / "docs/pictures/demo.gif").stat().st_size <= 2_000_000


def test_commands_stand_in_sh_or_console_blocks() -> None:
    for page in pages():
        assert not re.findall(
            r"```(bash|shell|zsh|shell-session)\b", (REPOSITORY / page).read_text()
        ), page


_COMMANDS = {
    "./run": typer.main.get_command(app),
    "headwater": command_line(),
}


@pytest.mark.parametrize("command", commands(), ids=str)
def test_command_is_accepted_and_executed_or_marked(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, *arguments = command.words
    if program in ("./run", "headwater"):
        monkeypatch.chdir(tmp_path)
        for word in arguments:  # options that name a file require it
            with contextlib.suppress(OSError):
                tmp_path.joinpath(word).open("x").close()
        parse(_COMMANDS[program], arguments, program)
    if program == "./run" and arguments[0] == "lineage":
        parse(_COMMANDS["headwater"], arguments[1:], "headwater")
    starts = [start for start in EXECUTED if command.starts_with(start)]
    is_of_lesson = re.fullmatch(r"docs/learn/lessons/[^/]+/README\.md", command.page)
    assert command.needs or starts or is_of_lesson, (
        "no test executes it and its block has no marker 'needs'"
    )


@pytest.mark.parametrize("start", EXECUTED)
def test_executing_tests_contain_the_command(start: str) -> None:
    text = (REPOSITORY / EXECUTED[start]).read_text()
    assert re.search(rf"[\"' /]{re.escape(start.split()[-1])}\b", text), EXECUTED[start]
    assert any(command.starts_with(start) for command in commands())


def test_prototype_page_names_existing_settings() -> None:
    text = (REPOSITORY / "docs/reference/prototypes.md").read_text()
    names = set(re.findall(r"`([A-Z][A-Z_]+)(?:=[^`]*)?`", text))
    defaults = {
        "job_namespace": "nyc_taxi", "aws_profile": "", "aws_region": "us-east-1",
        "lakehouse": "local", "lineage_backend": "embedded", "lineage_delivery": "collector",
        "months_back": 4, "datahub_url": "http://localhost:8080",
    }  # fmt: skip
    assert {name.lower() for name in names} - {"openlineage_namespace", "model"} <= set(
        Settings.model_fields
    )
    for name, default in defaults.items():
        assert name.upper() in text, name
        assert Settings.model_fields[name].default == default, name
