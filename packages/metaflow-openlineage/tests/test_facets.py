"""Facets, datasets and events, without a flow; and every emitted event against the schemas."""

from __future__ import annotations

import json
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from openlineage.client.serde import Serde

from headwater_client import RunRef
from headwater_client.capture import Capture, Captured, CapturedQuery
from metaflow_openlineage import Dataset
from metaflow_openlineage import _facets as facets
from metaflow_openlineage._captured import captured_queries
from metaflow_openlineage._dataset import MAX_VERSIONS, fields_of, merge
from metaflow_openlineage._names import PRODUCER
from packages.headwater.tests.support.recordings import recordings

# Metaflow's own import of a moved module; it depends on which packages are installed.
pytestmark = pytest.mark.filterwarnings("ignore:The _yaml extension module")

SPEC = Path(__file__).parents[4] / "shared" / "spec"
REF = RunRef("ns", "Flow.step", "01a1fd4a-49ef-7259-9396-ffb99203fb3f")


@cache
def validator() -> Any:
    if not SPEC.exists():
        pytest.skip(f"there are no OpenLineage schemas at {SPEC}")
    from jsonschema import Draft202012Validator, FormatChecker
    from referencing import Registry, Resource

    schemas = [json.loads(file.read_text()) for file in SPEC.rglob("*.json")]
    registry = Registry().with_resources(
        (schema["$id"], Resource.from_contents(schema)) for schema in schemas
    )
    known = {schema["$id"] for schema in schemas}

    def validate(schema_url: str, instance: Any) -> None:
        assert schema_url.partition("#")[0] in known, schema_url
        checker = FormatChecker()
        Draft202012Validator(
            {"$ref": schema_url}, registry=registry, format_checker=checker
        ).validate(instance)

    return validate


def facets_of(event: dict[str, Any]) -> dict[str, Any]:
    found = {**event["run"]["facets"], **event["job"]["facets"]}
    for kind in ("inputs", "outputs"):
        for nth, dataset in enumerate(event[kind]):
            for group in ("facets", "inputFacets", "outputFacets"):
                found |= {f"{kind}{nth}{group}{k}": v for k, v in dataset.get(group, {}).items()}
    return found


def check(event: dict[str, Any]) -> None:
    validate = validator()
    validate(event["schemaURL"], event)
    assert event["producer"] == PRODUCER
    for name, facet in facets_of(event).items():
        schema = facet["_schemaURL"]
        if "IcebergCommitReport" in schema:  # the Spark integration's, not among the schemas
            schema = event["schemaURL"].replace("RunEvent", "OutputDatasetFacet")
        validate(schema, facet)
        assert name in ("tags", "parent") or facet["_producer"] == PRODUCER
    check_datahub(event)


def check_datahub(event: dict[str, Any]) -> None:
    """Apply the rules of DataHub's converter, which rejects events that violate them.

    It must find the orchestrator of the job and of its parent: by the engine, or by a known
    producer.
    """
    producer = re.compile(
        r"https://github\.com/(OpenLineage/OpenLineage/.*/.*|(apache/airflow|trinodb/trino)/.*)"
    )
    facets = event["run"]["facets"]
    engine = facets.get("processing_engine", {}).get("name")
    assert engine or producer.fullmatch(event["producer"])
    assert "parent" not in facets or producer.fullmatch(facets["parent"]["_producer"])
    assert event["eventType"] in ("START", "RUNNING", "COMPLETE", "FAIL", "ABORT")
    assert ": null" not in json.dumps(facets)


def test_datahub_rules_match_recorded_responses():
    answers = recordings() / "datahub-answers"
    refused = set()
    for file in sorted(answers.glob("*.event.json")):
        event = json.loads(file.read_text())
        number = file.name[:2]
        if number in ("09", "43", "44"):  # a field without a name, events of no run
            continue
        try:
            check_datahub({**event, "run": {"facets": {}, **event["run"]}})
        except (AssertionError, KeyError):
            refused.add(number)
    assert refused == {"34", "36", "40", "42", "52"}


