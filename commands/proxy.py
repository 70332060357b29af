"""`./run proxy-local`: run the OpenLineage proxy's handlers locally with a real SQS server."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from commands.elasticmq import start_elasticmq
from commands.output import say
from commands.processes import Service, stopping, wait_for_interrupt
from lakehouse.settings import Settings

START_SECONDS = 60
VISIBILITY_SECONDS = 30
DOMAIN, ACCOUNT = "dzd_local", "000000000000"
PART = (sys.executable, "-m", "infra.proxy_local")
"""Command that starts a part of the proxy, which reads its configuration from the environment."""


def local_environ(environ: Mapping[str, str], sqs_url: str) -> dict[str, str]:
    """Return an environment without an AWS account that uses this SQS server."""
    return {
        **{name: value for name, value in environ.items() if not name.startswith("AWS_")},
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL_SQS": sqs_url,
    }


def proxy_local(settings: Settings, port: int, *, is_fifo: bool) -> None:
    """Run the proxy until Ctrl-C; print its URL and key."""
    services: list[Service] = []
    with stopping(services):
        say("Starting the proxy (downloads ElasticMQ the first time).")
        url, key, accepted = start_proxy(settings, services, port, is_fifo=is_fifo)
        say(f"Post to   {url}\nKey       {key}\nAccepted  {accepted}\nPress Ctrl-C to stop.")
        wait_for_interrupt(services)


def start_proxy(
    settings: Settings, services: list[Service], port: int, *, is_fifo: bool
) -> tuple[str, str, Path]:
    """Start the proxy; return its URL, its key and the file of events that DataZone accepted.

    Raises:
        SetupError: a part does not start.
    """
    logs, accepted = settings.state_dir / "logs", settings.state_dir / "proxy" / "arrived.jsonl"
    accepted.parent.mkdir(parents=True, exist_ok=True)
    sqs_url = start_elasticmq(settings, services, logs / "elasticmq.log")
    environ = local_environ(os.environ, sqs_url)
    queue, dead = _create_queues(environ, is_fifo=is_fifo)
    key = secrets.token_urlsafe(24)
    environ |= {
        "PROXY_KEY": key,
        "QUEUE_URL": queue,
        "DEAD_LETTER_URL": dead,
        "DOMAIN_ID": DOMAIN,
        "ACCOUNT": ACCOUNT,
    }

    def part(name: str, *arguments: str) -> Service:
        command = [*PART, name, *arguments]
        services.append(Service(name, [command], environ, logs / f"proxy-{name}.log"))
        return services[-1]

    environ["AWS_ENDPOINT_URL_DATAZONE"] = _printed_url(part("datazone", "0", str(accepted)))
    url = _printed_url(part("gateway", str(port)))
    part("worker")
    return url, key, accepted


def _create_queues(environ: dict[str, str], *, is_fifo: bool) -> list[str]:
    """Create the queues in a process without this one's AWS settings; return their URLs."""
    kind = "fifo" if is_fifo else "standard"
    command = [*PART, "queues", "openlineage", kind, str(VISIBILITY_SECONDS)]
    done = subprocess.run(command, env=environ, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.split()


def _printed_url(service: Service) -> str:
    """Return the URL that a part prints when it listens."""
    service.wait_until(lambda: "http://" in service.output(), START_SECONDS)
    return next(line for line in service.output().splitlines() if line.startswith("http://"))
