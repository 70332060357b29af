"""Who may ask what: API keys with scopes, names of this host, and pages of other origins."""

from __future__ import annotations

import base64
import hmac
import ipaddress
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from throughline.api.http import answer, unavailable
from throughline.config import Settings
from throughline.errors import LogError
from throughline.log import EventLog, Key, hash_of, keys_of

_READ_AGAIN = 1.0
"""Seconds after which a key that was made or removed, by whatever process, counts everywhere."""


@dataclass(frozen=True, slots=True)
class Access:
    """Whom a server answers."""

    api_key: str | None = None
    is_exposed: bool = False
    hosts: frozenset[str] = frozenset()
    frame_origins: tuple[str, ...] = ()

    @classmethod
    def of(cls, settings: Settings) -> Access:
        """As the settings say. On loopback only its names are answered without a key."""
        is_exposed = not _is_loopback(settings.host)
        names = {"localhost", "127.0.0.1", "::1", settings.host.lower()}
        hosts = frozenset() if is_exposed else frozenset(names)
        return cls(settings.api_key, is_exposed, hosts, settings.frame_origins)


class Guard:
    """Let through who may, and say how a browser shall treat the answer.

    Without any key everybody may everything, unless the server is exposed. Reading needs the scope
    `read`, posting events `write`, and all else `admin`; `/healthz` tells little and needs no key.
    """

    def __init__(self, app: ASGIApp, access: Access, log: EventLog) -> None:
        self._app = app
        self._access = access
        self._log = log
        self._keys: dict[str, Key] | None = None
        self._read_at = float("-inf")
        self._headers = _headers(access.frame_origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 401 without a key, 403 without its scope; 421 and 403 to a browser's detours."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_safe(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *self._headers]
            await send(message)

        refusal = await self._refusal(scope["method"], scope["path"], Headers(scope=scope))
        await (refusal or self._app)(scope, receive, send_safe)

    async def _refusal(self, method: str, path: str, headers: Headers) -> Response | None:
        origin = headers.get("origin")
        own = headers.get("host", "").lower()
        # A page of another origin may post to us without asking first: nobody meant that.
        if method not in ("GET", "HEAD") and origin and origin.lower().split("://")[-1] != own:
            told = f"Origin: received {origin!r}, expected no page of another origin"
            return _refused(403, told)
        if path == "/healthz":
            return None
        try:
            keys = await self._known()
        except LogError as error:
            return unavailable(error)
        if not keys and not self._access.api_key and not self._access.is_exposed:
            return self._detour(headers)
        shown = _shown(headers)
        if self._access.api_key and hmac.compare_digest(shown, self._access.api_key.encode()):
            return None
        key = keys.get(hash_of(shown.decode(errors="replace")))
        if key is None:
            told = "is not a key of this server" if shown else "is needed"
            refusal = _refused(401, f"Authorization: Bearer <API key> {told}")
            # A browser asks for a name and a password: any name, and the key.
            refusal.headers["WWW-Authenticate"] = 'Basic realm="throughline: API key as password"'
            return refusal
        needed = _needed(method, path)
        if key.may(needed):
            return None
        had = ", ".join(sorted(key.scopes))
        return _refused(403, f"the key {key.name!r} has the scope {had}; this needs {needed}")

    def _detour(self, headers: Headers) -> Response | None:
        """A page whose name was made to lead here (DNS rebinding) still sends its own name."""
        host = headers.get("host", "")
        try:
            name = urlsplit(f"//{host}").hostname
        except ValueError:
            name = None
        if not self._access.hosts or name in self._access.hosts:
            return None
        return _refused(
            421,
            f"Host: received {host!r}, expected one of {', '.join(sorted(self._access.hosts))};"
            " a server with an API key answers to any name: throughline keys add",
        )

    async def _known(self) -> dict[str, Key]:
        """The keys by hash, as they were a second ago at most, or when they could last be read."""
        if self._keys is None or time.monotonic() - self._read_at >= _READ_AGAIN:
            self._read_at = time.monotonic()
            try:
                found = await run_in_threadpool(keys_of, self._log)
            except LogError:
                if self._keys is None:
                    raise
                return self._keys
            self._keys = {key.hash: key for key in found}
        return self._keys


def _headers(frame_origins: tuple[str, ...]) -> list[tuple[bytes, bytes]]:
    """How a browser shall treat an answer."""
    frames = " ".join(frame_origins) or "'none'"
    policy = (
        "default-src 'self'; img-src 'self' data:;"
        f" object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors {frames}"
    )
    return [
        (b"content-security-policy", policy.encode()),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"no-referrer"),
    ]


def _refused(status: int, told: str) -> Response:
    return answer({"code": status, "message": told}, status)


def _needed(method: str, path: str) -> str:
    if method in ("GET", "HEAD") and not path.startswith("/api/v2/keys"):
        return "read"
    return "write" if path.rstrip("/") in ("/api/v1/lineage", "/api/v1/lineage/batch") else "admin"


def _shown(headers: Headers) -> bytes:
    """The key that a request shows; empty if it shows none."""
    scheme, _, value = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return value.encode()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value, validate=True).partition(b":")[2]
        except ValueError:  # binascii.Error, or non-ASCII text
            return b""
    return b""


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
