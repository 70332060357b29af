"""Backends `marquez` and `openmetadata`: endpoints that take events in a way of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import orjson

from throughline.deliver.backend import Delivery
from throughline.deliver.http import Http, HttpConfig, post
from throughline.deliver.rewrite import Rewriting
from throughline.deliver.rewrite.marquez import MARQUEZ
from throughline.deliver.rewrite.openmetadata import OPENMETADATA
from throughline.deliver.rewritten import bodies
from throughline.errors import DeliveryError


class Marquez(Http):
    """Posts what Marquez makes most of."""

    rewriting: ClassVar[Rewriting] = MARQUEZ

    def send(self, delivery: Delivery) -> None:
        """Post the bodies of one event, each by itself."""
        for body in bodies(delivery, self.rewriting):
            self._check(post(self._client, self._url, orjson.dumps(body), self._url))

    def _check(self, answer: bytes) -> None:
        """Raise DeliveryError if an answer of 2xx says that nothing was taken after all."""


@dataclass(frozen=True, slots=True)
class OpenMetadataConfig(HttpConfig):
    """`url` is the server's; `api_key_env` a variable with the token (JWT) of a bot."""

    endpoint: str = "api/v1/openlineage/lineage"


class OpenMetadata(Marquez):
    """Posts edges; one of tables that OpenMetadata does not have is refused by it with 200."""

    config_class: ClassVar[type[HttpConfig]] = OpenMetadataConfig
    rewriting: ClassVar[Rewriting] = OPENMETADATA

    def _check(self, answer: bytes) -> None:
        try:
            said: Any = orjson.loads(answer)
        except orjson.JSONDecodeError:
            return
        if isinstance(said, dict) and str(said.get("status")).lower() == "failure":
            missing = said.get("unresolvedDatasets") or []
            names = ", ".join(str(each.get("name")) for each in missing if isinstance(each, dict))
            raise DeliveryError(
                f"{self._url} made no edge: {said.get('message')}; not there: {names or 'unknown'}"
            )
