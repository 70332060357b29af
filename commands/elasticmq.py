"""Download and start ElasticMQ, an in-memory SQS server in Java.

moto's SQS server is no substitute: to waiting receivers, it gives several messages of a FIFO group
at once, and it forgets the deduplication id of a deleted message.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

from commands.processes import Service
from lakehouse.settings import Settings
from spark_jobs.runtime import download, java_home

ORGANIZATION, NAME, VERSION = "org.elasticmq", "elasticmq-server_2.13", "1.7.1"
START_SECONDS = 60


def elasticmq_jars(settings: Settings) -> Path:
    """Return the folder with its jars; download them once.

    Raises:
        SetupError: Maven Central could not be reached.
    """
    folder = settings.state_dir / "elasticmq"
    download(settings, {NAME: (ORGANIZATION, VERSION)}, folder, is_transitive=True)
    return folder


def start_elasticmq(settings: Settings, services: list[Service], log: Path) -> str:
    """Start ElasticMQ on a free port of the loopback interface; return its URL.

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
    services.append(Service("ElasticMQ", [command], dict(os.environ), log))
    services[-1].wait_until(lambda: "started in" in services[-1].output(), START_SECONDS)
    return f"http://127.0.0.1:{port}"
