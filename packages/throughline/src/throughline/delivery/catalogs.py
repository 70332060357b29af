"""Backends `marquez` and `openmetadata`, which receive rewritten events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import orjson

from throughline.delivery.backend import Delivery
from throughline.delivery.http import Http, HttpConfig, post
from throughline.delivery.payloads import payloads
from throughline.delivery.rewrite import Rewriting
from throughline.delivery.rewrite.marquez import MARQUEZ
from throughline.delivery.rewrite.openmetadata import OPENMETADATA
from throughline.errors import DeliveryError


class Marquez(Http):
    """Posts events rewritten for Marquez."""

    rewriting: ClassVar[Rewriting] = MARQUEZ

    def send(self, delivery: Delivery) -> None:
        """Post the payloads of one event, one request each."""
        for body in payloads(delivery, self.rewriting):
            self._check(post(self._client, self._url, orjson.dumps(body), self._url))

    def _check(self, answer: bytes) -> None:
        """Raise DeliveryError if a successful response reports a failure."""


@dataclass(frozen=True, slots=True)
class OpenMetadataConfig(HttpConfig):
    """`url` is the server's; `api_key_env` is a variable with the token (JWT) of a bot."""

    endpoint: str = "api/v1/openlineage/lineage"


class OpenMetadata(Marquez):
    """Posts edges. OpenMetadata rejects edges of unknown tables with status 200."""

    config_class: ClassVar[type[HttpConfig]] = OpenMetadataConfig
    rewriting: ClassVar[Rewriting] = OPENMETADATA

    def _check(self, answer: bytes) -> None:
        try:
            response: Any = orjson.loads(answer)
        except orjson.JSONDecodeError:
            return
        if isinstance(response, dict) and str(response.get("status")).lower() == "failure":
            missing = response.get("unresolvedDatasets") or []
            names = ", ".join(str(item.get("name")) for item in missing if isinstance(item, dict))
            raise DeliveryError(
                f"{self._url} created no edge: {response.get('message')};"
                f" missing tables: {names or 'not reported'}"
            )
