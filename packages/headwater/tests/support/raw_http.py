"""Raw HTTP over sockets, for requests that no client library sends."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from typing import NamedTuple


class RawAnswer(NamedTuple):
    """The status and the text of a response; status 0 if the connection ended without one."""

    status: int
    text: str


def open_socket(port: int, sent: bytes = b"") -> socket.socket:
    """Connect to a local server and send data."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=30)
    connection.sendall(sent)
    return connection


def head(path: str, *headers: str, method: str = "POST") -> bytes:
    """Return the head of a request."""
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: localhost", *headers, "", ""]).encode()


def posted(port: int, path: str, chunks: Iterable[bytes], *headers: str) -> RawAnswer:
    """Post a chunked body until the server stops reading, and return the response."""
    with open_socket(port, head(path, "Transfer-Encoding: chunked", *headers)) as connection:
        try:
            for chunk in chunks:
                connection.sendall(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            connection.sendall(b"0\r\n\r\n")
        except OSError:
            pass  # the server closed the connection after a response
        return read_answer(connection)


def read_answer(connection: socket.socket) -> RawAnswer:
    """Read until the server closes the connection or the response is complete."""
    received = b""
    try:
        while not _is_complete(received) and (part := connection.recv(65_536)):
            received += part
    except ConnectionError:
        pass
    first, _, text = received.partition(b"\r\n\r\n")
    return RawAnswer(int(first.split()[1]) if first else 0, text.decode())


def _is_complete(received: bytes) -> bool:
    first, end, text = received.partition(b"\r\n\r\n")
    for line in first.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return bool(end) and len(text) >= int(line.split(b":")[1])
    return False
