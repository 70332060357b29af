"""Parts of `headwater run` without a process: parents, declarations, destinations, events."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from openlineage.client.event_v2 import InputDataset, OutputDataset

from headwater.log import entry_of
from headwater_client._captured_run import query_runs
from headwater_client._declared import read_declared
from headwater_client._report import Report
from headwater_client.capture import Capture, capturing
from headwater_client.errors import ConfigError
from headwater_client.events import ReportedRun
from headwater_client.git import git_location
from headwater_client.masking import mask_facets
from headwater_client.parents import RunRef, child_environment, parents
from headwater_client.run import run
from packages.headwater.tests.support.event_schemas import event_validator
from packages.headwater.tests.support.sinks import Sink, serving

_IDS = st.uuids().map(str)
_TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)
_JOBS = _TEXT.filter(lambda text: "/" not in text and text == text.strip())
_SPACES = _TEXT.filter(lambda text: text == text.strip())
_NAMES = _TEXT.filter(str.strip)  # a declaration rejects blank names
_REFS = st.builds(RunRef, _SPACES, _JOBS, _IDS)
_AT = datetime(2025, 11, 21, 8, tzinfo=UTC)


@given(ref=_REFS, root=_REFS, has_context=st.booleans())
def test_child_reads_the_parent_that_was_written(
    ref: RunRef, root: RunRef, has_context: bool
) -> None:
    environment = child_environment(ref, root)
    context = environment.pop("OPENLINEAGE_CONTEXT")
    if has_context:
        environment = {"OPENLINEAGE_CONTEXT": context}
    assert parents(environment) == (ref, root)


@given(text=st.text(max_size=30) | st.lists(_TEXT).map("/".join))
def test_arbitrary_text_is_not_a_parent(text: str) -> None:
    variables = ("OPENLINEAGE_PARENT_ID", "OPENLINEAGE_ROOT_PARENT_ID", "OPENLINEAGE_CONTEXT")
    assert parents(dict.fromkeys(variables, text)) is None


@given(value=st.recursive(
    st.none() | st.integers() | _TEXT,
    lambda inner: st.lists(inner, max_size=2)
    | st.dictionaries(st.sampled_from(["parent", "root", "run", "job", "runId", "name"]), inner),
))  # fmt: skip
def test_any_context_without_ids_is_ignored(value: Any) -> None:
    assert parents({"OPENLINEAGE_CONTEXT": json.dumps(value)}) is None


def test_new_run_ids_are_uuids_in_order_of_time() -> None:
    before = time.time_ns() // 1_000_000
    ids = [uuid.UUID(RunRef.new("n", "j").run_id) for _ in range(200)]
    after = time.time_ns() // 1_000_000
    assert {(item.version, item.variant) for item in ids} == {(7, uuid.RFC_4122)}
    assert len(set(ids)) == 200
    stamps = [item.int >> 80 for item in ids]
    assert stamps == sorted(stamps)
    assert before <= stamps[0] <= stamps[-1] <= after


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | _TEXT,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                ["job", "inputs", "outputs", "namespace", "name", "owner", "description"]
            )
            | _TEXT,
            inner,
            max_size=3,
        )
    ),
)


@given(value=_VALUES)
def test_any_declaration_file_parses_or_names_its_path(
    value: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.getbasetemp() / "any.yaml"
    file.write_text(yaml.safe_dump(value, allow_unicode=True))
    try:
        declared = read_declared(file, {})
    except ConfigError as caught:
        error: ConfigError | None = caught
    else:
        error = None
        assert declared.job.name.strip()
        assert all(dataset.namespace for dataset in (*declared.inputs, *declared.outputs))
    assert error is None or str(error).startswith(str(file))


def test_file_outside_of_git_has_no_location(tmp_path: Path) -> None:
    assert git_location(tmp_path / "lineage.yaml") is None
    assert git_location(tmp_path / "no" / "such" / "folder.yaml") is None


@pytest.mark.parametrize(
    ("given", "variables", "expected"),
    [
        ({}, {}, "http://localhost:9002/api/v1/lineage"),
        ({"url": "http://a:1"}, {"OPENLINEAGE_URL": "http://b:1"}, "http://a:1/api/v1/lineage"),
        ({}, {"OPENLINEAGE_URL": "http://b:1"}, "http://b:1/api/v1/lineage"),
        ({}, {"OPENLINEAGE_URL": " http://b:1/x/ "}, "http://b:1/x/api/v1/lineage"),
        (
            {},
            {"OPENLINEAGE_URL": "http://b:1", "OPENLINEAGE_ENDPOINT": "in"},
            "http://b:1/in",
        ),
        (
            {},
            {"OPENLINEAGE_URL": "http://b:1", "HEADWATER_URL": "http://c:1"},
            "http://c:1/api/v1/lineage",
        ),
    ],
)
def test_first_destination_that_is_set_receives_the_events(
    given: dict[str, str],
    variables: dict[str, str],
    expected: str,
) -> None:
    report = Report.from_environment(variables, url=given.get("url"))
    assert report._address == expected


@pytest.mark.server
def test_events_reach_server_in_order_and_spool_at_once(tmp_path: Path) -> None:
    with serving(Sink()) as sink:
        report = Report(tmp_path, sink.url, "key")
        for number in range(20):
            report.send(partial(bytes, b'{"number": %d}' % number))
            (spool,) = tmp_path.iterdir()
            assert len(spool.read_bytes().splitlines()) == number + 1
        assert report.close() == []
        assert [body["number"] for body in sink.requests] == list(range(20))


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("bad url"), "an event cannot be created: ValueError('bad url')"),
        (ModuleNotFoundError("no attr"), "ModuleNotFoundError('no attr')"),
    ],
)
def test_event_that_cannot_be_created_is_one_problem(
    error: Exception, message: str, tmp_path: Path
) -> None:
    def fail() -> bytes:
        raise error

    report = Report(tmp_path / "spool", None)
    report.send(fail)
    report.send(fail)
    report.send(lambda: b"{}")
    (problem,) = report.close()
    assert problem.startswith("lineage of this run is not complete: ")
    assert message in problem
    (spool,) = (tmp_path / "spool").iterdir()
    assert spool.read_bytes() == b"{}\n"


@pytest.fixture(scope="module")
def check(schemas: Path) -> Callable[[Any], None]:
    """Return a function that validates an event and its facets."""
    return event_validator(schemas)


@given(
    ref=_REFS, parent=st.none() | st.tuples(_REFS, _REFS), error=st.none() | _TEXT,
    state=st.sampled_from(["START", "RUNNING", "COMPLETE", "FAIL", "ABORT"]),
    kind=st.none() | st.just("QUERY"), read=_NAMES, written=_NAMES,
)  # fmt: skip
def test_every_reported_run_is_a_valid_event(
    ref: RunRef, parent: tuple[RunRef, RunRef] | None, error: str | None, state: str,
    kind: str | None, read: str, written: str, check: Callable[[Any], None],
) -> None:  # fmt: skip
    run = ReportedRun(
        ref=ref,
        integration="TEST",
        job_type=kind,
        parents=parent,
        inputs=[InputDataset("db", read)],
        outputs=[OutputDataset("db", written)],
    )
    body = run.to_json(state, _AT, error)
    event = json.loads(body)
    check(event)
    assert entry_of(body).event.time > 0
    facets = event["run"].get("facets", {})
    assert ("parent" in facets, "errorMessage" in facets) == (parent is not None, error is not None)
    assert event["job"]["facets"]["jobType"].get("jobType") == kind


def test_secrets_of_an_event_are_masked() -> None:
    run = ReportedRun(ref=RunRef.new("n", "j"), integration="TEST")
    body = run.to_json("FAIL", _AT, "psql: postgresql://app:hunter2Xq9@db/x is down")
    assert b"hunter2Xq9" not in body
    assert b"postgresql://app:***@db/x" in body


@pytest.mark.parametrize(
    ("variables", "given", "message"),
    [
        ({}, "localhost", "url (argument --url): received 'localhost', expected a URL such as"),
        ({}, "http://a:0", "received 'http://a:0'"),
        ({}, "http://a:port", "received 'http://a:port'"),
        ({"HEADWATER_URL": "ftp://a"}, None, "(environment variable HEADWATER_URL): received"),
    ],
)
def test_invalid_url_is_reported_with_its_source(
    variables: dict[str, str], given: str | None, message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        Report.from_environment(variables, url=given)
    assert message in str(caught.value)


def test_secrets_in_facets_are_masked_and_names_are_unchanged() -> None:
    url = "postgresql://app:hunter2Xq9@db/x"
    tags = [{"key": "api_token", "value": "hunter2Xq9"}, {"key": "team", "value": "crm"}]
    event = {
        "job": {"name": url, "facets": {"documentation": {"description": f"reads {url}"}}},
        "inputs": [{"namespace": url, "name": "t", "facets": {"tags": {"tags": tags}}}],
    }
    masked = mask_facets(event)
    assert masked["job"]["name"] == masked["inputs"][0]["namespace"] == url
    description = masked["job"]["facets"]["documentation"]["description"]
    assert description == "reads postgresql://app:***@db/x"
    expected = [{"key": "api_token", "value": "***"}, {"key": "team", "value": "crm"}]
    assert masked["inputs"][0]["facets"]["tags"]["tags"] == expected


def test_file_that_a_query_writes_is_an_output_of_its_run(tmp_path: Path) -> None:
    """Otherwise the server would not know the sources of the file."""
    parent = ReportedRun(ref=RunRef.new("n", "j"), integration="TEST")
    with (
        duckdb.connect(str(tmp_path / "q.duckdb")) as database,
        capturing(Capture()) as capture,
    ):
        database.execute("CREATE TABLE base AS SELECT 1 AS a")
        database.execute("CREATE TABLE mid AS SELECT a FROM base")
        database.execute(f"COPY (SELECT a FROM mid) TO '{tmp_path}/o.parquet' (FORMAT parquet)")
    uses = [
        ([item.name for item in query.inputs or ()], [item.name for item in query.outputs or ()])
        for query, *_ in query_runs(parent, capture)
    ]
    base, mid = "q.main.base", "q.main.mid"
    assert uses == [([], [base]), ([base], [mid]), ([mid], [f"{tmp_path}/o.parquet"])]


def test_missing_declaration_error_explains_how_to_write_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["--spool", "s", "--", "sh", "-c", "true"]) == 2
    assert "`run --example` prints one" in capsys.readouterr().err
