"""Import of events in CloudWatch Logs from moto's server."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from openlineage.client.facet_v2 import source_code_job
from openlineage.client.serde import Serde

Event = Callable[..., dict[str, Any]]
Aws = Callable[[str], Any]
Harvest = Callable[..., Any]
Harvested = Callable[..., list[dict[str, Any]]]

pytestmark = pytest.mark.server

_GROUP = "/aws-glue/jobs/error"
_NOW = datetime.now(UTC)


def _run(number: int) -> str:
    return f"0190a5f0-0000-7000-8000-{number:012}"


def _line(event: dict[str, Any]) -> str:
    body = json.dumps(event, ensure_ascii=False)
    return f"26/11/21 08:00:00 INFO ConsoleTransport: {body}"


def _write(
    logs: Any, stream: str, *messages: str, at: datetime = _NOW, group: str = _GROUP
) -> None:
    with suppress(logs.exceptions.ResourceAlreadyExistsException):
        logs.create_log_group(logGroupName=group)
    with suppress(logs.exceptions.ResourceAlreadyExistsException):
        logs.create_log_stream(logGroupName=group, logStreamName=stream)
    stamp = int(at.timestamp() * 1_000)
    records = [{"timestamp": stamp + n, "message": message} for n, message in enumerate(messages)]
    logs.put_log_events(logGroupName=group, logStreamName=stream, logEvents=records)


def test_events_of_several_streams_and_records_are_found(
    aws: Aws, event: Event, harvest: Harvest, harvested: Harvested
) -> None:
    logs = aws("logs")
    events = [event(_run(n), n) for n in range(4)]
    code = "lange Zeile ä" * 40_000
    source = Serde.to_dict(source_code_job.SourceCodeJobFacet("python", code))
    events[1]["job"] = {"namespace": "demo", "name": "load", "facets": {"sourceCode": source}}
    long = _line(events[1])
    cuts = [0, 200_000, 400_000, len(long)]
    pieces = [long[a:b] for a, b in zip(cuts, cuts[1:], strict=False)]
    # Records of two jobs alternate; one record has two lines.
    _write(logs, "jr_1", f"26/11/21 08:00:00 INFO x\n{_line(events[0])}", *pieces)
    _write(logs, "jr_2", _line(events[2]), "26/11/21 08:00:00 WARN y {", _line(events[3]))
    result = harvest("glue-job-logs", "--yes")
    assert "events 4, new 4, rejected 0\nstored 4, duplicates 0\n" in result.out
    found = {event["run"]["runId"]: event for event in harvested()}
    assert found == {event["run"]["runId"]: event for event in events}


def test_second_harvest_imports_new_and_late_records(
    aws: Aws, event: Event, harvest: Harvest, harvested: Harvested
) -> None:
    logs = aws("logs")
    _write(logs, "jr_1", *(_line(event(_run(n), n)) for n in range(5)))
    assert "new 5," in harvest("glue-job-logs", "--yes").out
    assert "events 5, new 0," in harvest("glue-job-logs", "--yes").out
    _write(logs, "jr_2", _line(event(_run(9), 9)), at=_NOW - timedelta(minutes=50))
    assert "events 6, new 1," in harvest("glue-job-logs", "--yes").out
    harvest("glue-job-logs", "--yes", database="once.db")
    assert sorted(map(str, harvested())) == sorted(map(str, harvested("once.db")))


@pytest.mark.parametrize("page", [2, 3, 4])
def test_interrupted_log_harvest_continues(
    aws: Aws, event: Event, harvest: Harvest, harvested: Harvested, kill_at: Any, page: int
) -> None:
    logs = aws("logs")
    for number in range(9):
        line, at = _line(event(_run(number), number)), _NOW - timedelta(hours=18 - 2 * number)
        middle = len(line) // 2 if number == 3 else len(line)  # in two records of two pages
        _write(logs, f"jr_{number % 2}", *filter(None, (line[:middle], line[middle:])), at=at)
    killed = kill_at("FilterLogEvents", page, limit=2)
    with pytest.raises(killed):
        harvest("glue-job-logs", "--yes")
    before = len(harvested())
    output = harvest("glue-job-logs", "--yes").out
    assert len(harvested()) == 9 > before > 0
    assert f"new {9 - before}," in output
    harvest("glue-job-logs", "--yes", database="once.db")
    assert sorted(map(str, harvested())) == sorted(map(str, harvested("once.db")))


def test_first_harvest_starts_a_week_ago_or_at_since(
    aws: Aws, event: Event, harvest: Harvest
) -> None:
    _write(aws("logs"), "jr_1", _line(event(_run(1), 1)), at=_NOW - timedelta(days=8))
    assert "events 0," in harvest("glue-job-logs", "--dry-run").out
    assert "events 1," in harvest("glue-job-logs", "--dry-run", "--since", "2025-01-01").out


def test_mwaa_tasks_are_read_from_their_log_group(aws: Aws, event: Event, harvest: Harvest) -> None:
    line = json.dumps({"timestamp": "2026-11-21T08:00:00Z", "event": json.dumps(event(_run(1)))})
    stream = "dag_id=a/run_id=b/task_id=c/attempt=1.log"
    for group in ("airflow-prod-Task", "airflow-other-Task"):
        _write(aws("logs"), stream, line, group=group)
    assert "events 1," in harvest("mwaa-logs", "prod", "--dry-run").out
    # moto ignores it, but botocore validates it.
    streams = "--streams", "dag_id=a/"
    assert "events 1," in harvest("mwaa-logs", "prod", *streams, "--dry-run").out


def test_incomplete_event_is_rejected_with_its_stream(
    aws: Aws, event: Event, harvest: Harvest
) -> None:
    _write(aws("logs"), "jr_1", _line(event(_run(1)))[:150], _line(event(_run(2))))
    result = harvest("glue-job-logs", "--dry-run")
    assert "events 1, new 1, rejected 1" in result.out
    assert f"{_GROUP}/jr_1@" in result.err


def test_missing_group_and_missing_aws_are_distinguished(
    aws: Aws, harvest: Harvest, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = harvest("glue-job-logs", "--log-group", "/no", "--dry-run", code=2)
    assert "/no in CloudWatch Logs: ResourceNotFoundException" in result.err
    monkeypatch.setattr("headwater_aws.harvest._aws._TRIES", 1)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert "Could not connect" in harvest("glue-job-logs", "--dry-run", code=3).err
