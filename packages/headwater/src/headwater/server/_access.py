"""Access control: API keys with scopes, host names, and origins of pages."""

from __future__ import annotations

import base64
import hmac
import time
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headwater.errors import LogError
from headwater.http.access import Access, set_access
from headwater.http.routes import answer, unavailable
from headwater.keys.store import Key, hash_of, keys_of
from headwater.log import EventLog
from headwater.server._options import ServerOptions

_WRITABLE = ("/api/v1/lineage", "/api/v1/lineage/batch", "/api/v2/findings", "/api/v2/taints")


class Guard:
    """Reject requests without permission, and add security headers to responses.

    Without any key, everything is allowed unless the server is exposed. Reading needs the scope
    `read`, posting events, states of findings and recalls `write`, and anything else `admin`;
    `/healthz` needs no key.

    Endpoints find what a key permits in the ASGI scope, see `http.access`. The key of the setting
    HEADWATER_API_KEY permits everything.
    """

    def __init__(self, app: ASGIApp, options: ServerOptions, log: EventLog) -> None:
        self._app = app
        self._options = options
        self._log = log
        self._keys: dict[str, Key] | None = None
        self._read_at = float("-inf")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 401, 403 (scope or origin) or 421 (host).

        All responses get security headers. Endpoints add the hashes of their inline scripts to the
        list `inline_scripts` of the ASGI scope.
        """
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        # A shared list, because the application at /sample receives a copy of the scope.
        scripts: list[str] = scope.setdefault("inline_scripts", [])

        async def send_safe(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = _headers(self._options.frame_origins, scripts)
                message["headers"] = [*message["headers"], *headers]
            await send(message)

        rejection = await self._rejection(scope, Headers(scope=scope))
        await (rejection or self._app)(scope, receive, send_safe)

    async def _rejection(self, scope: Scope, headers: Headers) -> Response | None:
        """Return the response to a request without permission; None if it may pass.

        Store the permissions of a valid key in the ASGI scope. A write from a page of another
        origin gets a 403, before the key is checked. If the keys cannot be read, the response is a
        503.
        """
        method, path = scope["method"], scope["path"]
        origin = headers.get("origin")
        own = headers.get("host", "").lower()
        # Browsers allow pages of any origin to post simple requests.
        if method not in ("GET", "HEAD") and origin and origin.lower().split("://")[-1] != own:
            return _error(403, f"Origin: received {origin!r}, expected the origin of this server")
        if path == "/healthz":
            return None
        try:
            keys = await self._current_keys()
        except LogError as error:
            return unavailable(error)
        if not keys and not self._options.api_key and not self._options.is_exposed:
            return self._wrong_host(headers)
        sent = _sent_key(headers)
        if self._options.api_key and hmac.compare_digest(sent, self._options.api_key.encode()):
            set_access(scope, Access(True, may_write=True))
            return None
        key = keys.get(hash_of(sent.decode(errors="replace")))
        if key is None:
            problem = "is not a key of this server" if sent else "is needed"
            rejection = _error(401, f"Authorization: Bearer <API key> {problem}")
            # A browser asks for a user name, which is ignored, and a password, which is the key.
            rejection.headers["WWW-Authenticate"] = 'Basic realm="headwater: API key as password"'
            return rejection
        set_access(scope, Access(True, may_write=key.may("write"), may_read_sql=key.may("sql")))
        needed = _needed(method, path)
        if key.may(needed):
            return None
        scopes = ", ".join(sorted(key.scopes))
        return _error(403, f"the key {key.name!r} has the scope {scopes}; this needs {needed}")

    def _wrong_host(self, headers: Headers) -> Response | None:
        """Reject other host names: after DNS rebinding, a page still sends its own host name.

        It is used only while no key is needed; return None for an accepted name, or if all are
        accepted.
        """
        host = headers.get("host", "")
        try:
            name = urlsplit(f"//{host}").hostname
        except ValueError:
            name = None
        if not self._options.hosts or name in self._options.hosts:
            return None
        return _error(
            421,
            f"Host: received {host!r}, expected one of {', '.join(sorted(self._options.hosts))};"
            " a server with an API key accepts any name: headwater keys add",
        )

    async def _current_keys(self) -> dict[str, Key]:
        """Return the keys by hash, at most a second old unless the store does not respond.

        Then the former keys stay valid. Raises LogError if none were read yet.
        """
        if self._keys is None or time.monotonic() - self._read_at >= self._options.keys_seconds:
            self._read_at = time.monotonic()
            try:
                found = await run_in_threadpool(keys_of, self._log)
            except LogError:
                if self._keys is None:
                    raise
                return self._keys
            self._keys = {key.hash: key for key in found}
        return self._keys


def _headers(frame_origins: tuple[str, ...], scripts: list[str]) -> list[tuple[bytes, bytes]]:
    """Return the security headers for browsers; `scripts` are hashes of allowed inline scripts.

    `frame_origins` are the origins of pages that may show this one in a frame.
    """
    frames = " ".join(frame_origins) or "'none'"
    allowed = f" script-src 'self' {' '.join(scripts)};" if scripts else ""
    policy = (
        f"default-src 'self';{allowed} img-src 'self' data:;"
        f" object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors {frames}"
    )
    return [
        (b"content-security-policy", policy.encode()),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"no-referrer"),
    ]


def _error(status: int, message: str) -> Response:
    return answer({"code": status, "message": message}, status)


def _needed(method: str, path: str) -> str:
    """Return the scope that a request needs: `read`, `write` or `admin`.

    A check of findings and the tools for agents are posted, but only read. Everything below
    /api/v2/keys needs `admin`, also to be read.
    """
    path = path.rstrip("/")
    is_query = method in ("GET", "HEAD") or path in ("/api/v2/check", "/mcp")
    if is_query and not path.startswith("/api/v2/keys"):
        return "read"
    return "write" if path in _WRITABLE else "admin"


def _sent_key(headers: Headers) -> bytes:
    """Return the key of a request; empty without one.

    A browser sends it as the password of basic authentication; the user name is ignored.
    """
    scheme, _, value = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return value.encode()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value, validate=True).partition(b":")[2]
        except ValueError:  # binascii.Error, or non-ASCII text
            return b""
    return b""
