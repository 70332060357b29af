"""The proxy's processes between a real SQS server and a stand-in of DataZone."""

from __future__ import annotations

import itertools
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest

from commands.elasticmq import elasticmq_jars, start_elasticmq
from commands.processes import Service
from commands.proxy import local_environ
from infra.proxy_local.datazone import DataZoneServer
from infra.proxy_local.mapping import create_queues
from lakehouse.errors import SetupError
from lakehouse.settings import load_settings

KEY = "a-key"
VISIBILITY_SECONDS = 3
_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def elasticmq(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a real SQS server and return its URL."""
    settings = load_settings()
    try:
        elasticmq_jars(settings)
    except SetupError as error:
        pytest.skip(f"ElasticMQ cannot be had: {error}")
    services: list[Service] = []
    log = tmp_path_factory.mktemp("elasticmq") / "elasticmq.log"
    try:
        yield start_elasticmq(settings, services, log)
    finally:
        services[0].stop()


@contextmanager
def serving(server: ThreadingHTTPServer) -> Iterator[None]:
    """Run a stand-in server during the `with` block."""
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Proxy:
    """A proxy with its own queues, gateway and DataZone stand-in; tests start its workers."""

    def __init__(self, sqs_url: str, logs: Path, *, is_fifo: bool) -> None:
        self._environ = local_environ(os.environ, sqs_url)
        self._logs = logs
        self._opened = ExitStack()
        session = boto3.Session("local", "local", region_name="us-east-1")
        self.sqs: Any = session.client("sqs", endpoint_url=sqs_url)
        self.queue, self.dead = create_queues(
            self.sqs, f"test-{next(_NUMBERS)}", is_fifo=is_fifo, visibility=VISIBILITY_SECONDS
        )
        self.datazone = DataZoneServer()
        self._opened.enter_context(serving(self.datazone))
        self._environ |= {
            "AWS_ENDPOINT_URL_DATAZONE": self.datazone.url,
            "PROXY_KEY": KEY,
            "QUEUE_URL": self.queue,
            "DEAD_LETTER_URL": self.dead,
            "DOMAIN_ID": "dzd_stand-in",
            "ACCOUNT": "111122223333",
            "MOST_RECEIVES": "4",
            "FIRST_WAIT_SECONDS": "0",
        }
        gateway = self.start("gateway", "0")
        gateway.wait_until(lambda: "http://" in gateway.output(), 60)
        self.url = next(x for x in gateway.output().splitlines() if x.startswith("http://"))
        self.http = self._opened.enter_context(
            httpx.Client(headers={"Authorization": f"Bearer {KEY}"})
        )

    def start(self, *part: str) -> Service:
        """Start a part in a separate process."""
        command = [sys.executable, "-m", "infra.proxy_local", *part]
        log = self._logs / f"{part[0]}-{next(_NUMBERS)}.log"
        service = Service(part[0], [command], self._environ, log)
        self._opened.callback(service.stop)
        return service

    def post(self, event: dict[str, Any]) -> int:
        """Post an event and return the status."""
        return self.http.post(self.url, json=event).status_code

    def letters(self) -> list[tuple[str, str]]:
        """Remove all dead letters and return their bodies and reasons."""
        letters_: list[tuple[str, str]] = []
        while True:
            answer = self.sqs.receive_message(
                QueueUrl=self.dead, MaxNumberOfMessages=10, MessageAttributeNames=["All"]
            )
            if not answer.get("Messages"):
                return letters_
            for message in answer["Messages"]:
                reason = message["MessageAttributes"]["Reason"]["StringValue"]
                letters_.append((message["Body"], reason))
                receipt = message["ReceiptHandle"]
                self.sqs.delete_message(QueueUrl=self.dead, ReceiptHandle=receipt)

    def left(self) -> int:
        """Return the number of messages in the queue, waiting or in flight."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        attributes = self.sqs.get_queue_attributes(QueueUrl=self.queue, AttributeNames=names)
        return sum(int(attributes["Attributes"][name]) for name in names)

    def close(self) -> None:
        """Stop all parts."""
        self._opened.close()


@pytest.fixture
def make_proxy(elasticmq: str, tmp_path: Path) -> Iterator[Callable[..., Proxy]]:
    """Return a function that creates a proxy with a standard or FIFO queue."""
    proxies: list[Proxy] = []

    def make(*, is_fifo: bool) -> Proxy:
        proxies.append(Proxy(elasticmq, tmp_path, is_fifo=is_fifo))
        return proxies[-1]

    yield make
    for proxy in proxies:
        proxy.close()
