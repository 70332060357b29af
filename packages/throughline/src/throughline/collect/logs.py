"""Events inside the lines of logs, as console transports leave them there.

Spark's writes `25/11/21 08:00:00 INFO ConsoleTransport: {"eventTime":...}`, openlineage-python's
the same through `logging`: below Airflow 2 after `{console.py:29} INFO - `, below Airflow 3 as a
text in the member `event` of a JSON line, as containers' log drivers keep a line in `log`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import orjson

_DECODER = json.JSONDecoder()
SIGN = b"eventTime"
"""What every event has, and hardly another line."""

_TEXTS = ("event", "message", "msg", "log")


def events_in(line: bytes) -> Iterator[bytes]:
    """The JSON text of each event in a line; the line itself if it only looks like one."""
    if SIGN not in line:
        return
    text = line.decode(errors="replace")
    found = [orjson.dumps(body) for body in _events(text)]
    yield from found or [line]


def _events(text: str) -> Iterator[object]:
    at = text.find("{")
    while at >= 0:
        try:
            body, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if "eventTime" in body:
                yield body
            for key in _TEXTS:
                if isinstance(told := body.get(key), str) and "eventTime" in told:
                    yield from _events(told)
        at = text.find("{", end)
