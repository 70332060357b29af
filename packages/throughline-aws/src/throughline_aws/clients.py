"""Clients of AWS's services, and the environment that the handlers are set up by."""

from __future__ import annotations

import os
from typing import Any, Literal

from throughline.errors import ConfigError

CONNECT_SECONDS = 3
READ_SECONDS = 8
"""A batch of ten that all hang must end before the worker's timeout: the template's 120 seconds."""


def client(
    service: str,
    *,
    tries: int,
    mode: Literal["standard", "adaptive"] = "standard",
    read_seconds: float | None = None,
    region: str | None = None,
    profile: str | None = None,
) -> Any:
    """A client; endpoint and credentials come from where boto3 looks for them.

    `tries` is 1 where somebody else tries again: a queue, or a forwarder.
    """
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError

    region = region or os.environ.get("AWS_REGION")  # boto3 itself knows AWS_DEFAULT_REGION only
    config = Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=read_seconds or READ_SECONDS,
        retries={"mode": mode, "total_max_attempts": tries},
    )
    try:
        session = boto3.Session(profile_name=profile, region_name=region)
        made: Any = session.client(service, config=config)  # type: ignore[call-overload]
    except BotoCoreError as error:  # no region, no such profile
        raise ConfigError(
            f"{service}: {str(error).rstrip('.')}: give --region or --profile where there are such"
            " options, or set AWS_REGION or AWS_PROFILE"
        ) from None
    return made


def variable(name: str, default: str | None = None) -> str:
    """A variable of the environment. Raises ConfigError if it is missing and has no default."""
    value = os.environ.get(name) or default
    if value is None:
        raise ConfigError(f"the environment has no variable {name}, which this handler needs")
    return value


def number(name: str, default: int) -> int:
    """A variable that is a whole number from 0 on. Raises ConfigError."""
    text = variable(name, str(default))
    if not text.isdecimal():
        raise ConfigError(f"{name}: received {text!r}, expected a whole number such as {default}")
    return int(text)
