"""Code for AWS as one zip, made of uv.lock: `./run proxy-package`, and what EMR's jobs run."""

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
"""What the functions of infra/templates/openlineage-proxy.yaml run on, and EMR's drivers."""

_PACKAGES = ("packages/throughline", "packages/throughline-aws")
_UNUSED = ("fastapi", "httptools", "rich", "typer", "uvicorn", "uvloop")
"""What throughline needs as a server and a command, and no handler imports."""
_PRUNED = [word for name in _UNUSED for word in ("--prune", name)]
_NO_TIME = (1980, 1, 1, 0, 0, 0)


def package_proxy(settings: Settings, names: Path | None = None) -> Path:
    """Make the zip, with a file of rules as names.yaml in it; the same sources give the same.

    Raises:
        SetupError: the file is not there, or uv could not bring the packages.
    """
    if names is not None and not names.is_file():
        raise SetupError(f"There is no file {names} with rules of names.")
    target = settings.state_dir / "proxy" / "openlineage-proxy.zip"
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as work:
        tree = Path(work, "tree")
        install(tree, ["--package", "throughline-aws", *_PRUNED], _PACKAGES)
        if names is not None:
            shutil.copy(names, tree / "names.yaml")
        made = Path(work, target.name)
        zip_tree(tree, made)
        made.replace(target)
    return target


def install(tree: Path, exported: Sequence[str], packages: Sequence[str] = ()) -> None:
    """Put what uv.lock has of an export, and packages of ours, into a folder for AWS's Python.

    Raises:
        SetupError: uv could not bring them.
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
    """The uv that started this, or the machine's. Raises SetupError."""
    uv = os.environ.get("UV") or shutil.which("uv")
    if uv is None:
        raise SetupError("There is no uv on the PATH; ./run brings one.")
    return uv


def _uv(*arguments: str) -> str:
    done = subprocess.run([find_uv(), *arguments], cwd=REPOSITORY, capture_output=True, text=True)
    if done.returncode:
        raise SetupError(f"uv {arguments[0]} failed: {done.stderr.strip()[-600:]}")
    return done.stdout


def zip_tree(tree: Path, target: Path) -> None:
    """Zip a folder so that equal folders give equal files."""
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted(tree.rglob("*")):
            if path.is_dir() or "__pycache__" in path.parts:
                continue
            entry = zipfile.ZipInfo(str(path.relative_to(tree)), _NO_TIME)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())
