from __future__ import annotations

from typing import Any

import pytest

from headwater.errors import BodyError, EventError
from headwater.events import (
    DatasetEvent,
    EventType,
    JobEvent,
    RunEvent,
    canonical,
    identity_of,
    load,
    parse_event,
    parse_time,
    shown_time,
    to_micros,
)
from headwater.log import entry_of


def _event(**changes: Any) -> dict[str, Any]:
    event: dict[str, Any] = {
        "eventType": "COMPLETE",
        "eventTime": "2025-11-21T08:00:00Z",
        "run": {"runId": "01a1fd3d-1a97-7b7f-8cb0-753b3dcc6260"},
        "job": {"namespace": "demo", "name": "job"},
    }
    return {**event, **changes}


@pytest.mark.parametrize(
    ("changes", "path", "received"),
    [
        ({"eventTime": None}, "eventTime", "nothing"),
        ({"eventTime": "yesterday"}, "eventTime", "'yesterday'"),
        ({"eventTime": 17}, "eventTime", "17"),
        ({"run": {}}, "run.runId", "nothing"),
        ({"run": []}, "run", "[]"),
        ({"job": None}, "job", "nothing"),
        ({"job": {"namespace": "demo", "name": ""}}, "job.name", "''"),
        ({"job": {"name": "x"}}, "job.namespace", "nothing"),
        ({"inputs": [{"namespace": "db"}]}, "inputs[0].name", "nothing"),
        ({"inputs": {"a": 1}}, "inputs", "{'a': 1}"),
        ({"outputs": [{"namespace": "a", "name": "b"}, 3]}, "outputs[1]", "3"),
    ],
)
def test_invalid_event_is_rejected_with_path_and_value(
    changes: dict[str, Any], path: str, received: str
) -> None:
    with pytest.raises(EventError) as caught:
        parse_event(_event(**changes), "hash")
    assert (caught.value.path, caught.value.received) == (path, received)
    assert caught.value.expected


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2025-11-21T08:00:00Z", "2025-11-21T08:00:00Z"),
        ("2025-11-21T08:00:00", "2025-11-21T08:00:00Z"),
        ("2025-11-21T10:00:00.120+02:00", "2025-11-21T08:00:00.120Z"),
        ("2025-11-21T09:00:00.123456789+01:00[Europe/Paris]", "2025-11-21T08:00:00.123456Z"),
    ],
)
def test_times_without_a_zone_are_utc(text: str, shown: str) -> None:
    assert shown_time(to_micros(parse_time(text))) == shown


@pytest.mark.parametrize(
    ("received", "expected"),
    [("complete", EventType.COMPLETE), ("PAUSED", EventType.OTHER), (None, EventType.OTHER)],
)
def test_unknown_event_type_is_other_and_case_is_ignored(
    received: str | None, expected: EventType
) -> None:
    event = parse_event(_event(eventType=received), "hash")
    assert isinstance(event, RunEvent)
    assert event.type is expected


def test_null_facets_and_datasets_are_empty() -> None:
    run = {"runId": "not-a-uuid", "facets": None}
    event = parse_event(_event(run=run, inputs=None, outputs=[]), "hash")
    assert isinstance(event, RunEvent)
    assert (event.run_id, event.run_facets, event.inputs) == ("not-a-uuid", {}, ())


def test_job_and_dataset_events_are_recognized() -> None:
    job = {"eventTime": "2025-11-21T08:00:00Z", "job": {"namespace": "a", "name": "b"}}
    dataset = {"eventTime": "2025-11-21T08:00:00Z", "dataset": {"namespace": "a", "name": "b"}}
    assert isinstance(parse_event(job, "hash"), JobEvent)
    assert isinstance(parse_event(dataset, "hash"), DatasetEvent)


def test_identity_ignores_white_space_and_key_order() -> None:
    assert identity_of(load(b'{"b": 1, "a": [2]}')) == identity_of(load(b'{"a":[2],"b":1}'))
    assert canonical({"b": "ü", "a": 1.5}) == '{"a":1.5,"b":"ü"}'.encode()


def test_invalid_json_is_rejected() -> None:
    with pytest.raises(BodyError, match="expected JSON"):
        load(b'{"eventType": ')


def test_deep_nesting_is_rejected() -> None:
    with pytest.raises(EventError):
        entry_of(b'{"password":' * 5_000 + b"1" + b"}" * 5_000)
    with pytest.raises(EventError):
        entry_of(b'{"password":' * 600 + b"1" + b"}" * 600)
