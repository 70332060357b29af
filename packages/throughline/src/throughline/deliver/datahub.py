"""Backend `datahub`: its OpenLineage endpoint, and acryl-datahub's emitter for all else."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, ClassVar

import orjson

from throughline.deliver import http
from throughline.deliver.backend import Delivery
from throughline.deliver.http import Client, Http, HttpConfig, post, raise_refusal
from throughline.deliver.job_runs import Done
from throughline.deliver.rewrite.datahub_extras import proposals
from throughline.deliver.rewrite.datahub_kept import DATAHUB
from throughline.deliver.rewrite.rewriting import is_run
from throughline.deliver.rewritten import rewritten
from throughline.errors import ConfigError, UnavailableError

if TYPE_CHECKING:
    from datahub.emitter.rest_emitter import DataHubRestEmitter
    from requests.adapters import BaseAdapter


@dataclass(frozen=True, slots=True)
class DataHubConfig(HttpConfig):
    """`url` is that of DataHub's metadata service (GMS).

    `emitter: false` leaves out what needs acryl-datahub: hierarchy, models, ownership and more.
    """

    endpoint: str = "openapi/openlineage/api/v1/lineage"
    emitter: bool = True


class DataHub(Http):
    """Posts each event of a run, and then what the endpoint has no place for."""

    config_class: ClassVar[type[HttpConfig]] = DataHubConfig

    def __init__(self, config: DataHubConfig) -> None:
        super().__init__(config)
        self._emitter = _emitter(config, self._client) if config.emitter else None
        self._done: Done = {}

    def send(self, delivery: Delivery) -> None:
        """Post the bodies of one event and emit what belongs to them."""
        for body, known in rewritten(delivery, DATAHUB, self._done):
            if is_run(body):
                post(self._client, self._url, orjson.dumps(body), self._url)
            if self._emitter is not None:
                self._emit(proposals(body, known))

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
            answer = getattr(error.__cause__, "response", None)
            shown = f"{self._emitter._gms_server}/aspects"
            if answer is None:
                raise UnavailableError(f"{shown}: {error.info.get('message')}") from None
            raise_refusal(shown, answer.status_code, answer.text, answer.headers)


def _emitter(config: DataHubConfig, client: Client) -> DataHubRestEmitter:
    try:
        from datahub.emitter.rest_emitter import DataHubRestEmitter, EmitMode
    except ImportError:
        raise ConfigError(
            "emitter: acryl-datahub is not installed: pip install"
            " './packages/throughline[datahub]', from a clone, or say `emitter: false`: without"
            " hierarchy, models, ownership, tags and versions"
        ) from None
    emitter = DataHubRestEmitter(
        config.url.rstrip("/"),
        token=config.api_key,
        timeout_sec=http.TIMEOUT_SECONDS,
        retry_max_times=0,  # the forwarder waits and tries again itself
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
            shown = url.partition("?")[0]
            answer = client.exchange(str(request.method), url, content, headers, shown)
            response = Response()
            response.status_code = answer.status
            response.headers = CaseInsensitiveDict(answer.headers)
            response.raw = BytesIO(answer.content)
            response.url, response.request = url, request
            return response

        def close(self) -> None:
            """Do nothing, because the owner closes the client."""

    return Adapter()
