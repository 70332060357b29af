"""Metrics of the deliveries, by backend."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from headwater.plugins.delivery._store import delivery_statuses
from headwater.projection.live import Live

if TYPE_CHECKING:
    from prometheus_client.core import Metric


def metrics(live: Live) -> Iterator[Metric]:
    """Yield the backlog, the dead letters and the last result of each backend.

    Alert rules of users refer to the names. The backlog includes dead letters that are to be sent
    again.

    Raises:
        LogError: the database does not respond.
    """
    from prometheus_client.core import GaugeMetricFamily  # slow; only scrapes need it

    statuses = delivery_statuses(live.log)
    for name, text, values in (
        ("backlog_events", "Events not yet delivered.", [item["lag"] for item in statuses]),
        (
            "dead_letters",
            "Events that the backend rejected.",
            [item["deadLetters"] for item in statuses],
        ),
        ("failing", "1 if the last attempt failed.", [item["isFailing"] for item in statuses]),
    ):
        family = GaugeMetricFamily(f"headwater_delivery_{name}", text, labels=["backend"])
        for status, value in zip(statuses, values, strict=True):
            family.add_metric([status["backend"]], float(value))
        yield family
