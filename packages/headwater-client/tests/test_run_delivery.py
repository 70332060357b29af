"""A wrapped command sends its events to a server, a spool or both."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from .test_run import (
    _DIRECT,
    _EXAMPLE,
    _MAIN,
    _events,
    _types,
)

pytestmark = pytest.mark.server


class _Server:
    """A server that accepts events, or never responds."""

    def __init__(self, *, answers: bool) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.paths: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.bodies.append(json.loads(body))
                outer.keys.append(self.headers["Authorization"])
                outer.paths.append(self.path)
                self.send_response(201)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self._answers = answers
        if answers:
            self._server = HTTPServer(("127.0.0.1", 0), Handler)
            self.url = f"http://127.0.0.1:{self._server.server_port}"
            self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
            self._thread.start()
        else:
            self._socket = socket.create_server(("127.0.0.1", 0))
            self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def close(self) -> None:
        if not self._answers:
            self._socket.close()
            return
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Any:
    results: list[_Server] = []

    def make(*, answers: bool) -> _Server:
        results.append(_Server(answers=answers))
        return results[-1]

    yield make
    for item in results:
        item.close()


def test_events_go_to_server_spool_or_both(server: Callable[..., _Server], tmp_path: Path) -> None:
    taking = server(answers=True)
    head = [*_MAIN, "-f", str(_EXAMPLE), "--api-key", "k", "--url", taking.url]
    assert subprocess.run([*head, "true"]).returncode == 0
    assert [body["eventType"] for body in taking.bodies] == ["START", "COMPLETE"]
    assert set(taking.keys) == {"Bearer k"}
    both = [*head, "--spool", str(tmp_path / "spool"), "true"]
    assert subprocess.run(both).returncode == 0
    assert len(taking.bodies) == 4
    assert _events(tmp_path) == taking.bodies[2:]


@pytest.mark.parametrize(
    ("base", "endpoint", "path"),
    [
        ("", "", "/api/v1/lineage"),
        ("/", "in/lineage", "/in/lineage"),
        ("/base/", "", "/base/api/v1/lineage"),
        ("/base", "", "/api/v1/lineage"),  # like openlineage-python
    ],
)
def test_openlineage_variables_configure_server_key_and_namespace(
    base: str, endpoint: str, path: str, server: Callable[..., _Server], tmp_path: Path
) -> None:
    taking = server(answers=True)
    (tmp_path / "lineage.yaml").write_text("job: {name: export}")
    variables = {
        "OPENLINEAGE_URL": taking.url + base,
        "OPENLINEAGE_ENDPOINT": endpoint,
        "OPENLINEAGE_API_KEY": "theirs",
        "OPENLINEAGE_NAMESPACE": "nightly",
        "HEADWATER_API_KEY": "ours",  # belongs to another server
    }
    head = [*_MAIN, "-f", str(tmp_path / "lineage.yaml"), "true"]
    assert subprocess.run(head, env={**os.environ, **variables}).returncode == 0
    assert [body["eventType"] for body in taking.bodies] == ["START", "COMPLETE"]
    assert {body["job"]["namespace"] for body in taking.bodies} == {"nightly"}
    assert (set(taking.paths), set(taking.keys)) == ({path}, {"Bearer theirs"})


@pytest.mark.parametrize("stronger", ["--url", "HEADWATER_URL", "--spool", "HEADWATER_SPOOL"])
def test_headwater_settings_override_openlineage_variables(
    stronger: str, server: Callable[..., _Server], tmp_path: Path
) -> None:
    ours, theirs = server(answers=True), server(answers=True)
    place = ours.url if "url" in stronger.lower() else str(tmp_path / "spool")
    options = [stronger, place] if stronger.startswith("--") else []
    variables = {} if options else {stronger: place}
    variables |= {"OPENLINEAGE_URL": theirs.url, "OPENLINEAGE_API_KEY": "theirs"}
    head = [*_MAIN, "-f", str(_EXAMPLE), *options, "true"]
    assert subprocess.run(head, env={**os.environ, **variables}).returncode == 0
    assert not theirs.bodies
    assert len(ours.bodies) + len(_events(tmp_path)) == 2
    assert set(ours.keys) <= {None}


def test_hanging_server_affects_neither_command_nor_spool(
    server: Callable[..., _Server], tmp_path: Path
) -> None:
    silent = server(answers=False)
    impatient = _DIRECT[2].replace(
        "Path(spool), None", f"Path(spool), {silent.url!r}, patience=0.2"
    )
    head = [*_MAIN[:2], impatient, str(_EXAMPLE), str(tmp_path / "spool")]
    result = subprocess.run([*head, "sh", "-c", "echo out; exit 9"], capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (9, "out\n")
    assert result.stderr.count("lineage of this run is not complete") == 1
    assert silent.url in result.stderr
    assert _types(tmp_path) == ["START", "FAIL"]
