"""ElasticMQ: an SQS server in Java, from Maven Central; it keeps nothing on disk."""

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
    """An SQS server that runs."""

    url: str
    service: Service


def elasticmq_jars(settings: Settings) -> Path:
    """Folder with its jars; downloads them once.

    Raises:
        SetupError: Maven Central could not be reached.
    """
    folder = settings.state_dir / "elasticmq"
    if not (folder / f"{NAME}-{VERSION}.jar").exists():
        download(settings, {NAME: (ORGANISATION, VERSION)}, folder, is_transitive=True)
    return folder


def start_elasticmq(settings: Settings, log: Path) -> Sqs:
    """Start it on a free port of loopback.

    Raises:
        SetupError: it cannot be had, or does not start.
    """
    folder = elasticmq_jars(settings)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    given = {
        "rest-sqs.bind-hostname": "127.0.0.1",
        "rest-sqs.bind-port": port,
        "node-address.host": "127.0.0.1",
        "node-address.port": port,
        "rest-stats.enabled": "false",
    }
    command = [
        *(str(java_home(settings) / "bin" / "java"), "-XX:TieredStopAtLevel=1"),
        *(f"-D{key}={value}" for key, value in given.items()),
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
