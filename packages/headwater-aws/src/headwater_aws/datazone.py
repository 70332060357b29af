"""Backend `datazone`: Amazon DataZone / SageMaker Catalog, by PostLineageEvent.

headwater rewrites the events within the limits of that call. This module adds rules for names
and classifies errors.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import orjson
from pydantic import ValidationError, field_validator

from headwater.errors import ConfigError, DeliveryError, UnavailableError
from headwater.plugins.delivery.backend import Delivery
from headwater.plugins.delivery.body import Body
from headwater.plugins.delivery.context import RunContext
from headwater.plugins.delivery.models import BackendSettings
from headwater.plugins.delivery.payloads import payloads
from headwater.plugins.delivery.rewrite.datazone import DATAZONE, client_token
from headwater.posting import response_error
from headwater_aws._clients import client, variable
from headwater_aws._names import BUILT_IN, read_names

_DOMAIN = re.compile(r"dzd[-_][a-zA-Z0-9_-]{1,36}")
_ACCOUNT = re.compile(r"\d{12}")
_EXPIRED = frozenset({"ExpiredTokenException", "ExpiredToken", "RequestExpired"})
"""Error codes of expired credentials, regardless of the HTTP status."""


class DataZoneSettings(BackendSettings):
    """`domain_id` is the domain (dzd_...), `account` the account of tables without one.

    `region` and `profile` default to boto3's; `names` is a file of rules, by default names.yaml.
    """

    type: Literal["datazone"] = "datazone"
    domain_id: str
    account: str
    region: str | None = None
    profile: str | None = None
    names: str | None = None

    @field_validator("domain_id")
    @classmethod
    def _check_domain(cls, domain: str) -> str:
        if not _DOMAIN.fullmatch(domain):
            raise ValueError(
                f"received {domain!r}, expected dzd_ or dzd- and up to 36 letters, digits, _ and -,"
                " as DataZone shows it"
            )
        return domain

    @field_validator("account")
    @classmethod
    def _check_account(cls, account: str) -> str:
        if not _ACCOUNT.fullmatch(account):
            raise ValueError(f"received {account!r}, expected 12 digits in quotation marks")
        return account


class DataZone:
    """Posts each event with its hash as Client-Token, so that DataZone ignores repetitions."""

    settings_class = DataZoneSettings

    def __init__(self, settings: DataZoneSettings) -> None:
        path = Path(settings.names).expanduser() if settings.names else BUILT_IN
        self._names = read_names(path, settings.account)
        self._domain = settings.domain_id
        # Forwarders and queues retry by themselves.
        self._client = client("datazone", tries=1, region=settings.region, profile=settings.profile)

    def send(self, delivery: Delivery) -> None:
        """Post one event. Raises DeliveryError, or UnavailableError for temporary errors."""
        for body in payloads(delivery, DATAZONE):
            for renamed in self._with_rules(body):
                self._post(renamed)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def failed(self) -> Iterator[str]:
        """Yield the ids of the last day's events with Processing-Status FAILED.

        Raises UnavailableError or DeliveryError.
        """
        from botocore.exceptions import BotoCoreError, ClientError

        pages = self._client.get_paginator("list_lineage_events").paginate(
            domainIdentifier=self._domain,
            processingStatus="FAILED",
            timestampAfter=datetime.now(UTC) - timedelta(days=1),
        )
        try:
            for page in pages:
                yield from (item["id"] for item in page["items"])
        except (ClientError, BotoCoreError) as error:
            raise _delivery_error(error) from None

    def _with_rules(self, body: Body) -> list[Body]:
        """Apply the rules for names; then rewrite again, for symlinks and the size limit."""
        renamed = self._names.event(body)
        return [body] if renamed == body else DATAZONE.rewrite(renamed, RunContext())

    def _post(self, body: Body) -> None:
        """Post a body; the Client-Token makes a repetition harmless."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            answer = self._client.post_lineage_event(
                domainIdentifier=self._domain,
                event=orjson.dumps(body),
                clientToken=client_token(body),
            )
        except (ClientError, BotoCoreError) as error:
            raise _delivery_error(error) from None
        if not answer["ResponseMetadata"]["HTTPHeaders"]:  # botocore accepts an incomplete response
            raise UnavailableError("DataZone: incomplete response")


def datazone_of_environment() -> DataZone:
    """Create the backend from a handler's environment. Raises ConfigError."""
    try:
        settings = DataZoneSettings(
            name="datazone",
            domain_id=variable("DOMAIN_ID"),
            account=variable("ACCOUNT"),
            names=os.environ.get("NAMES"),
        )
    except ValidationError as error:
        details = error.errors()[0]
        raise ConfigError(f"{details['loc'][0]}: {details['ctx']['error']}") from None
    return DataZone(settings)


def _delivery_error(error: Any) -> DeliveryError:
    """Convert an error of botocore to UnavailableError if it is temporary, else DeliveryError."""
    response = getattr(error, "response", None)
    if response is None:  # no connection or no credentials
        return UnavailableError(f"DataZone: {error}")
    status = int(response["ResponseMetadata"]["HTTPStatusCode"])
    code, message = response["Error"].get("Code", ""), response["Error"].get("Message", "")
    reason = f"DataZone answered {status} {code}: {message}"[:500]
    retry_after = response["ResponseMetadata"].get("HTTPHeaders", {}).get("retry-after", "")
    return response_error(401 if code in _EXPIRED else status, reason, retry_after)
