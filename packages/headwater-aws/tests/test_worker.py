"""The worker: the result of each message of a batch, and the delay of retries."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from headwater.errors import DeliveryError, UnavailableError
from headwater.plugins.delivery.backend import Delivery
from headwater_aws.payloads import Attributes, Record
from headwater_aws.worker import LONGEST_WAIT, MOST_RECEIVES_EVER, Queue, Worker

Event = Callable[..., dict[str, Any]]
Written = Callable[[], tuple[Any, Any]]

SECRET = "what an event says"

BUSY, DOUBTFUL = UnavailableError("busy"), UnavailableError("stumbled", is_doubtful=True)
DOWN = EndpointConnectionError(endpoint_url="https://sqs")
QUEUE = Queue("queue", "dead", most_receives=4, first_wait=2)


class Backend:
    """A backend whose response depends on the run of an event."""

    def __init__(self, **answers: Exception) -> None:
        self.answers = answers
        self.sent: list[str] = []

    def send(self, delivery: Delivery) -> None:
        run = json.loads(delivery.body)["run"]["runId"]
        if error := self.answers.get(run):
            raise error
        self.sent.append(run)

    def close(self) -> None:
        """Do nothing."""


class Sqs:
    """Records dead letters and delays; with `error`, every call fails."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.letters: list[dict[str, Any]] = []
        self.waits: dict[str, int] = {}

    def send_message(self, **message: Any) -> None:
        if self.error:
            raise self.error
        self.letters.append(message)

    def change_message_visibility(self, **given: Any) -> None:
        if self.error:
            raise self.error
        self.waits[given["ReceiptHandle"]] = given["VisibilityTimeout"]


def _record(body: str, *, id_: str, receives: int = 1, group: str = "") -> Record:
    attributes: Attributes = {"ApproximateReceiveCount": str(receives)}
    if group:
        attributes |= {"MessageGroupId": group, "MessageDeduplicationId": f"d-{id_}"}
    return {"messageId": id_, "receiptHandle": f"r-{id_}", "body": body, "attributes": attributes}


def _again(worker: Worker, *records: Record) -> list[str]:
    answer = worker({"Records": list(records)})
    return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]


def test_rejected_event_becomes_a_dead_letter_and_others_arrive(
    event: Event,
) -> None:
    sqs, backend = Sqs(), Backend(bad=DeliveryError("because"), odd=ValueError("a bug"))
    runs = ("bad", "odd", "good")
    records = [_record(json.dumps(event(run)), id_=run, group="g") for run in runs]
    records.append(_record("no JSON", id_="junk", group="g"))
    assert _again(Worker(backend, sqs, QUEUE), *records) == []
    assert backend.sent == ["good"]
    reasons = [letter["MessageAttributes"]["Reason"]["StringValue"] for letter in sqs.letters]
    assert reasons[:2] == ["because", "ValueError: a bug"]
    assert reasons[2].startswith("JSONDecodeError: ")
    assert sqs.letters[0]["MessageBody"] == records[0]["body"]
    assert (sqs.letters[0]["MessageGroupId"], sqs.letters[0]["MessageDeduplicationId"]) == (
        "g",
        "bad",
    )


def test_retried_event_keeps_the_order_of_its_group(event: Event) -> None:
    sqs, backend = Sqs(), Backend(slow=BUSY)
    records = [
        _record(json.dumps(event(run)), id_=id_, receives=receives, group=group)
        for run, id_, receives, group in (
            ("slow", "1", 3, "a"),
            ("next", "2", 1, "a"),
            ("other", "3", 1, "b"),
        )
    ]
    assert _again(Worker(backend, sqs, QUEUE), *records) == ["1", "2"]
    assert backend.sent == ["other"]
    assert sqs.waits == {"r-1": 8, "r-2": 8}  # not before the first of them


@pytest.mark.parametrize(
    ("error", "receives", "is_buried"),
    [
        (DOUBTFUL, 3, False),
        (DOUBTFUL, 4, True),
        (BUSY, 4, False),
        (BUSY, MOST_RECEIVES_EVER - 1, False),
        (BUSY, MOST_RECEIVES_EVER, True),
    ],
)
def test_busy_datazone_is_retried_longer_than_a_doubtful_event(
    event: Event, error: Exception, receives: int, is_buried: bool
) -> None:
    sqs = Sqs()
    record = _record(json.dumps(event("x")), id_="1", receives=receives)
    again = _again(Worker(Backend(x=error), sqs, QUEUE), record)
    assert again == ([] if is_buried else ["1"])
    assert len(sqs.letters) == is_buried
    if is_buried:
        reason = sqs.letters[0]["MessageAttributes"]["Reason"]["StringValue"]
        assert reason.endswith(f"(received {receives} times)")


def test_delays_grow_to_15_minutes() -> None:
    assert [QUEUE.wait(receives) for receives in (1, 2, 3, 9, 10, 999)] == [
        *(2, 4, 8, 512),
        *(LONGEST_WAIT, LONGEST_WAIT),
    ]


def test_unsent_dead_letter_is_retried(event: Event) -> None:
    worker = Worker(Backend(bad=DeliveryError("because")), Sqs(DOWN), QUEUE)
    assert _again(worker, _record(json.dumps(event("bad")), id_="1")) == ["1"]


def test_batch_is_counted_and_log_lines_have_no_content(event: Event, written: Written) -> None:
    worker = Worker(Backend(bad=DeliveryError("because"), slow=BUSY), Sqs(), QUEUE)
    job = {"namespace": "demo", "name": "load", "facets": {"sql": {"query": SECRET}}}
    records = [
        _record(json.dumps(event(run, job=job)), id_=f"m-{run}", receives=2)
        for run in ("good", "bad", "slow")
    ]
    worker({"Records": records})
    metrics, lines = written()
    assert metrics == [
        ("worker", "DeadLetters", 1),
        ("worker", "Settled", 2),
        ("worker", "Retried", 1),
    ]
    assert [(line["level"], line["message"], line["messageId"]) for line in lines] == [
        ("INFO", "delivered", "m-good"),
        ("ERROR", "dead letter", "m-bad"),
        ("WARNING", "will be retried", "m-slow"),
    ]
    assert [line.get("reason") for line in lines] == [None, "because", "busy"]
    assert all(line["receives"] == 2 and line["timestamp"] > 0 for line in lines)
    assert SECRET not in json.dumps(lines)
