"""A thousand events on a real queue, with a poisoned group, throttling and a killed worker."""

from __future__ import annotations

import json
import os
import signal
import threading
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import pytest

from .conftest import Proxy

pytestmark = pytest.mark.server

EVENTS, GROUPS = 1_000, 20
SLOW, KILLED = 301, 500
ROOTS = [str(uuid.UUID(int=number)) for number in range(1, GROUPS + 1)]
REFUSED, STUMBLED = ROOTS[3], ROOTS[7]
"""Groups of which DataZone refuses events, or answers them 500 each time."""


def _event(number: int) -> dict[str, Any]:
    job = {"namespace": "demo", "name": f"event-{number}"}
    parent = {"run": {"runId": ROOTS[number % GROUPS]}, "job": {"namespace": "demo", "name": "r"}}
    return {
        "eventType": "COMPLETE",
        "eventTime": f"2026-11-21T08:{number // 60:02}:{number % 60:02}Z",
        "producer": "https://example.org/tests",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": str(uuid.UUID(int=10**6 + number)), "facets": {"parent": parent}},
        "job": job,
        "inputs": [],
        "outputs": [],
    }


def _number(event: dict[str, Any]) -> int:
    return int(event["job"]["name"].removeprefix("event-"))


def _is_poisoned(number: int) -> bool:
    return number % GROUPS in (3, 7) and number // GROUPS % 10 == 0


class _Moody:
    """A DataZone that throttles every seventh call and always rejects failing events.

    The response to the first accepted event from `SLOW` on waits until `go_on` is set.
    """

    def __init__(self) -> None:
        self.calls = 0
        self.answers: Counter[int] = Counter()
        self.slow = -1
        self.hangs, self.go_on = threading.Event(), threading.Event()

    def __call__(self, event: dict[str, Any]) -> int:
        self.calls += 1
        number = _number(event)
        status = self._status(number)
        self.answers[status] += 1
        if status == 200 and number >= SLOW and not self.hangs.is_set():
            self.slow = number
            self.hangs.set()
            assert self.go_on.wait(120)
        return status

    def _status(self, number: int) -> int:
        if self.calls % 7 == 0:
            return 429
        if _is_poisoned(number):
            return 400 if ROOTS[number % GROUPS] == REFUSED else 500
        return 200


@pytest.mark.parametrize("is_fifo", [False, True], ids=["standard", "fifo"])
def test_each_event_arrives_once_or_is_a_dead_letter_with_its_reason(
    make_proxy: Callable[..., Proxy], is_fifo: bool
) -> None:
    proxy = make_proxy(is_fifo=is_fifo)
    moody = _Moody()
    proxy.datazone.answer = moody
    doomed = proxy.start("worker")
    for number in range(EVENTS):
        assert proxy.post(_event(number)) == 201
        if number % 100 == 0:
            assert proxy.post(_event(number)) == 201  # a producer that was unsure
        if number == KILLED:  # during posting, queueing and a response
            assert moody.hangs.wait(120)
            os.kill(doomed.pid, signal.SIGKILL)
            assert proxy.left() > (KILLED - SLOW) / 2
            moody.go_on.set()
            workers = [proxy.start("worker") for _ in range(2)]
    workers[0].wait_until(lambda: proxy.left() == 0, 300)

    # Events whose response was lost were delivered again.
    assert moody.slow in map(_number, proxy.datazone.repeated)
    arrived = [_number(taken.body) for taken in proxy.datazone.accepted]
    letters = {_number(json.loads(body)): reason for body, reason in proxy.letters()}
    assert len(arrived) == len(set(arrived))
    poisoned = {number for number in range(EVENTS) if _is_poisoned(number)}
    assert set(letters) == poisoned
    assert set(arrived) == set(range(EVENTS)) - poisoned
    for number, reason in letters.items():
        expected = "400 Validation" if ROOTS[number % GROUPS] == REFUSED else "500 InternalServer"
        assert reason.startswith(f"DataZone answered {expected}"), reason
    assert moody.answers[429] > EVENTS / 10
    if is_fifo:
        by_run = defaultdict(list)
        for number in arrived:
            by_run[number % GROUPS].append(number)
        assert all(numbers == sorted(numbers) for numbers in by_run.values())
