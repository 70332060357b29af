"""Deliver events from the queue to DataZone by headwater's backend.

A rejected event is sent to the dead-letter queue immediately, with the reason. If DataZone is
unavailable, the event is retried with increasing delays: indefinitely if DataZone is busy, and a
few times if the event may be the cause. Later events of its group then continue. SQS could move
events to the dead-letter queue itself, but without a reason.

A record is a message of the queue, with one event. Its group is the events that must stay in
order: those of one root run. A receive is an attempt; the message is invisible until the next one.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any

from headwater.errors import DeliveryError, EventError, UnavailableError
from headwater.log import read_entry
from headwater.plugins.delivery.backend import Backend, Delivery
from headwater.projection import State, project
from headwater_aws._batch import failed_records, group_of, receives_of
from headwater_aws._clients import client, number, variable
from headwater_aws._telemetry import count, write_log
from headwater_aws.datazone import datazone_of_environment
from headwater_aws.payloads import Batch, BatchResponse, Record

LONGEST_WAIT = 900
"""Maximum delay of a retry in seconds."""
MOST_RECEIVES_EVER = 1_000
"""Receives after which SQS itself moves a message; about ten days with the maximum delay."""
_LONGEST_REASON = 1_000


@dataclass(frozen=True, slots=True)
class Queue:
    """The queue of events, its dead-letter queue, and the limits of retries."""

    url: str
    dead_letters: str
    most_receives: int
    """Maximum receives of an event that may be the cause; waiting behind others counts too."""
    first_wait: int
    """Seconds until the first retry; doubled each time."""

    def wait(self, receives: int) -> int:
        """Return the seconds until the next attempt after a number of receives."""
        return min(self.first_wait << min(receives - 1, 20), LONGEST_WAIT)


@dataclass(frozen=True)
class Worker:
    """Handles batches of Lambda's SQS event source mapping, with partial failures."""

    backend: Backend
    sqs: Any
    queue: Queue

    def __call__(self, batch: Batch) -> BatchResponse:
        """Deliver a batch; return the failed messages in Lambda's format."""
        records = batch["Records"]
        retried = failed_records(records, self._deliver)
        waits: dict[str, int] = {}
        for record in retried:  # a whole group at once, to keep its order
            wait = waits.setdefault(group_of(record), self.queue.wait(receives_of(record)))
            self._set_visibility(record, wait)
        count("worker", Settled=len(records) - len(retried), Retried=len(retried))
        return {
            "batchItemFailures": [{"itemIdentifier": record["messageId"]} for record in retried]
        }

    def _deliver(self, record: Record) -> bool:
        """Deliver a message to DataZone or the dead letters; return False to retry it."""
        receives = receives_of(record)
        try:
            self.backend.send(delivery_of(record["body"]))
        except UnavailableError as error:
            # doubtful: the event itself may be the cause
            allowed = self.queue.most_receives if error.is_doubtful else MOST_RECEIVES_EVER
            if receives < allowed:
                write_log("WARNING", "will be retried", reason=str(error), **_about(record))
                return False
            return self._send_to_dead_letters(record, f"{error} (received {receives} times)")
        except (DeliveryError, EventError) as error:
            return self._send_to_dead_letters(record, str(error))
        except Exception as error:  # one event must not stop the others
            return self._send_to_dead_letters(record, f"{type(error).__name__}: {error}")
        write_log("INFO", "delivered", **_about(record))
        return True

    def _send_to_dead_letters(self, record: Record, reason: str) -> bool:
        """Send a message to the dead-letter queue; return False if that fails."""
        from botocore.exceptions import BotoCoreError, ClientError

        order = {}
        if "MessageGroupId" in record["attributes"]:
            # Not the event's own id, so that a resent event can become a dead letter again.
            order = {
                "MessageGroupId": group_of(record),
                "MessageDeduplicationId": record["messageId"],
            }
        short_reason = reason[:_LONGEST_REASON]
        try:
            self.sqs.send_message(
                QueueUrl=self.queue.dead_letters,
                MessageBody=record["body"],
                MessageAttributes={"Reason": {"DataType": "String", "StringValue": short_reason}},
                **order,
            )
        except (BotoCoreError, ClientError) as error:
            write_log(
                "ERROR",
                "dead letter not sent",
                error=str(error),
                reason=short_reason,
                **_about(record),
            )
            return False
        write_log("ERROR", "dead letter", reason=short_reason, **_about(record))
        count("worker", DeadLetters=1)
        return True

    def _set_visibility(self, record: Record, seconds: int) -> None:
        """Set the time until a message is received again."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            self.sqs.change_message_visibility(
                QueueUrl=self.queue.url,
                ReceiptHandle=record["receiptHandle"],
                VisibilityTimeout=seconds,
            )
        except (BotoCoreError, ClientError) as error:  # then the queue's default applies
            write_log("WARNING", "retry delay not set", error=str(error), **_about(record))


def delivery_of(body: str) -> Delivery:
    """Return the delivery of an event, with a state of only that event: there is no log."""

    def reading() -> AbstractContextManager[State]:
        return nullcontext(project([read_entry(body)]))

    return Delivery(0, body, reading)


def _about(record: Record) -> dict[str, str | int]:
    return {
        "messageId": record["messageId"],
        "group": group_of(record),
        "receives": receives_of(record),
    }


@cache
def _worker() -> Worker:
    queue = Queue(
        variable("QUEUE_URL"),
        variable("DEAD_LETTER_URL"),
        number("MOST_RECEIVES", 10),
        number("FIRST_WAIT_SECONDS", 2),
    )
    return Worker(datazone_of_environment(), client("sqs", tries=3), queue)


def handler(batch: Batch, _context: object) -> BatchResponse:
    """Handle a Lambda invocation."""
    return _worker()(batch)
