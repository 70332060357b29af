"""`harvest datahub` and `harvest openmetadata` import what these catalogs export."""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from packages.headwater.tests.conftest import Answer, Call
from packages.headwater.tests.support.catalog_exports import (
    datahub_export,
    openmetadata_edge,
    openmetadata_export,
)

_DB = "postgres://db:5432"


@pytest.fixture
def harvest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call) -> Callable[..., Answer]:
    """Return a function that imports files into a log."""
    monkeypatch.setenv("HEADWATER_HARVESTS", str(tmp_path / "harvests"))
    log = str(tmp_path / "log.db")
    return lambda *arguments: call("harvest", *arguments, "--database", log, "--yes")


@pytest.fixture
def ask(tmp_path: Path, call: Call) -> Callable[..., Any]:
    """Return a function that queries the log."""

    def ask(*arguments: str) -> Any:
        answer = call(*arguments, "--database", str(tmp_path / "log.db"), "--json")
        assert answer.returncode == 0, answer.stderr
        return json.loads(answer.stdout)

    return ask


def _leaves(node: Any) -> set[str]:
    return {node["name"]}.union(*map(_leaves, node["children"]))


@pytest.mark.parametrize("legacy", [False, True])
def test_datahub_export_becomes_lineage(
    legacy: bool,
    tmp_path: Path,
    harvest: Callable[..., Answer],
    ask: Callable[..., Any],
    call: Call,
) -> None:
    path = datahub_export(tmp_path / "export.json", legacy=legacy)
    done = harvest("datahub", str(path), "--namespace", f"postgres={_DB}")
    assert done.returncode == 0, done.stderr
    board = ask("tree", "job:looker:board", "--up")["up"]
    above = {"shop.public.daily", "shop.public.orders", "orders.csv", "nightly.load"}
    assert _leaves(board) >= above
    shown = ask("show", f"dataset:{_DB}:shop.public.orders")
    assert shown["owners"] == ["ann"]
    daily = ask("columns", f"dataset:{_DB}:shop.public.daily")["up"]["children"]
    (who,) = daily
    assert [(leaf["name"], leaf["field"]) for leaf in who["children"]] == [
        ("shop.public.orders", "email")
    ]
    tagged = ask("tagged", "pii")
    assert "shop.public.daily" in json.dumps(tagged)
    (run,) = ask("runs", "job:airflow:nightly.load")["items"]
    assert (run["state"], run["startedAt"]) == ("COMPLETED", "2025-11-21T08:00:00Z")
    stored = call("export", "--database", str(tmp_path / "log.db")).stdout
    assert "Every order." in stored
    assert "Loads the orders." in stored
    assert "shop.public.gone" not in stored  # removed in DataHub
    again = harvest("datahub", str(path), "--namespace", f"postgres={_DB}")
    assert "stored 0, duplicates 0" in again.stdout


def test_datahub_export_of_a_real_dbt_project_has_all_its_edges_and_no_other(
    tmp_path: Path, harvest: Callable[..., Answer], ask: Callable[..., Any], call: Call
) -> None:
    """Recorded by `truth/recorders/datahub.py`; its lineage of tables is a patch."""
    recorded = Path(__file__).with_name("datahub_dbt_export.json.xz")
    path = tmp_path / "export.json"
    path.write_bytes(lzma.decompress(recorded.read_bytes()))
    done = harvest("datahub", str(path), "--namespace", "duckdb=duckdb:///shop.duckdb")
    assert done.returncode == 0, done.stderr
    log = str(tmp_path / "log.db")
    diagram = call("export", "--format", "graphviz", "--database", log).stdout
    names = dict(re.findall(r'(n\d+) \[label="([^"]+)"', diagram))
    edges = {(names[a], names[b]) for a, b in re.findall(r"(n\d+) -> (n\d+)", diagram)}
    raw, main = "shop.main_raw.raw", "shop.main"
    assert edges == {
        (f"{raw}_customers", f"{main}.stg_customers"),
        (f"{raw}_orders", f"{main}.stg_orders"),
        (f"{raw}_payments", f"{main}.stg_payments"),
        (f"{main}.stg_customers", f"{main}.customers"),
        (f"{main}.orders", f"{main}.customers"),
        (f"{main}.stg_orders", f"{main}.orders"),
        (f"{main}.stg_payments", f"{main}.orders"),
        (f"{main}.stg_orders", f"{main}.payments_inc"),
        (f"{main}.stg_payments", f"{main}.payments_inc"),
        (f"{main}.stg_orders", "shop.snapshots.orders_snapshot"),
        (f"{main}.customers", f"{main}.top_customers"),
        (f"{main}.fx_rates", f"{main}.daily_revenue"),
        (f"{main}.stg_payments", f"{main}.daily_revenue"),
        (f"{main}.stg_orders", f"{main}.daily_revenue"),  # through an ephemeral model
        (f"{main}.customers", "exposure.jaffle.weekly_dashboard"),
        (f"{main}.orders", "exposure.jaffle.weekly_dashboard"),
    }
    (revenue,) = ask("columns", "daily_revenue")["up"]["children"]
    sources = {(leaf["name"], leaf["field"]) for leaf in revenue["children"]}
    assert sources == {(f"{main}.fx_rates", "rate"), (f"{main}.stg_payments", "amount")}


def test_catalog_alone_does_not_make_a_drop_safe(
    tmp_path: Path, harvest: Callable[..., Answer], ask: Callable[..., Any]
) -> None:
    path = datahub_export(tmp_path / "export.json")
    text = path.read_text().replace('"upstreams": [\n', '"was": [\n')
    path.write_text(text)
    harvest("datahub", str(path), "--namespace", f"postgres={_DB}")
    drop = ask("impact", f"dataset:{_DB}:shop.public.daily", "who")["drop"]
    assert drop["verdict"] == "unknown"


