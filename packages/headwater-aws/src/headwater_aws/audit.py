"""Check every 15 minutes for events that DataZone accepted but could not process.

Failures are found by listing the Processing-Status of the last day's events, so no state is
needed. A failure is therefore counted for a day.
"""

from __future__ import annotations

from functools import cache

from headwater_aws._telemetry import count, write_log
from headwater_aws.datazone import DataZone, datazone_of_environment

_MOST_LISTED = 50


def audit(backend: DataZone) -> int:
    """Count and log the failed events; return their number. Raises UnavailableError."""
    failed = list(backend.failed())
    if failed:
        write_log(
            "ERROR",
            "DataZone could not process events",
            ids=failed[:_MOST_LISTED],
            count=len(failed),
        )
    count("audit", ProcessingFailed=len(failed))
    return len(failed)


@cache
def _backend() -> DataZone:
    return datazone_of_environment()


def handler(_schedule: object, _context: object) -> int:
    """Handle a Lambda invocation."""
    return audit(_backend())
