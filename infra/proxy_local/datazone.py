"""A stand-in for DataZone's lineage calls that accepts what botocore's model allows.

Requests are checked by that model: path, headers, and limits that botocore itself does not check.
A repeated Client-Token gets the same response and adds no event.
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
"""A special status: the connection ends in the middle of the response."""

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
class AcceptedEvent:
    """An accepted event."""

    id: str
    token: str
    body: dict[str, Any]
    digest: str
    at: datetime


class DataZoneServer(ThreadingHTTPServer):
    """Listens at `url` once `serve_forever` runs; `accepted` are the events, in order.

    `answer` returns the status for an event, 200, one of ERRORS, or CUT, and may block. `processed`
    returns the Processing-Status of an accepted event; they are listed in pages of `page_size`.
    `repeated` are events with a repeated Client-Token.
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
        self.accepted: list[AcceptedEvent] = []
        self.repeated: list[dict[str, Any]] = []
        self.page_size = 50
        self.changed = threading.Condition()

    def handle_error(self, *_: Any) -> None:
        """Do nothing: clients may disconnect."""

    def accept(self, token: str, raw: bytes) -> tuple[int, dict[str, Any]]:
        """Accept an event, once for each token."""
        body = orjson.loads(raw)
        digest = hashlib.sha256(raw).hexdigest()
        with self.changed:
            for previous in self.accepted:
                if previous.token == token:
                    if previous.digest != digest:
                        return 409, {"message": f"Client-Token {token} was used for another event"}
                    self.repeated.append(body)
                    return 200, {"id": previous.id}
            status = self.answer(body)
            if status in (200, CUT):  # with CUT, the event has arrived
                id_ = hashlib.sha256(token.encode()).hexdigest()[:14]
                self.accepted.append(AcceptedEvent(id_, token, body, digest, datetime.now(UTC)))
                self.changed.notify_all()
                return status, {"id": id_}
        return status, {"message": f"the stand-in answers {status}"}

    def problem(self, domain: str, token: str, raw: bytes) -> str:
        """Return the violation of the model; empty without one."""
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
            return "event: not JSON"
        if not isinstance(body, dict) or "eventType" not in body or "run" not in body:
            return "event: not a RunEvent"
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
            self._respond(403, {"message": "Missing Authentication Token"})
        elif problem := self.server.problem(domain, token, raw):
            self._respond(400, {"message": problem})
        else:
            status, body = self.server.accept(token, raw)
            self._respond(status, {"domainId": domain, **body})

    def do_GET(self) -> None:
        """Handle ListLineageEvents, filtered by status and time, in pages."""
        query = dict(parse_qsl(urlsplit(self.path).query))
        after = datetime.fromisoformat(query.get("timestampAfter", "1970-01-01T00:00:00Z"))
        items = [
            {"id": event.id, "domainId": self._domain(), "processingStatus": status}
            for event in self.server.accepted
            if event.at > after
            and (status := self.server.processed(event.body))
            == query.get("processingStatus", status)
        ]
        start = int(query.get("nextToken", "0"))
        end = start + self.server.page_size
        more = {"nextToken": str(end)} if end < len(items) else {}
        self._respond(200, {"items": items[start:end], **more})

    def _domain(self) -> str:
        """Return the domain in the path; empty for another path."""
        pattern = self.server.path.replace("{domainIdentifier}", "([^/]+)")
        match = re.fullmatch(pattern, urlsplit(self.path).path)
        return unquote(match[1]) if match else ""

    def _respond(self, status: int, content: dict[str, Any]) -> None:
        if status == CUT:
            self.wfile.write(b"HTTP/1.1 200 O")
            self.close_connection = True
            return
        body = orjson.dumps(content)
        self.send_response(status)
        if status in ERRORS:
            self.send_header("x-amzn-ErrorType", ERRORS[status])
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Do nothing."""
