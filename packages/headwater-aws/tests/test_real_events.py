"""Events of real producers through the whole proxy, validated against botocore's model."""

from __future__ import annotations

import base64
import gzip
from collections import Counter
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from headwater_aws.datazone import DataZone
from headwater_aws.payloads import Record
from headwater_aws.receiver import Receiver
from headwater_aws.worker import Queue, Worker
from infra.proxy_local.datazone import DataZoneServer
from packages.headwater.tests.support.recordings import recordings

pytestmark = pytest.mark.replay

Make = Callable[..., tuple[DataZone, DataZoneServer]]

_STACK = ("airflow33-dags", "spark41-iceberg112-jdbc-workaround", "metaflow219-spike-ok2")


class _Sqs:
    """A FIFO queue that keeps each message once."""

    def __init__(self) -> None:
        self.sent: dict[str, dict[str, Any]] = {}
        self.letters: list[str] = []

    def send_message(self, **message: Any) -> None:
        if message["QueueUrl"] == "dead.fifo":
            self.letters.append(message["MessageAttributes"]["Reason"]["StringValue"])
        else:
            self.sent[message["MessageDeduplicationId"]] = message


@pytest.mark.parametrize("name", _STACK)
def test_events_of_this_stack_arrive(make_datazone: Make, name: str) -> None:
    path = recordings() / "openlineage-events" / "this-stack" / f"{name}.jsonl"
    backend, server = make_datazone()
    sqs = _Sqs()
    receiver = Receiver(sqs, "queue.fifo")
    answers: Counter[int] = Counter()
    for line in path.read_bytes().splitlines():
        zipped = base64.b64encode(gzip.compress(line)).decode()
        headers = {"content-encoding": "gzip"}
        answer = receiver({"headers": headers, "isBase64Encoded": True, "body": zipped})
        is_run = "run" in orjson.loads(line)
        assert answer["statusCode"] == (201 if is_run else 422), answer
        answers[answer["statusCode"]] += 1
    worker = Worker(backend, sqs, Queue("queue.fifo", "dead.fifo", 4, 0))
    records: list[Record] = [
        {
            "messageId": token,
            "receiptHandle": token,
            "body": message["MessageBody"],
            "attributes": {
                "ApproximateReceiveCount": "1",
                "MessageGroupId": message["MessageGroupId"],
            },
        }
        for token, message in sqs.sent.items()
    ]
    assert worker({"Records": records}) == {"batchItemFailures": []}
    assert sqs.letters == []
    assert len(server.accepted) == len(sqs.sent)
    assert answers[201] > 10
