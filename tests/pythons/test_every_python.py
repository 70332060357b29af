"""Start the demo on every other Python 3.11 to 3.13 of this machine, set up by `./run`.

The interpreters are those on the PATH, Debian's, and those of pyenv and uv. Each gets a separate
virtual environment from uv.lock. EXPECTED_PYTHONS, which .ci/run sets, lists paths of interpreters
that must be found.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from lakehouse.settings import REPOSITORY
from tests.conftest import copy_bytecode
from tests.pipeline.conftest import free_ports

pytestmark = [pytest.mark.server, pytest.mark.airflow, pytest.mark.metaflow]

PROMISED = ("3.11", "3.12", "3.13")
VERSION_PREFIX = "{}.{}.".format(*sys.version_info)
"""Prefix of the Python versions that can use the bytecode of this one."""
STARTUP = Path(__file__).with_name("startup.py")
ASK = "import platform, sys; print(platform.python_version(), sys.prefix == sys.base_prefix)"


@cache
def interpreters() -> dict[str, Path]:
    """Return the interpreters of supported versions by version."""
    by_version: dict[str, Path] = {}
    for path in _candidates():
        done = subprocess.run([path, "-c", ASK], capture_output=True, text=True, check=False)
        version, is_base = [*done.stdout.split(), "", ""][:2]
        if is_base == "True" and version.rpartition(".")[0] in PROMISED:
            by_version.setdefault(version, path)
    return dict(sorted(by_version.items()))


def _candidates() -> list[Path]:
    """Return every program named python3 once; /usr/bin comes first."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    folders = [Path("/usr/bin"), Path(sys.base_prefix, "bin")]
    folders += [Path(place) for place in os.environ["PATH"].split(os.pathsep)]
    folders += [*pyenv.glob("versions/3.*/bin")]
    folders += [*Path.home().glob(".local/share/uv/python/*/bin")]
    names = ["python3", *(f"python{minor}" for minor in PROMISED)]
    paths = [folder / name for folder in folders for name in names]
    shims = pyenv / "shims"  # shims, which are not interpreters
    real = {path.resolve() for path in paths if path.is_file() and path.parent != shims}
    return sorted(real, key=lambda path: (path.parent != Path("/usr/bin"), path))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test of `python` once for each interpreter, but the one that runs all other tests."""
    if "python" in metafunc.fixturenames:
        others = {k: v for k, v in interpreters().items() if k != platform.python_version()}
        metafunc.parametrize("python", others.values(), ids=list(others))


@pytest.mark.parametrize("minor", PROMISED)
def test_expected_python_is_on_this_machine(minor: str) -> None:
    if not any(version.startswith(f"{minor}.") for version in interpreters()):
        pytest.skip(f"Python {minor} is promised but NOT TESTED: there is none on this machine")


def test_expected_pythons_are_tested() -> None:
    tested = set(interpreters().values())
    for path in shlex.split(os.environ.get("EXPECTED_PYTHONS", "")):
        assert Path(path).resolve() in tested, (
            f"{path} of EXPECTED_PYTHONS is missing or no Python {', '.join(PROMISED)}; "
            f"found: {', '.join(map(str, interpreters().values()))}"
        )


def test_demo_starts_on_every_other_python(python: Path, tmp_path: Path) -> None:
    version = next(key for key, path in interpreters().items() if path == python)
    environment = REPOSITORY / ".state" / "pythons" / version
    environ = {key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"}
    environ |= {"UV_PYTHON": str(python), "UV_PROJECT_ENVIRONMENT": str(environment)}
    start = [f"{environment}/bin/python", str(STARTUP), str(tmp_path), str(free_ports(1))]
    for command in ([f"{REPOSITORY}/run", "settings"], start):
        done = subprocess.run(
            command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        if done.returncode:  # leave no incomplete environment for the next run
            shutil.rmtree(environment, ignore_errors=True)
        assert done.returncode == 0, done.stdout[-5000:]
        if command != start and version.startswith(VERSION_PREFIX):
            copy_bytecode(environment)
    assert f"started on Python {version}" in done.stdout
