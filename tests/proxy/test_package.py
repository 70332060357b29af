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
def test_zip_contains_all_imports_of_the_handlers(settings: Settings, tmp_path: Path) -> None:
    rules = tmp_path / "mine.yaml"
    rules.write_text("rules: []")
    zip_path = package_proxy(settings, rules)
    with zipfile.ZipFile(zip_path) as archive:
        archive.extractall(tmp_path / "task")
    assert zip_path.stat().st_size < 50_000_000  # Lambda's maximum for a direct upload
    assert (tmp_path / "task" / "names.yaml").read_text() == "rules: []"
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'task')!r})\n"
        f"from headwater_aws import {', '.join(HANDLERS)}\n"
        f"print({' and '.join(f'callable({name}.handler)' for name in HANDLERS)})\n"
        "import boto3, yaml\n"
    )
    command = [sys.executable, "-I", "-S", "-c", program]  # isolated from this environment
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_missing_rules_file_is_reported_first(settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="There is no file .*nowhere.yaml"):
        package_proxy(settings, tmp_path / "nowhere.yaml")
