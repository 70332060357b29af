"""Errors in the files of a dbt project, and the choice of its profile."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from headwater.errors import ConfigError
from headwater.plugins.harvest._dbt import Dbt
from headwater.redaction import DEFAULT
from packages.headwater.tests.support.dbt_project import (
    Harvest,
    shop_project,
    write_artifacts,
)


@pytest.mark.parametrize(("command", "name"), [("generate", "docs generate"), ("list", "list")])
def test_results_of_commands_that_run_nothing_are_refused(
    harvest: Harvest, command: str, name: str
) -> None:
    output = harvest(shop_project(), command=command, code=1)
    assert f"received the results of `dbt {name}`, expected those of one of: build, run" in output
    assert "`dbt docs generate --no-compile` keeps them" in output


_DEEP = "[" * 20_000
_BOMB = "\n".join(f"a{n}: &a{n} [{', '.join(f'*a{n - 1}' for _ in range(9))}]" for n in range(1, 9))


@pytest.mark.parametrize(
    ("file", "place", "value", "problem"),
    [
        ("manifest", (), [], "manifest.json: not an artifact of dbt"),
        ("manifest", (), _DEEP, "manifest.json: not an artifact of dbt"),
        ("manifest", (), "{", "manifest.json: not an artifact of dbt"),
        ("manifest", ("nodes",), [], r"nodes: received \[\], expected an object"),
        ("manifest", ("sources",), None, "sources: received nothing, expected an object"),
        ("manifest", ("parent_map",), None, "parent_map: received nothing, expected an object"),
        ("manifest", ("parent_map", "model.shop.daily"), "x", "received 'x', expected a list"),
        ("manifest", ("nodes", "model.shop.daily"), 7, "daily: received 7, expected an object"),
        ("manifest", ("nodes", "model.shop.daily", "resource_type"), [], "expected a string"),
        ("manifest", ("nodes", "model.shop.daily", "columns"), [7], "cannot read"),
        ("manifest", ("exposures", "exposure.shop.dashboard", "owner"), "me", "cannot read"),
        ("manifest", ("metadata",), None, "not an artifact"),
        ("run_results", (), _DEEP, "run_results.json"),
        ("run_results", ("results",), {}, r"results: received \{\}, expected a list"),
        ("run_results", ("results", 0), None, r"results\[0\]: received nothing, expected an obj"),
        ("run_results", ("results", 0, "timing"), None, r"\[0\].timing: received nothing"),
        ("run_results", ("args",), "x", "cannot read"),
        ("catalog", ("nodes",), [], "cannot read"),
        ("catalog", (), _DEEP, "run_results.json"),
        ("../profiles.yml", (), "a0: &a0 [x]\n" + _BOMB, "stand for more than 100,000 values"),
        ("../profiles.yml", (), _DEEP, "more than 100 levels"),
        ("../dbt_project.yml", (), "a: &a [*a]", "stand for more than 100,000 values"),
        ("../dbt_project.yml", (), "shop", "expected a mapping"),
        ("../profiles.yml", ("shop", "target"), "{{ env_var('UNSET') }}", "UNSET"),
    ],
)  # fmt: skip
def test_malformed_file_of_dbt_is_named(
    file: str, place: tuple[Any, ...], value: Any, problem: str, tmp_path: Path
) -> None:
    ran = {"model.shop.daily": ("success", ""), "test.shop.unique_daily": ("pass", "")}
    write_artifacts(tmp_path, shop_project(), "build", ran, day=1, target=None)
    path = tmp_path / "target" / (file if "." in file else f"{file}.json")
    content = inner = json.loads(path.read_text())
    for part in place[:-1]:
        inner = inner[part]
    if place:
        inner[place[-1]] = value
    is_text = isinstance(value, str) and not place
    path.write_text(value if is_text else json.dumps(content if place else value))
    dbt = Dbt(project=tmp_path, target_path=None, profiles=tmp_path, profile=None, target=None,
              namespace="dbt")  # fmt: skip
    with pytest.raises(ConfigError, match=problem):
        list(dbt.harvest({}, None, DEFAULT))


@pytest.mark.parametrize(
    ("profile", "profiles", "problem"),
    [
        (None, None, r"/home/profiles.yml: no such file: .* profile 'shop'.*--profiles-dir"),
        (None, {"other": {}}, r"/home/profiles.yml: 'shop' is missing: .*--profile and --target"),
        ("new", {"shop": {}}, r"/home/profiles.yml: 'new' is missing: .* profile 'new'"),
        (None, {"shop": {"target": "ci", "outputs": {}}}, r"/home/profiles.yml: 'ci' is missing"),
    ],
)
def test_missing_profile_of_dbt_is_named_with_its_file(
    profile: str | None, profiles: Any, problem: str, tmp_path: Path
) -> None:
    shop, home = tmp_path / "shop", tmp_path / "home"
    write_artifacts(
        shop, shop_project(), "build", {"model.shop.daily": ("success", "")}, day=1, target=None
    )
    (shop / "profiles.yml").unlink()
    home.mkdir()
    if profiles is not None:
        (home / "profiles.yml").write_text(json.dumps(profiles))
    dbt = Dbt(project=shop, target_path=None, profiles=home, profile=profile, target=None,
              namespace="dbt")  # fmt: skip
    with pytest.raises(ConfigError, match=problem):
        list(dbt.harvest({}, None, DEFAULT))


@pytest.mark.parametrize(("used", "host"), [("elsewhere", "used"), ("gone", "shop")])
def test_profile_of_dbt_is_that_of_the_run_or_of_the_project(
    used: str, host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("DBT_PROFILES_DIR", raising=False)
    shop, elsewhere = tmp_path / "shop", tmp_path / "elsewhere"
    write_artifacts(
        shop, shop_project(), "build", {"model.shop.daily": ("success", "")}, day=1, target=None
    )
    elsewhere.mkdir()
    text = (shop / "profiles.yml").read_text()
    (elsewhere / "profiles.yml").write_text(text.replace('"host": "shop"', '"host": "used"'))
    results = shop / "target/run_results.json"
    results.write_text(results.read_text().replace(str(shop), str(tmp_path / used)))
    dbt = Dbt(project=shop, target_path=None, profiles=None, profile=None, target=None,
              namespace="dbt")  # fmt: skip
    (portion,) = dbt.harvest({}, None, DEFAULT)
    bodies = " ".join(entry.body for entry in portion.lines.entries)
    assert set(re.findall(r"postgres://(\w+)", bodies)) == {host}
