"""`headwater serve --kafka` with a real broker: each event is stored once, despite failures."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import InputDataset, Job, Run, RunEvent, RunState
from openlineage.client.transport.kafka import KafkaConfig, KafkaTransport
from openlineage.client.uuid import generate_new_uuid
from prometheus_client.core import Metric

from commands.environment import script
from headwater.errors import LogError, UnstorableError
from headwater.log import EventLog
from headwater.plugins.kafka.partitions import metrics
from headwater.plugins.kafka.reader import KafkaReader, workers
from headwater.projection.live import Batch, Live, Receipt
from headwater.settings import Settings

from .conftest import PARTITIONS, Broker

pytestmark = pytest.mark.server

_SECONDS = 60


def wait_until(is_true: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _SECONDS
    while not is_true():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


@pytest.fixture
def topic(broker: Broker) -> str:
    return broker.create_topic()


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    live = Live(EventLog(f"sqlite:///{tmp_path}/log.db"))
    live.start()
    yield live
    live.stop()
    live.log.close()


@contextmanager
def reading(live: Live, broker: Broker, topic: str) -> Iterator[KafkaReader]:
    settings = Settings(kafka=broker.address, kafka_topics=topic, kafka_group=topic)
    (reader,) = workers(settings)(live)
    reader.start()
    try:
        yield reader
    finally:
        reader.stop()


def event(number: int) -> bytes:
    body = {
        "eventType": "COMPLETE",
        "eventTime": "2026-11-27T08:00:00Z",
        "producer": "https://example.org/tests",
        "run": {"runId": f"01a1fd3d-1a97-7b7f-8cb0-{number:012}"},
        "job": {"namespace": "kafka", "name": f"job-{number % 20}"},
    }
    return json.dumps(body).encode()


def send(broker: Broker, topic: str, values: list[bytes | None]) -> None:
    producer = Producer({"bootstrap.servers": broker.address})
    for number, value in enumerate(values):
        producer.produce(topic, value, key=f"job-{number % 20}")
        producer.poll(0)
    assert producer.flush(_SECONDS) == 0


def committed(broker: Broker, topic: str) -> int:
    """Return the number of messages that the group has committed."""
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": topic})
    places = [TopicPartition(topic, number) for number in range(PARTITIONS)]
    offsets = [place.offset for place in consumer.committed(places, timeout=_SECONDS)]
    consumer.close()
    return sum(offset for offset in offsets if offset > 0)


def count(log: EventLog) -> int:
    return sum(1 for _ in log.rows())


@contextmanager
def serving(broker: Broker, topic: str, database: Path) -> Iterator[tuple[int, str]]:
    """Run a server; yield its process id and URL."""
    command = [script("headwater"), "serve", "--port", "0", "--database", str(database)]
    command += ["--kafka", broker.address, "--kafka-topics", topic]
    properties = database.with_name("kafka.yaml")
    properties.write_text("session.timeout.ms: 2000\n")  # until others take over from a killed one
    names = {"HEADWATER_KAFKA_GROUP": topic, "HEADWATER_KAFKA_PROPERTIES": str(properties)}
    environ = os.environ | names
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        try:
            yield process.pid, line.split("listens on ")[1].split(",")[0]
        finally:
            process.terminate()


def test_events_of_openlineages_transport_reach_the_server(
    broker: Broker, topic: str, tmp_path: Path
) -> None:
    config = {"bootstrap.servers": broker.address}
    transport = KafkaTransport(KafkaConfig(config=config, topic=topic, flush=True))
    OpenLineageClient(transport=transport).emit(
        RunEvent(
            eventTime="2026-11-27T08:00:00Z",
            eventType=RunState.COMPLETE,
            producer="https://example.org/tests",
            job=Job("kafka", "load"),
            run=Run(str(generate_new_uuid())),
            inputs=[InputDataset("kafka", "orders")],
        )
    )
    with serving(broker, topic, tmp_path / "log.db") as (_, url):

        def inputs() -> Any:
            with suppress(httpx.HTTPError):
                found = httpx.get(f"{url}/api/v2/edges").json()["items"]
                return [(row["job"]["name"], row["dataset"]["name"]) for row in found]

        wait_until(lambda: inputs() == [("load", "orders")], "the event did not arrive")

        def lag() -> list[str]:
            lines = httpx.get(f"{url}/metrics").text.splitlines()
            return [line for line in lines if line.startswith("headwater_kafka_lag_messages{")]

        wait_until(lambda: len(lag()) == PARTITIONS, "the lag of a partition is missing")
        assert all(line.endswith(" 0.0") for line in lag())


def test_killed_servers_lose_and_repeat_no_event(
    broker: Broker, topic: str, tmp_path: Path
) -> None:
    database, per_round = tmp_path / "log.db", 1_000
    EventLog(f"sqlite:///{database}").close()
    with closing(EventLog(f"sqlite:///{database}", must_exist=True)) as log:
        for done in range(0, 3 * per_round, per_round):
            send(broker, topic, [event(done + number) for number in range(per_round)])
            with (
                serving(broker, topic, database) as (victim, _),
                serving(broker, topic, database),
            ):
                wait_until(partial(has_more, log, done), "nothing was read")
                os.kill(victim, signal.SIGKILL)
                wait_until(partial(has_more, log, done + per_round - 1), "an event is missing")
        assert len({row.body for row in log.rows()}) == count(log) == 3 * per_round
        wait_until(lambda: committed(broker, topic) == count(log), "an offset was not committed")


def has_more(log: EventLog, number: int) -> bool:
    return count(log) > number


def test_message_that_is_not_an_event_is_rejected_and_blocks_nothing(
    broker: Broker, topic: str, live: Live
) -> None:
    send(broker, topic, [event(0), b"no JSON", None, b"{}", event(1)])
    with reading(live, broker, topic):
        wait_until(lambda: live.totals.stored == 2, "an event did not arrive")
        wait_until(lambda: committed(broker, topic) == 5, "an offset was not committed")
    rejected = live.log.rejected_lines(limit=10)
    assert {line.source.partition("/")[0] for line in rejected} == {f"kafka:{topic}"}
    assert len(rejected) == 2


def test_offsets_are_committed_after_the_database_stored_the_events(
    broker: Broker, topic: str, live: Live, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    ingest, seen = live.ingest, list[int]()

    def failing(batch: Batch) -> Receipt:
        seen.append(committed(broker, topic))
        if len(seen) < 4:
            raise LogError("the disk is full")
        if len(batch.entries) > 1:
            raise UnstorableError("a value is too long")
        return ingest(batch)

    monkeypatch.setattr(live, "ingest", failing)
    send(broker, topic, [event(number) for number in range(10)])
    with caplog.at_level(logging.WARNING), reading(live, broker, topic):
        wait_until(lambda: live.totals.stored == 10, "an event did not arrive")
        wait_until(lambda: committed(broker, topic) == 10, "an offset was not committed")
    assert seen[:4] == [0, 0, 0, 0]
    assert caplog.messages.count("Kafka: the disk is full") == 1


def test_lag_counts_the_messages_that_were_not_read(broker: Broker, topic: str, live: Live) -> None:
    def lag() -> dict[str, float]:
        found: list[Metric] = list(metrics(live))
        return {sample.labels["partition"]: sample.value for sample in found[0].samples}

    with reading(live, broker, topic):
        send(broker, topic, [event(number) for number in range(50)])
        wait_until(lambda: sum(lag().values()) == 0 and len(lag()) == PARTITIONS, "lag remains")
        wait_until(lambda: live.totals.stored == 50, "an event did not arrive")


def test_server_warns_once_while_the_broker_is_away(
    live: Live, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    warn, codes = KafkaReader.warn, Counter[int]()

    def counting(self: KafkaReader, error: KafkaError) -> None:
        warn(self, error)
        codes[error.code()] += 1

    monkeypatch.setattr(KafkaReader, "warn", counting)
    with caplog.at_level(logging.WARNING), reading(live, Broker("127.0.0.1:9"), "lineage"):
        wait_until(lambda: max(codes.values(), default=0) > 2, "it did not try again")
    assert len(caplog.messages) == len(codes)
