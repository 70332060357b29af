"""Clients and error handling of the AWS harvesters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from headwater.errors import ConfigError, ServerError
from headwater_aws._clients import client

_TRIES = 10
_READ_SECONDS = 60
OVERLAP = timedelta(hours=1)
"""Time span that is read again, for late records."""

FIRST = timedelta(days=7)
"""Time span of the first harvest of a history without --since."""

_WRONG = {
    "ResourceNotFoundException",
    "EntityNotFoundException",
    "ValidationException",
    "InvalidParameterException",
    "InvalidInputException",
}


@dataclass(frozen=True, slots=True)
class Account:
    """The AWS region and profile, by default boto3's."""

    region: str | None = None
    profile: str | None = None

    def client(self, service: str) -> Any:
        """Create a client that retries when it is throttled. Raises ConfigError."""
        return client(
            service,
            tries=_TRIES,
            mode="adaptive",
            read_seconds=_READ_SECONDS,
            region=self.region,
            profile=self.profile,
        )

    def number(self, owned: str) -> str:
        """Return the number of the account of a resource. Raises ConfigError or ServerError."""
        with aws_errors(f"the account of {owned}"):
            return str(self.client("sts").get_caller_identity()["Account"])


@contextmanager
def aws_errors(source: str) -> Iterator[None]:
    """Convert boto3's errors.

    Raises:
        ConfigError: the resource does not exist.
        ServerError: AWS does not respond, or rejects the credentials.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except ClientError as error:
        code = error.response["Error"]["Code"]
        message = f"{source}: {code}: {error.response['Error'].get('Message', '')}"
        raise (ConfigError if code in _WRONG else ServerError)(message) from None
    except BotoCoreError as error:
        raise ServerError(
            f"{source}: {error}: run `aws sso login`, or set AWS_PROFILE or AWS_REGION"
        ) from None


def start_of(last: str | None, since: datetime | None, now: datetime) -> datetime:
    """Return the start time: shortly before the last one read, or `since`, or a week ago."""
    if last is not None:
        return datetime.fromisoformat(last) - OVERLAP
    return since or now - FIRST
