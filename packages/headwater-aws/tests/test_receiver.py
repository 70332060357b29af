"""The receiver: accepted and rejected events, and groups that keep events in order."""

from __future__ import annotations

import base64
import gzip
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from botocore.exceptions import EndpointConnectionError

from headwater.events import RunEvent
from headwater.log import entry_of
from headwater_aws.authorizer import Authorizer
from headwater_aws.payloads import Request, Response
from headwater_aws.receiver import LARGEST_MESSAGE, Receiver, _receiver, group_of, handler

RUN = "0190a5f0-0000-7000-8000-000000000001"
ROOT = "0190a5f0-0000-7000-8000-000000000002"


def event(run: str, *, parent: str = "", **more: Any) -> dict[str, Any]:
    facets = {"parent": {"run": {"runId": parent}}} if parent else {}
    return {
        "eventType": "COMPLETE",
        "eventTime": "2026-11-21T08:00:00Z",
        "run": {"runId": run, "facets": facets},
        "job": {"namespace": "demo", "name": "load"},
        **more,
    }


class Queue:
    """A queue that records the messages it receives."""

    def __init__(self, error: Exception | None = None) -> None:
        self.sent: list[dict[str, Any]] = []
        self.error = error

    def send_message(self, **message: Any) -> None:
        if self.error:
            raise self.error
        self.sent.append(message)


def _request(body: bytes, *, zipped: bool = False, encoding: str = "") -> Request:
    encoding = encoding or ("gzip" if zipped else "")
    sent = gzip.compress(body) if zipped else body
    return {
        "headers": {"content-encoding": encoding} if encoding else {},
        "isBase64Encoded": bool(encoding),
        "body": base64.b64encode(sent).decode() if encoding else sent.decode(),
    }


def _status_and_message(response: Response) -> tuple[int, str]:
    return response["statusCode"], json.loads(response["body"])["message"]


@pytest.mark.parametrize("zipped", [False, True])
def test_event_is_queued_unchanged_with_group_and_identity(zipped: bool) -> None:
    queue = Queue()
    body = orjson.dumps(event(RUN, parent=ROOT))
    assert Receiver(queue, "q.fifo")(_request(body, zipped=zipped)) == {"statusCode": 201}
    (sent,) = queue.sent
    assert sent["MessageBody"].encode() == body
    assert sent["MessageGroupId"] == ROOT
    assert sent["MessageDeduplicationId"] == entry_of(body).hash


def test_standard_queue_gets_no_group() -> None:
    queue = Queue()
    Receiver(queue, "q")(_request(orjson.dumps(event(RUN))))
    assert set(queue.sent[0]) == {"QueueUrl", "MessageBody"}


def test_secrets_are_masked_before_queueing_by_own_rules_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rules, queue = tmp_path / "redact.yaml", Queue()
    rules.write_text('patterns: ["EMP-[0-9]{6}"]')
    monkeypatch.setenv("HEADWATER_REDACT", str(rules))
    monkeypatch.setenv("QUEUE_URL", "q")
    monkeypatch.setattr("headwater_aws.receiver.client", lambda *_, **__: queue)
    monkeypatch.setattr("headwater_aws.receiver._receiver", _receiver.__wrapped__)
    facets = {"sql": {"query": "password='hunter2' EMP-123456"}}
    job = {"namespace": "demo", "name": "j", "facets": facets}
    handler(_request(orjson.dumps(event(RUN, job=job))), None)
    assert "hunter2" not in queue.sent[0]["MessageBody"]
    assert "EMP-123456" not in queue.sent[0]["MessageBody"]


_JOB_EVENT = {"eventTime": "2026-11-21T08:00:00Z", "job": {"namespace": "a", "name": "b"}}
_BAD_TIME = {**event(RUN), "eventTime": "noon"}
_LONG = event(RUN, note="x" * LARGEST_MESSAGE)


