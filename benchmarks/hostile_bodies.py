"""Post hostile bodies to a server; measure its memory and the longest wait of another client.

    .venv/bin/python -m benchmarks.hostile_bodies [--megabytes N] [NAME ...]

Memory is the peak of resident memory, minus the resident memory before the body and the size of the
body.
"""

from __future__ import annotations

import argparse
import http.client
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from benchmarks.lineage_store import say
from benchmarks.reliability import memory_of, serving

MB = 2**20
_LARGEST = 10 * MB
"""Default of HEADWATER_LARGEST_EVENT."""
_TEXTS = (
    # URLs, tokens and keys
    *("://x:y@", "https://a@", "@", "AKIAABCDEFGHIJKLMNOP ", "&sig=x", "pwd%3dx&", ":aa"),
    *("eyJhbGciOiJIUzI1NiJ9.eyJhbGciOiJI.abcdefghij ", "Bearer aaaaaaaaaaaaaaaaa1 "),
    "-----BEGIN PRIVATE KEY-----x-----END PRIVATE KEY----- ",
    # Words and what follows them
    *("token=", "token=x ", "password='", 'password = "x"\n', "--secret-secret-token "),
    *("--password x ", "'password', 'x', ", "<password>x</password>", "identified by 'x' "),
    # Commands, calls, fields and pairs
    *("curl ", "curl -u a:b ", "mysql -px ", "s3('u','AKIAAAAAAAAAAAAA','x') "),
    *("pgp_sym_decrypt(a,'x') ", '[("password","x1")],', '{"name":"password","value":"x"},'),
    *('.password("x")', 'password: str = "x"\n', '{"password": "x"},'),
    # Plain and escaped characters
    *("\\", '"', '\\"', "(", "x", "é", "select * from a where password = 'x' "),
)


def _event(facet: Any, run_id: str = "r") -> dict[str, Any]:
    return {
        "eventTime": "2025-11-21T08:00:00Z",
        "eventType": "START",
        "run": {"runId": run_id, "facets": {"x": facet}},
        "job": {"namespace": "n", "name": "j"},
    }


def _text(part: str, size: int) -> bytes:
    encoded = orjson.dumps(part)[1:-1]
    return orjson.dumps(_event({"text": part * ((size - 200) // len(encoded))}))


def _events(text: str, size: int) -> bytes:
    one = len(orjson.dumps(_event({"text": text}, "r1234")))
    return orjson.dumps([_event({"text": text}, f"r{n}") for n in range(min(9_999, size // one))])


def _values(value: Any, values: int, size: int) -> bytes:
    """Return an event with as many copies of a value as the limit of values or the size allows."""
    count = min(size // (len(orjson.dumps(value)) + 1), 395_000 // values)
    return orjson.dumps(_event([[value] * 1_000] * (count // 1_000)))


def _array(item: str, size: int) -> bytes:
    count = min(900_000, size // (len(item) + 1))
    return b"[" + b",".join([item.encode()] * count) + b"]"


BODIES: dict[str, Callable[[int], bytes]] = {
    **{f"text of {part.strip()}": partial(_text, part) for part in _TEXTS},
    "text with an emoji": lambda size: _text(
        "😀" + "password=x " * 20_000, min(size, _LARGEST // 4)
    ),
    "many texts": partial(_values, "password=x", 1),
    "pairs": partial(_values, ["password", "x1"], 3),
    "objects in a facet": partial(_values, {"password": "x1"}, 2),
    "columns": lambda size: orjson.dumps(
        _event(
            {"fields": [{"name": f"c{n}", "type": "int"} for n in range(min(99_000, size // 30))]}
        )
    ),
    "escapes": lambda size: orjson.dumps(_event({"text": "@"})).replace(
        b"@", b"\\u0070assword=x " * ((size - 200) // 16)
    ),
    "a long key": lambda size: orjson.dumps(_event({"password=" * ((size - 200) // 9): "x"})),
    "events": lambda size: _events("password=x " * 330, size),
    "small events": lambda size: _events("password=x", size),
    "large events": lambda size: _array(
        _text("x", min(size, _LARGEST)).decode(), max(size, 6 * _LARGEST)
    ),
    "array of objects": lambda size: _array("{}", size),
    "array of arrays": lambda size: _array("[]", size),
    "array of keys": lambda size: _array('{"password":1}', size),
    "array of NaN": lambda size: _array("NaN", size),
}


class Measured(NamedTuple):
    """The measurements of one body: sizes in bytes, times in seconds."""

    size: int
    status: int
    peak: int
    """Peak of memory, minus the memory before the body and the size of the body."""
    left: int
    """Memory after the response, minus the memory before the body."""
    seconds: float
    longest_wait: float
    answers: int
    """Responses to the other client until the response to the body."""


def request(port: int, method: str, path: str, body: bytes | None = None) -> int:
    """Send a request over a new connection and return the status code."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    try:
        connection.request(method, path, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        response.read()
        return response.status
    finally:
        connection.close()


def _waits(port: int, is_done: threading.Event) -> Iterator[float]:
    while not is_done.is_set():
        start = time.monotonic()
        request(port, "GET", "/api/v2/jobs")
        yield time.monotonic() - start
        is_done.wait(0.1)


def measure(pid: int, port: int, body: bytes) -> Measured:
    """Post a body while another client sends small requests; return the measurements."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")  # reset the peak, VmHWM
    before = memory_of(pid, "VmRSS")
    statuses: list[int] = []
    is_done = threading.Event()

    def post() -> None:
        try:
            statuses.append(request(port, "POST", "/api/v1/lineage", body))
        finally:
            is_done.set()

    start = time.monotonic()
    thread = threading.Thread(target=post)
    thread.start()
    waits = list(_waits(port, is_done))
    thread.join()
    seconds = time.monotonic() - start
    peak, after = memory_of(pid, "VmHWM") - before - len(body), memory_of(pid, "VmRSS") - before
    return Measured(len(body), statuses[0], peak, after, seconds, max(waits), len(waits) - 1)


def main(arguments: list[str] | None = None) -> None:
    """Print a table with the measurements of the bodies."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=list(BODIES))
    parser.add_argument("--megabytes", type=int, default=10)
    options = parser.parse_args(arguments)
    say("| body | MB | status | peak MB | left MB | s | longest wait s | other answers |")
    for name in options.names:
        with (
            tempfile.TemporaryDirectory() as folder,
            serving(Path(folder) / "log.db") as (process, port),
        ):
            measure(
                process.pid, port, _text("password=x ", 200_000)
            )  # lets the server import modules and compile patterns
            found = measure(process.pid, port, BODIES[name](options.megabytes * MB))
        sizes = [f"{size / MB:.0f}" for size in (found.peak, found.left)]
        times = [f"{seconds:.2f}" for seconds in (found.seconds, found.longest_wait)]
        row = [name, f"{found.size / MB:.1f}", found.status, *sizes, *times, found.answers]
        say(f"| {' | '.join(str(cell) for cell in row)} |")


if __name__ == "__main__":
    main()
