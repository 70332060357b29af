"""A stand-in of DataZone's lineage calls: it takes what the model of botocore allows, no more.

Each request is read by that model: path, headers, and limits that botocore itself does not check.
A Client-Token that it knows is answered as before and counts as no event.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import orjson

CUT = 0
"""In place of a status: the connection ends in the middle of the answer."""

ERRORS = {
    400: "ValidationException",
    402: "ServiceQuotaExceededException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    409: "ConflictException",
    429: "ThrottlingException",
    500: "InternalServerException",
}


@dataclass(frozen=True, slots=True)
class Taken:
    """An event that was taken."""

    id: str
    token: str
    body: dict[str, Any]
    digest: str
    at: datetime


class DataZoneServer(ThreadingHTTPServer):
    """Listens at `url` once `serve_forever` runs; `taken` are the events, in order.

    `answer` gives the status of an event and may take its time: 200, one of ERRORS, or CUT.
    `processed` gives the Processing-Status of one that was taken; they are listed in pages of
    `page_size`. `repeated` are those that came again under their Client-Token.
    """

    daemon_threads = True

    def __init__(
        self,
        port: int = 0,
        answer: Callable[[dict[str, Any]], int] = lambda _: 200,
        processed: Callable[[dict[str, Any]], str] = lambda _: "SUCCESS",
    ) -> None:
        from botocore.session import get_session

        super().__init__(("127.0.0.1", port), _Handler)
        model = get_session().get_service_model("datazone")
        post = model.operation_model("PostLineageEvent")
        assert post.input_shape is not None
        self.path: str = post.http["requestUri"]
        self.limits = {name: shape.metadata for name, shape in post.input_shape.members.items()}
        self.answer = answer
        self.processed = processed
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.taken: list[Taken] = []
        self.repeated: list[dict[str, Any]] = []
        self.page_size = 50
        self.changed = threading.Condition()

    def handle_error(self, *_: Any) -> None:
        """Say nothing: a client that gave up is no news."""

    def take(self, token: str, raw: bytes) -> tuple[int, dict[str, Any]]:
        """Take an event, once for each token."""
        body = orjson.loads(raw)
        digest = hashlib.sha256(raw).hexdigest()
        with self.changed:
            for before in self.taken:
                if before.token == token:
                    if before.digest != digest:
                        return 409, {"message": f"Client-Token {token} was of another event"}
                    self.repeated.append(body)
                    return 200, {"id": before.id}
            status = self.answer(body)
            if status in (200, CUT):  # what was cut off had arrived
                id_ = hashlib.sha256(token.encode()).hexdigest()[:14]
                self.taken.append(Taken(id_, token, body, digest, datetime.now(UTC)))
                self.changed.notify_all()
                return status, {"id": id_}
        return status, {"message": f"the stand-in answers {status}"}

    def wrong(self, domain: str, token: str, raw: bytes) -> str:
        """What the model does not allow; empty if it allows all."""
        event = self.limits["event"]
        for name, value in (("domainIdentifier", domain), ("clientToken", token)):
            limits = self.limits[name]
            is_long = len(value) > limits.get("max", len(value))
            if is_long or not re.fullmatch(limits["pattern"], value):
                return f"{name}: {value!r} does not match {limits['pattern']}"
        if not event["min"] <= len(raw) <= event["max"]:
            return f"event: {len(raw)} bytes are not from {event['min']} to {event['max']}"
        try:
            body = orjson.loads(raw)
        except orjson.JSONDecodeError:
            return "event: it is no JSON"
        if not isinstance(body, dict) or "eventType" not in body or "run" not in body:
            return "event: it is no RunEvent"
        return ""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: DataZoneServer

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        domain = self._domain()
        token = self.headers.get("Client-Token", "")
        if not self.headers.get("Authorization", "").startswith("AWS4-HMAC-SHA256 "):
            self._say(403, {"message": "Missing Authentication Token"})
        elif wrong := self.server.wrong(domain, token, raw):
            self._say(400, {"message": wrong})
        else:
            status, said = self.server.take(token, raw)
            self._say(status, {"domainId": domain, **said})

    def do_GET(self) -> None:
        """ListLineageEvents: those of a status and after a time, in pages."""
        query = dict(parse_qsl(urlsplit(self.path).query))
        after = datetime.fromisoformat(query.get("timestampAfter", "1970-01-01T00:00:00Z"))
        items = [
            {"id": each.id, "domainId": self._domain(), "processingStatus": status}
            for each in self.server.taken
            if each.at > after
            and (status := self.server.processed(each.body))
            == query.get("processingStatus", status)
        ]
        start = int(query.get("nextToken", "0"))
        end = start + self.server.page_size
        more = {"nextToken": str(end)} if end < len(items) else {}
        self._say(200, {"items": items[start:end], **more})

    def _domain(self) -> str:
        """The domain in the path; empty if the path is another one."""
        pattern = self.server.path.replace("{domainIdentifier}", "([^/]+)")
        found = re.fullmatch(pattern, urlsplit(self.path).path)
        return unquote(found[1]) if found else ""

    def _say(self, status: int, said: dict[str, Any]) -> None:
        if status == CUT:
            self.wfile.write(b"HTTP/1.1 200 O")
            self.close_connection = True
            return
        body = orjson.dumps(said)
        self.send_response(status)
        if status in ERRORS:
            self.send_header("x-amzn-ErrorType", ERRORS[status])
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""
