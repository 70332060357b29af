"""Looks, every quarter of an hour, for events that DataZone took and then could not process.

Taken is not processed: only the Processing-Status tells. It is listed, not asked for event by
event, so nothing has to be remembered: what failed stays counted for a day.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from throughline_aws.datazone import DataZone, datazone_of_environment
from throughline_aws.telemetry import count, tell

_SHOWN = 50


def audit(backend: DataZone) -> int:
    """Count and log the events that failed; answers how many. Raises UnavailableError."""
    failed = list(backend.failed())
    if failed:
        tell("ERROR", "DataZone could not process events", ids=failed[:_SHOWN], count=len(failed))
    count("audit", ProcessingFailed=len(failed))
    return len(failed)


@cache
def _backend() -> DataZone:
    return datazone_of_environment()


def handler(_schedule: dict[str, Any], _context: object) -> int:
    """Lambda's entry point."""
    return audit(_backend())
