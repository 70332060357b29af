"""Read positions of the partitions, for the metrics of all servers that share the log.

Kafka itself stores the offsets from which a group continues; this table is only a copy of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import sqlalchemy as sa

from headwater.log import EventLog
from headwater.log.schema import String
from headwater.projection.live import Live

if TYPE_CHECKING:
    from prometheus_client.core import Metric

_LONGEST_TOPIC = 249  # characters, in Kafka

metadata = sa.MetaData()
_partitions = sa.Table(
    "kafka_partitions",
    metadata,
    sa.Column("group", String(255), primary_key=True),
    sa.Column("topic", String(_LONGEST_TOPIC), primary_key=True),
    sa.Column("partition", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("next", sa.BigInteger, nullable=False),
    sa.Column("end", sa.BigInteger, nullable=False),
    sa.Column("checked_at", sa.BigInteger, nullable=False),
)


class Partition(NamedTuple):
    """A partition of a topic."""

    topic: str
    number: int


class Progress(NamedTuple):
    """The offset of the next message that a group reads, and that of the next one to be written."""

    next: int
    end: int


def save(log: EventLog, group: str, progress: Mapping[Partition, Progress]) -> None:
    """Store the positions of a group in some partitions. Raises LogError."""
    table, now = _partitions, time.time_ns() // 1_000
    with log.writing() as connection:
        for partition, (following, end) in sorted(progress.items()):
            key = {"group": group, "topic": partition.topic, "partition": partition.number}
            own = sa.and_(*(table.c[name] == value for name, value in key.items()))
            connection.execute(sa.delete(table).where(own))
            row = {**key, "next": following, "end": end, "checked_at": now}
            connection.execute(sa.insert(table).values(row))


def metrics(live: Live) -> Iterator[Metric]:
    """Yield the number of unread messages of each partition, and when it was checked.

    Raises:
        LogError: the database does not respond.
    """
    from prometheus_client.core import GaugeMetricFamily

    names = ["group", "topic", "partition"]
    lag = GaugeMetricFamily("headwater_kafka_lag_messages", "Unread messages.", labels=names)
    checked = GaugeMetricFamily(
        "headwater_kafka_checked_timestamp_seconds",
        "When a server last compared its position with the end of the partition.",
        labels=names,
    )
    for row in live.log.fetch(sa.select(_partitions).order_by(*names)):
        labels = [row.group, row.topic, str(row.partition)]
        lag.add_metric(labels, float(max(row.end - row.next, 0)))
        checked.add_metric(labels, row.checked_at / 1e6)
    yield from (lag, checked)
