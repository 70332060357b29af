"""The Chromium of this machine or, where none is installed, that of an npm package.

Playwright's own browsers come from a download server, and Debian's needs root. The package
`@sparticuz/chromium` (MIT, Chromium under BSD) contains a headless Chromium with its libraries for
Linux on x86-64. It is unpacked once into the state folder; it needs the Node of `./run test`.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from commands.environment import script
from lakehouse.settings import REPOSITORY

PROGRAMS = ("chromium-headless-shell", "chromium", "google-chrome")
"""Names of Chromium; the first one has no window and opens a page with less CPU time."""
_PACKAGE = "@sparticuz/chromium@153.0.0"
_SHA512 = (
    "8e2196a92bcf31dbb8f8ff538a562a011ef21063c41c8371fa50af13f36a34ef"
    "c41d8cc5ff1d615222394fa8a8548b7b744cbb9fcf1bcb24f4be4f9d9ec810c0"
)
_FOLDER = REPOSITORY / ".state" / f"chromium-{_PACKAGE.rpartition('@')[2]}"
_UNPACK = """
const { readFileSync, writeFileSync } = require("fs");
const { brotliDecompressSync } = require("zlib");
const [, ...files] = process.argv;
for (const file of files)
    writeFileSync(file.replace(/[.]br$/, ""), brotliDecompressSync(readFileSync(file)));
"""
# The path of the cache must be absolute; otherwise, the current folder is searched for it.
_FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>/usr/share/fonts</dir>
  <dir prefix="relative">fonts</dir>
  <cachedir>{folder}/cache</cachedir>
</fontconfig>
"""


class MissingChromiumError(Exception):
    """An error: Chromium is not installed, and the package cannot be used on this machine."""


@dataclass(frozen=True)
class Chromium:
    """A program and the variables that it needs."""

    program: Path
    environ: dict[str, str] = field(default_factory=dict)


def find_chromium() -> Chromium:
    """Return the installed Chromium or that of the package.

    Raises:
        MissingChromiumError: there is none, or the package could not be installed.
    """
    if installed := next(filter(None, map(shutil.which, PROGRAMS)), None):
        return Chromium(Path(installed))
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise MissingChromiumError(
            f"none of {', '.join(PROGRAMS)} is on the PATH, and {_PACKAGE} is for Linux on x86-64"
        )
    if not _FOLDER.exists():
        _install(_FOLDER)
    environ = {
        "LD_LIBRARY_PATH": str(_FOLDER / "lib"),
        "FONTCONFIG_FILE": str(_FOLDER / "fonts.conf"),
    }
    return Chromium(_FOLDER / "chromium", environ)


def _install(folder: Path) -> None:
    """Unpack the package next to the folder and rename it, as other processes may do the same."""
    folder.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        pack = [script("npm"), "pack", "--silent", "--pack-destination", work, _PACKAGE]
        _run(pack)
        (packed,) = Path(work).glob("*.tgz")
        if hashlib.sha512(packed.read_bytes()).hexdigest() != _SHA512:
            raise MissingChromiumError(f"{_PACKAGE} has another checksum than expected")
        _unpack(packed, Path(work))
        files = Path(work, "package", "bin")
        names = ("chromium", "al2023.tar", "fonts.tar", "swiftshader.tar")
        _run([script("node"), "-e", _UNPACK, *(str(files / f"{name}.br") for name in names)])
        made = Path(work, "made")
        made.mkdir()
        for name in names[1:]:
            _unpack(files / name, made)
        for library in ("libEGL.so", "libGLESv2.so", "libvk_swiftshader.so", "libvulkan.so.1"):
            (made / library).rename(made / "lib" / library)
        shutil.move(files / "chromium", made / "chromium")
        (made / "chromium").chmod(0o755)
        (made / "fonts.conf").write_text(_FONTS.format(folder=folder))
        if not folder.exists():
            made.rename(folder)


def _unpack(file: Path, folder: Path) -> None:
    with tarfile.open(file) as archive:
        # An attribute, because Debian's Python 3.11.2 has no parameter for the filter.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder)


def _run(command: list[str]) -> None:
    path = f"{Path(command[0]).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    environ = os.environ | {"PATH": path}
    try:
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise MissingChromiumError(f"{_PACKAGE} needs Node: {error}") from error
    if done.returncode:
        raise MissingChromiumError(f"{_PACKAGE} could not be installed: {done.stderr[-500:]}")
