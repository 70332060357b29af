"""A stand-in for Lambda's event source mapping of SQS, with partial batch failures.

Queues are created with the settings of the template.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

from headwater_aws.payloads import Batch, BatchResponse, Record
from headwater_aws.worker import MOST_RECEIVES_EVER

BATCH = 10
WAIT_SECONDS = 2
RETENTION_SECONDS = 1_209_600

Handler = Callable[[Batch, object], BatchResponse]


def create_queues(sqs: Any, name: str, *, is_fifo: bool, visibility: int) -> tuple[str, str]:
    """Create a queue and its dead-letter queue if they are missing; return their URLs."""
    suffix = ".fifo" if is_fifo else ""
    kind = {"FifoQueue": "true"} if is_fifo else {}
    retention = {"MessageRetentionPeriod": str(RETENTION_SECONDS), **kind}
    dead: str = sqs.create_queue(QueueName=f"{name}-dead{suffix}", Attributes=retention)["QueueUrl"]
    dead_attributes = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])
    redrive = {
        "deadLetterTargetArn": dead_attributes["Attributes"]["QueueArn"],
        "maxReceiveCount": MOST_RECEIVES_EVER,
    }
    attributes = {
        **retention,
        "VisibilityTimeout": str(visibility),
        "RedrivePolicy": json.dumps(redrive),
    }
    queue: str = sqs.create_queue(QueueName=f"{name}{suffix}", Attributes=attributes)["QueueUrl"]
    return queue, dead


def receive(sqs: Any, queue_url: str, wait_seconds: int = WAIT_SECONDS) -> list[Record]:
    """Return messages of a queue in Lambda's format; none if none arrived in time."""
    answer = sqs.receive_message(
        QueueUrl=queue_url,
        MaxNumberOfMessages=BATCH,
        WaitTimeSeconds=wait_seconds,
        MessageSystemAttributeNames=["All"],
    )
    return [_record(message) for message in answer.get("Messages", [])]


def invoke(sqs: Any, queue_url: str, handler: Handler, records: list[Record]) -> None:
    """Handle a batch and delete the messages that did not fail; none if the handler raises."""
    failed = {
        failure["itemIdentifier"]
        for failure in handler({"Records": records}, None)["batchItemFailures"]
    }
    entries = [
        {"Id": str(index), "ReceiptHandle": record["receiptHandle"]}
        for index, record in enumerate(records)
        if record["messageId"] not in failed
    ]
    if entries:
        sqs.delete_message_batch(QueueUrl=queue_url, Entries=entries)


def poll(sqs: Any, queue_url: str, handler: Handler, stopping: threading.Event) -> None:
    """Handle batches until `stopping` is set."""
    while not stopping.is_set():
        if records := receive(sqs, queue_url):
            invoke(sqs, queue_url, handler, records)


def _record(message: Any) -> Record:
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": message.get("Attributes", {}),
    }
