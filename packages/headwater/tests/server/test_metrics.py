"""/metrics, and the dashboard and alert rules that use it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

from headwater.collect.spool import SpoolTail
from headwater.keys.store import add_key
from headwater.plugins.delivery._store import Deliveries
from headwater.projection.live import Batch, Live
from headwater.server._counts import NodeStates
from headwater.server.app import make_app

_MONITORING = Path(__file__).resolve().parents[2] / "examples" / "monitoring"
_NAME = re.compile(r"\b(?:headwater|process)_\w+")
_OF_PROMETHEUS = {"up", "job", "instance", "le"}

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


@pytest.fixture
def client(live: Live, tmp_path: Path) -> Iterator[TestClient]:
    Deliveries(live.log, "marquez").cursor()
    app = make_app(live, tail=SpoolTail(live, tmp_path / "spool"))
    with TestClient(app, base_url="http://localhost:9002") as client:
        yield client


def _samples(client: TestClient) -> Samples:
    response = client.get("/metrics")
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/plain")
    families = text_string_to_metric_families(response.text)
    return {(s.name, frozenset(s.labels.items())): s.value for f in families for s in f.samples}


def _value(samples: Samples, name: str, **labels: str) -> float:
    return samples[f"headwater_{name}", frozenset(labels.items())]


def _of_requests(samples: Samples, method: str, route: str, status: str, what: str) -> float:
    name = f"http_request_duration_seconds_{what}"
    return _value(samples, name, method=method, route=route, status=status)


def test_events_are_counted_by_result(client: TestClient, build: Any) -> None:
    event = build.run("COMPLETE", "r", "load", "08:00:00", writes=("db|t",))
    bodies: list[Any] = [event, event, [event, {"eventTime": 1}], {}]
    for body in bodies:
        client.post("/api/v1/lineage", json=body)
    samples = _samples(client)
    assert _value(samples, "events_total", result="stored") == 1
    assert _value(samples, "events_total", result="duplicate") == 2
    assert _value(samples, "rejected_events_total", source="http") == 2
    assert _value(samples, "nodes", kind="runs") == 1
    assert _value(samples, "nodes", kind="jobs", state="healthy") == 1
    assert _value(samples, "nodes", kind="datasets", state="failed") == 0
    assert _value(samples, "projection_newest_event_timestamp_seconds") > 1.7e9
    assert _value(samples, "delivery_backlog_events", backend="marquez") == 1
    assert _value(samples, "delivery_dead_letters", backend="marquez") == 0


def test_counting_states_takes_a_twentieth_of_the_time(live: Live, build: Any) -> None:
    clock = iter([0.0, 0.0, 1.0, 1.0, 20.9, 21.0, 21.0, 22.0, 22.0])
    states = NodeStates(clock=lambda: next(clock))

    def failed() -> int | None:
        counts = states.counts(live)
        return counts["job", "failed"] if counts else None

    found = [failed()]
    live.ingest(Batch([build.entry(build.run("FAIL", "r", "load", "08:00:00"))]))
    found += [failed(), failed()]
    assert found == [None, None, 1]


def test_dead_letters_and_failures_are_reported_by_backend(
    client: TestClient, live: Live, build: Any
) -> None:
    client.post("/api/v1/lineage", json=build.run("START", "r", "load", "08:00:00"))
    Deliveries(live.log, "marquez").advance(live.newest, "it is invalid")
    Deliveries(live.log, "datahub").cursor()
    Deliveries(live.log, "datahub").fail("no route")
    samples = _samples(client)
    assert _value(samples, "delivery_dead_letters", backend="marquez") == 1
    assert _value(samples, "delivery_backlog_events", backend="marquez") == 0
    assert _value(samples, "delivery_failing", backend="marquez") == 0
    assert _value(samples, "delivery_failing", backend="datahub") == 1


def test_spool_lag_and_rejected_lines_are_counted(live: Live, tmp_path: Path) -> None:
    tail = SpoolTail(live, tmp_path)
    client = TestClient(make_app(live, tail=tail), base_url="http://localhost:9002")
    (tmp_path / "a.jsonl").write_text("no event\n")
    assert _value(_samples(client), "spool_lag_bytes") == 9
    tail.poll()
    samples = _samples(client)
    assert _value(samples, "spool_lag_bytes") == 0
    assert _value(samples, "rejected_events_total", source="spool") == 1


def test_projection_lag_counts_events_of_other_processes(
    client: TestClient, live: Live, build: Any
) -> None:
    live.log.append([build.entry(build.run("START", "r", "load", "08:00:00"))])
    assert _value(_samples(client), "projection_lag_events") == 1
    live.follow()
    assert _value(_samples(client), "projection_lag_events") == 0


def test_requests_are_counted_by_route_and_status(client: TestClient) -> None:
    for path in ("/api/v1/namespaces/a/jobs", "/api/v1/namespaces/b%2Fc/jobs", "/nothing/here"):
        client.get(path)
    client.get("/api/v2/tree", params={"node": "nothing"})
    samples = _samples(client)
    jobs = "GET", "/api/v1/namespaces/{namespace}/jobs", "200"
    assert _of_requests(samples, *jobs, what="count") == 2
    assert _of_requests(samples, "GET", "other", "404", "count") == 1
    assert _of_requests(samples, "GET", "/api/v2/tree", "404", "count") == 1
    assert _of_requests(samples, *jobs, what="sum") > 0
    assert _of_requests(_samples(client), "GET", "/metrics", "200", "count") == 1
    buckets = [
        value
        for (name, labels), value in samples.items()
        if name.endswith("_bucket") and ("route", jobs[1]) in labels
    ]
    assert buckets == sorted(buckets)
    assert buckets[-1] == 2


def test_metrics_report_a_missing_database(client: TestClient, live: Live) -> None:
    assert _value(_samples(client), "log_up") == 1
    with live.log.writing() as connection:
        connection.exec_driver_sql("DROP TABLE events")
    samples = _samples(client)
    assert _value(samples, "log_up") == 0
    assert _value(samples, "events_total", result="stored") == 0


def test_metrics_need_the_scope_of_other_reads(client: TestClient, live: Live) -> None:
    reading, writing = (add_key(live.log, scope, [scope]) for scope in ("read", "write"))
    statuses = [
        client.get("/metrics", headers={"Authorization": f"Bearer {key}"}).status_code
        for key in ("wrong", writing, reading)
    ]
    assert statuses == [401, 403, 200]
    assert _of_requests(
        dict(_read(client, reading)), "GET", "other", "401", "count"
    ) == 1  # fmt: skip


def _read(client: TestClient, key: str) -> Iterator[Any]:
    response = client.get("/metrics", headers={"Authorization": f"Bearer {key}"})
    for family in text_string_to_metric_families(response.text):
        yield from (((s.name, frozenset(s.labels.items())), s.value) for s in family.samples)


def _expressions() -> dict[str, str]:
    dashboard = json.loads((_MONITORING / "grafana-dashboard.json").read_text())
    found = {p["title"]: t["expr"] for p in dashboard["panels"] for t in p["targets"]}
    found["variables"] = " ".join(v["query"] for v in dashboard["templating"]["list"])
    for group in yaml.safe_load((_MONITORING / "alert-rules.yaml").read_text())["groups"]:
        found |= {rule["alert"]: rule["expr"] for rule in group["rules"]}
    return found


def test_examples_use_existing_metrics_and_labels(client: TestClient) -> None:
    client.get("/healthz")
    samples = _samples(client)
    names = {name for name, _ in samples}
    labels = {label for _, pairs in samples for label, _ in pairs} | _OF_PROMETHEUS
    for title, expression in _expressions().items():
        assert set(_NAME.findall(expression)) <= names, title
        assert expression.count("(") == expression.count(")"), title
        listed = re.findall(r"by \(([^)]*)\)", expression)
        used = {label.strip() for part in listed for label in part.split(",")}
        used |= set(re.findall(r"(\w+)=~?\"", expression))
        assert used <= labels, title


def test_every_metric_is_on_the_dashboard(client: TestClient) -> None:
    used = " ".join(_expressions().values())
    names = {name for name, _ in _samples(client) if name.startswith("headwater_")}
    unused = {name for name in names if name not in used}
    assert unused <= {"headwater_http_request_duration_seconds_sum"}


def test_alert_rules_have_what_prometheus_requires() -> None:
    for group in yaml.safe_load((_MONITORING / "alert-rules.yaml").read_text())["groups"]:
        assert set(group) == {"name", "rules"}
        names = [rule["alert"] for rule in group["rules"]]
        assert len(set(names)) == len(names)
        for rule in group["rules"]:
            assert set(rule) - {"for"} == {"alert", "expr", "labels", "annotations"}
            assert re.fullmatch(r"\d+[smhd]", rule.get("for", "1m"))
            assert set(rule["annotations"]) == {"summary", "description"}


def test_scrape_configuration_reads_the_rules() -> None:
    config = yaml.safe_load((_MONITORING / "prometheus.yaml").read_text())
    (scrape,) = config["scrape_configs"]
    assert scrape["metrics_path"] == "/metrics"
    assert all((_MONITORING / name).is_file() for name in config["rule_files"])
