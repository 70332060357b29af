"""A stand-in for Metaflow's metadata service, with the part of its API that runs and resumes use.

Prints its URL and serves until it is terminated.
"""

from __future__ import annotations

import itertools
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

OBJECTS: dict[str, Any] = {}
NUMBERS = itertools.count(1)


class Handler(BaseHTTPRequestHandler):
    """Stores posted objects under the paths from which Metaflow requests them."""

    def do_GET(self) -> None:
        found = {} if self.path == "/ping" else OBJECTS.get(self.path)
        if self.path.endswith("/tasks"):
            found = [item for path, item in OBJECTS.items() if path.rpartition("/")[0] == self.path]
        self.answer(404 if found is None else 200, found)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        above, _, kind = self.path.rpartition("/")
        if kind in ("metadata", "artifact"):
            OBJECTS.setdefault(self.path, []).extend(body)
        elif kind in ("run", "task"):
            number = next(NUMBERS)
            body["run_number" if kind == "run" else "task_id"] = number
            OBJECTS[f"{above}/{kind}s/{number}"] = body
        else:
            OBJECTS[above if kind == "step" else self.path] = body
        self.answer(200, body)

    def answer(self, status: int, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        """Log nothing."""


if __name__ == "__main__":
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        sys.stdout.write(f"http://127.0.0.1:{server.server_port}\n")
        sys.stdout.flush()
        server.serve_forever()
