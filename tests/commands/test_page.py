"""The build of the lineage page, and its API types."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import psutil
import pytest

from commands import page
from commands.package import find_uv
from lakehouse.errors import SetupError
from lakehouse.settings import REPOSITORY


def test_digest_depends_on_sources_but_not_on_build_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "WEB", tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.ts").write_text("1")
    first = page.digest()
    for folder in ("node_modules", "coverage", ".built"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.js").write_text("x")
    assert page.digest() == first
    (tmp_path / "src" / "main.ts").write_text("2")
    assert page.digest() != first


def test_missing_node_error_explains_the_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "script", lambda name: str(tmp_path / name))
    with pytest.raises(SetupError, match="uv sync --group node"):
        page.npm("ci")


@pytest.mark.server
def test_npm_works_without_a_system_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("sh", "env"):
        (tmp_path / name).symlink_to(shutil.which(name) or name)
    monkeypatch.setenv("PATH", str(tmp_path))
    page.npm("exec", "--offline", "-c", "node --version")


def test_failed_background_build_is_logged_and_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> bool:
        raise SetupError("no network")

    monkeypatch.setattr(page, "ensure_page", fail)
    page.page_beside(tmp_path / "logs" / "page.log").join()
    assert (tmp_path / "logs" / "page.log").read_text() == "no network\n"


@pytest.mark.server
def test_background_build_ends_with_its_command(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    command = f"touch {begun}; sleep 1000"
    program = (
        "import pathlib, threading\n"
        "from commands import page\n"
        f"npm = ('exec', '--offline', '-c', {command!r})\n"
        "threading.Thread(target=page.npm, args=npm, daemon=True).start()\n"
        f"while not pathlib.Path({str(begun)!r}).exists(): pass\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
    processes = psutil.process_iter(["cmdline"])
    lines = [" ".join(process.info["cmdline"] or ()) for process in processes]
    assert not [line for line in lines if str(begun) in line and "sleep" in line]


@pytest.mark.server
def test_wheel_and_sdist_contain_the_built_page(
    tmp_path: Path,
) -> None:
    package = page.WEB.parent.relative_to(REPOSITORY)
    index = tmp_path / page.BUILT.relative_to(REPOSITORY) / "index.html"
    index.parent.mkdir(parents=True)
    index.write_text("<p>the page")
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(REPOSITORY / package / name, tmp_path / package / name)
    # The repository's .gitignore has the whole path; hatch searches below the package.
    (tmp_path / package / ".gitignore").write_text("built/")
    command = [find_uv(), "build", "--quiet", "--out-dir", "dist", str(package)]
    subprocess.run(command, cwd=tmp_path, check=True)
    (wheel,), (source,) = ((tmp_path / "dist").glob(kind) for kind in ("*.whl", "*.tar.gz"))
    with zipfile.ZipFile(wheel) as files, tarfile.open(source) as sources:
        assert "headwater/server/built/index.html" in files.namelist()
        assert any(name.endswith("/server/built/index.html") for name in sources.getnames())


@pytest.mark.node
def test_page_types_match_the_api(tmp_path: Path) -> None:
    if os.environ.get("WRITE_DOCS"):
        page.write_types()
    # Not to the committed file, because another test process may build the page from it meanwhile.
    page.write_types(tmp_path / "schema.ts")
    fresh = (tmp_path / "schema.ts").read_text()
    assert fresh == page.TYPES.read_text(), "the API changed: ./run page --types, or WRITE_DOCS=1"


@pytest.mark.node
def test_page_passes_types_lint_and_graph_coverage() -> None:
    page.install()
    page.npm("run", "check")
