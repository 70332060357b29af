"""A stand-in of Lambda's event source mapping: batches of SQS to a handler, partial failures back.

Queues are made as the template makes them.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

from throughline_aws.worker import MOST_RECEIVES_EVER

BATCH = 10
WAIT_SECONDS = 2
RETENTION_SECONDS = 1_209_600

Handler = Callable[[dict[str, Any], object], dict[str, Any]]


def make_queues(sqs: Any, name: str, *, is_fifo: bool, visibility: int) -> tuple[str, str]:
    """URLs of a queue and its dead letters, new or as they were."""
    suffix = ".fifo" if is_fifo else ""
    kind = {"FifoQueue": "true"} if is_fifo else {}
    kept = {"MessageRetentionPeriod": str(RETENTION_SECONDS), **kind}
    dead: str = sqs.create_queue(QueueName=f"{name}-dead{suffix}", Attributes=kept)["QueueUrl"]
    found = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])
    redrive = {
        "deadLetterTargetArn": found["Attributes"]["QueueArn"],
        "maxReceiveCount": MOST_RECEIVES_EVER,
    }
    attributes = {
        **kept,
        "VisibilityTimeout": str(visibility),
        "RedrivePolicy": json.dumps(redrive),
    }
    queue: str = sqs.create_queue(QueueName=f"{name}{suffix}", Attributes=attributes)["QueueUrl"]
    return queue, dead


def receive(sqs: Any, queue_url: str, wait_seconds: int = WAIT_SECONDS) -> list[dict[str, Any]]:
    """Messages of a queue as a Lambda is given them; none if none came in time."""
    answer = sqs.receive_message(
        QueueUrl=queue_url,
        MaxNumberOfMessages=BATCH,
        WaitTimeSeconds=wait_seconds,
        MessageSystemAttributeNames=["All"],
        MessageAttributeNames=["All"],
    )
    return [_record(message) for message in answer.get("Messages", [])]


def invoke(sqs: Any, queue_url: str, handler: Handler, records: list[dict[str, Any]]) -> None:
    """Have a batch handled and delete what did not fail; all of it failed if the handler did."""
    failed = {
        each["itemIdentifier"] for each in handler({"Records": records}, None)["batchItemFailures"]
    }
    entries = [
        {"Id": str(index), "ReceiptHandle": record["receiptHandle"]}
        for index, record in enumerate(records)
        if record["messageId"] not in failed
    ]
    if entries:
        sqs.delete_message_batch(QueueUrl=queue_url, Entries=entries)


def poll(sqs: Any, queue_url: str, handler: Handler, stopping: threading.Event) -> None:
    """Handle batch after batch until told to stop."""
    while not stopping.is_set():
        if records := receive(sqs, queue_url):
            invoke(sqs, queue_url, handler, records)


def _record(message: dict[str, Any]) -> dict[str, Any]:
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": message.get("Attributes", {}),
        "messageAttributes": message.get("MessageAttributes", {}),
        "eventSource": "aws:sqs",
    }
