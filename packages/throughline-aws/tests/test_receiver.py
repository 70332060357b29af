"""What the receiver takes, what it refuses, and what holds events in order."""

from __future__ import annotations

import base64
import gzip
import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from botocore.exceptions import EndpointConnectionError

from throughline.log import entry_of
from throughline.spec import RunEvent
from throughline_aws.authorizer import Authorizer
from throughline_aws.receiver import LARGEST_MESSAGE, Receiver, group_of

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
    """Remembers what it is sent."""

    def __init__(self, error: Exception | None = None) -> None:
        self.sent: list[dict[str, Any]] = []
        self.error = error

    def send_message(self, **message: Any) -> None:
        if self.error:
            raise self.error
        self.sent.append(message)


def _request(body: bytes, *, zipped: bool = False, encoding: str = "") -> dict[str, Any]:
    encoding = encoding or ("gzip" if zipped else "")
    sent = gzip.compress(body) if zipped else body
    return {
        "headers": {"content-encoding": encoding} if encoding else {},
        "isBase64Encoded": bool(encoding),
        "body": base64.b64encode(sent).decode() if encoding else sent.decode(),
    }


def _told(answer: dict[str, Any]) -> tuple[int, str]:
    return answer["statusCode"], json.loads(answer["body"])["message"]


@pytest.mark.parametrize("zipped", [False, True])
def test_an_event_is_queued_as_it_came_with_its_root_run_and_identity(zipped: bool) -> None:
    queue = Queue()
    body = orjson.dumps(event(RUN, parent=ROOT))
    assert Receiver(queue, "q.fifo")(_request(body, zipped=zipped)) == {"statusCode": 201}
    (sent,) = queue.sent
    assert sent["MessageBody"].encode() == body
    assert sent["MessageGroupId"] == ROOT
    assert sent["MessageDeduplicationId"] == entry_of(body).hash


def test_a_standard_queue_is_told_of_no_order() -> None:
    queue = Queue()
    Receiver(queue, "q")(_request(orjson.dumps(event(RUN))))
    assert set(queue.sent[0]) == {"QueueUrl", "MessageBody"}


def test_a_secret_never_reaches_the_queue() -> None:
    queue = Queue()
    job = {"namespace": "demo", "name": "j", "facets": {"sql": {"query": "password='hunter2'"}}}
    Receiver(queue, "q")(_request(orjson.dumps(event(RUN, job=job))))
    assert "hunter2" not in queue.sent[0]["MessageBody"]


_JOB_EVENT = {"eventTime": "2026-11-21T08:00:00Z", "job": {"namespace": "a", "name": "b"}}
_BAD_TIME = {**event(RUN), "eventTime": "noon"}
_LONG = event(RUN, note="x" * LARGEST_MESSAGE)


@pytest.mark.parametrize(
    ("request_", "status", "message"),
    [
        (_request(b"{"), 400, "received '{', expected JSON"),
        (_request(b"[]"), 422, "received [], expected an object"),
        (_request(orjson.dumps(_JOB_EVENT)), 422, "expected a run: DataZone takes run events"),
        (_request(orjson.dumps(_BAD_TIME)), 422, "eventTime: received 'noon'"),
        (_request(b" " * LARGEST_MESSAGE + b"{}", zipped=True), 413, "at most 1048576 bytes"),
        (_request(orjson.dumps(_LONG)), 413, "switch off large facets"),
        (_request(b"plain", encoding="gzip"), 400, "expected a gzip stream"),
        (_request(b"x", encoding="br"), 400, "received 'br', expected gzip"),
        ({"isBase64Encoded": True, "body": "?", "headers": {}}, 400, "expected base64"),
        ({"headers": {}}, 400, "expected JSON"),
    ],
)
def test_what_datazone_could_never_take_is_refused_where_it_can_be_mended(
    request_: dict[str, Any], status: int, message: str
) -> None:
    queue = Queue()
    answered, said = _told(Receiver(queue, "q")(request_))
    assert answered == status, said
    assert message in said
    assert queue.sent == []


def test_a_small_body_that_unzips_to_a_huge_one_is_not_unzipped_whole() -> None:
    request = _request(b" " * (64 * LARGEST_MESSAGE), zipped=True)
    tracemalloc.start()
    status, _ = _told(Receiver(Queue(), "q")(request))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert status == 413
    assert peak < 8 * LARGEST_MESSAGE


def test_a_zipped_body_that_was_cut_off_is_refused() -> None:
    request = _request(b"")
    request |= {"headers": {"content-encoding": "gzip"}, "isBase64Encoded": True}
    whole = gzip.compress(orjson.dumps(event(RUN)))
    request["body"] = base64.b64encode(whole[:-9]).decode()
    status, said = _told(Receiver(Queue(), "q")(request))
    assert (status, "ends too early" in said) == (400, True)


def test_without_the_queue_nothing_is_acknowledged() -> None:
    queue = Queue(EndpointConnectionError(endpoint_url="https://sqs"))
    answer = Receiver(queue, "q")(_request(orjson.dumps(event(RUN))))
    assert (answer["statusCode"], answer["headers"]["Retry-After"]) == (503, "5")


def _group(facets: dict[str, Any], run: str = RUN) -> str:
    body = event(run)
    body["run"]["facets"] = facets
    entry = entry_of(orjson.dumps(body))
    assert isinstance(entry.event, RunEvent)
    return group_of(entry.event)


def test_events_of_one_root_run_are_one_group() -> None:
    parent = {"run": {"runId": RUN}}
    assert _group({}) == RUN
    assert _group({"parent": {"run": {"runId": ROOT.upper()}}}) == ROOT
    assert _group({"parent": {**parent, "root": {"run": {"runId": ROOT}}}}) == ROOT
    assert _group({"parent": {"root": {"run": 3}, "run": 4}}) == RUN
    assert len(_group({}, run="x y " * 99)) == 64  # what SQS takes for a name of a group


def test_requests_are_counted_by_what_became_of_them(
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
        "refused",
        "the queue takes no event",
        "a request without a known key",
    ]
    assert secret not in json.dumps(lines)
