"""`./run proxy-package`: the code of the proxy's Lambdas as one zip, made of uv.lock."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path

from lakehouse.errors import SetupError
from lakehouse.settings import REPOSITORY, Settings

PYTHON, PLATFORM = "3.11", "x86_64-manylinux_2_28"
"""What the functions of infra/templates/openlineage-proxy.yaml run on."""

_PACKAGES = ("packages/throughline", "packages/throughline-aws")
_UNUSED = ("fastapi", "httptools", "rich", "typer", "uvicorn", "uvloop")
"""What throughline needs as a server and a command, and no handler imports."""
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
        _install(tree)
        if names is not None:
            shutil.copy(names, tree / "names.yaml")
        made = Path(work, target.name)
        _zip(tree, made)
        made.replace(target)
    return target


def _install(tree: Path) -> None:
    """Put everything that the handlers import into a folder, as it is for Lambda's Python."""
    exported = ["export", "--frozen", "--no-dev", "--package", "throughline-aws"]
    unused = [word for name in _UNUSED for word in ("--prune", name)]
    locked = _uv(*exported, "--no-emit-workspace", *unused)
    requirements = tree.with_name("requirements.txt")
    requirements.write_text(locked)
    install = ["pip", "install", "--quiet", "--target", str(tree), "--python-version", PYTHON]
    binary = ["--python-platform", PLATFORM, "--only-binary", ":all:"]
    _uv(*install, *binary, "--require-hashes", "-r", str(requirements))
    _uv(*install, "--no-deps", *(str(REPOSITORY / each) for each in _PACKAGES))


def _uv(*arguments: str) -> str:
    uv = os.environ.get("UV") or shutil.which("uv")
    if uv is None:
        raise SetupError("There is no uv on the PATH; ./run brings one.")
    done = subprocess.run([uv, *arguments], cwd=REPOSITORY, capture_output=True, text=True)
    if done.returncode:
        raise SetupError(f"uv {arguments[0]} failed: {done.stderr.strip()[-600:]}")
    return done.stdout


def _zip(tree: Path, target: Path) -> None:
    """Zip a folder so that equal folders give equal files."""
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted(tree.rglob("*")):
            if path.is_dir() or "__pycache__" in path.parts:
                continue
            entry = zipfile.ZipInfo(str(path.relative_to(tree)), _NO_TIME)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())
