"""Backend `datahub`: its OpenLineage endpoint, and acryl-datahub's emitter for everything else."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, ClassVar

import orjson

from throughline.delivery.backend import Delivery
from throughline.delivery.effective_runs import NewestRuns
from throughline.delivery.http import Client, Http, HttpConfig, post, raise_for_status
from throughline.delivery.payloads import payloads_with_context
from throughline.delivery.rewrite.datahub_facts import DATAHUB
from throughline.delivery.rewrite.rewriting import is_run
from throughline.errors import ConfigError, UnavailableError

if TYPE_CHECKING:
    from datahub.emitter.rest_emitter import DataHubRestEmitter
    from requests.adapters import BaseAdapter


@dataclass(frozen=True, slots=True)
class DataHubConfig(HttpConfig):
    """`url` is the URL of DataHub's metadata service (GMS).

    `emitter: false` omits everything that needs acryl-datahub: hierarchy, models, ownership etc.
    """

    endpoint: str = "openapi/openlineage/api/v1/lineage"
    emitter: bool = True


class DataHub(Http):
    """Posts run events, and emits as proposals what the endpoint does not support."""

    config_class: ClassVar[type[HttpConfig]] = DataHubConfig

    def __init__(self, config: DataHubConfig) -> None:
        super().__init__(config)
        self._emitter = _emitter(config, self._client) if config.emitter else None
        self._newest_runs: NewestRuns = {}

    def send(self, delivery: Delivery) -> None:
        """Post the payloads of one event and emit their proposals."""
        for body, context in payloads_with_context(delivery, DATAHUB, self._newest_runs):
            if is_run(body):
                post(self._client, self._url, orjson.dumps(body), self._url)
            if self._emitter is not None:
                from throughline.delivery.rewrite.datahub_proposals import proposals

                self._emit(proposals(body, context))

    def close(self) -> None:
        """Close the connections."""
        super().close()
        if self._emitter is not None:
            self._emitter.close()

    def _emit(self, proposals: list[Any]) -> None:
        from datahub.configuration.common import OperationalError

        assert self._emitter is not None
        try:
            self._emitter.emit_mcps(proposals)
        except OperationalError as error:
            response = getattr(error.__cause__, "response", None)
            label = f"{self._emitter._gms_server}/aspects"
            if response is None:
                raise UnavailableError(f"{label}: {error.info.get('message')}") from None
            raise_for_status(label, response.status_code, response.text, response.headers)


def _emitter(config: DataHubConfig, client: Client) -> DataHubRestEmitter:
    try:
        from datahub.emitter.rest_emitter import DataHubRestEmitter, EmitMode
    except ImportError:
        raise ConfigError(
            "emitter: acryl-datahub is not installed. In a clone, run: pip install"
            " './packages/throughline[datahub]'. Or set `emitter: false`, which omits hierarchy,"
            " models, ownership, tags and versions"
        ) from None
    emitter = DataHubRestEmitter(
        config.url.rstrip("/"),
        token=config.api_key,
        timeout_sec=config.timeout,
        retry_max_times=0,  # the forwarder retries
        openapi_ingestion=False,
        default_emit_mode=EmitMode.SYNC_PRIMARY,
        datahub_component="throughline",
    )
    for scheme in ("http://", "https://"):
        emitter.session.mount(scheme, _adapter(client))
    return emitter


def _adapter(client: Client) -> BaseAdapter:
    """Return an adapter that makes requests send with our client, which limits time and size."""
    from requests.adapters import BaseAdapter
    from requests.models import PreparedRequest, Response
    from requests.structures import CaseInsensitiveDict

    class Adapter(BaseAdapter):
        def send(self, request: PreparedRequest, *_: Any, **_given: Any) -> Response:
            url, body = str(request.url), request.body
            content = body.encode() if isinstance(body, str) else body or b""
            assert isinstance(content, bytes), "the emitter sends JSON texts"
            headers = {name: str(value) for name, value in request.headers.items()}
            headers["Accept-Encoding"] = "identity"
            label = url.partition("?")[0]
            answer = client.exchange(str(request.method), url, content, headers, label)
            response = Response()
            response.status_code = answer.status
            response.headers = CaseInsensitiveDict(answer.headers)
            response.raw = BytesIO(answer.content)
            response.url, response.request = url, request
            return response

        def close(self) -> None:
            """Do nothing, because the owner closes the client."""

    return Adapter()
