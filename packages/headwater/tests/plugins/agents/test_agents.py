"""The answers of the tools for agents."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import pytest

from headwater.errors import ConfigError
from headwater.plugins.agents._reply import MOST_CHARACTERS
from headwater.plugins.agents.tools import call as call_tool
from headwater.projection.live import Batch, Live

from .mcp_client import FORECAST, ask_tool, context_of


@pytest.mark.parametrize(
    ("tool", "arguments", "status"),
    [
        ("upstream", {"node": "end"}, "found"),
        ("upstream", {"node": "missing"}, "unknown"),
        ("upstream", {"node": "twin"}, "ambiguous"),
        ("upstream", {"node": "raw"}, "not_reported"),
        ("upstream", {"node": "lone"}, "not_reported"),
        ("upstream", {"node": "dump"}, "not_reported"),
        ("downstream", {"node": "raw"}, "found"),
        ("downstream", {"node": "end"}, "none"),
        ("downstream", {"node": "lone"}, "not_reported"),
        ("downstream", {"node": "in/part"}, "found"),
        ("columns", {"node": "end"}, "not_reported"),
        ("columns", {"node": "end", "column": "missing"}, "unknown"),
        ("path", {"start": "raw", "end": "end"}, "found"),
        ("path", {"start": "raw", "end": "dumped"}, "none"),
        ("why", {"start": "raw", "end": "dumped"}, "none"),
        ("path", {"start": "raw", "end": "lone"}, "not_reported"),
        ("provenance", {"node": "end"}, "found"),
        ("provenance", {"node": "raw"}, "not_reported"),
        ("version", {"version": "table@r1"}, "found"),
        ("version", {"version": "table@r2"}, "unknown"),
        ("incident", {"subject": "table@r1"}, "found"),
        ("incident", {"subject": "table"}, "unknown"),
        ("compare", {"since": "2025-11-21T08:30:00Z"}, "found"),
        ("compare", {"since": "2025-11-22T08:30:00Z"}, "none"),
        ("find", {"text": "report"}, "found"),
        ("find", {"text": "qqqqqq"}, "unknown"),
        ("problems", {"node": "lone"}, "not_reported"),
        ("unused", {"days": 1}, "found"),
        ("unused", {"text": "raw"}, "none"),
        ("recalls", {}, "none"),
        ("recalls", {"node": "raw"}, "not_reported"),
        ("recalls", {"node": "missing"}, "unknown"),
        ("tags", {}, "not_reported"),
        ("tags", {"tag": "pii"}, "not_reported"),
        ("tags", {"node": "missing"}, "unknown"),
        ("map", {}, "found"),
        ("map", {"path": ["missing"]}, "unknown"),
    ],
)
def test_status_distinguishes_unknown_from_none(
    tool: str, arguments: dict[str, str], status: str, small: Live
) -> None:
    answer = ask_tool(small, tool, **arguments)
    assert answer["status"] == status
    if status == "not_reported" and "completeness" in answer:
        assert not answer["completeness"]["isComplete"]


def test_path_notes_the_reversed_direction(small: Live) -> None:
    assert "from `end` to `start`" in ask_tool(small, "path", start="end", end="raw")["note"]
    assert not ask_tool(small, "path", start="raw", end="end").get("note")


def test_control_dependencies_are_marked_and_only_followed_on_request(
    live: Live, build: Any
) -> None:
    load = build.run("COMPLETE", "r1", "load", "08:00:00", reads=("db|raw",), writes=("db|a",))
    report = build.run("COMPLETE", "r2", "report", "08:10:00", reads=("db|raw",), writes=("db|b",))
    facet = {"upstream": [{"job": {"namespace": "demo", "name": "load"}}]}
    report["run"]["facets"]["jobDependencies"] = facet
    live.ingest(Batch([build.entry(load), build.entry(report)]))
    path = ask_tool(live, "path", start="a", end="b", control=True)
    assert path["status"] == "none"  # `a` is written by the job that `report` waits for
    path = ask_tool(live, "path", start="load", end="b", control=True)
    assert path["byControl"] == ["job:demo:report"]
    assert ask_tool(live, "path", start="load", end="b")["status"] == "none"
    items = ask_tool(live, "upstream", node="b", control=True)["upstream"]
    only = {item["id"]: item.get("isControlOnly", False) for item in items}
    assert only == {"job:demo:report": False, "job:demo:load": True, "dataset:db:raw": False}
    assert len(ask_tool(live, "upstream", node="b")["upstream"]) == 2


def test_checking_job_has_no_outputs(live: Live, build: Any) -> None:
    event = build.run("COMPLETE", "r1", "check", "08:00:00", reads=("db|raw",))
    assertion = {"assertion": "not_null", "success": True}
    event["inputs"][0]["inputFacets"] = {"dataQualityAssertions": {"assertions": [assertion]}}
    other = build.run("COMPLETE", "r2", "read", "08:00:00", reads=("db|raw",))
    live.ingest(Batch([build.entry(event), build.entry(other)]))
    assert ask_tool(live, "downstream", node="check")["status"] == "none"
    assert ask_tool(live, "downstream", node="read")["status"] == "not_reported"


def test_answer_has_moment_ids_page_and_gaps(taxi: Live) -> None:
    context = context_of(taxi, "http://server")
    time = "2026-11-15T00:00:00Z"
    answer = json.loads(
        call_tool("upstream", {"node": "yellow_rides_hourly_forecast", "as_of": time}, context)
    )
    assert answer["at"] == time
    assert answer["node"] == FORECAST
    assert answer["upstream"][0] == {
        "id": "job:nyc_taxi:TrainForecastModelFlow.write_forecasts_to_table",
        "steps": 1,
    }
    assert answer["page"].startswith("http://server/lineage?node=dataset%3Ahive")
    assert answer["completeness"] == {"isComplete": True}
    gate = ask_tool(taxi, "provenance", node=FORECAST)["gate"]
    assert gate["violations"][0]["kind"] == "quality_passed"


def test_column_with_unknown_use_is_not_reported(live: Live, build: Any) -> None:
    schema = {"fields": [{"name": "id"}, {"name": "note"}]}
    source = {"namespace": "db", "name": "raw", "field": "id"}
    event = build.run("COMPLETE", "r1", "copy", "08:00:00")
    event["inputs"] = [build.dataset("db|raw", schema=schema)]
    columns = {"fields": {"id": {"inputFields": [source]}}}
    event["outputs"] = [build.dataset("db|out", columnLineage=columns)]
    live.ingest(Batch([build.entry(event)]))
    answer = ask_tool(live, "downstream", node="raw", column="note")
    reason = "⟪1 job reads the dataset, and only its use of values is known: copy.⟫"
    assert (answer["drop"], answer["status"], answer["note"]) == ("unknown", "not_reported", reason)
    assert not answer["completeness"]["isComplete"]
    assert answer["completeness"]["gaps"][0] == reason


def test_columns_lists_inputs_and_their_gaps(taxi: Live) -> None:
    answer = ask_tool(taxi, "columns", node="yellow_rides_hourly_actuals", column="rides")
    assert {item["steps"] for item in answer["columns"]} >= {1}
    assert all(item["id"].startswith("dataset:") for item in answer["columns"])
    unreported = ask_tool(taxi, "columns", node=FORECAST, column="rides_forecast")
    assert (unreported["status"], unreported["completeness"]["isComplete"]) == (
        "not_reported",
        False,
    )


def test_find_reports_sql_that_was_not_read(
    live: Live, build: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = build.run(
        "COMPLETE", "1", "load", "08:00:00", reads=("postgres://h:5432|shop.public.o",)
    )
    event["job"]["facets"]["sql"] = {"query": "SELECT gross FROM o"}
    live.ingest(Batch([build.entry(event)]))
    monkeypatch.setattr("headwater.plugins.search._columns._SECONDS", 0.0)
    answer = ask_tool(live, "find", text="margin")
    assert (answer["status"], answer["note"][:19]) == ("unknown", "The SQL of 1 job wa")


def test_long_answer_is_cut_and_marked(live: Live, build: Any) -> None:
    reads = tuple(f"db|{'x' * 60}{number}" for number in range(300))
    live.ingest(
        Batch(
            [
                build.entry(
                    build.run("COMPLETE", "r", "j", "08:00:00", reads=reads, writes=("db|t",))
                )
            ]
        )
    )
    text = call_tool("upstream", {"node": "t"}, context_of(live))
    answer = json.loads(text)
    assert len(text) <= MOST_CHARACTERS
    assert len(answer["upstream"]) + answer["omitted"]["upstream"] == 301


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("drop", {}, "tool: received 'drop', expected one of find, upstream"),
        ("upstream", {}, "node: received nothing"),
        ("upstream", {"node": ""}, "node: received ''"),
        ("upstream", {"node": "x", "depth": 1_000}, "depth: received 1000"),
        ("upstream", {"node": "x", "sql": "DROP"}, "sql: received 'DROP'"),
        ("upstream", {"node": "x", "as_of": "noon"}, "asOf: received 'noon'"),
        ("compare", {"since": "noon"}, "since: received 'noon'"),
        ("find", {"text": "x" * 2_000}, "text: received 'xxx"),
    ],
)
def test_invalid_arguments_are_described(
    tool: str, arguments: dict[str, object], message: str, small: Live
) -> None:
    with pytest.raises(ConfigError) as caught:
        call_tool(tool, arguments, context_of(small))
    assert str(caught.value).startswith(message)


def test_links_select_the_same_column_and_moment_on_the_page(taxi: Live) -> None:
    time = "2026-11-18T00:00:00Z"
    arguments = {"node": "yellow_taxi_raw", "column": "fare_amount", "as_of": time}
    page = json.loads(call_tool("downstream", arguments, context_of(taxi, "http://server")))["page"]
    assert page == "http://server/impact?" + urlencode(
        {
            "node": "dataset:hive://lake:9083:nyc_taxi.yellow_taxi_raw",
            "column": "fare_amount",
            "at": time,
        }
    )
