"""Log lines as JSON, and metrics in CloudWatch's embedded metric format.

Both are lines of stdout. CloudWatch extracts metrics from lines with an `_aws` object, so no
request is necessary.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import orjson

NAMESPACE = "OpenLineageProxy"


def write_log(level: str, message: str, **fields: Any) -> None:
    """Write a log line, whose fields contain names and ids of events, never their contents."""
    _line({"timestamp": _milliseconds(), "level": level, "message": message, **fields})


def count(handler: str, **counts: int) -> None:
    """Write counts for CloudWatch by handler, with CamelCase names such as `Delivered=3`."""
    metrics = [{"Name": name, "Unit": "Count"} for name in counts]
    directive = {"Namespace": NAMESPACE, "Dimensions": [["Handler"]], "Metrics": metrics}
    stamp = {"Timestamp": _milliseconds(), "CloudWatchMetrics": [directive]}
    _line({"_aws": stamp, "Handler": handler, **counts})


def _milliseconds() -> int:
    return time.time_ns() // 1_000_000


def _line(value: dict[str, Any]) -> None:
    sys.stdout.write(orjson.dumps(value).decode() + "\n")
    sys.stdout.flush()
