"""A stand-in for API Gateway: an HTTP API with one route, a Lambda authorizer and a Lambda."""

from __future__ import annotations

import base64
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from headwater_aws import authorizer, receiver
from headwater_aws.payloads import HttpCall, Request, Response

PATH = "/api/v1/lineage"
MOST_BYTES = 10_485_760
"""The maximum size of a body in API Gateway."""

_NO_ROUTE: Response = {"statusCode": 404, "body": '{"message":"Not Found"}'}
_UNKNOWN: Response = {"statusCode": 401, "body": '{"message":"Unauthorized"}'}
_DENIED: Response = {"statusCode": 403, "body": '{"message":"Forbidden"}'}
_TOO_LARGE: Response = {"statusCode": 413, "body": '{"message":"Request Entity Too Large"}'}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        self._respond(self._route(self._body()))

    def _body(self) -> bytes:
        """Read the body, which may be chunked, as sent by Spark's listener (RFC 9112, 7.1)."""
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass  # trailers
        return b"".join(parts)

    def _route(self, body: bytes) -> Response:
        if self.path.partition("?")[0] != PATH:
            return _NO_ROUTE
        if len(body) > MOST_BYTES:
            return _TOO_LARGE
        if "authorization" not in self.headers:  # API Gateway does not call the authorizer
            return _UNKNOWN
        request = self._request(body)
        if not authorizer.handler(request, None)["isAuthorized"]:
            return _DENIED
        return receiver.handler(request, None)

    def _request(self, body: bytes) -> Request:
        """Return the request in payload format 2.0; a compressed body is encoded as base64."""
        headers = {name.lower(): value for name, value in self.headers.items()}
        http: HttpCall = {"method": "POST", "path": PATH, "sourceIp": self.client_address[0]}
        is_binary = "content-encoding" in headers
        return {
            "version": "2.0",
            "routeKey": f"POST {PATH}",
            "rawPath": PATH,
            "headers": headers,
            "requestContext": {"http": http, "requestId": str(uuid.uuid4())},
            "body": base64.b64encode(body).decode() if is_binary else body.decode(errors="replace"),
            "isBase64Encoded": is_binary,
        }

    def _respond(self, response: Response) -> None:
        body = response.get("body", "").encode()
        self.send_response(response["statusCode"])
        for name, value in response.get("headers", {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Do nothing, because the handlers log."""


def gateway(port: int) -> ThreadingHTTPServer:
    """Create a server on the loopback interface; port 0 selects a free port."""
    server = ThreadingHTTPServer(("127.0.0.1", port), _Handler)
    server.daemon_threads = True
    return server