def test_platforms_without_a_namespace_are_listed(
    tmp_path: Path, harvest: Callable[..., Answer], caplog: pytest.LogCaptureFixture
) -> None:
    path = datahub_export(tmp_path / "export.json")
    harvest("datahub", str(path))
    assert "No namespace for postgres:" in caplog.text
    assert "1 tag" in caplog.text
    caplog.clear()
    harvest("datahub", str(path), "--namespace", f"postgress={_DB}", "--from-start")
    assert "--namespace postgress has no effect: the catalog only has" in caplog.text
    assert "No namespace for postgres:" in caplog.text
    caplog.clear()
    harvest("datahub", str(path), "--namespace", f"postgres={_DB}", "--from-start")
    assert "has no effect" not in caplog.text
    wrong = harvest("datahub", str(path), "--namespace", "postgres")
    assert wrong.returncode == 2
    assert "received 'postgres', expected PLATFORM=NAMESPACE" in wrong.stderr


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ("x", "item 0: received 'x', expected an object"),
        ({"foo": 1}, "item 0: expected entityUrn, aspectName and aspect"),
        (("urn:li:dataset:broken", "upstreamLineage", {}), "received the URN 'urn:li:dataset:bro"),
        (
            ("urn:li:dataset:(urn:li:dataPlatform:hive,a,PROD)", "schemaMetadata", {"fields": "x"}),
            "schemaMetadata.fields: received 'x', expected a list",
        ),
    ],
)
def test_unreadable_proposals_of_datahub_are_ignored_with_a_warning(
    wrong: Any,
    problem: str,
    tmp_path: Path,
    harvest: Callable[..., Answer],
    caplog: pytest.LogCaptureFixture,
) -> None:
    path = datahub_export(tmp_path / "export.json")
    good = json.loads(path.read_text())
    if isinstance(wrong, tuple):
        keys = ("entityUrn", "aspectName", "aspect")
        wrong = dict(zip(keys, (*wrong[:2], {"json": wrong[2]}), strict=True))
    path.write_text(json.dumps([wrong, *good]))
    assert harvest("datahub", str(path), "--namespace", f"postgres={_DB}").returncode == 0
    assert f"ignored 1 of {len(good) + 1} proposals" in caplog.text
    assert problem in caplog.text


def test_openmetadata_export_becomes_lineage(
    tmp_path: Path, harvest: Callable[..., Answer], ask: Callable[..., Any]
) -> None:
    orders, daily, report = (f"warehouse.shop.public.{name}" for name in ("orders", "daily", "r"))
    pipeline = {"pipelineName": "nightly", "pipelineServiceName": "airflow"}
    path = openmetadata_export(
        tmp_path / "lineage.csv",
        openmetadata_edge(
            orders,
            daily,
            fromOwners="ann;ben",
            fromChildEntityFQN=f'{orders}."e.mail"',
            toChildEntityFQN=f"{daily}.who",
        ),
        openmetadata_edge(daily, report, pipelineServiceType="Airflow", **pipeline),
    )
    done = harvest("openmetadata", str(path), "--namespace", f"warehouse={_DB}")
    assert done.returncode == 0, done.stderr
    above = ask("tree", f"dataset:{_DB}:shop.public.r", "--up")["up"]
    assert _leaves(above) == {
        "shop.public.r", "nightly", "shop.public.daily", "shop.public.orders"
    }  # fmt: skip
    shown = ask("show", f"dataset:{_DB}:shop.public.orders")
    assert shown["owners"] == ["ann", "ben"]
    (who,) = ask("columns", f"dataset:{_DB}:shop.public.daily")["up"]["children"]
    assert [(leaf["name"], leaf["field"]) for leaf in who["children"]] == [
        ("shop.public.orders", "e.mail")
    ]
    assert (
        "stored 0" in harvest("openmetadata", str(path), "--namespace", f"warehouse={_DB}").stdout
    )


def test_other_files_are_rejected_with_the_expected_format(
    tmp_path: Path, harvest: Callable[..., Answer]
) -> None:
    (tmp_path / "other.csv").write_text("from,to\na,b\n")
    (tmp_path / "empty.json").write_text("[]")
    (tmp_path / "torn.json").write_text('[{"entityUrn"')
    other = harvest("openmetadata", str(tmp_path / "other.csv"))
    assert "received the columns from, to, but fromEntityFQN" in other.stderr
    row = {"fromEntityFQN": "a.b", "fromServiceName": "a", "toServiceName": "a"}
    missing = harvest("openmetadata", str(openmetadata_export(tmp_path / "missing.csv", row)))
    assert "missing.csv:2: expected values of" in missing.stderr
    empty = harvest("datahub", str(tmp_path / "empty.json"))
    assert "found no metadata change proposals" in empty.stderr
    assert "cannot be read" in harvest("datahub", str(tmp_path / "torn.json")).stderr
    assert "cannot be read" in harvest("datahub", str(tmp_path / "gone.json")).stderr
    aspect = {"entityUrn": "urn:li:tag:a", "aspectName": "x", "aspect": {"value": "{"}}
    (tmp_path / "value.json").write_text(json.dumps([aspect]))
    assert "cannot be read" in harvest("datahub", str(tmp_path / "value.json")).stderr
    assert {other.returncode, missing.returncode, empty.returncode} == {2}
