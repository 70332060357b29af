"""Tests of the models, tests and runs that `harvest dbt` reads from the artifacts of dbt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headwater.health.printing import health_mark
from headwater.plugins.impact.queries import impact_answer
from packages.headwater.tests.conftest import Call
from packages.headwater.tests.support.dbt_project import (
    SQL_ERROR,
    Harvest,
    Query,
    dbt_node,
    inputs_of,
    shop_project,
)


def test_ephemeral_models_are_replaced_with_their_sources(harvest: Harvest, query: Query) -> None:
    harvest(shop_project())
    assert inputs_of(query, "db.main.shop.daily") == {"db.main.orders", "db.main.fx"}
    assert inputs_of(query, "db.main.shop.orders") == {"db.main.raw"}
    names = {item["name"] for item in query("datasets")["items"]}
    assert not names & {"db.main.cte_a", "db.main.cte_b"}


def test_runs_that_dbt_ol_reported_are_not_stored_twice(
    harvest: Harvest, query: Query, call: Call, build: Any, tmp_path: Path
) -> None:
    database = str(tmp_path / "log.db")
    events = []
    root, orders = (f"01a222a3-0000-7000-8000-00000000000{number}" for number in (1, 2))
    for run, job in ((root, "dbt-run-shop"), (orders, "db.main.shop.orders.build.run")):
        facets = {"dbt_run": {"invocation_id": "invocation 1"}}
        event = build.run("COMPLETE", run, job, "08:00:00", kind="DBT/MODEL", facets=facets)
        events.append(json.dumps(event))
    reported = "\n".join(events).encode()
    call("ingest", "-", "--database", database, stdin=reported)
    harvest(shop_project(), "--namespace", "demo")

    def runs(job: str) -> set[str]:
        return {item["runId"] for item in query("runs", job=job)["items"]}

    assert runs("job:demo:db.main.shop.orders") == {orders}
    assert runs("dbt-run-shop") == {root}
    (daily,) = runs("job:demo:db.main.shop.daily")
    harvest(shop_project(), "--namespace", "demo", "--from-start")
    assert runs("job:demo:db.main.shop.daily") == {daily}
    assert runs("job:demo:db.main.shop.orders") == {orders}


def test_source_has_the_name_of_its_table(harvest: Harvest, query: Query) -> None:
    project = shop_project()
    project["source.shop.fx"]["identifier"] = "rates_v2"
    harvest(project)
    assert inputs_of(query, "db.main.shop.daily") == {"db.main.orders", "db.main.rates_v2"}


def test_column_of_a_seed_comes_from_the_column_of_its_file(harvest: Harvest, query: Query) -> None:
    harvest(shop_project())
    (target,) = query("columns", node="db.main.raw", field="id")["up"]["children"]
    (column,) = target["children"]
    assert (column["name"].rpartition("/")[2], column["field"]) == ("raw.sql", "id")


@pytest.mark.parametrize(
    ("test", "table"), [("not_null_raw", "raw"), ("unique_history", "history")]
)
def test_tests_of_seeds_and_snapshots_count(
    harvest: Harvest, query: Query, test: str, table: str
) -> None:
    harvest(shop_project(), **{test: "fail"})
    health = query("node", node=f"db.main.{table}")["health"]
    assert (health["state"], health["message"]) == ("failed_checks", f"failed {test}")


def test_seeds_and_tests_of_dbt_are_not_incomplete(harvest: Harvest, query: Query) -> None:
    harvest(shop_project())
    incomplete = query("completeness")["measures"].values()
    jobs = {item["subject"] for measure in incomplete for item in measure["findings"]}
    assert not [job for job in jobs if job.endswith((".seed", ".test"))]


def test_model_that_never_ran_has_a_stable_time(harvest: Harvest) -> None:
    """A model that failed before it ran has no timing."""
    assert "duplicates 0" in harvest(shop_project(), daily="error")
    assert "stored 0, duplicates" in harvest(shop_project(), "--from-start", daily="error")


def _tags(query: Query) -> set[tuple[str, str | None, str, str]]:
    return {
        (tag["name"].rpartition(".")[2], tag["field"], tag["key"], tag["value"])
        for tag in query("tags", limit=100)["items"]
        if tag["name"] == tag["from"]["name"] and tag["field"] == tag["from"]["field"]
    }


def test_tags_and_meta_of_tables_and_columns_reach_gates(harvest: Harvest, query: Query) -> None:
    harvest(shop_project())
    assert _tags(query) == {
        ("fx", None, "bank", "true"), ("orders", "EMAIL", "pii", "true"),
        ("orders", "EMAIL", "secret", "true"), ("daily", None, "tier", "1"),
        ("daily", None, "pii", "false"),
    }  # fmt: skip
    policy = json.dumps({"no_pii": True})
    for name, kinds in (("orders", ["no_pii"]), ("fx", [])):
        (answer,) = query("gate", dataset=[f"db.main.{name}"], policy=policy)["datasets"]
        assert [violation["kind"] for violation in answer["violations"]] == kinds

    nodes = shop_project()
    nodes["model.shop.orders"]["columns"] = {}
    harvest(nodes, day=2)
    assert {name for name, *_ in _tags(query)} == {"fx", "daily"}


def test_failed_models_and_tests_have_the_message_of_dbt(harvest: Harvest, query: Query) -> None:
    harvest(shop_project(), daily="error", unique_daily="fail")
    causes = {
        cause["subject"].rpartition(":")[2]: cause["message"]
        for finding in query("findings", kind="failed")["items"]
        for cause in finding.get("causes", [])
    }
    message = " ".join(SQL_ERROR.split())
    assert causes == {
        "db.main.shop.daily": f"failed: {message}",
        "db.main.shop.daily.test": f"failed: unique_daily: {message}",
    }


def test_dbt_build_and_other_commands_run_the_same_jobs(
    harvest: Harvest, query: Query, call: Call, tmp_path: Path
) -> None:
    nodes = {
        node: item for node, item in shop_project().items() if node.startswith(("model", "source"))
    }
    daily = dbt_node("model", "daily", ("model.shop.orders", "source.shop.old"))
    old = {"model.shop.daily": daily, "source.shop.old": dbt_node("source", "old")}
    harvest({**nodes, **old}, daily="error")
    harvest(nodes, day=2, command="run")
    log = ("--database", str(tmp_path / "log.db"))
    assert inputs_of(query, "db.main.shop.daily") == {"db.main.orders", "db.main.fx"}
    assert query("node", node="main.daily")["health"]["state"] == "healthy"
    jobs = {item["name"] for item in query("jobs", limit=100)["items"]}
    assert not [name for name in jobs if ".build" in name]
    for name in ("job:dbt:db.main.shop.daily.build.run", "shop.daily.build.run"):
        assert query("node", node=name)["name"] == "db.main.shop.daily"
    assert "db.main.shop.daily" in call("show", "shop.daily.build.run", *log).stdout


def test_model_that_was_skipped_before_its_first_build_is_blocked(
    harvest: Harvest, query: Query, call: Call, tmp_path: Path
) -> None:
    config = {"materialized": "table"}
    late = dbt_node("model", "late", ("model.shop.daily",), config=config)
    nodes = {**shop_project(), "model.shop.late": late}
    # After a failure, `dbt build --fail-fast` and `dbt retry` list ephemeral models as skipped.
    harvest(nodes, daily="error", late="skipped", unique_daily="skipped", cte_b="skipped")
    for name in ("main.late", "job:dbt:db.main.shop.late"):
        health = query("node", node=name)["health"]
        assert health["state"] == "blocked"
        assert "db.main.shop.daily failed" in health["message"]
    assert "db.main.late" in {
        item["name"] for item in query("impact", node="main.orders")["affected"]
    }
    assert "declaration" not in call("doctor", "--database", str(tmp_path / "log.db")).stdout
    harvest(nodes, day=2)
    assert query("node", node="main.late")["health"]["state"] == "healthy"


@pytest.mark.parametrize("schema", ["main", "dev"])
def test_model_that_left_its_project_is_unknown_until_it_runs_again(
    schema: str, harvest: Harvest, query: Query
) -> None:
    project = {
        node: shop_project()[node]
        for node in ("seed.shop.raw", "source.shop.fx", "model.shop.orders")
    }
    daily = dbt_node("model", "daily", ("model.shop.orders",))
    board = dbt_node("exposure", "board", ("model.shop.daily",), type="dashboard", owner={})
    whole = {**project, daily["unique_id"]: daily, board["unique_id"]: board}
    for day in (1, 2, 3):
        harvest(whole, day=day)
    harvest(whole, day=4, daily="error")
    names = ("job:dbt:db.main.shop.daily.build.run", "main.daily", "main.orders")

    def states() -> list[str]:
        return [query("node", node=name)["health"]["state"] for name in names]

    def removed_readers() -> list[str]:
        drop = query("impact", node="main.orders", field="EMAIL")["drop"]
        assert drop["verdict"] != "safe"
        return [r["message"] for r in drop["reasons"] if r["kind"] == "removed_reader"]

    assert states()[:2] == ["failed", "failed"]
    assert removed_readers() == []
    left = {node: {**found, "schema": schema} for node, found in project.items()}
    harvest(left, day=5)
    if schema == "dev":  # another target of the project has its own tables
        assert "removed" not in query("node", node="main.daily")["health"]["message"]
        return
    assert states()[:2] == ["unknown", "unknown"]
    health = query("node", node="main.daily")["health"]
    assert (health["message"], health["at"]) == (
        "was removed from the dbt project shop", "2026-11-05T08:00:00Z")  # fmt: skip
    found = {item["subject"] for item in query("findings")["items"]}
    assert not [subject for subject in found if "daily" in subject]
    (message,) = removed_readers()
    assert message.startswith("db.main.shop.daily")
    harvest(left, day=6)  # still without the model, which was removed on day 5
    other = {node: {**found, "schema": "dev"} for node, found in left.items()}
    harvest(other, day=7)
    assert query("node", node="main.daily")["health"]["at"] == "2026-11-05T08:00:00Z"
    (found,) = query("search", text="name:daily type:table")["items"]
    assert found["health"]["message"] == "was removed from the dbt project shop"
    assert str(health_mark(found["health"])) == "  was removed from the dbt project shop"
    harvest(whole, day=8)
    assert removed_readers() == []
    assert "removed" not in query("node", node="main.daily")["health"]["message"]
    harvest(left, day=9)
    assert query("node", node="main.daily")["health"]["at"] == "2026-11-09T08:00:00Z"


@pytest.mark.parametrize("schema", ["main", "dev"])
def test_test_that_left_its_project_fails_no_longer(
    schema: str, harvest: Harvest, query: Query
) -> None:
    harvest(shop_project())
    harvest(shop_project(), day=2, command="test", unique_daily="fail")

    def states() -> list[str]:
        names = "main.daily", "job:dbt:db.main.shop.daily.test", "dashboard"
        return [query("node", node=name)["health"]["state"] for name in names]

    failing = ["failed_checks", "failed", "failed_checks"]
    assert states() == failing
    left = {
        node: {**item, "schema": schema}
        for node, item in shop_project().items()
        if not node.startswith("test.")
    }
    harvest(left, day=3, command="run")
    if schema == "dev":  # the tables of another target keep their failures
        assert states()[:2] == failing[:2]
        return
    assert states() == ["healthy", "unknown", "unknown"]
    assert not query("findings", kind="failed")["items"]
    assert not query("findings", kind="quality")["items"]
    (answer,) = query("gate", dataset=["main.daily"])["datasets"]
    assert {item["kind"] for item in answer["violations"]} == {"no_pii"}


@pytest.mark.parametrize(
    ("kind", "config", "verdict"),
    [
        ("model", {"materialized": "incremental", "unique_key": ["ID"]}, "unsafe"),
        ("model", {"materialized": "table", "cluster_by": ["date(id)"]}, "unsafe"),
        ("model", {"materialized": "table", "cluster_by": ["id2"], "strategy": "id"}, "safe"),
        ("model", {"materialized": "incremental", "incremental_predicates": ["a.id>1"]}, "unsafe"),
        ("snapshot", {"materialized": "snapshot", "unique_key": "id"}, "unsafe"),
        ("snapshot", {"materialized": "snapshot", "check_cols": "all"}, "unsafe"),
        ("snapshot", {"materialized": "snapshot", "check_cols": ["a", "b"]}, "safe"),
        ("model", {"materialized": "table", "contract": {"enforced": True}}, "unsafe"),
    ],
)
def test_columns_in_the_configuration_of_a_model_are_used(
    kind: str, config: Any, verdict: str, harvest: Harvest, query: Query
) -> None:
    node = dbt_node(kind, "kept", ("seed.shop.raw",), config=config, columns={"id": {"name": "id"}})
    harvest({"seed.shop.raw": dbt_node("seed", "raw"), node["unique_id"]: node})
    drop = query("impact", node="db.main.kept", field="id")["drop"]
    assert drop["verdict"] == verdict, drop
    assert (drop["reasons"][0]["kind"] == "dbt_config") == (verdict == "unsafe")


@pytest.mark.parametrize(
    ("options", "verdict"),
    [
        ({"loaded_at_field": "ID"}, "unsafe"),
        ({"config": {"loaded_at_field": "id::timestamp"}}, "unsafe"),
        ({"config": {"loaded_at_query": "select max(id) from raw"}}, "unsafe"),
        ({"freshness": {"filter": "id > 1"}, "loaded_at_field": "at"}, "unsafe"),
        ({"loaded_at_field": "id2"}, "safe"),
    ],
)
def test_columns_that_dbt_source_freshness_reads_are_used(
    options: Any, verdict: str, harvest: Harvest, query: Query
) -> None:
    source = dbt_node("source", "kept", columns={"id": {"name": "id"}}, **options)
    text = "select name from db.main.kept"
    model = dbt_node("model", "copy", ("source.shop.kept",), compiled_code=text)
    harvest({"source.shop.kept": source, "model.shop.copy": model})
    drop = query("impact", node="db.main.kept", field="id")["drop"]
    assert drop["verdict"] == verdict, drop
    assert (drop["reasons"][0]["kind"] == "dbt_config") == (verdict == "unsafe")


@pytest.mark.parametrize(
    ("config", "verdict"),
    [
        ({"materialized": "table"}, "safe"),
        ({"materialized": "snapshot"}, "unknown"),
        ({"materialized": "incremental", "incremental": {"unique_key": ["no"]}}, "unknown"),
        ({"materialized": "incremental", "incremental": {"unique_key": ["id"]}}, "unsafe"),
        (None, "unknown"),
    ],
)
def test_configuration_that_dbt_ol_does_not_report_is_unknown(
    config: Any, verdict: str, build: Any
) -> None:
    event = build.run("COMPLETE", "1", "kept", "08:00:00", writes=("db|kept",))
    event["job"]["facets"]["jobType"] = {
        "integration": "DBT", "jobType": "MODEL", "processingType": "BATCH"
    }  # fmt: skip
    model = {"dbt_model": {"config": config}} if config else {}
    event["outputs"][0]["facets"] = {"schema": {"fields": [{"name": "id"}]}, **model}
    answer: Any = impact_answer(build.state(event), node="db:kept", field="id")
    assert answer["drop"]["verdict"] == verdict, answer["drop"]
    event["inputs"], event["outputs"] = event["outputs"], [build.dataset("db|other")]
    event["job"]["facets"]["sql"] = {"query": "create table other as select name from kept"}
    source: Any = impact_answer(build.state(event), node="db:kept", field="id")
    assert "no_dbt_config" in {reason["kind"] for reason in source["drop"]["reasons"]}


def test_runs_of_several_targets_under_one_name_are_a_finding(
    harvest: Harvest, query: Query
) -> None:
    harvest(shop_project())
    harvest(shop_project(), target="dev", day=2)
    (finding,) = query("findings", kind="branches")["items"]
    assert finding["subject"] == "job:dbt:dbt-run-shop"
    assert finding["message"] == "got runs of 2 environments (dev, prod) under one name"
    namespaces = {item["namespace"] for item in query("datasets")["items"]}
    assert {"postgres://shop:5432", "postgres://laptop:5432"} <= namespaces


@pytest.mark.parametrize(
    ("severity", "status", "state"),
    [
        ("warn", "warn", "healthy"),
        ("ERROR", "warn", "healthy"),  # by warn_if and error_if
        ("ERROR", "fail", "failed_checks"),
        ("warn", "error", "failed_checks"),  # the query of the test failed
        ("ERROR", "skipped", "healthy"),
    ],
)
def test_results_of_dbt_tests_decide_their_severity(
    harvest: Harvest, query: Query, severity: str, status: str, state: str
) -> None:
    nodes = shop_project()
    nodes["test.shop.unique_daily"]["config"]["severity"] = severity
    harvest(nodes, unique_daily=status)
    assert query("node", node="db.main.daily")["health"]["state"] == state
    failed = [item["kind"] for item in query("findings")["items"]]
    assert bool(failed) == (state != "healthy")