def test_event_with_every_facet_is_valid():
    dataset = Dataset(
        "file",
        "/t",
        version="1",
        type="TABLE",
        fields=(("a", "int", "Count of rides."), ("b", "int")),
        rows=1,
        size=2,
        symlink=("hive://x", "a.b"),
        column_lineage={"a": [(Dataset("file", "/s"), "b"), (Dataset("file", "/s"), "c", "SORT")]},
        row_lineage=[(Dataset("file", "/s"), "c", "FILTER")],
        layer="iceberg",
    )
    place = {
        "type": "git",
        "url": "https://h/r",
        "repoUrl": "https://h/r",
        "path": "p",
        "version": "c",
    }
    event = facets.run_event(
        "FAIL",
        REF,
        {
            **facets.parent(REF, REF),
            **facets.nominal_time("2026-11-21T00:00:00+00:00"),
            **facets.error(ValueError("x")),
            **facets.dependencies([REF], [("ns", "Flow.next")]),
            **facets.parameters({"a": 1}),
            **facets.tags(["team:a"], ["user:b"]),
        },
        {
            **facets.job("QUERY", "me"),
            **facets.sql("SELECT 1", "duckdb"),
            **facets.source(check, place, with_code=True),
        },
        [dataset],
        [dataset],
    )
    check(json.loads(Serde.to_json(event)))


@pytest.mark.metaflow
def test_every_event_of_every_flow_is_valid(shapes, nested, resumed, served, troubled):
    for launch in (shapes, nested, *resumed, *served, *troubled.values()):
        assert launch.events
        for event in launch.events:
            check(event)


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("db_password", "x", "***"),
        ("API_TOKEN", "x", "***"),
        ("aws_secret", "x", "***"),
        ("DB_PASS", "x", "***"),
        ("passenger_count", 4, "4"),
        ("url", "https://me:p@w@host/x", "https://me:***@host/x"),
        ("access_key", "x", "***"),
        ("alpha", 0.5, "0.5"),
        ("url", "https://me:pw@host/x?y=1", "https://me:***@host/x?y=1"),
        ("conf", {"token": "x", "n": 1}, "{'token': '***', 'n': '1'}"),
    ],
)
def test_secrets_are_redacted(name, value, shown):
    assert facets.redacted(name, value) == shown


@pytest.mark.parametrize(
    ("tag", "key", "value"),
    [
        ("nightly", "nightly", "true"),
        ("team:a:b", "team", "a:b"),
        ("team=a", "team", "a"),
        ("api_token=x", "api_token", "***"),
        ("production:flow-token-x", "production", "***"),
        ("see:https://me:pw@host/x", "see", "https://me:***@host/x"),
        ("https://me:pw@host:8/x", "https://me:***@host:8/x", "true"),
        ("see=https://host:8/x", "see", "https://host:8/x"),
        ("new_key", "new_key", "true"),
        ("aws/token:x", "aws/token", "***"),
        ("empty:", "empty", ""),
    ],
)
def test_tags_have_keys_and_values_without_secrets(tag, key, value):
    (found,) = facets.tags([tag], [])["tags"].tags
    assert (found.key, found.value, found.source) == (key, value, "USER")


def test_missing_owner_and_tags_have_no_facet():
    assert "ownership" not in facets.job("STEP", None)
    assert facets.tags([], []) == {}


def test_errors_and_code_are_truncated():
    error = facets.error(ValueError("x" * 100_000))["errorMessage"]
    assert len(error.message) == len(error.stackTrace) == facets.MAX_TRACE


def test_source_code_can_be_omitted():
    assert "sourceCode" not in facets.source(check, {}, with_code=False)
    assert "sourceCode" not in facets.source(len, {}, with_code=True)


def test_repeated_dataset_is_merged():
    merged = merge(
        [
            Dataset("file", "/t", version="7", rows=3),
            Dataset("file", "/t", symlink=("lake", "t")),
            Dataset("file", "/t", version="7", fields=(("a", "int"),)),
        ]
    )
    expected = Dataset(
        "file", "/t", version="7", rows=3, fields=(("a", "int"),), symlink=("lake", "t")
    )
    assert merged == [expected]


