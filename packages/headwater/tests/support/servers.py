"""Real processes of the command, for several tests."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import orjson

# One process imports everything once; each command is a fork of it.
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["headwater.server._serve"])
_MAIN = """
import os, sys
os.dup2(stdout.fileno(), 1)
os.environ.clear()
os.environ.update(environment)
from headwater.cli import main
main(arguments)
"""


class Command:
    """A command in a separate process; read its output from `stdout`."""

    def __init__(self, *arguments: str) -> None:
        reader, writer = _FORKS.Pipe(duplex=False)
        options = {"stdout": writer, "environment": dict(os.environ), "arguments": arguments}
        self._process = _FORKS.Process(target=exec, args=(_MAIN, options), daemon=True)
        self._process.start()
        writer.close()
        assert self._process.pid is not None
        self.pid = self._process.pid
        self.stdout = os.fdopen(os.dup(reader.fileno()))
        reader.close()

    @property
    def is_running(self) -> bool:
        """Return whether the process is still running."""
        return self._process.is_alive()

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal; return the exit code, or the negative signal number."""
        os.kill(self.pid, number)
        self._process.join(20)
        self.stdout.close()
        assert self._process.exitcode is not None, "it does not end"
        return self._process.exitcode


class Server(Command):
    """A `headwater serve` process on a free port."""

    def __init__(self, database: Path | str, *options: str) -> None:
        super().__init__("serve", "--port", "0", "--database", str(database), *options)
        self.greeting = self.stdout.readline()
        self.url = self.greeting.split()[3].rstrip(",")

    def get(self, path: str) -> Any:
        with urlopen(self.url + path, timeout=10) as response:
            return json.loads(response.read())

    def post(self, body: Any) -> int:
        request = Request(self.url + "/api/v1/lineage", data=orjson.dumps(body))
        with urlopen(request, timeout=10) as response:
            return int(response.status)

    def refusal(self, body: Any) -> tuple[int, Any]:
        """Return the status and headers of the response to a post that must not be acknowledged."""
        try:
            status = self.post(body)
        except HTTPError as error:
            with error:
                return error.code, error.headers
        raise AssertionError(f"acknowledged with {status}")


def until(condition: Callable[[], bool], seconds: float = 10) -> None:
    """Poll a condition of another process, which provides no event to wait for."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        threading.Event().wait(0.02)
