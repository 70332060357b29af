"""dbt: what `harvest dbt` reads in artifacts, and exposures in the events of dbt-ol."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from headwater.errors import ConfigError, NotFoundError
from headwater.graph.current import generations_of
from headwater.health.printing import health_mark
from headwater.lineage.queries import edges_answer
from headwater.log import EventLog
from headwater.plugins.harvest._dbt import Dbt
from headwater.plugins.impact.queries import impact_answer
from headwater.projection import State, project
from headwater.projection._apply import apply
from headwater.projection.live import Live
from headwater.query.registry import ask, load_queries
from headwater.redaction import DEFAULT
from packages.headwater.tests.conftest import Call

_NAMESPACE = "postgres://shop:5432"
_SCHEMAS = "https://schemas.getdbt.com/dbt"
_SQL_ERROR = 'Database Error in model daily\n  column "amount" does not exist'

_SUCCESS = ("success", "pass")  # of a table, of a test

Artifacts = dict[str, Any]
Harvest = Callable[..., str]
Query = Callable[..., Any]


def _node(kind: str, name: str, parents: tuple[str, ...] = (), **more: Any) -> Artifacts:
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


def _shop() -> Artifacts:
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
        _node("seed", "raw"),
        _node("source", "fx", tags=["bank"]),
        _node("model", "orders", ("seed.shop.raw",), columns={"email": email}),
        _node("model", "cte_a", ("model.shop.orders", "source.shop.fx"), **ephemeral),
        _node("model", "cte_b", ("model.shop.cte_a",), **ephemeral),
        _node("model", "daily", ("model.shop.cte_b",), meta={"tier": 1, "pii": False}),
        _node("test", "unique_daily", ("model.shop.daily", "source.shop.fx"), **test),
        _node("snapshot", "history", ("model.shop.daily",)),
        _node("test", "not_null_raw", (seed,), **{**test, "attached_node": seed}),
        _node("test", "unique_history", (snapshot,), **{**test, "attached_node": snapshot}),
        _node("metric", "revenue", ("model.shop.daily",)),
        _node(
            "exposure", "dashboard", ("metric.shop.revenue",),
            type="dashboard", url="https://bi.example.org/1", owner={"email": "cfo@example.org"},
        ),
    ]  # fmt: skip
    return {node["unique_id"]: node for node in nodes}


def _write(
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


@pytest.fixture
def harvest(tmp_path: Path, call: Call) -> Harvest:
    """Return a function that imports an invocation into a log; it returns the output."""

    def run(
        nodes: Artifacts,
        *more: str,
        command: str = "build",
        day: int = 1,
        target: str | None = None,
        code: int = 0,
        **statuses: str,
    ) -> str:
        ran = [node for node in nodes if node.startswith(("seed.", "model.", "snapshot.", "test."))]
        results = {
            node: (statuses.get(node.split(".")[2], _SUCCESS[node.startswith("test.")]), _SQL_ERROR)
            for node in ran
            if nodes[node]["config"].get("materialized") != "ephemeral"
            or node.split(".")[2] in statuses
        }
        _write(tmp_path / "shop", nodes, command, results, day=day, target=target)
        folder = str(tmp_path / "shop")
        options = ("--profiles-dir", folder, "--yes", "--database", str(tmp_path / "log.db"))
        done = call("harvest", "dbt", folder, *options, *more)
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    return run


@pytest.fixture
def query(tmp_path: Path) -> Iterator[Query]:
    """Return a function that queries the log."""
    logs: list[EventLog] = []

    def run(name: str, **parameters: Any) -> Any:
        logs.append(EventLog(f"sqlite:///{tmp_path / 'log.db'}"))
        return ask(Live(logs[-1]), load_queries()[name], parameters)

    yield run
    for log in logs:
        log.close()


def _inputs(query: Query, job: str) -> set[str]:
    rows = query("edges", level="task", limit=100)["items"]
    return {row["dataset"]["name"] for row in rows if row["job"]["name"] == job
            and row["direction"] == "reads"}  # fmt: skip


def test_ephemeral_models_are_replaced_with_their_sources(harvest: Harvest, query: Query) -> None:
    harvest(_shop())
    assert _inputs(query, "db.main.shop.daily") == {"db.main.orders", "db.main.fx"}
    assert _inputs(query, "db.main.shop.orders") == {"db.main.raw"}
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
    harvest(_shop(), "--namespace", "demo")

    def runs(job: str) -> set[str]:
        return {item["runId"] for item in query("runs", job=job)["items"]}

    assert runs("job:demo:db.main.shop.orders") == {orders}
    assert runs("dbt-run-shop") == {root}
    (daily,) = runs("job:demo:db.main.shop.daily")
    harvest(_shop(), "--namespace", "demo", "--from-start")
    assert runs("job:demo:db.main.shop.daily") == {daily}
    assert runs("job:demo:db.main.shop.orders") == {orders}


def test_source_has_the_name_of_its_table(harvest: Harvest, query: Query) -> None:
    project = _shop()
    project["source.shop.fx"]["identifier"] = "rates_v2"
    harvest(project)
    assert _inputs(query, "db.main.shop.daily") == {"db.main.orders", "db.main.rates_v2"}


def test_exposures_read_the_tables_behind_their_metrics(
    harvest: Harvest, query: Query, call: Call, tmp_path: Path
) -> None:
    harvest(_shop())
    assert "unused" not in call("doctor", "--database", str(tmp_path / "log.db")).stdout
    assert _inputs(query, "exposure.shop.dashboard") == {"db.main.daily"}
    affected = query("impact", node="db.main.orders")["affected"]
    (found,) = (node for node in affected if node["name"] == "exposure.shop.dashboard")
    assert found["owners"] == ["cfo@example.org"]
    assert query("search", text="dashboard")["items"][0]["name"] == "exposure.shop.dashboard"
    for name in ("dashboard", "exposure.shop.dashboard", "job:dbt:exposure.shop.dashboard"):
        with pytest.raises(NotFoundError, match="Use a dataset that it reads: db.main.daily"):
            query("gate", dataset=[name])
    links = query("node", node="dashboard")["links"]
    assert links == [{"name": "Dashboard", "url": "https://bi.example.org/1"}]


def test_import_replaces_the_exposures_that_dbt_ol_reported(
    harvest: Harvest, query: Query, call: Call, tmp_path: Path, build: Any
) -> None:
    event = _exposing(build, "08:00:00", f"{_NAMESPACE}|db.main.daily", "exposure.shop.dashboard")
    event["job"]["namespace"] = "dbt"
    (tmp_path / "dbt-ol.json").write_text(json.dumps(event))
    call("ingest", str(tmp_path / "dbt-ol.json"), "--database", str(tmp_path / "log.db"))
    assert _inputs(query, "exposure.shop.dashboard") == {"db.main.daily"}
    nodes = _shop()
    nodes["exposure.shop.dashboard"]["parents"] = ("model.shop.orders",)
    harvest(nodes, day=30)
    assert _inputs(query, "exposure.shop.dashboard") == {"db.main.orders"}


@pytest.mark.parametrize(("schema", "is_kept"), [("main", False), ("other", True)])
def test_import_removes_deleted_models_from_exposures_that_dbt_ol_reported(
    schema: str, is_kept: bool, harvest: Harvest, query: Query, call: Call, tmp_path: Path,
    build: Any,
) -> None:  # fmt: skip
    """A model in a schema that the import does not have may belong to another environment."""
    dataset = f"db.{schema}.deleted"
    event = _exposing(build, "08:00:00", f"{_NAMESPACE}|{dataset}", "exposure.shop.dashboard")
    event["job"]["namespace"] = "dbt"
    (tmp_path / "dbt-ol.json").write_text(json.dumps(event))
    call("ingest", str(tmp_path / "dbt-ol.json"), "--database", str(tmp_path / "log.db"))
    harvest(_shop(), day=30)
    kept = {dataset} if is_kept else set()
    assert _inputs(query, "exposure.shop.dashboard") == {"db.main.daily", *kept}


def test_column_of_a_seed_comes_from_the_column_of_its_file(harvest: Harvest, query: Query) -> None:
    harvest(_shop())
    (target,) = query("columns", node="db.main.raw", field="id")["up"]["children"]
    (column,) = target["children"]
    assert (column["name"].rpartition("/")[2], column["field"]) == ("raw.sql", "id")


@pytest.mark.parametrize(
    ("test", "table"), [("not_null_raw", "raw"), ("unique_history", "history")]
)
def test_tests_of_seeds_and_snapshots_count(
    harvest: Harvest, query: Query, test: str, table: str
) -> None:
    harvest(_shop(), **{test: "fail"})
    health = query("node", node=f"db.main.{table}")["health"]
    assert (health["state"], health["message"]) == ("failed_checks", f"failed {test}")


def test_seeds_and_tests_of_dbt_are_not_incomplete(harvest: Harvest, query: Query) -> None:
    harvest(_shop())
    incomplete = query("completeness")["measures"].values()
    jobs = {item["subject"] for measure in incomplete for item in measure["findings"]}
    assert not [job for job in jobs if job.endswith((".seed", ".test"))]


def test_model_that_never_ran_has_a_stable_time(harvest: Harvest) -> None:
    """A model that failed before it ran has no timing."""
    assert "duplicates 0" in harvest(_shop(), daily="error")
    assert "stored 0, duplicates" in harvest(_shop(), "--from-start", daily="error")


def _tags(query: Query) -> set[tuple[str, str | None, str, str]]:
    return {
        (tag["name"].rpartition(".")[2], tag["field"], tag["key"], tag["value"])
        for tag in query("tags", limit=100)["items"]
        if tag["name"] == tag["from"]["name"] and tag["field"] == tag["from"]["field"]
    }


def test_tags_and_meta_of_tables_and_columns_reach_gates(harvest: Harvest, query: Query) -> None:
    harvest(_shop())
    assert _tags(query) == {
        ("fx", None, "bank", "true"), ("orders", "EMAIL", "pii", "true"),
        ("orders", "EMAIL", "secret", "true"), ("daily", None, "tier", "1"),
        ("daily", None, "pii", "false"),
    }  # fmt: skip
    policy = json.dumps({"no_pii": True})
    for name, kinds in (("orders", ["no_pii"]), ("fx", [])):
        (answer,) = query("gate", dataset=[f"db.main.{name}"], policy=policy)["datasets"]
        assert [violation["kind"] for violation in answer["violations"]] == kinds

    nodes = _shop()
    nodes["model.shop.orders"]["columns"] = {}
    harvest(nodes, day=2)
    assert {name for name, *_ in _tags(query)} == {"fx", "daily"}


def test_failed_models_and_tests_have_the_message_of_dbt(harvest: Harvest, query: Query) -> None:
    harvest(_shop(), daily="error", unique_daily="fail")
    causes = {
        cause["subject"].rpartition(":")[2]: cause["message"]
        for finding in query("findings", kind="failed")["items"]
        for cause in finding.get("causes", [])
    }
    message = " ".join(_SQL_ERROR.split())
    assert causes == {
        "db.main.shop.daily": f"failed: {message}",
        "db.main.shop.daily.test": f"failed: unique_daily: {message}",
    }


def test_dbt_build_and_other_commands_run_the_same_jobs(
    harvest: Harvest, query: Query, call: Call, tmp_path: Path
) -> None:
    nodes = {node: item for node, item in _shop().items() if node.startswith(("model", "source"))}
    daily = _node("model", "daily", ("model.shop.orders", "source.shop.old"))
    old = {"model.shop.daily": daily, "source.shop.old": _node("source", "old")}
    harvest({**nodes, **old}, daily="error")
    harvest(nodes, day=2, command="run")
    log = ("--database", str(tmp_path / "log.db"))
    assert _inputs(query, "db.main.shop.daily") == {"db.main.orders", "db.main.fx"}
    assert query("node", node="main.daily")["health"]["state"] == "healthy"
    jobs = {item["name"] for item in query("jobs", limit=100)["items"]}
    assert not [name for name in jobs if ".build" in name]
    for name in ("job:dbt:db.main.shop.daily.build.run", "shop.daily.build.run"):
        assert query("node", node=name)["name"] == "db.main.shop.daily"
    assert "db.main.shop.daily" in call("show", "shop.daily.build.run", *log).stdout


def test_exposure_of_a_failed_model_is_blocked(harvest: Harvest, query: Query) -> None:
    harvest(_shop())
    assert query("node", node="dashboard")["health"]["state"] == "unknown"
    harvest(_shop(), day=2, orders="error", daily="skipped", unique_daily="skipped")
    health = query("node", node="dashboard")["health"]
    text = "shows data from before db.main.shop.orders failed"
    assert (health["state"], health["message"]) == ("blocked", text)
    harvest(_shop(), day=3)
    assert query("node", node="dashboard")["health"]["state"] == "unknown"
    harvest(_shop(), day=4, unique_daily="fail")
    health = query("node", node="dashboard")["health"]
    text = "shows data of db.main.daily that failed its check unique_daily"
    assert (health["state"], health["message"]) == ("failed_checks", text)


def test_model_that_was_skipped_before_its_first_build_is_blocked(
    harvest: Harvest, query: Query, call: Call, tmp_path: Path
) -> None:
    config = {"materialized": "table"}
    late = _node("model", "late", ("model.shop.daily",), config=config)
    nodes = {**_shop(), "model.shop.late": late}
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
        node: _shop()[node] for node in ("seed.shop.raw", "source.shop.fx", "model.shop.orders")
    }
    daily = _node("model", "daily", ("model.shop.orders",))
    board = _node("exposure", "board", ("model.shop.daily",), type="dashboard", owner={})
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
    harvest(_shop())
    harvest(_shop(), day=2, command="test", unique_daily="fail")

    def states() -> list[str]:
        names = "main.daily", "job:dbt:db.main.shop.daily.test", "dashboard"
        return [query("node", node=name)["health"]["state"] for name in names]

    failing = ["failed_checks", "failed", "failed_checks"]
    assert states() == failing
    left = {
        node: {**item, "schema": schema}
        for node, item in _shop().items()
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
    node = _node(kind, "kept", ("seed.shop.raw",), config=config, columns={"id": {"name": "id"}})
    harvest({"seed.shop.raw": _node("seed", "raw"), node["unique_id"]: node})
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
    source = _node("source", "kept", columns={"id": {"name": "id"}}, **options)
    text = "select name from db.main.kept"
    model = _node("model", "copy", ("source.shop.kept",), compiled_code=text)
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
    harvest(_shop())
    harvest(_shop(), target="dev", day=2)
    (finding,) = query("findings", kind="branches")["items"]
    assert finding["subject"] == "job:dbt:dbt-run-shop"
    assert finding["message"] == "got runs of 2 environments (dev, prod) under one name"
    namespaces = {item["namespace"] for item in query("datasets")["items"]}
    assert {"postgres://shop:5432", "postgres://laptop:5432"} <= namespaces


@pytest.mark.parametrize(("command", "name"), [("generate", "docs generate"), ("list", "list")])
def test_results_of_commands_that_run_nothing_are_refused(
    harvest: Harvest, command: str, name: str
) -> None:
    output = harvest(_shop(), command=command, code=1)
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
    _write(tmp_path, _shop(), "build", ran, day=1, target=None)
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
    _write(shop, _shop(), "build", {"model.shop.daily": ("success", "")}, day=1, target=None)
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
    _write(shop, _shop(), "build", {"model.shop.daily": ("success", "")}, day=1, target=None)
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


def _exposing(build: Any, time: str, dataset: str, *exposures: str) -> dict[str, Any]:
    """Return an event of a model whose output feeds exposures, as dbt-ol sends it."""
    event: dict[str, Any] = build.run("COMPLETE", time, f"model of {dataset}", time, writes=(
        dataset,))  # fmt: skip
    listed = [{"unique_id": name, "name": name, "type": "dashboard"} for name in exposures]
    event["outputs"][0]["facets"]["dbt_exposures"] = {"exposures": listed}
    return event


def _reads(state: State) -> set[tuple[str, str]]:
    return {
        (row["job"]["name"], row["dataset"]["name"])
        for row in edges_answer(state, "task")["items"]
        if row["direction"] == "reads"
    }


def test_exposures_of_dbt_ol_read_the_datasets_that_name_them(build: Any) -> None:
    bodies = [
        _exposing(build, "08:00:00", "db|a", "board", "report"),
        _exposing(build, "09:00:00", "db|a", "board"),
        _exposing(build, "08:30:00", "db|b", "board"),
    ]
    events = [build.entry(body).event for body in bodies]
    for order in permutations(events):
        state = State()
        for event in order:
            apply(state, event)
            generations_of(state)  # builds the caches that the next event must update
            assert _reads(state) == _reads(project(order[: order.index(event) + 1]))
        assert _reads(state) == {("board", "a"), ("board", "b")}


def test_column_of_a_table_behind_an_exposure_is_never_safe(build: Any) -> None:
    event = _exposing(build, "08:00:00", "db|a", "board")
    event["outputs"][0]["facets"]["schema"] = {"fields": [{"name": "total", "type": "int"}]}
    drop = impact_answer(build.state(event), "a", field="total")["drop"]
    assert drop["verdict"] == "unknown"
    assert drop["reasons"][0]["message"].endswith("reported no column lineage: board.")


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
    nodes = _shop()
    nodes["test.shop.unique_daily"]["config"]["severity"] = severity
    harvest(nodes, unique_daily=status)
    assert query("node", node="db.main.daily")["health"]["state"] == state
    failed = [item["kind"] for item in query("findings")["items"]]
    assert bool(failed) == (state != "healthy")


@pytest.mark.parametrize(("has_text", "reads"), [(True, {"raw.a"}), (False, {"raw.a", "main.a"})])
def test_ephemeral_model_of_dbt_ol_is_no_table(build: Any, has_text: bool, reads: Any) -> None:
    """Without a text that contains its query, it may be the only source."""
    event = build.run("COMPLETE", "1", "daily", "08:00:00", reads=("postgres://h:5432|raw.a",),
                      writes=("postgres://h:5432|main.b",))  # fmt: skip
    config = {"config": {"materialized": "ephemeral"}}
    event["inputs"].append(build.dataset("postgres://h:5432|main.a", dbt_model=config))
    text = "with __dbt__cte__a as (select x from raw.a) select x from __dbt__cte__a"
    event["job"]["facets"] = {"sql": {"query": text}} if has_text else {}
    assert {dataset for _, dataset in _reads(build.state(event))} == reads