def test_column_lineage_has_transformations():
    trips, zones = Dataset("file", "/trips"), Dataset("file", "/zones")
    written = Dataset(
        "file",
        "/t",
        column_lineage={
            "rides": [(trips, "id", "AGGREGATION"), (zones, "id", "CONDITIONAL"), (trips, "n")]
        },
        row_lineage=[(trips, "zone", "GROUP_BY"), (trips, "zone", "FILTER")],
    )
    (output,) = Serde.to_dict(facets.run_event("COMPLETE", REF, {}, {}, [], [written]))["outputs"]
    lineage = output["facets"]["columnLineage"]

    def shown(fields: list[dict[str, Any]]) -> dict[tuple[str, str], list[tuple[str, str]]]:
        return {
            (field["name"], field["field"]): [
                (kind["type"], kind["subtype"]) for kind in field["transformations"]
            ]
            for field in fields
        }

    assert shown(lineage["fields"]["rides"]["inputFields"]) == {
        ("/trips", "id"): [("DIRECT", "AGGREGATION")],
        ("/zones", "id"): [("INDIRECT", "CONDITIONAL")],
        ("/trips", "n"): [],
    }
    assert shown(lineage["dataset"]) == {
        ("/trips", "zone"): [("INDIRECT", "GROUP_BY"), ("INDIRECT", "FILTER")]
    }


def test_row_lineage_of_two_declarations_is_merged():
    trips = Dataset("file", "/trips")
    one = Dataset("file", "/t", row_lineage=[(trips, "a", "FILTER")])
    other = Dataset("file", "/t", version="7", row_lineage=[(trips, "b", "JOIN")])
    (merged,) = merge([one, other])
    assert [column for _, column, _ in merged.row_lineage] == ["b", "a"]


def test_versions_of_a_dataset_are_limited():
    versions = [Dataset("file", "/t", version=str(n)) for n in range(100)]
    assert len(merge(versions)) == MAX_VERSIONS


def test_only_tables_have_fields():
    pandas = pytest.importorskip("pandas", reason="optional dependency")
    pyarrow = pytest.importorskip("pyarrow", reason="optional dependency")
    assert fields_of(pandas.DataFrame({"a": [1]})) == (("a", "int64"),)
    assert fields_of(pyarrow.table({"a": [1]})) == (("a", "int64"),)
    assert fields_of({"a": [1]}) == ()


@pytest.mark.parametrize(
    ("ui", "url"), [(None, None), ("https://ui.example.org/", "https://ui.example.org/Flow/17/a/3")]
)
def test_task_links_to_metaflow_ui_if_configured(ui: str | None, url: str | None) -> None:
    found = facets.task("Flow/17/a/3", "python flow.py", ui, has_card=True)["metaflow_task"]
    task_facet = Serde.to_dict(found)
    assert task_facet.get("url") == url
    assert (task_facet["pathspec"], task_facet["hasCard"]) == ("Flow/17/a/3", True)


def connect(reader, password="hunter2Xq9"):
    """Connect with secrets that no event may contain."""
    reader.option("password", "hunter2Xq9").config("fs.s3a.secret.key", "hunter2Xq9")
    os.environ.setdefault("DB_PASSWORD", "hunter2Xq9")
    return {"api_key": "hunter2Xq9", "command": "mysql -u root -phunter2Xq9 db"}


def test_secrets_in_source_code_are_masked_before_sending():
    code = facets.source(connect, {}, with_code=True)["sourceCode"].sourceCode
    assert "hunter2" not in code
    assert code.count("***") == 6
    assert 'reader.option("password", "***")' in code


@pytest.mark.parametrize(
    "query",
    [
        "create user x identified by 'hunter2Xq9'",
        "copy t from 's3://b' secret_access_key 'hunter2Xq9'",
        "select pgp_sym_decrypt(x, 'hunter2Xq9') from t",
        "select * from t where password = N'hunter2Xq9'",
        "select 'postgres://u:hunter2Xq9@h/d'",
    ],
)
def test_secrets_in_sql_are_masked_before_sending(query):
    masked = facets.sql(query, None)["sql"].query
    assert masked == query.replace("hunter2Xq9", "***")


def test_query_without_secrets_is_sent_unchanged():
    query = "select token, max(password_reset_at) from t where token_count = 5 order by key"
    assert facets.sql(query, None)["sql"].query == query


def test_files_that_a_query_writes_are_its_outputs() -> None:
    capture = Capture()
    table, file = Captured("duckdb://d", "t"), Captured("file", "/f.csv")
    capture.add_query(CapturedQuery("COPY t TO '/f.csv'", "duckdb", (table,), (), files=(file,)))
    (query,) = captured_queries(capture)
    assert [item.name for item in (*query.inputs, *query.outputs)] == ["t", "/f.csv"]
