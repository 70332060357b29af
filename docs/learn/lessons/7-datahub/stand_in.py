"""Run a command while a stand-in for DataHub runs: `stand_in.py COMMAND ARGUMENTS`.

It accepts every request and records it in received.jsonl next to this file.
"""

import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

RECORD = Path(__file__).with_name("received.jsonl")


class StandIn(BaseHTTPRequestHandler):
    """Accept every request, and append the body of each POST to the record."""

    def do_POST(self):
        """Record an event or metadata change proposals."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with RECORD.open("a") as record:
            record.write(json.dumps({"path": self.path, "body": body}) + "\n")
        self.answer()

    def do_GET(self):
        """Respond to the emitter, which requests the server's configuration."""
        self.answer()

    def answer(self):
        """Send an empty JSON object."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        """Print nothing."""


RECORD.write_text("")
try:
    server = ThreadingHTTPServer(("localhost", 18080), StandIn)
except OSError as error:
    sys.exit(f"Port 18080 cannot be used: {error}. Stop the process that uses it.")
threading.Thread(target=server.serve_forever, daemon=True).start()
code = subprocess.run(sys.argv[1:], check=False).returncode
server.shutdown()
sys.exit(code)
