"""A real Kafka broker from Maven's jars, without a container."""

from __future__ import annotations

import base64
import os
import random
import socket
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from commands.processes import Service
from lakehouse.errors import SetupError
from lakehouse.settings import load_settings
from spark_jobs.runtime import download, java_home

_NAME, _VERSION = "kafka_2.13", "4.1.1"
_START_SECONDS = 90
PARTITIONS = 4


class Broker:
    """A broker on the loopback interface."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._admin = AdminClient({"bootstrap.servers": address})

    def is_ready(self) -> bool:
        """Return True if the broker answers."""
        try:
            return bool(self._admin.list_topics(timeout=2).brokers)
        except KafkaException:
            return False

    def create_topic(self) -> str:
        """Create a topic with PARTITIONS partitions and return its name."""
        name = f"lineage-{uuid.uuid4().hex[:8]}"
        for created in self._admin.create_topics([NewTopic(name, PARTITIONS, 1)]).values():
            created.result(30)
        return name


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Start a broker in KRaft mode."""
    settings = load_settings()
    jars = settings.state_dir / "kafka"
    try:
        required = {_NAME: ("org.apache.kafka", _VERSION)}
        download(settings, required, jars, is_transitive=True)
    except SetupError as error:
        pytest.skip(f"Kafka cannot be had: {error}")
    folder = tmp_path_factory.mktemp("kafka")
    ports = _free_ports(2)
    properties = folder / "server.properties"
    properties.write_text(_properties(folder / "data", *ports))
    java = [str(java_home(settings) / "bin" / "java"), "-Xmx256m", "-XX:TieredStopAtLevel=1"]
    java += ["-cp", f"{jars}/*"]
    cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    format_ = ["kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(properties)]
    subprocess.run([*java, *format_], check=True, capture_output=True)
    command = [*java, "kafka.Kafka", str(properties)]
    service = Service("Kafka", [command], dict(os.environ), folder / "kafka.log")
    found = Broker(f"127.0.0.1:{ports[0]}")
    try:
        service.wait_until(found.is_ready, _START_SECONDS)
        yield found
    finally:
        service.stop()


def _properties(data: Path, port: int, controller: int) -> str:
    return f"""
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
log.dirs={data}
offsets.topic.num.partitions=4
offsets.topic.replication.factor=1
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
"""


def _free_ports(number: int) -> list[int]:
    """Return free ports below the range from which the kernel assigns ports."""
    found: list[int] = []
    while len(found) < number:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as opened, suppress(OSError):
            opened.bind(("127.0.0.1", port))
            found.append(port)
    return found
