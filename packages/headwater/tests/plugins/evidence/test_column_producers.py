"""Jobs that write a column, with their inputs, queries and code."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.errors import NotFoundError
from headwater.plugins.evidence.queries import column_answer
from headwater.plugins.impact.queries import impact_answer
from packages.headwater.tests.support.columns import FILTER, IDENTITY, SUM, derive

_CODE = {"repoUrl": "https://git.example.org/shop", "path": "sum.py", "version": "0a1b2c3"}
_MASKED = {"type": "DIRECT", "subtype": "TRANSFORMATION", "masking": True}


def _events(build: Any) -> list[dict[str, Any]]:
    """Return events of a task with code and a query, and of a job without column lineage."""
    task = build.run("COMPLETE", "t", "dag.sum", "09:00:00", kind="AIRFLOW/TASK",
                     writes=("db|day",))  # fmt: skip
    code = {"sourceCode": "spark.sql(...)", "language": "python"}
    task["job"]["facets"] |= {"sourceCode": code, "sourceCodeLocation": _CODE}
    query = derive(build, "q", "09", "dag.sum.query",
                   day__fare=[("raw.fare", SUM), ("raw.id", FILTER), ("raw.fare", FILTER)],
                   day__who=[("raw.mail", _MASKED)])  # fmt: skip
    parent = {"run": {"runId": "t"}, "job": {"namespace": "demo", "name": "dag.sum"}}
    query["run"]["facets"]["parent"] = parent
    query["job"]["facets"]["jobType"] = {"integration": "SPARK", "jobType": "SQL_JOB"}
    query["job"]["facets"]["sql"] = {"query": "select sum(fare) as fare from raw"}
    return [
        derive(build, "1", "08", "load", raw__id=[("file.id", IDENTITY)]),
        task,
        query,
        build.run("COMPLETE", "o", "other", "10:00:00", reads=("db|day",), writes=("db|page",)),
    ]


def test_column_has_its_inputs_query_and_code(
    build: Any,
) -> None:
    (producer,) = column_answer(build.state(*_events(build)), "day", "fare")["producers"]
    result = [(input_["name"], input_["field"], [t["subtype"] for t in input_["transformations"]])
            for input_ in producer["inputs"]]  # fmt: skip
    assert result == [("raw", "fare", ["AGGREGATION", "FILTER"]), ("raw", "id", ["FILTER"])]
    assert (producer["job"]["name"], producer["task"]["name"]) == ("dag.sum.query", "dag.sum")
    assert producer["sql"] == "select sum(fare) as fare from raw"
    assert (producer["source"], producer["code"]) == ("spark.sql(...)", _CODE)
    assert (producer["run"]["runId"], producer["runs"]) == ("q", 1)


def test_masked_input_is_marked(build: Any) -> None:
    (producer,) = column_answer(build.state(*_events(build)), "day", "who")["producers"]
    assert [t["isMasking"] for input_ in producer["inputs"] for t in input_["transformations"]] == [
        True
    ]


def test_fully_masked_edge_is_labeled(build: Any) -> None:
    def way(*kinds: dict[str, Any]) -> str:
        state = build.state(derive(build, "1", "08", "load", raw__id=[("file.id", *kinds)]))
        answer = impact_answer(state, "file", "id")
        (reached,) = answer["affected"] + answer["indirect"]
        return str(reached["transformation"])

    assert way(_MASKED, FILTER) == "FILTER, TRANSFORMATION, MASKED"
    assert way(_MASKED, IDENTITY) == "IDENTITY, TRANSFORMATION"
    assert way(FILTER) == "FILTER"


def test_jobs_without_column_lineage_have_no_inputs(
    build: Any,
) -> None:
    events = _events(build)
    events[-1]["outputs"] = [build.dataset("db|page", schema={"fields": [
        {"name": "html", "type": "string", "description": "as shown"}, "odd"]})]  # fmt: skip
    result = column_answer(build.state(*events), "page", "html")
    assert (result["type"], result["description"]) == ("string", "as shown")
    assert [(item["job"]["name"], item["inputs"]) for item in result["producers"]] == [
        ("other", [])
    ]


def test_source_column_has_no_producer_and_unknown_column_fails(build: Any) -> None:
    state = build.state(*_events(build))
    assert column_answer(state, "file", "id")["producers"] == []
    with pytest.raises(NotFoundError, match="day has a column 'fair'; reported: fare"):
        column_answer(state, "day", "fair")
