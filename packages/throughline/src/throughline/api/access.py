"""One API key for the whole server: a bearer token, or a browser's password."""

from __future__ import annotations

import base64
import binascii
import hmac

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from throughline.api.http import answer


class ApiKey:
    """Let through who shows the key; `/healthz` tells nothing and needs none."""

    def __init__(self, app: ASGIApp, key: str) -> None:
        self._app = app
        self._key = key.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 401 to a request without the key."""
        if scope["type"] != "http" or scope["path"] == "/healthz":
            await self._app(scope, receive, send)
            return
        if hmac.compare_digest(_shown(Headers(scope=scope)), self._key):
            await self._app(scope, receive, send)
            return
        refusal = answer({"code": 401, "message": "Authorization: Bearer <API key> is needed"}, 401)
        # A browser asks for a name and a password: any name, and the key.
        refusal.headers["WWW-Authenticate"] = 'Basic realm="throughline: API key as password"'
        await refusal(scope, receive, send)


def _shown(headers: Headers) -> bytes:
    """The key that a request shows; empty if it shows none."""
    scheme, _, value = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return value.encode()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value, validate=True).partition(b":")[2]
        except binascii.Error:
            return b""
    return b""
