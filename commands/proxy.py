"""`./run proxy-local`: the OpenLineage proxy's handlers on this machine, on a real SQS server."""

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
"""How a part of the proxy is started; each is told by its environment what it needs."""


def local_environ(environ: Mapping[str, str], sqs_url: str) -> dict[str, str]:
    """An environment without any account of AWS's, and with this SQS server."""
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
    """Run the proxy until Ctrl-C, and say how to post to it."""
    services: list[Service] = []
    with stopping(services):
        say("The proxy starts (the first time, ElasticMQ is downloaded).")
        url, key, taken = start_proxy(settings, services, port, is_fifo=is_fifo)
        say(f"Post to  {url}\nKey      {key}\nArrived  {taken}\nCtrl-C ends this.")
        wait_for_interrupt(services)


def start_proxy(
    settings: Settings, services: list[Service], port: int, *, is_fifo: bool
) -> tuple[str, str, Path]:
    """Start it; answers its URL, its key and the file of what the stand-in of DataZone took.

    Raises:
        SetupError: a part does not start.
    """
    logs, taken = settings.state_dir / "logs", settings.state_dir / "proxy" / "arrived.jsonl"
    taken.parent.mkdir(parents=True, exist_ok=True)
    sqs = start_elasticmq(settings, logs / "elasticmq.log")
    services.append(sqs.service)
    environ = local_environ(os.environ, sqs.url)
    queue, dead = _made(environ, is_fifo=is_fifo)
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

    environ["AWS_ENDPOINT_URL_DATAZONE"] = _said(part("datazone", "0", str(taken)))
    url = _said(part("gateway", str(port)))
    part("worker")
    return url, key, taken


def _made(environ: dict[str, str], *, is_fifo: bool) -> list[str]:
    """URLs of the queue and the dead letters, made in a process without this one's AWS settings."""
    kind = "fifo" if is_fifo else "standard"
    command = [*PART, "queues", "openlineage", kind, str(VISIBILITY_SECONDS)]
    done = subprocess.run(command, env=environ, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.split()


def _said(service: Service) -> str:
    """The URL that a part says once it listens."""
    service.wait_until(lambda: "http://" in service.output(), START_SECONDS)
    return next(line for line in service.output().splitlines() if line.startswith("http://"))
