"""`./run` on machines without uv, a supported Python or a writable home folder."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from commands.package import find_uv
from lakehouse.settings import REPOSITORY

pytestmark = pytest.mark.server


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """Return `run` in a folder without .state, as in a fresh clone."""
    folder = tmp_path / "clone"
    folder.mkdir()
    for name in ("run", "pyproject.toml", "uv.lock"):
        shutil.copy(REPOSITORY / name, folder)
    return folder / "run"


def run(script: Path, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    path = f"{Path(find_uv()).parent}:{os.environ['PATH']}"
    return subprocess.run(
        [script, "settings"],
        env=os.environ | {"PATH": path} | environ,
        capture_output=True,
        text=True,
        check=False,
    )


def test_unsupported_python_is_reported_with_the_allowed_ones(script: Path, tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    environ = {"UV_PYTHON": "3.10", "UV_OFFLINE": "1", "UV_PROJECT_ENVIRONMENT": str(venv)}
    done = run(script, environ)
    assert done.returncode == 1
    assert "Python: found for UV_PYTHON=3.10: " in done.stderr
    assert "allowed are 3.11, 3.12 and 3.13" in done.stderr
    assert "UV_PYTHON=3.12 ./run settings" in done.stderr
    assert not venv.exists()


def test_setup_prints_one_line_instead_of_every_package(script: Path, tmp_path: Path) -> None:
    uv = tmp_path / "uv"  # lists packages as uv does on a terminal, then fails
    uv.write_text(
        '#!/bin/sh\ncase "$*" in *--quiet*) ;; *) echo " + airflow==3" >&2 ;; esac; exit 1'
    )
    uv.chmod(0o755)
    terminal, end = os.openpty()
    environ = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    subprocess.run([script, "settings"], env=environ, stderr=end, check=False)
    os.close(end)
    output = b""
    with suppress(OSError):  # raised at the end of the output
        while True:
            output += os.read(terminal, 10_000)
    os.close(terminal)
    lines = output.decode().splitlines()
    assert lines[0].startswith("Setting up: installing Python packages into ")
    assert lines[1].startswith("./run: the Python packages could not be installed")


def test_caches_use_the_state_folder_without_a_writable_home(script: Path, tmp_path: Path) -> None:
    # Not even root can create a folder in /proc. Without Python nothing is installed.
    environ = {"HOME": "/proc/home", "UV_PYTHON": "3.10", "UV_OFFLINE": "1"}
    done = run(script, environ | {"UV_PROJECT_ENVIRONMENT": str(tmp_path / "venv")})
    assert "Failed to initialize cache" not in done.stderr
    assert (script.parent / ".state" / "cache" / "uv").is_dir()


OLD_PYTHON = """#!/bin/sh
[ "$2" = venv ] || exit 1
mkdir -p "$3/bin"
printf '#!/bin/sh\\necho no uv for this Python >&2; exit 1' > "$3/bin/pip"
chmod +x "$3/bin/pip"
"""
CURL = """#!/bin/sh
echo 'mkdir -p "$UV_INSTALL_DIR"; cd "$UV_INSTALL_DIR"'
echo 'printf "#!/bin/sh\\necho a uv from curl >&2; exit 1" > uv; chmod +x uv'
"""


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Return a PATH without uv whose python3 is too old to install it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    programs = ("awk", "chmod", "dirname", "env", "grep", "mkdir", "rm", "bash", "sh")
    for name in programs:
        (folder / name).symlink_to(shutil.which(name) or name)
    (folder / "python3").write_text(OLD_PYTHON)
    (folder / "python3").chmod(0o755)
    return folder


def run_bare(script: Path, bare: Path) -> subprocess.CompletedProcess[str]:
    environ = {"PATH": str(bare), "HOME": str(bare)}
    command = [str(script), "settings"]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False)


def test_uv_is_installed_with_curl_if_python_is_too_old(script: Path, bare: Path) -> None:
    (bare / "curl").write_text(CURL)
    (bare / "curl").chmod(0o755)
    done = run_bare(script, bare)
    assert (script.parent / ".state" / "uv" / "bin" / "uv").exists(), done.stderr
    assert "a uv from curl" in done.stderr
    assert done.returncode == 1


def test_missing_uv_is_explained_if_nothing_can_install_it(script: Path, bare: Path) -> None:
    done = run_bare(script, bare)
    assert done.returncode == 1
    assert "uv could not be installed" in done.stderr
    assert "apt install python3-venv" in done.stderr


def test_wheels_are_built_without_the_packages_of_the_project(script: Path, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    npm = '#!/bin/sh\necho "npm $*" >>"$CALLS"\n'
    (tools / "npm").write_text(npm)
    (tools / "uv").write_text(
        '#!/bin/sh\necho "uv $*" >>"$CALLS"\nfor last; do :; done\ncase "$1" in\n'
        'venv) mkdir -p "$last/bin" && cp "$TOOLS/npm" "$last/bin/npm" ;;\n'
        'build) mkdir -p "$4" && : >"$4/$(basename "$last").whl" ;;\nesac\n'
    )
    for tool in tools.iterdir():
        tool.chmod(0o755)
    for package in ("headwater/web", "headwater-client"):
        (script.parent / "packages" / package).mkdir(parents=True)
    calls = tmp_path / "calls"
    environ = {"CALLS": str(calls), "TOOLS": str(tools), "PATH": f"{tools}:{os.environ['PATH']}"}
    command = [str(script), "wheels", "out"]
    done = subprocess.run(
        command, env=os.environ | environ, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    built = [str(tmp_path / "out" / f"{name}.whl") for name in ("headwater", "headwater-client")]
    assert sorted(done.stdout.split()) == sorted(built)
    lines = calls.read_text().splitlines()
    assert [line.split()[:2] for line in lines] == [
        *(["uv", "venv"], ["uv", "pip"], ["npm", "ci"], ["npm", "run"], ["npm", "run"]),
        *(["uv", "build"], ["uv", "build"]),
    ]
    node = next(line.split()[-1] for line in lines if line.startswith("uv pip"))
    assert f'"{node}"' in (script.parent / "pyproject.toml").read_text()
