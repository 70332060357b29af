"""A Lambda authorizer for API Gateway (HTTP API, simple responses).

The key is stored in Secrets Manager. During a rotation the previous key is also valid.
"""

from __future__ import annotations

import hmac
import os
import time
from collections.abc import Callable
from functools import cache

from headwater_aws._clients import client, variable
from headwater_aws._telemetry import count, write_log
from headwater_aws.payloads import Authorization, Request

CACHE_SECONDS = 300.0
"""Seconds for which keys are cached; a new key is valid after this time at the latest."""


class Authorizer:
    """Compares the bearer token of a request with the keys."""

    def __init__(self, keys: Callable[[], list[str]], clock: Callable[[], float] = time.monotonic):
        self._load = keys
        self._clock = clock
        self._keys: list[bytes] = []
        self._loaded_at = float("-inf")

    def __call__(self, request: Request) -> Authorization:
        """Return whether a request is authorized, in API Gateway's format; errors become a 500."""
        scheme, _, token = request.get("headers", {}).get("authorization", "").partition(" ")
        token_bytes = token.strip().encode() if scheme.lower() == "bearer" else b""
        is_authorized = any(hmac.compare_digest(token_bytes, key) for key in self._cached_keys())
        if not is_authorized:
            write_log("WARNING", "invalid API key", sourceIp=_source(request))
            count("authorizer", Denied=1)
        return {"isAuthorized": is_authorized}

    def _cached_keys(self) -> list[bytes]:
        if self._clock() - self._loaded_at >= CACHE_SECONDS:
            self._keys = [key.encode() for key in self._load() if key]
            self._loaded_at = self._clock()
        return self._keys


def keys() -> list[str]:
    """Return the keys of the secret named by KEY_SECRET, or PROXY_KEY outside AWS."""
    if os.environ.get("PROXY_KEY"):
        return [os.environ["PROXY_KEY"]]
    secrets, secret = client("secretsmanager", tries=3), variable("KEY_SECRET")
    current = [secrets.get_secret_value(SecretId=secret)["SecretString"]]
    try:
        previous = secrets.get_secret_value(SecretId=secret, VersionStage="AWSPREVIOUS")
    except secrets.exceptions.ResourceNotFoundException:  # never rotated
        return current
    return [*current, previous["SecretString"]]


@cache
def _authorizer() -> Authorizer:
    return Authorizer(keys)


def handler(request: Request, _context: object) -> Authorization:
    """Handle a Lambda invocation."""
    return _authorizer()(request)


def _source(request: Request) -> str:
    return str(request.get("requestContext", {}).get("http", {}).get("sourceIp", ""))
