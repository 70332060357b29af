"""Find events in log lines, where console transports write them.

Spark writes `25/11/21 08:00:00 INFO ConsoleTransport: {"eventTime":...}`. openlineage-python uses
`logging`: in Airflow 2 the JSON follows `{console.py:29} INFO - `, in Airflow 3 it is a string in
the member `event` of a JSON line. Log drivers of containers put the line into a member `log`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import orjson

_DECODER = json.JSONDecoder()
MARKER = b"eventTime"
"""A text that every event contains, but few other lines."""

_TEXTS = ("event", "message", "msg", "log")


def events_in(line: bytes) -> Iterator[bytes]:
    """Yield the JSON of each event in a line, or the line itself if none can be parsed.

    A line that has the marker but no valid event is yielded, so that it is rejected with a reason.
    Lines without the marker yield nothing.
    """
    if MARKER not in line:
        return
    text = line.decode(errors="replace")
    bodies = [orjson.dumps(body) for body in _events(text)]
    yield from bodies or [line]


def _events(text: str) -> Iterator[object]:
    """Yield the events in a text, also within the texts that its JSON objects contain.

    Such a text is the value of a key in `_TEXTS`: a log driver wraps the line in JSON of its own.
    """
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
                if isinstance(text_value := body.get(key), str) and "eventTime" in text_value:
                    yield from _events(text_value)
        at = text.find("{", end)
