"""dbt: results of `dbt source freshness`, and tables of other schemas (`--defer`)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from packages.headwater.tests.conftest import Call
from packages.headwater.tests.support.dbt_project import (
    Artifacts,
    Query,
    dbt_node,
    shop_project,
    write_artifacts,
)

_HOUR = 3600
_CRITERIA = {
    "warn_after": {"count": 12, "period": "hour"},
    "error_after": {"count": 24, "period": "hour"},
    "filter": None,
}

Import = Callable[..., str]


@pytest.fixture
def import_freshness(tmp_path: Path, call: Call) -> Import:
    """Return a function that imports the results of `dbt source freshness`; it returns the output.

    Without `has_run`, no other command of dbt ran in the target folder.
    """

    def run(*results: Any, day: int, has_run: bool = True, manifest_of: int | None = None) -> str:
        folder = tmp_path / "shop"
        write_artifacts(folder, shop_project(), "build", {}, day=1, target=None)
        manifest = folder / "target/manifest.json"
        content = json.loads(manifest.read_text())
        content["metadata"]["invocation_id"] = f"check {manifest_of or day}"
        manifest.write_text(json.dumps(content))
        metadata = {"invocation_id": f"check {day}", "generated_at": f"2026-11-{day:02}T09:00:00Z"}
        sources = {"metadata": metadata, "results": results}
        (folder / "target/sources.json").write_text(json.dumps(sources))
        if not has_run:
            (folder / "target/run_results.json").unlink()
        options = ("--profiles-dir", str(folder), "--yes", "--database", str(tmp_path / "log.db"))
        done = call("harvest", "dbt", str(folder), *options)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    return run


def _checked(status: str, *, day: int, age: int) -> dict[str, Any]:
    """Return the result of a source, as dbt writes it; the age is in hours."""
    return {
        "unique_id": "source.shop.fx",
        "status": status,
        "max_loaded_at_time_ago_in_s": age * _HOUR + 0.2,
        "snapshotted_at": f"2026-11-{day:02}T09:00:00+00:00",
        "criteria": _CRITERIA,
        "timing": [],
    }


def _quality(query: Query) -> list[str]:
    found = query("findings", limit=100)["items"]
    return [item["message"] for item in found if item["kind"] == "quality"]


@pytest.mark.parametrize("has_run", [True, False])
def test_stale_source_fails_its_check_until_it_is_fresh(
    has_run: bool, import_freshness: Import, query: Query
) -> None:
    import_freshness(_checked("error", day=2, age=48), day=2, has_run=has_run)
    assert query("node", node="db.main.fx")["health"]["state"] == "failed_checks"
    assert _quality(query) == ["failed its checks: source freshness"]
    (gate,) = query("gate", dataset=["db.main.fx"])["datasets"]
    assert [violation["kind"] for violation in gate["violations"]] == ["quality_passed"]
    import_freshness(_checked("pass", day=3, age=1), day=3, has_run=has_run)
    assert query("node", node="db.main.fx")["health"]["state"] == "unknown"
    assert _quality(query) == []


def test_stale_source_below_the_limit_of_errors_is_only_a_warning(
    import_freshness: Import, query: Query
) -> None:
    import_freshness(_checked("warn", day=2, age=13), day=2)
    assert _quality(query) == []
    health = query("node", node="db.main.shop.fx.freshness")["health"]
    assert health["message"] == "completed, and all failures of its tests are warnings"
    (run,) = query("runs", job="job:dbt:db.main.shop.fx.freshness")["items"]
    assert run


def test_source_that_could_not_be_checked_has_no_result(
    import_freshness: Import, query: Query
) -> None:
    error = {"unique_id": "source.shop.fx", "status": "runtime error", "error": "no such column"}
    import_freshness(error, day=2)
    found = query("findings", limit=10)["items"]
    assert ["failed: no such column" in item["message"] for item in found] == [True], found


def test_freshness_of_an_unknown_target_is_not_imported(
    import_freshness: Import, query: Query, caplog: pytest.LogCaptureFixture
) -> None:
    """A later command may have used another target, whose sources are other tables."""
    import_freshness(_checked("error", day=2, age=48), day=2, manifest_of=3)
    assert "not imported, because another command of dbt wrote manifest.json since" in caplog.text
    assert _quality(query) == []


def _deferring(text: str) -> dict[str, Any]:
    """Return a project in a schema `ci`, whose model `daily` has a query and a test."""
    model: Artifacts = {"schema": "ci", "relation_name": '"db"."ci"."orders"'}
    test: Artifacts = {
        "schema": "ci",
        "config": {"severity": "ERROR"},
        "test_metadata": {"name": "unique", "kwargs": {}},
        "attached_node": "model.shop.orders",
        "compiled_code": text,
    }
    nodes = [
        dbt_node("model", "orders", **model),
        dbt_node("test", "unique_orders", ("model.shop.orders",), **test),
    ]
    return {node["unique_id"]: node for node in nodes}


@pytest.mark.parametrize(
    ("text", "defer", "table"),
    [
        ('select id from "db"."main"."orders"', True, "db.main.orders"),
        ("select id from `db`.prod.ORDERS where id > 1", True, "db.prod.orders"),
        ('select id from "db"."ci"."orders"', True, "db.ci.orders"),
        ('select id from "db"."main"."orders_of_2020"', True, "db.ci.orders"),
        ('select id from "db"."main"."orders"', False, "db.ci.orders"),
    ],
)
def test_deferred_test_is_about_the_table_that_its_query_reads(
    text: str, defer: bool, table: str, tmp_path: Path, call: Call, query: Query
) -> None:
    folder = tmp_path / "shop"
    test = "test.shop.unique_orders"
    write_artifacts(
        folder, _deferring(text), "test", {test: ("fail", "Got 1 result")}, day=1, target=None
    )
    results = folder / "target/run_results.json"
    content = json.loads(results.read_text())
    content["args"]["defer"] = defer
    content["results"][0]["compiled_code"] = text
    results.write_text(json.dumps(content))
    done = call("harvest", "dbt", str(folder), "--profiles-dir", str(folder), "--yes",
                "--database", str(tmp_path / "log.db"))  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert query("node", node=table)["health"]["state"] == "failed_checks"
    assert [item["name"] for item in query("datasets", limit=10)["items"]] == [table]


@pytest.mark.parametrize("is_empty", [True, False])
def test_table_of_a_run_with_the_option_empty_is_unknown(
    is_empty: bool, tmp_path: Path, call: Call, query: Query
) -> None:
    folder = tmp_path / "shop"
    results = {"model.shop.daily": ("success", "")}
    write_artifacts(folder, shop_project(), "run", results, day=1, target=None)
    path = folder / "target/run_results.json"
    content = json.loads(path.read_text())
    content["args"]["empty"] = is_empty
    path.write_text(json.dumps(content))
    options = ("--profiles-dir", str(folder), "--yes", "--database", str(tmp_path / "log.db"))
    assert call("harvest", "dbt", str(folder), *options).returncode == 0
    health = query("node", node="main.daily")["health"]
    expected = "the newest run was started with `--empty`, so it loaded no rows"
    assert (health["state"], health["message"] == expected) == (
        ("unknown", True) if is_empty else ("healthy", False)
    )
    findings = query("findings")["items"]
    assert [item["severity"] for item in findings] == ["warning"] * is_empty
    (gated,) = query("gate", dataset=["main.daily"])["datasets"]
    assert ("no_failed_runs" in {item["kind"] for item in gated["violations"]}) is is_empty
