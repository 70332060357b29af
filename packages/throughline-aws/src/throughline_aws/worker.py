"""Takes events from the queue to DataZone, by throughline's backend.

What DataZone refuses goes to the dead-letter queue at once, with its reason. What it does not take
now comes again, later each time: for as long as it takes where DataZone is busy or away, and a few
times where the event itself may be the cause. Either way it ends up out of the way of what follows
in its group. SQS would move it as well, but without saying why.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any

from throughline.deliver import Backend, Delivery
from throughline.errors import DeliveryError, EventError, UnavailableError
from throughline.log import read_entry
from throughline.projection import State, project
from throughline_aws.batch import Record, failed, group_of, receives_of
from throughline_aws.clients import client, number, variable
from throughline_aws.datazone import datazone_of_environment
from throughline_aws.telemetry import count, tell

LONGEST_WAIT = 900
"""Seconds until an event that was not taken comes again, at most."""
MOST_RECEIVES_EVER = 1_000
"""Where SQS itself takes a message away; some ten days, at the longest wait."""
_LONGEST_REASON = 1_000


@dataclass(frozen=True, slots=True)
class Queue:
    """Where events come from, where they end, and how often they are tried in between."""

    url: str
    dead_letters: str
    most_receives: int
    """Of an event that may be the cause itself. One that waited behind others counts them too."""
    first_wait: int
    """Seconds until the second try; twice as long each time."""

    def wait(self, receives: int) -> int:
        """Seconds until a message comes again that was handed out so often."""
        return min(self.first_wait << min(receives - 1, 20), LONGEST_WAIT)


class Worker:
    """Handles batches of Lambda's event source mapping of SQS, with partial failures."""

    def __init__(self, backend: Backend, sqs: Any, queue: Queue) -> None:
        self._backend = backend
        self._sqs = sqs
        self._queue = queue

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Deliver a batch; answers what is to come again, as Lambda wants to be told."""
        records = batch["Records"]
        again = failed(records, self._deliver)
        waits: dict[str, int] = {}
        for record in again:  # all of a group when its first one comes, or it would be overtaken
            wait = waits.setdefault(group_of(record), self._queue.wait(receives_of(record)))
            self._postpone(record, wait)
        count("worker", Settled=len(records) - len(again), Retried=len(again))
        return {"batchItemFailures": [{"itemIdentifier": each["messageId"]} for each in again]}

    def _deliver(self, record: Record) -> bool:
        """Deliver a message, to DataZone or the dead letters; False if it is to come again."""
        receives = receives_of(record)
        try:
            self._backend.send(delivery_of(record["body"]))
        except UnavailableError as error:
            most = self._queue.most_receives if error.is_doubtful else MOST_RECEIVES_EVER
            if receives < most:
                tell("WARNING", "not taken now", reason=str(error), **_about(record))
                return False
            return self._bury(record, f"{error} (handed out {receives} times)")
        except (DeliveryError, EventError) as error:
            return self._bury(record, str(error))
        except Exception as error:  # what trips over one event must not stop the others
            return self._bury(record, f"{type(error).__name__}: {error}")
        tell("INFO", "delivered", **_about(record))
        return True

    def _bury(self, record: Record, reason: str) -> bool:
        """Put a message among the dead letters; False if that cannot be done now."""
        from botocore.exceptions import BotoCoreError, ClientError

        order = {}
        if "MessageGroupId" in record["attributes"]:
            # Not the event's own id: one that is sent again and refused again is a letter again.
            order = {
                "MessageGroupId": group_of(record),
                "MessageDeduplicationId": record["messageId"],
            }
        shown = reason[:_LONGEST_REASON]
        try:
            self._sqs.send_message(
                QueueUrl=self._queue.dead_letters,
                MessageBody=record["body"],
                MessageAttributes={"Reason": {"DataType": "String", "StringValue": shown}},
                **order,
            )
        except (BotoCoreError, ClientError) as error:
            tell("ERROR", "no dead letter", error=str(error), reason=shown, **_about(record))
            return False
        tell("ERROR", "dead letter", reason=shown, **_about(record))
        count("worker", DeadLetters=1)
        return True

    def _postpone(self, record: Record, seconds: int) -> None:
        """Have a message come again when it is time, not only when its visibility ends."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            self._sqs.change_message_visibility(
                QueueUrl=self._queue.url,
                ReceiptHandle=record["receiptHandle"],
                VisibilityTimeout=seconds,
            )
        except (BotoCoreError, ClientError) as error:  # then it comes when the queue says
            tell("WARNING", "not postponed", error=str(error), **_about(record))


def delivery_of(body: str) -> Delivery:
    """An event on its way; all that is known of its run is what it says itself."""

    def known() -> AbstractContextManager[State]:
        return nullcontext(project([read_entry(body)]))

    return Delivery(0, body, known)


def _about(record: Record) -> dict[str, Any]:
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


def handler(batch: dict[str, Any], _context: object) -> dict[str, Any]:
    """Lambda's entry point."""
    return _worker()(batch)