@pytest.mark.parametrize(
    ("request_", "status", "message"),
    [
        (_request(b"{"), 400, "received '{', expected JSON"),
        (_request(b"[]"), 422, "received [], expected an object"),
        (_request(orjson.dumps(_JOB_EVENT)), 422, "expected a run: DataZone accepts only run"),
        (_request(orjson.dumps(_BAD_TIME)), 422, "eventTime: received 'noon'"),
        (_request(b" " * LARGEST_MESSAGE + b"{}", zipped=True), 413, "at most 1048576 bytes"),
        (_request(orjson.dumps(_LONG)), 413, "switch off large facets"),
        (_request(b"plain", encoding="gzip"), 400, "expected a gzip stream"),
        (_request(b"x", encoding="br"), 400, "received 'br', expected gzip"),
        ({"isBase64Encoded": True, "body": "?", "headers": {}}, 400, "expected base64"),
        ({"headers": {}}, 400, "expected JSON"),
    ],
)
def test_invalid_events_are_rejected_at_the_producer(
    request_: Request, status: int, message: str
) -> None:
    queue = Queue()
    answered, response = _status_and_message(Receiver(queue, "q")(request_))
    assert answered == status, response
    assert message in response
    assert queue.sent == []


def test_zip_bomb_is_not_decompressed() -> None:
    request = _request(b" " * (64 * LARGEST_MESSAGE), zipped=True)
    tracemalloc.start()
    status, _ = _status_and_message(Receiver(Queue(), "q")(request))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert status == 413
    assert peak < 8 * LARGEST_MESSAGE


def test_incomplete_gzip_body_is_rejected() -> None:
    request = _request(b"")
    request |= {"headers": {"content-encoding": "gzip"}, "isBase64Encoded": True}
    whole = gzip.compress(orjson.dumps(event(RUN)))
    request["body"] = base64.b64encode(whole[:-9]).decode()
    status, response = _status_and_message(Receiver(Queue(), "q")(request))
    assert (status, "a gzip stream that ends too early" in response) == (400, True)


def test_unavailable_queue_returns_503() -> None:
    queue = Queue(EndpointConnectionError(endpoint_url="https://sqs"))
    answer = Receiver(queue, "q")(_request(orjson.dumps(event(RUN))))
    assert (answer["statusCode"], answer["headers"]["Retry-After"]) == (503, "5")


def _group(facets: dict[str, Any], run: str = RUN) -> str:
    body = event(run)
    body["run"]["facets"] = facets
    entry = entry_of(orjson.dumps(body))
    assert isinstance(entry.event, RunEvent)
    return group_of(entry.event)


def test_events_of_one_root_run_share_a_group() -> None:
    parent = {"run": {"runId": RUN}}
    assert _group({}) == RUN
    assert _group({"parent": {"run": {"runId": ROOT.upper()}}}) == ROOT
    assert _group({"parent": {**parent, "root": {"run": {"runId": ROOT}}}}) == ROOT
    assert _group({"parent": {"root": {"run": 3}, "run": 4}}) == RUN
    assert len(_group({}, run="x y " * 99)) == 64  # SQS's rule for names of groups


def test_requests_are_counted_by_outcome(
    written: Callable[[], tuple[Any, Any]],
) -> None:
    secret = "what an event says"
    body = json.dumps(event(RUN, inputs=[{"namespace": "x", "name": secret}])).encode()
    down = EndpointConnectionError(endpoint_url="https://sqs")
    for queue, given in ((Queue(), body), (Queue(), secret.encode()), (Queue(down), body)):
        Receiver(queue, "https://sqs/events")(_request(given))
    Authorizer(lambda: ["key"])({"headers": {"authorization": f"Bearer {secret}"}})
    metrics, lines = written()
    assert metrics == [
        ("receiver", "Received", 1),
        ("receiver", "Refused", 1),
        ("receiver", "Unavailable", 1),
        ("authorizer", "Denied", 1),
    ]
    assert [line["message"] for line in lines] == [
        "queued",
        "rejected",
        "queue unavailable",
        "invalid API key",
    ]
    assert secret not in json.dumps(lines)
