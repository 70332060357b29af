"""Events for DataZone: AWS names, at most 300,000 bytes, a token per body."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from headwater.errors import DeliveryError
from headwater.plugins.delivery.context import RunContext
from headwater.plugins.delivery.rewrite.datazone import DATAZONE, MOST_BYTES, TRIMMED, client_token
from packages.headwater.tests.support.recording_backend import sent

Json = dict[str, Any]

_ARN = "arn:aws:glue:eu-west-1:123456789012"


def test_column_lineage_uses_the_arn_of_a_glue_table(build: Any) -> None:
    event = build.run("COMPLETE", "r", "app.j", "08:00:00", writes=("s3://b|mart",))
    place = build.dataset("s3://b|wh/raw", symlinks=[(_ARN, "table/shop/raw", "TABLE")])
    event["inputs"] = [place]
    input_field = {"namespace": "s3://b", "name": "wh/raw", "field": "id"}
    fields = {"id": {"inputFields": [input_field]}}
    event["outputs"][0]["facets"]["columnLineage"] = {"fields": fields}
    for (body,) in (DATAZONE.rewrite(event, RunContext()), sent(DATAZONE, [event])):
        (read,) = body["inputs"]
        assert (read["namespace"], read["name"]) == (_ARN, "table/shop/raw")
        (link,) = read["facets"]["symlinks"]["identifiers"]
        assert (link["namespace"], link["name"]) == ("s3://b", "wh/raw")
        (named,) = body["outputs"][0]["facets"]["columnLineage"]["fields"]["id"]["inputFields"]
        assert (named["namespace"], named["name"], named["field"]) == (_ARN, "table/shop/raw", "id")


def test_only_run_events_are_sent(build: Any) -> None:
    job = {"eventTime": "2025-11-21T08:00:00Z", "job": {"namespace": "d", "name": "j"}}
    dataset = {"eventTime": "2025-11-21T08:00:00Z", "dataset": build.dataset("x|y")}
    assert sent(DATAZONE, [job, dataset]) == []


def _wide(build: Any, columns: int, **run_facets: Any) -> Json:
    """Return an event whose output has many columns, each with a source and a filter column."""
    event: Json = build.run(
        "COMPLETE", "r", "app.j", "08:00:00", reads=("x|in",), writes=("x|out",), facets=run_facets
    )
    event["job"]["facets"] = {
        "jobType": {"integration": "SPARK", "jobType": "JOB"},
        "sql": {"query": "SELECT 1"},
    }
    direct = [{"type": "DIRECT", "subtype": "IDENTITY"}]
    indirect = [{"type": "INDIRECT", "subtype": "FILTER"}]
    source = {"namespace": "x", "name": "in"}
    event["outputs"][0]["facets"] = {
        "schema": {"fields": [{"name": f"c{n}", "type": "long"} for n in range(columns)]},
        "columnLineage": {
            "fields": {
                f"c{n}": {
                    "inputFields": [
                        {**source, "field": f"c{n}", "transformations": direct},
                        {**source, "field": "flag", "transformations": indirect},
                    ]
                }
                for n in range(columns)
            }
        },
    }
    return event


def _trimmed(event: Json) -> Json:
    (body,) = DATAZONE.rewrite(event, RunContext())
    assert len(orjson.dumps(body)) <= MOST_BYTES
    return body


def test_small_event_is_complete(build: Any) -> None:
    event = _wide(build, 3, custom={"plan": "x" * 1_000})
    body = _trimmed(event)
    assert body["run"]["facets"]["custom"]["plan"] == "x" * 1_000
    assert body["outputs"][0]["facets"].keys() == {"schema", "columnLineage"}


@pytest.mark.parametrize(
    ("columns", "plan", "left"),
    [
        (10, 400_000, {"schema", "columnLineage", "flag"}),
        (1_200, 0, {"schema", "columnLineage"}),
        (3_500, 0, {"columnLineage"}),
        (6_000, 0, set()),
    ],
)
def test_large_event_loses_unimportant_parts_first(
    build: Any, columns: int, plan: int, left: set[str]
) -> None:
    body = _trimmed(_wide(build, columns, custom={"plan": "x" * plan}))
    (output,) = body["outputs"]
    text = orjson.dumps(body).decode()
    assert {*output["facets"]} | ({"flag"} if '"flag"' in text else set()) == left
    assert "plan" not in text
    assert (body["inputs"][0]["name"], output["name"]) == ("in", "out")


def _heavy(build: Any, length: int) -> Json:
    """Return an event with a part of the given length for each step of TRIMMED."""
    texts = {number: f"{number}:" + "x" * length for number in range(len(TRIMMED))}
    run = {"custom": {"plan": texts[0]}, "errorMessage": {"message": texts[7]}}
    event: Json = build.run("FAIL", "r", "app.j", "08:00:00", reads=("x|in",), facets=run)
    event["job"]["facets"] = {
        "sourceCode": {"sourceCode": texts[1]},
        "documentation": {"description": texts[4]},
        "sql": {"query": texts[8]},
    }
    source = {"namespace": "x", "name": "in"}
    lineage = {
        "dataset": [{**source, "field": texts[5]}],
        "fields": {"a": {"inputFields": [{**source, "field": texts[9]}]}},
    }
    link = {"namespace": "hive://h", "name": texts[10], "type": "TABLE"}
    facets = {
        "storage": {"storageLayer": texts[3]},
        "columnLineage": lineage,
        "schema": {"fields": [{"name": texts[6]}]},
        "symlinks": {"identifiers": [link]},
    }
    statistics = {"outputStatistics": {"note": texts[2]}}
    output = {"namespace": "x", "name": "out", "facets": facets, "outputFacets": statistics}
    return {**event, "outputs": [output]}


@pytest.mark.parametrize("gone", range(len(TRIMMED) + 1))
def test_facets_are_trimmed_in_order_as_needed(build: Any, gone: int) -> None:
    room = len(TRIMMED) - gone + 0.5  # of so many of them
    text = orjson.dumps(_trimmed(_heavy(build, int(MOST_BYTES / room)))).decode()
    assert [n for n in range(len(TRIMMED)) if f'"{n}:x' not in text] == list(range(gone))


def test_event_with_too_many_datasets_is_rejected(build: Any) -> None:
    names = tuple(f"x|{'y' * 100}{n}" for n in range(3_000))
    event = build.run("COMPLETE", "r", "app.j", "08:00:00", reads=names)
    with pytest.raises(DeliveryError, match=r"has \d+,\d+ bytes .* DataZone accepts 300,000"):
        DATAZONE.rewrite(event, RunContext())


def test_token_depends_on_the_body(build: Any) -> None:
    one, other = _wide(build, 3), _wide(build, 4)
    assert (
        client_token(_trimmed(one)) == client_token(_trimmed(one)) != client_token(_trimmed(other))
    )
    assert 1 <= len(client_token(one)) <= 128
