"""What the harvesters of AWS have in common: patient clients, and errors in throughline's words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from throughline.errors import ConfigError, ServerError
from throughline_aws.clients import client

_TRIES = 10
_READ_SECONDS = 60
OVERLAP = timedelta(hours=1)
"""What is read again: records that came late."""

FIRST = timedelta(days=7)
"""How far back the first harvest of a history goes without --since."""

_WRONG = {
    "ResourceNotFoundException",
    "EntityNotFoundException",
    "ValidationException",
    "InvalidParameterException",
    "InvalidInputException",
}


@dataclass(frozen=True, slots=True)
class Account:
    """Where on AWS to look: region and profile, by default boto3's."""

    region: str | None = None
    profile: str | None = None

    def client(self, service: str) -> Any:
        """A client that waits when it is throttled. Raises ConfigError."""
        return client(
            service,
            tries=_TRIES,
            mode="adaptive",
            read_seconds=_READ_SECONDS,
            region=self.region,
            profile=self.profile,
        )


@contextmanager
def told(what: str) -> Iterator[None]:
    """Turn boto3's errors into ours.

    Raises:
        ConfigError: what was asked for is not there.
        ServerError: AWS does not answer, or not to these credentials.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except ClientError as error:
        code = error.response["Error"]["Code"]
        message = f"{what}: {code}: {error.response['Error'].get('Message', '')}"
        raise (ConfigError if code in _WRONG else ServerError)(message) from None
    except BotoCoreError as error:
        raise ServerError(
            f"{what}: {error}; `aws sso login`, AWS_PROFILE or AWS_REGION may be missing"
        ) from None


def start_of(last: str | None, since: datetime | None, now: datetime) -> datetime:
    """From when on to read: before what was read last, or `since`, or a week back."""
    if last is not None:
        return datetime.fromisoformat(last) - OVERLAP
    return since or now - FIRST
