"""Receive an event over HTTP and put it into the queue; 201 means that it is queued durably.

Events that DataZone would never accept are rejected here, so that the producer gets the error.
Secrets are masked before the event is queued, by the same rules as in headwater, and by those of a
file in the function's package that `HEADWATER_REDACT` names.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import orjson

from headwater.errors import BodyError, EventError, TooLargeError
from headwater.events import Logged, RunEvent
from headwater.log import entry_of
from headwater.redaction import DEFAULT, Redactor
from headwater.unzip import Unzip
from headwater_aws._clients import client, variable
from headwater_aws._telemetry import count, write_log
from headwater_aws.payloads import Request, Response

LARGEST_MESSAGE = 1_048_576
"""The maximum size of an SQS message in bytes."""

_GROUP = re.compile(r"[!-~]{1,128}")


@dataclass(frozen=True)
class Receiver:
    """Answers requests of API Gateway (payload format 2.0)."""

    sqs: Any
    queue_url: str
    redactor: Redactor = DEFAULT

    def __call__(self, request: Request) -> Response:
        """Queue one event: 201; 400, 413 or 422 if it is invalid; 503 without a queue."""
        try:
            body, event = _read(request, self.redactor)
        except TooLargeError as error:
            return _rejected(413, error)
        except BodyError as error:
            return _rejected(400, error)
        except EventError as error:
            return _rejected(422, error)
        return self._queue(body, event)

    def _queue(self, body: str, event: RunEvent) -> Response:
        """Send an event to the queue; answer 201, or 503 so that the producer tries again."""
        from botocore.exceptions import BotoCoreError, ClientError

        # FIFO queues drop duplicates of an event.
        order = {"MessageGroupId": group_of(event), "MessageDeduplicationId": event.hash}
        try:
            self.sqs.send_message(
                QueueUrl=self.queue_url,
                MessageBody=body,
                **(order if self.queue_url.endswith(".fifo") else {}),
            )
        except (BotoCoreError, ClientError) as error:
            write_log("ERROR", "queue unavailable", error=str(error), event=event.hash)
            count("receiver", Unavailable=1)
            return _response(503, f"the queue is unavailable: {error}", {"Retry-After": "5"})
        write_log("INFO", "queued", event=event.hash, runId=event.run_id, job=event.job.name)
        count("receiver", Received=1)
        return {"statusCode": 201}


def group_of(event: RunEvent) -> str:
    """Return the group of events that must stay in order: those of one root run."""
    parent = event.run_facets.get("parent", {})
    root = parent.get("root")
    ref = (root if isinstance(root, dict) else parent).get("run")
    run_id = ref.get("runId") if isinstance(ref, dict) else None
    group = run_id.lower() if isinstance(run_id, str) and run_id else event.run_id
    return group if _GROUP.fullmatch(group) else hashlib.sha256(group.encode()).hexdigest()


@cache
def _receiver() -> Receiver:
    redactor = Redactor.of(os.environ.get("HEADWATER_REDACT", ""))
    return Receiver(client("sqs", tries=3), variable("QUEUE_URL"), redactor)


def handler(request: Request, _context: object) -> Response:
    """Handle a Lambda invocation."""
    return _receiver()(request)


def _read(request: Request, redactor: Redactor) -> tuple[str, RunEvent]:
    entry = entry_of(_decompressed(_raw(request), request.get("headers", {})), redactor=redactor)
    if len(entry.body.encode()) > LARGEST_MESSAGE:
        raise _too_large()
    return entry.body, _run_event(entry.event)


def _run_event(event: Logged) -> RunEvent:
    if isinstance(event, RunEvent):
        return event
    raise EventError(
        "run", None, "a run: DataZone accepts only run events, not those of jobs or datasets"
    )


def _raw(request: Request) -> bytes:
    body = request.get("body") or ""
    if not request.get("isBase64Encoded"):
        return body.encode()
    try:
        return base64.b64decode(body, validate=True)
    except binascii.Error as error:
        raise BodyError("$", str(error), "base64, as API Gateway writes it") from None


def _decompressed(raw: bytes, headers: dict[str, str]) -> bytes:
    """Return the decoded body; raise TooLargeError as soon as it exceeds the size of a message."""
    unzip, body = Unzip(headers.get("content-encoding", "")), b""
    for part in unzip.feed(raw):
        body += part
        if len(body) > LARGEST_MESSAGE:
            raise _too_large()
    unzip.check_end()
    return body


def _too_large() -> TooLargeError:
    return TooLargeError(
        "$",
        f"more than {LARGEST_MESSAGE} bytes",
        f"at most {LARGEST_MESSAGE} bytes, unzipped: switch off large facets at the producer",
    )


def _rejected(status: int, error: EventError) -> Response:
    write_log("WARNING", "rejected", status=status, path=error.path, expected=error.expected)
    count("receiver", Refused=1)
    return _response(status, str(error))


def _response(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    return {
        "statusCode": status,
        "headers": {"Content-Type": "application/json", **(headers or {})},
        "body": orjson.dumps({"code": status, "message": message}).decode(),
    }
