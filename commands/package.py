"""Build zips with code for AWS from uv.lock: for `./run proxy-package` and EMR jobs."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from lakehouse.errors import SetupError
from lakehouse.settings import REPOSITORY, Settings

PYTHON, PLATFORM = "3.11", "x86_64-manylinux_2_28"
"""Platform of the Lambda functions in infra/templates/openlineage-proxy.yaml and EMR drivers."""

_PACKAGES = ("packages/headwater-client", "packages/headwater", "packages/headwater-aws")
_UNUSED = ("fastapi", "httptools", "openlineage-python", "rich", "typer", "uvicorn", "uvloop")
"""Dependencies of the server, the commands and the producers, which no Lambda handler imports."""
_PRUNED = [word for name in _UNUSED for word in ("--prune", name)]
_NO_TIME = (1980, 1, 1, 0, 0, 0)
LEVEL = 6
"""The compression of a zip; 1 takes a third of the CPU time and gives a tenth more bytes."""


def package_proxy(settings: Settings, names: Path | None = None) -> Path:
    """Build the zip reproducibly, with a file of name rules as names.yaml; return its path.

    Raises:
        SetupError: the file does not exist, or uv could not install the packages.
    """
    if names is not None and not names.is_file():
        raise SetupError(f"There is no file {names}. Pass --names with a file of name rules.")
    target = settings.state_dir / "proxy" / "openlineage-proxy.zip"
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as work:
        tree = Path(work, "tree")
        install(tree, ["--package", "headwater-aws", *_PRUNED], _PACKAGES)
        if names is not None:
            shutil.copy(names, tree / "names.yaml")
        archive = Path(work, target.name)
        zip_tree(tree, archive)
        archive.replace(target)
    return target


def install(tree: Path, exported: Sequence[str], packages: Sequence[str] = ()) -> None:
    """Install locked dependencies and own packages into a folder for Python on AWS.

    Raises:
        SetupError: uv could not install them.
    """
    locked = _uv("export", "--frozen", "--no-dev", "--no-emit-workspace", *exported)
    requirements = tree.with_name("requirements.txt")
    requirements.write_text(locked)
    install = ["pip", "install", "--quiet", "--target", str(tree), "--python-version", PYTHON]
    binary = ["--python-platform", PLATFORM, "--only-binary", ":all:"]
    _uv(*install, *binary, "--require-hashes", "-r", str(requirements))
    if packages:
        _uv(*install, "--no-deps", *(str(REPOSITORY / package) for package in packages))


def find_uv() -> str:
    """Return the uv that started this process, or the one on the PATH; raise SetupError if none."""
    uv = os.environ.get("UV") or shutil.which("uv")
    if uv is None:
        raise SetupError("There is no uv on the PATH. Use `./run`, which installs it.")
    return uv


def _uv(*arguments: str) -> str:
    done = subprocess.run([find_uv(), *arguments], cwd=REPOSITORY, capture_output=True, text=True)
    if done.returncode:
        raise SetupError(f"uv {arguments[0]} failed: {done.stderr.strip()[-600:]}")
    return done.stdout


def zip_tree(tree: Path, target: Path) -> None:
    """Zip a folder reproducibly: equal folders produce equal files."""
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted(tree.rglob("*")):
            if path.is_dir() or "__pycache__" in path.parts:
                continue
            entry = zipfile.ZipInfo(str(path.relative_to(tree)), _NO_TIME)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes(), compresslevel=LEVEL)
