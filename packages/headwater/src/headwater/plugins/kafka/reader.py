"""Read events from Kafka topics: append them to the log, then commit their offsets.

If a server is killed between the two steps, some messages are read again. They are recognized by
the hash of the event, so that each event is stored once. Several servers with one group share the
partitions of a topic. A message that is not an event becomes a rejected line with its topic,
partition and offset, and does not block the messages after it.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.collect.lines import sort_lines
from headwater.config import read_yaml
from headwater.errors import ConfigError, LogError, UnstorableError, how_to_install
from headwater.log import RejectedLine
from headwater.plugins.kafka.partitions import Partition, Progress, save
from headwater.projection.live import Batch, Live
from headwater.settings import Settings
from headwater.worker import ThreadedWorker

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

log = logging.getLogger(__name__)

_MOST_MESSAGES = 500
_POLL_SECONDS = 0.5
_RETRY_SECONDS = 1.0
_CHECK_SECONDS = 2.0
_ONLY_CRITICAL = 2  # librdkafka's own log lines; errors arrive at `KafkaReader.warn`
_ENVIRONMENT = "_env"
"""Suffix of a property whose value is the name of an environment variable."""

_Line = tuple[str, bytes]
Properties = dict[str, str | int | float]
"""Properties of librdkafka."""


class KafkaReader(ThreadedWorker):
    """A reader of topics that runs in its own thread."""

    def __init__(self, properties: Properties, topics: Sequence[str], live: Live) -> None:
        """Create a consumer with properties of librdkafka.

        Raises:
            ConfigError: a property is unknown or its value invalid.
        """
        super().__init__("headwater-kafka")
        self._live, self._topics = live, list(topics)
        self._group = str(properties["group.id"])
        self._consumer = make_consumer({**properties, "error_cb": self.warn})
        self._problems: set[int | str] = set()  # codes and texts of those logged since a success
        self._checked = 0.0

    def start(self) -> None:
        """Subscribe to the topics and start the thread."""
        self._consumer.subscribe(self._topics)
        super().start()

    def warn(self, error: KafkaError | str) -> None:
        """Log a problem once, and again only after messages were read.

        librdkafka calls it for errors outside of a poll, too.
        """
        code, text = (error, error) if isinstance(error, str) else (error.code(), error.str())
        if code not in self._problems:
            self._problems.add(code)
            log.warning("Kafka: %s", text)

    def run(self) -> None:
        """Read messages until stopped; then store and commit them, and leave the group."""
        from confluent_kafka import KafkaException

        try:
            while not self._stopping.is_set():
                try:
                    self._read()
                    self._note_progress()
                except KafkaException as error:  # the broker may respond again
                    self.warn(error.args[0])
                    self._stopping.wait(_RETRY_SECONDS)
                except LogError as error:
                    self.warn(str(error))
        finally:  # after an unexpected error, others continue from the last committed offset
            with suppress(KafkaException):
                self._consumer.close()

    def _read(self) -> None:
        """Store the next messages, then commit their offsets."""
        messages = self._consumer.consume(_MOST_MESSAGES, _POLL_SECONDS)
        for message in messages:
            if error := message.error():
                self.warn(error)
        read = [message for message in messages if not message.error()]
        if not read or not self._store([line for m in read if (line := _line_of(m))]):
            return
        self._consumer.commit(offsets=_after(read), asynchronous=False)
        self._problems.clear()

    def _store(self, lines: Sequence[_Line]) -> bool:
        """Store lines, with retries while the database fails. Return False if stopped before.

        If the database rejects several lines, each is stored alone; a line that it rejects alone
        becomes a rejected line.
        """
        found = sort_lines(lines, self._live.log.redactor)
        batch = Batch(found.entries, found.rejected_lines)
        while not self._stopping.is_set():
            try:
                self._live.ingest(batch)
            except UnstorableError as error:
                if len(lines) > 1:
                    return all(self._store([line]) for line in lines)
                batch = Batch(rejected_lines=[RejectedLine(lines[0][0], str(error), "")])
            except LogError as error:
                self.warn(str(error))
                self._stopping.wait(_RETRY_SECONDS)
            else:
                return True
        return False

    def _note_progress(self) -> None:
        """Store the positions of this reader's partitions, at most every two seconds."""
        if time.monotonic() - self._checked < _CHECK_SECONDS:
            return
        self._checked = time.monotonic()
        consumer, progress = self._consumer, dict[Partition, Progress]()
        for place in consumer.position(consumer.assignment()):
            start, end = consumer.get_watermark_offsets(place, cached=True)
            if end >= 0:  # known after the first answer of the broker
                # negative before the first message that this reader reads
                following = place.offset if place.offset >= 0 else self._committed(place, start)
                progress[Partition(place.topic, place.partition)] = Progress(following, end)
        if progress:
            save(self._live.log, self._group, progress)

    def _committed(self, place: TopicPartition, start: int) -> int:
        """Return the offset that the group committed; the start if there is none.

        `start` is the first offset of the partition.
        """
        (found,) = self._consumer.committed([place], timeout=_CHECK_SECONDS)
        return found.offset if found.offset >= 0 else max(start, 0)


