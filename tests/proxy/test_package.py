"""The zip of the Lambdas' code."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from commands.package import PYTHON, package_proxy
from lakehouse.errors import SetupError
from lakehouse.settings import Settings

HANDLERS = ("authorizer", "receiver", "worker", "audit")
pytestmark = pytest.mark.server


@pytest.mark.skipif(
    f"{sys.version_info.major}.{sys.version_info.minor}" != PYTHON or sys.platform != "linux",
    reason=f"the zip is for Python {PYTHON} on Linux",
)
def test_the_zip_holds_all_that_the_handlers_import(settings: Settings, tmp_path: Path) -> None:
    rules = tmp_path / "mine.yaml"
    rules.write_text("rules: []")
    made = package_proxy(settings, rules)
    with zipfile.ZipFile(made) as archive:
        archive.extractall(tmp_path / "task")
    assert made.stat().st_size < 50_000_000  # what Lambda takes at once
    assert (tmp_path / "task" / "names.yaml").read_text() == "rules: []"
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'task')!r})\n"
        f"from throughline_aws import {', '.join(HANDLERS)}\n"
        f"print({' and '.join(f'callable({name}.handler)' for name in HANDLERS)})\n"
        "import boto3, yaml\n"
    )
    command = [sys.executable, "-I", "-S", "-c", program]  # nothing of this environment
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_rules_that_are_not_there_are_said_before_anything_is_made(
    settings: Settings, tmp_path: Path
) -> None:
    with pytest.raises(SetupError, match="There is no file .*nowhere.yaml"):
        package_proxy(settings, tmp_path / "nowhere.yaml")
