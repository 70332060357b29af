"""One API key for the whole server, as a bearer token."""

from __future__ import annotations

import hmac

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from throughline.api.http import answer


class ApiKey:
    """Let through who shows the key; `/healthz` tells nothing and needs none."""

    def __init__(self, app: ASGIApp, key: str) -> None:
        self._app = app
        self._expected = f"Bearer {key}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 401 to a request without the key."""
        if scope["type"] != "http" or scope["path"] == "/healthz":
            await self._app(scope, receive, send)
            return
        shown = Headers(scope=scope).get("authorization", "").encode()
        if hmac.compare_digest(shown, self._expected):
            await self._app(scope, receive, send)
            return
        refusal = answer({"code": 401, "message": "Authorization: Bearer <API key> is needed"}, 401)
        refusal.headers["WWW-Authenticate"] = "Bearer"
        await refusal(scope, receive, send)
