"""The lines that the handlers write: logs of JSON, and metrics in CloudWatch's embedded format."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from throughline.errors import DeliveryError, UnavailableError
from throughline_aws.audit import audit
from throughline_aws.authorizer import Authorizer
from throughline_aws.datazone import DataZone
from throughline_aws.local.datazone import DataZoneServer
from throughline_aws.receiver import Receiver
from throughline_aws.worker import Queue, Worker

Event = Callable[..., dict[str, Any]]
Make = Callable[..., tuple[DataZone, DataZoneServer]]

SECRET = "what an event says"


class _Backend:
    """Answers each event by its run."""

    def send(self, delivery: Any) -> None:
        """Take it, or not."""
        run = json.loads(delivery.body)["run"]["runId"]
        if run == "bad":
            raise DeliveryError("because")
        if run == "slow":
            raise UnavailableError("busy")

    def close(self) -> None:
        """Nothing is open."""


class _Sqs:
    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    def send_message(self, **_: Any) -> None:
        """Take it, or not."""
        if self.error:
            raise self.error

    def change_message_visibility(self, **_: Any) -> None:
        """Take a wait."""


def _record(body: dict[str, Any]) -> dict[str, Any]:
    id_ = f"m-{body['run']['runId']}"
    attributes = {"ApproximateReceiveCount": "2"}
    return {"messageId": id_, "receiptHandle": id_, "body": json.dumps(body)} | {
        "attributes": attributes
    }


def _lines(captured: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in captured.readouterr().out.splitlines()]


def _metrics(lines: list[dict[str, Any]]) -> list[tuple[str, str, float]]:
    """Handler, name and value of each metric that CloudWatch reads out of lines."""
    found = []
    for line in lines:
        for directive in line.get("_aws", {}).get("CloudWatchMetrics", ()):
            assert isinstance(line["_aws"]["Timestamp"], int)
            assert directive["Namespace"] == "OpenLineageProxy"
            assert directive["Dimensions"] == [["Handler"]]
            for metric in directive["Metrics"]:
                assert metric["Unit"] == "Count"
                found.append((line["Handler"], metric["Name"], line[metric["Name"]]))
    return found


def test_a_batch_is_counted_and_each_message_has_a_line_without_what_it_says(
    event: Event, capsys: pytest.CaptureFixture[str]
) -> None:
    worker = Worker(_Backend(), _Sqs(), Queue("queue", "dead", most_receives=4, first_wait=2))
    job = {"namespace": "demo", "name": "load", "facets": {"sql": {"query": SECRET}}}
    records = [_record(event(run, job=job)) for run in ("good", "bad", "slow")]
    worker({"Records": records})
    lines = _lines(capsys)
    assert _metrics(lines) == [
        ("worker", "DeadLetters", 1),
        ("worker", "Settled", 2),
        ("worker", "Retried", 1),
    ]
    told = [line for line in lines if "_aws" not in line]
    assert [(line["level"], line["message"], line["messageId"]) for line in told] == [
        ("INFO", "delivered", "m-good"),
        ("ERROR", "dead letter", "m-bad"),
        ("WARNING", "not taken now", "m-slow"),
    ]
    assert [line.get("reason") for line in told] == [None, "because", "busy"]
    assert all(line["receives"] == 2 and line["timestamp"] > 0 for line in told)
    assert SECRET not in json.dumps(lines)


def test_requests_are_counted_by_what_became_of_them(
    event: Event, capsys: pytest.CaptureFixture[str]
) -> None:
    job = {"namespace": "demo", "name": "load", "facets": {"sql": {"query": SECRET}}}
    body = json.dumps(event("r", job=job))
    down = EndpointConnectionError(endpoint_url="https://sqs")
    for sqs, given in ((_Sqs(), body), (_Sqs(), SECRET), (_Sqs(down), body)):
        Receiver(sqs, "https://sqs/events")({"body": given})
    Authorizer(lambda: ["key"])({"headers": {"authorization": f"Bearer {SECRET}"}})
    lines = _lines(capsys)
    assert _metrics(lines) == [
        ("receiver", "Received", 1),
        ("receiver", "Refused", 1),
        ("receiver", "Unavailable", 1),
        ("authorizer", "Denied", 1),
    ]
    told = [line["message"] for line in lines if "_aws" not in line]
    assert told == [
        "queued",
        "refused",
        "the queue takes no event",
        "a request without a known key",
    ]
    assert SECRET not in json.dumps(lines)


def test_the_audit_counts_what_was_not_processed_also_that_it_is_nothing(
    make_datazone: Make, event: Event, capsys: pytest.CaptureFixture[str]
) -> None:
    backend, server = make_datazone(processed=lambda _: "FAILED")
    assert audit(backend) == 0
    assert _metrics(_lines(capsys)) == [("audit", "ProcessingFailed", 0)]
    record = _record(event("0190a5f0-0000-7000-8000-000000000001"))
    Worker(backend, _Sqs(), Queue("", "", 1, 1))({"Records": [record]})
    capsys.readouterr()
    assert audit(backend) == 1
    told, counted = _lines(capsys)
    assert (told["level"], told["ids"]) == ("ERROR", [server.taken[0].id])
    assert _metrics([counted]) == [("audit", "ProcessingFailed", 1)]
