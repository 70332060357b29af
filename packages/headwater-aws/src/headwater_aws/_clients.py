"""Clients of AWS services, and environment variables of the handlers."""

from __future__ import annotations

import os
from typing import Any, Literal

from headwater.errors import ConfigError

CONNECT_SECONDS = 3
READ_SECONDS = 8
"""Limited so that a batch of ten timeouts ends before the worker's own timeout of 120 seconds."""


def client(
    service: str,
    *,
    tries: int,
    mode: Literal["standard", "adaptive"] = "standard",
    read_seconds: float | None = None,
    region: str | None = None,
    profile: str | None = None,
) -> Any:
    """Create a client; boto3 finds the endpoint and credentials.

    Use 1 for `tries` if the caller retries, such as a queue or a forwarder.
    """
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError

    region = region or os.environ.get("AWS_REGION")  # boto3 reads only AWS_DEFAULT_REGION
    config = Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=read_seconds or READ_SECONDS,
        retries={"mode": mode, "total_max_attempts": tries},
    )
    try:
        session = boto3.Session(profile_name=profile, region_name=region)
        client_: Any = session.client(service, config=config)  # type: ignore[call-overload]
    except BotoCoreError as error:  # no region, no such profile
        raise ConfigError(
            f"{service}: {str(error).rstrip('.')}: pass --region or --profile if the command has"
            " these options, or set AWS_REGION or AWS_PROFILE"
        ) from None
    return client_


def variable(name: str, default: str | None = None) -> str:
    """Return an environment variable. Raises ConfigError if it is missing without a default."""
    value = os.environ.get(name) or default
    if value is None:
        raise ConfigError(f"the environment variable {name} is not set; this handler needs it")
    return value


def number(name: str, default: int) -> int:
    """Return an environment variable that is a non-negative integer. Raises ConfigError."""
    text = variable(name, str(default))
    if not text.isdecimal():
        raise ConfigError(f"{name}: received {text!r}, expected a whole number such as {default}")
    return int(text)
