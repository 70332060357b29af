"""Real server processes, for several tests."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import orjson

COMMAND = [sys.executable, "-c", "from throughline.cli import main; main()"]


class Server:
    """A `throughline serve` process on a free port."""

    def __init__(self, database: Path | str, *options: str) -> None:
        command = [*COMMAND, "serve", "--port", "0", "--database", str(database), *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.greeting = self.process.stdout.readline()
        self.url = self.greeting.split()[3].rstrip(",")

    def get(self, path: str) -> Any:
        with urlopen(self.url + path, timeout=10) as response:
            return json.loads(response.read())

    def post(self, body: Any) -> int:
        request = Request(self.url + "/api/v1/lineage", data=orjson.dumps(body))
        with urlopen(request, timeout=10) as response:
            return int(response.status)

    def refusal(self, body: Any) -> tuple[int, Any]:
        """Status and headers of a post that must not be acknowledged."""
        try:
            status = self.post(body)
        except HTTPError as error:
            with error:
                return error.code, error.headers
        raise AssertionError(f"acknowledged with {status}")

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        code = self.process.wait(timeout=15)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


def until(condition: Callable[[], bool], seconds: float = 10) -> None:
    """Wait for a condition of another process; it has no event to wait on."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        threading.Event().wait(0.02)
