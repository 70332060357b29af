"""Wheels of all locked packages for the platforms on which the tests do not run."""

from __future__ import annotations

import subprocess
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.tags import Tag, compatible_tags, cpython_tags, mac_platforms
from packaging.utils import parse_wheel_filename

from commands.package import find_uv
from lakehouse.settings import REPOSITORY

pytestmark = pytest.mark.server

_PLATFORMS = {
    ("darwin", "arm64"): list(mac_platforms((14, 0), "arm64")),
    ("linux", "aarch64"): [f"manylinux_2_{minor}_aarch64" for minor in range(36, 16, -1)],
}
_PURE = {"pyspark"}
"""Packages without wheels that contain only Python."""


@pytest.mark.parametrize("minor", [11, 12, 13])
@pytest.mark.parametrize(("system", "machine"), list(_PLATFORMS))
def test_every_package_has_a_wheel(system: str, machine: str, minor: int) -> None:
    platforms = [*_PLATFORMS[system, machine], f"manylinux2014_{machine}"]
    tags = {
        *cpython_tags((3, minor), platforms=platforms),
        *compatible_tags((3, minor), f"cp3{minor}", platforms),
    }
    environment = {
        "sys_platform": system,
        "platform_system": system.title(),
        "platform_machine": machine,
        "os_name": "posix",
        "python_version": f"3.{minor}",
        "python_full_version": f"3.{minor}.5",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }
    needed = [
        requirement
        for requirement in _requirements()
        if requirement.marker is None or requirement.marker.evaluate(environment)
    ]
    assert len(needed) > 300
    wheels = _wheels()
    lacking = {r.name for r in needed if not wheels[r.name, str(r.specifier)] & tags}
    assert lacking <= _PURE


def _requirements() -> list[Requirement]:
    """Return the locked packages, each with the condition under which it is installed."""
    words = ("export", "--frozen", "--all-groups", "--no-hashes", "--no-emit-workspace", "--quiet")
    command = [find_uv(), *words, "--no-annotate", "--no-header"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return [Requirement(line) for line in done.stdout.splitlines()]


def _wheels() -> dict[tuple[str, str], set[Tag]]:
    """Return the tags of all wheels of each package and version."""
    lock = tomllib.loads((REPOSITORY / "uv.lock").read_text())
    return {
        (package["name"], f"=={package.get('version')}"): {
            tag
            for wheel in package.get("wheels", ())
            for tag in parse_wheel_filename(wheel["url"].rpartition("/")[2])[3]
        }
        for package in lock["package"]
    }
