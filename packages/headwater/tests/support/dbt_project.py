"""The artifacts of a small dbt project, as dbt writes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

_SCHEMAS = "https://schemas.getdbt.com/dbt"
NAMESPACE = "postgres://shop:5432"
SQL_ERROR = 'Database Error in model daily\n  column "amount" does not exist'
Artifacts = dict[str, Any]
Harvest = Callable[..., str]
Query = Callable[..., Any]


def dbt_node(kind: str, name: str, parents: tuple[str, ...] = (), **more: Any) -> Artifacts:
    """Return a node of a manifest, with the ids of its parents and `more` of its fields."""
    return {
        "unique_id": f"{kind}.shop.{name}",
        "resource_type": kind,
        "name": name,
        "alias": name,
        "database": "db",
        "schema": "main",
        "columns": {},
        "original_file_path": f"models/{name}.sql",
        "config": {"materialized": "table"},
        "parents": parents,
        **more,
    }


def shop_project() -> Artifacts:
    """Return a project: raw, fx -> orders -> cte_a -> cte_b -> daily -> metric -> dashboard."""
    ephemeral = {"config": {"materialized": "ephemeral"}}
    email = {"name": "email", "meta": {"pii": True}, "config": {"tags": ["secret"]}}
    test = {
        "config": {"severity": "ERROR"},
        "test_metadata": {"name": "unique", "kwargs": {}},
        "attached_node": "model.shop.daily",
    }
    seed, snapshot = "seed.shop.raw", "snapshot.shop.history"
    nodes = [
        dbt_node("seed", "raw"),
        dbt_node("source", "fx", tags=["bank"]),
        dbt_node("model", "orders", ("seed.shop.raw",), columns={"email": email}),
        dbt_node("model", "cte_a", ("model.shop.orders", "source.shop.fx"), **ephemeral),
        dbt_node("model", "cte_b", ("model.shop.cte_a",), **ephemeral),
        dbt_node("model", "daily", ("model.shop.cte_b",), meta={"tier": 1, "pii": False}),
        dbt_node("test", "unique_daily", ("model.shop.daily", "source.shop.fx"), **test),
        dbt_node("snapshot", "history", ("model.shop.daily",)),
        dbt_node("test", "not_null_raw", (seed,), **{**test, "attached_node": seed}),
        dbt_node("test", "unique_history", (snapshot,), **{**test, "attached_node": snapshot}),
        dbt_node("metric", "revenue", ("model.shop.daily",)),
        dbt_node(
            "exposure", "dashboard", ("metric.shop.revenue",),
            type="dashboard", url="https://bi.example.org/1", owner={"email": "cfo@example.org"},
        ),
    ]  # fmt: skip
    return {node["unique_id"]: node for node in nodes}


def write_artifacts(
    folder: Path,
    nodes: Artifacts,
    command: str,
    results: Artifacts,
    *,
    day: int,
    target: str | None,
) -> None:
    """Write the artifacts of an invocation, as dbt does."""
    at = f"2026-11-{day:02}T08:00:00Z"
    timing = [{"name": "execute", "started_at": at, "completed_at": at}]
    groups = {
        "source": "sources", "exposure": "exposures", "metric": "metrics",
        "semantic_model": "semantic_models", "unit_test": "unit_tests",
    }  # fmt: skip
    manifest: Artifacts = {
        "metadata": {"dbt_schema_version": f"{_SCHEMAS}/manifest/v12.json"},
        "parent_map": {node: list(found["parents"]) for node, found in nodes.items()},
        **{name: {} for name in ("nodes", *groups.values())},
    }
    for node, found in nodes.items():
        manifest[groups.get(found["resource_type"], "nodes")][node] = found
    run_results = {
        "metadata": {
            "dbt_schema_version": f"{_SCHEMAS}/run-results/v6.json",
            "generated_at": at,
            "invocation_id": f"invocation {day}",
        },
        "args": {"which": command, "profiles_dir": str(folder), "target": target},
        "results": [
            {
                "unique_id": node,
                "status": status,
                "message": text,
                "timing": [] if status == "error" else timing,
                "failures": 0,
            }
            for node, (status, text) in results.items()
        ],
    }
    profile = {"type": "postgres", "host": "shop", "port": 5432}
    dev = {**profile, "host": "laptop"}
    catalog = {
        "metadata": {"dbt_schema_version": f"{_SCHEMAS}/catalog/v1.json", "generated_at": at},
        "nodes": {
            node: {"columns": {name: {"name": name, "type": "TEXT"}}}
            for node, name in (("model.shop.orders", "EMAIL"), ("seed.shop.raw", "id"))
        },
    }
    files = {
        "target/catalog.json": catalog,
        "dbt_project.yml": {"name": "shop", "profile": "shop"},
        "profiles.yml": {"shop": {"target": "prod", "outputs": {"prod": profile, "dev": dev}}},
        "target/manifest.json": manifest,
        "target/run_results.json": run_results,
    }
    (folder / "target").mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content))


def inputs_of(query: Query, job: str) -> set[str]:
    """Return the names of the datasets that a job reads."""
    rows = query("edges", level="task", limit=100)["items"]
    return {row["dataset"]["name"] for row in rows if row["job"]["name"] == job
            and row["direction"] == "reads"}  # fmt: skip
