"""Download and start ElasticMQ, an in-memory SQS server in Java."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path

import httpx

from commands.processes import Service
from lakehouse.settings import Settings
from spark_jobs.runtime import download, java_home

ORGANISATION, NAME, VERSION = "org.elasticmq", "elasticmq-server_2.13", "1.7.1"
START_SECONDS = 60


@dataclass(frozen=True)
class Sqs:
    """A running SQS server."""

    url: str
    service: Service


def elasticmq_jars(settings: Settings) -> Path:
    """Return the folder with its jars; download them once.

    Raises:
        SetupError: Maven Central could not be reached.
    """
    folder = settings.state_dir / "elasticmq"
    if not (folder / f"{NAME}-{VERSION}.jar").exists():
        download(settings, {NAME: (ORGANISATION, VERSION)}, folder, is_transitive=True)
    return folder


def start_elasticmq(settings: Settings, log: Path) -> Sqs:
    """Start ElasticMQ on a free port of the loopback interface.

    Raises:
        SetupError: it cannot be downloaded or does not start.
    """
    folder = elasticmq_jars(settings)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    properties = {
        "rest-sqs.bind-hostname": "127.0.0.1",
        "rest-sqs.bind-port": port,
        "node-address.host": "127.0.0.1",
        "node-address.port": port,
        "rest-stats.enabled": "false",
    }
    command = [
        *(str(java_home(settings) / "bin" / "java"), "-XX:TieredStopAtLevel=1"),
        *(f"-D{key}={value}" for key, value in properties.items()),
        *("-cp", f"{folder}/*", "org.elasticmq.server.Main"),
    ]
    service = Service("ElasticMQ", [command], dict(os.environ), log)
    url = f"http://127.0.0.1:{port}"

    def is_up() -> bool:
        try:
            return httpx.get(f"{url}/health").status_code < 500
        except httpx.TransportError:
            return False

    try:
        service.wait_until(is_up, START_SECONDS)
    except BaseException:
        service.stop()
        raise
    return Sqs(url, service)