def _line_of(message: Message) -> _Line | None:
    """Return the source and the text of a message; None for one without a value (a tombstone)."""
    value = message.value()
    source = f"kafka:{message.topic()}/{message.partition()}@{message.offset()}"
    return (source, value) if isinstance(value, bytes) else None


def _after(messages: Sequence[Message]) -> list[TopicPartition]:
    """Return, for each partition, the offset after the last of some messages."""
    from confluent_kafka import TopicPartition

    last = {(m.topic(), m.partition()): m.offset() for m in messages}  # in order of the offsets
    return [
        TopicPartition(topic, number, offset + 1)
        for (topic, number), offset in last.items()
        if topic is not None and number is not None and offset is not None
    ]


def make_consumer(properties: Mapping[str, Any]) -> Consumer:
    """Create a consumer.

    Raises:
        ConfigError: confluent-kafka is not installed, or a property is unknown or invalid.
    """
    try:
        from confluent_kafka import Consumer, KafkaException
    except ImportError:
        raise ConfigError(f"kafka: confluent-kafka is missing. {how_to_install('kafka')}") from None
    try:
        return Consumer(dict(properties))
    except (KafkaException, TypeError, ValueError) as error:
        reason = error.args[0].str() if isinstance(error, KafkaException) else str(error)
        raise ConfigError(f"kafka (properties of librdkafka): {reason}") from None


def workers(settings: Settings) -> Callable[[Live], list[KafkaReader]]:
    """Return a function that creates a reader, if the settings name brokers.

    Raises:
        ConfigError: the file of properties is invalid, or sets what the server sets.
    """
    if not settings.kafka:
        return lambda live: []
    properties = _properties(settings)
    topics = [topic for text in settings.kafka_topics.split(",") if (topic := text.strip())]
    if not topics:
        raise ConfigError("kafka_topics: received none, expected topics separated by commas")
    make_consumer(properties).close()
    return lambda live: [KafkaReader(properties, topics, live)]


def _properties(settings: Settings) -> Properties:
    """Return the properties of the consumer, of the file and of the server.

    Raises ConfigError if the file is invalid or sets what the server sets.
    """
    own: Properties = {
        "bootstrap.servers": settings.kafka,
        "group.id": settings.kafka_group,
        "enable.auto.commit": False,
    }
    path = settings.kafka_properties
    stated = _stated(path) if path else {}
    if path and (taken := sorted(own.keys() & stated)):
        raise ConfigError(
            f"{path}: received {', '.join(taken)}, which the server sets: use --kafka and"
            " HEADWATER_KAFKA_GROUP"
        )
    return {"auto.offset.reset": "earliest", "log_level": _ONLY_CRITICAL, **stated, **own}


def _stated(path: Path) -> Properties:
    """Return the properties in a file; those with `_env` have the variables' values.

    Raises ConfigError if the file is invalid or a variable is not set.
    """
    found = read_yaml(path) or {}
    if not isinstance(found, dict) or not all(
        isinstance(key, str) and isinstance(value, (str, int, float))
        for key, value in found.items()
    ):
        raise ConfigError(
            f"{path}: expected properties of librdkafka, such as `security.protocol: SASL_SSL`"
        )
    values: Properties = {}
    for key, value in found.items():
        if not key.endswith(_ENVIRONMENT):
            values[key] = value
        elif (text := os.environ.get(str(value))) is None:
            raise ConfigError(f"{path}: {key}: the environment variable {value} is not set")
        else:
            values[key.removesuffix(_ENVIRONMENT)] = text
    return values
