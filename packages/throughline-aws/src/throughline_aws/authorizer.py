"""Who may post: API Gateway asks this Lambda authorizer (HTTP API, simple answers).

The key lies in Secrets Manager. While it is rotated, the one before is good as well.
"""

from __future__ import annotations

import hmac
import os
import time
from collections.abc import Callable
from functools import cache
from typing import Any

from throughline_aws.clients import client, variable
from throughline_aws.telemetry import count, tell

KEPT_SECONDS = 300.0
"""How long the keys are remembered; a new one counts after this at the latest."""


class Authorizer:
    """Compares the bearer token of a request with the keys."""

    def __init__(self, keys: Callable[[], list[str]], clock: Callable[[], float] = time.monotonic):
        self._ask = keys
        self._clock = clock
        self._keys: list[bytes] = []
        self._asked_at = float("-inf")

    def __call__(self, request: dict[str, Any]) -> dict[str, bool]:
        """Whether a request may pass, as API Gateway wants to be told. Errors become a 500."""
        scheme, _, token = request.get("headers", {}).get("authorization", "").partition(" ")
        given = token.strip().encode() if scheme.lower() == "bearer" else b""
        is_known = any(hmac.compare_digest(given, key) for key in self._known())
        if not is_known:
            tell("WARNING", "a request without a known key", sourceIp=_source(request))
            count("authorizer", Denied=1)
        return {"isAuthorized": is_known}

    def _known(self) -> list[bytes]:
        if self._clock() - self._asked_at >= KEPT_SECONDS:
            self._keys = [key.encode() for key in self._ask() if key]
            self._asked_at = self._clock()
        return self._keys


def keys() -> list[str]:
    """The keys: those of the secret that KEY_SECRET names, or PROXY_KEY where there is no AWS."""
    if os.environ.get("PROXY_KEY"):
        return [os.environ["PROXY_KEY"]]
    secrets, secret = client("secretsmanager", tries=3), variable("KEY_SECRET")
    found = [secrets.get_secret_value(SecretId=secret)["SecretString"]]
    try:
        before = secrets.get_secret_value(SecretId=secret, VersionStage="AWSPREVIOUS")
    except secrets.exceptions.ResourceNotFoundException:  # it was never rotated
        return found
    return [*found, before["SecretString"]]


@cache
def _authorizer() -> Authorizer:
    return Authorizer(keys)


def handler(request: dict[str, Any], _context: object) -> dict[str, bool]:
    """Lambda's entry point."""
    return _authorizer()(request)


def _source(request: dict[str, Any]) -> str:
    return str(request.get("requestContext", {}).get("http", {}).get("sourceIp", ""))
