"""Lineage backends, and the OpenLineage transports that reach them.

For `embedded` and `file`, each process writes to its own file in the spool folder. A task then
needs no network, and no event is lost. With the default delivery, `collector`, the lineage server
reads the spool and delivers the events to all other backends. With `direct`, every process posts
through a native OpenLineage transport. It has one short timeout, so that a backend that does not
respond cannot delay a job.
"""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from pydantic import SecretStr

from lakehouse.errors import SettingsError
from lakehouse.settings import Settings

Transport = dict[str, object]

TIMEOUT_SECONDS = 2
NO_RETRIES = {"total": 0, "connect": 0, "read": 0, "status": 0}


@dataclass(frozen=True)
class Backend:
    """A destination for OpenLineage events and its transport."""

    name: str
    description: str
    transport: Callable[[Settings], Transport]
    spark: bool = True
    """True if Spark's listener has a transport for it."""
    delivery: Callable[[Settings], Transport] | None = None
    """Its entry in the lineage server's deliver file; None if the server does not deliver to it."""


def _spool(settings: Settings) -> Transport:
    return {"type": "headwater_client.spool.SpoolTransport", "directory": str(settings.spool_dir)}


def _http(url: str, endpoint: str, key: SecretStr) -> Transport:
    transport: Transport = {
        "type": "http",
        "url": url.rstrip("/"),
        "endpoint": endpoint,
        "timeout": TIMEOUT_SECONDS,
        "retry": NO_RETRIES,
    }
    if key.get_secret_value():
        transport["auth"] = {"type": "api_key", "apiKey": key.get_secret_value()}
    return transport


def _datazone(settings: Settings) -> Transport:
    if not settings.datazone_domain_id:
        raise SettingsError(
            "The datazone backend requires DATAZONE_DOMAIN_ID, which is empty. "
            "Set it to the id of a domain (dzd_...)."
        )
    return {
        "type": "amazon_datazone_api",
        "domainId": settings.datazone_domain_id,
        "region": settings.aws_region,
    }


def _remote(name: str, description: str, endpoint: str, url: str, key: str) -> Backend:
    """Return a backend with an HTTP endpoint; `url` and `key` are names of settings."""

    def transport(settings: Settings) -> Transport:
        return _http(getattr(settings, url), endpoint, getattr(settings, key))

    def delivery(settings: Settings) -> Transport:
        return _delivered(name, getattr(settings, url), endpoint, key, settings)

    return Backend(name, description, transport, delivery=delivery)


def _delivered(kind: str, url: str, endpoint: str, key: str, settings: Settings) -> Transport:
    parts = urlsplit(url)
    delivery: Transport = {
        "type": kind,
        "url": f"{parts.scheme}://{parts.netloc}",
        "endpoint": f"{parts.path.strip('/')}/{endpoint}".lstrip("/"),
    }
    if getattr(settings, key).get_secret_value():
        delivery["api_key_env"] = key.upper()
    return delivery


def _datazone_delivery(settings: Settings) -> Transport:
    domain = _datazone(settings)["domainId"]
    if not settings.aws_account:
        raise SettingsError(
            "The datazone backend requires AWS_ACCOUNT, which is empty. "
            "Set it to the account's id (12 digits)."
        )
    return {
        "type": "datazone",
        "domain_id": domain,
        "account": settings.aws_account,
        "region": settings.aws_region,
    }


BACKENDS = {
    backend.name: backend
    for backend in (
        Backend("embedded", "the lineage server on this machine, through the spool", _spool),
        Backend("file", "the spool's files only", _spool),
        Backend("console", "the log of each process", lambda _: {"type": "console"}),
        Backend("none", "lineage is disabled", lambda _: {"type": "noop"}),
        _remote(
            "datahub",
            "DataHub",
            "openapi/openlineage/api/v1/lineage",
            "datahub_url",
            "datahub_token",
        ),
        Backend(
            "datazone",
            "Amazon DataZone / SageMaker Catalog; Spark has no direct transport for it",
            _datazone,
            spark=False,
            delivery=_datazone_delivery,
        ),
        _remote("marquez", "Marquez", "api/v1/lineage", "marquez_url", "marquez_api_key"),
        _remote(
            "openmetadata",
            "OpenMetadata",
            "api/v1/openlineage/lineage",
            "openmetadata_url",
            "openmetadata_token",
        ),
    )
}


def chosen(settings: Settings) -> list[Backend]:
    """Return the backends in LINEAGE_BACKEND, in its order.

    Raises:
        SettingsError: a name is neither a backend nor a URL.
    """
    backends = []
    for name in (part.strip() for part in settings.lineage_backend.split(",")):
        if _is_own_server(settings, name):
            backends.append(BACKENDS["embedded"])  # the server must not deliver to itself
        elif name.startswith(("http://", "https://")):
            backends.append(_any_url(name, settings.lineage_url_endpoint))
        elif name in BACKENDS:
            backends.append(BACKENDS[name])
        else:
            raise SettingsError(
                f"{name!r} is not a lineage backend; allowed: {', '.join(BACKENDS)}, or a URL. "
                "Separate several with commas."
            )
    if BACKENDS["none"] in backends and len(backends) > 1:
        raise SettingsError(
            f"LINEAGE_BACKEND is {settings.lineage_backend}, but `none` cannot be combined with "
            "other backends. Remove it or the others."
        )
    return _unique(backends)


def _is_own_server(settings: Settings, name: str) -> bool:
    """Return True if a backend is the URL of the lineage server that `./run` starts."""
    if not name.startswith("http://"):
        return False
    own = settings.headwater_server_url or settings.headwater_url
    url, own_url = urlsplit(name), urlsplit(own)
    local = ("localhost", "127.0.0.1", "[::1]", "::1")
    hosts = local if own_url.hostname in local else (own_url.hostname,)
    return (url.hostname, url.port) in [(host, own_url.port) for host in hosts]


def _unique(backends: list[Backend]) -> list[Backend]:
    if {"embedded", "file"} <= {backend.name for backend in backends}:
        backends = [backend for backend in backends if backend.name != "file"]  # the same spool
    return list({backend.name: backend for backend in backends}.values())


def sending(settings: Settings) -> list[Backend]:
    """Return the backends that processes send to, with `embedded` for those delivered to later."""
    collects = settings.lineage_delivery == "collector"
    return _unique(
        [
            BACKENDS["embedded"] if collects and backend.delivery else backend
            for backend in chosen(settings)
        ]
    )


def deliveries(settings: Settings) -> list[Transport]:
    """Return the lineage server's deliveries in the format of its deliver file.

    Raises:
        SettingsError: a backend lacks a setting.
    """
    if settings.lineage_delivery == "direct":
        return []
    backends = [(backend.name, backend.delivery) for backend in chosen(settings)]
    return [
        {"name": re.sub(r"[^A-Za-z0-9_.-]+", "-", name)[:64], **delivery(settings)}
        for name, delivery in backends
        if delivery is not None
    ]


def is_on(settings: Settings) -> bool:
    """Return True unless lineage is disabled."""
    return BACKENDS["none"] not in chosen(settings)


def is_embedded(settings: Settings) -> bool:
    """Return True if the lineage server on this machine receives lineage, to keep or to deliver."""
    return any(backend.name == "embedded" for backend in sending(settings))


def unanswered(settings: Settings) -> list[str]:
    """Return the URLs that processes post to but nothing listens at; tries each for two seconds."""
    urls = [str(b.transport(settings).get("url", "")) for b in sending(settings)]
    return [url for url in urls if url and not _listens(url)]


def _listens(url: str) -> bool:
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname or "", port), TIMEOUT_SECONDS).close()
    except OSError:
        return False
    return True


def _any_url(url: str, endpoint: str) -> Backend:
    key = "lineage_url_api_key"
    return Backend(
        url,
        "any OpenLineage endpoint",
        lambda settings: _http(url, endpoint, settings.lineage_url_api_key),
        delivery=lambda settings: _delivered("http", url, endpoint, key, settings),
    )


def python_transport(settings: Settings) -> Transport:
    """Return the transport for openlineage-python, which Airflow tasks and Metaflow steps use."""
    transports = {backend.name: backend.transport(settings) for backend in sending(settings)}
    if len(transports) == 1:
        return next(iter(transports.values()))
    numbered = {f"{n}": transport for n, transport in enumerate(transports.values())}
    return {"type": "composite", "continue_on_failure": True, "transports": numbered}


def lineage_environ(settings: Settings) -> dict[str, str]:
    """Return the environment that makes Airflow, Metaflow and openlineage-python send lineage."""
    transport = json.dumps(python_transport(settings))
    off = {"OPENLINEAGE_DISABLED": "true", "AIRFLOW__OPENLINEAGE__DISABLED": "True"}
    return {
        **({} if is_on(settings) else off),
        "OPENLINEAGE__TRANSPORT": transport,
        "OPENLINEAGE_NAMESPACE": settings.job_namespace,
        "AIRFLOW__OPENLINEAGE__TRANSPORT": transport,
        "AIRFLOW__OPENLINEAGE__NAMESPACE": settings.job_namespace,
    }


def spark_transport(settings: Settings, spool_name: str) -> dict[str, str]:
    """Return the transport for Spark's listener as ``spark.openlineage.transport.*``.

    Backends without a Spark transport are omitted; they receive Spark's lineage through the
    collector only. If none is left, Spark writes to the spool, and the events can be replayed.
    """
    transports = [_spark(b, settings, spool_name) for b in sending(settings) if b.spark]
    if not transports:
        transports = [_spark(BACKENDS["file"], settings, spool_name)]
    at = "spark.openlineage.transport"
    if len(transports) == 1:
        return {f"{at}.{key}": value for key, value in transports[0].items()}
    conf = {f"{at}.type": "composite", f"{at}.continueOnFailure": "true"}
    for n, transport in enumerate(transports):
        conf |= {f"{at}.transports.t{n}.{key}": value for key, value in transport.items()}
    return conf


def _spark(backend: Backend, settings: Settings, spool_name: str) -> dict[str, str]:
    transport = backend.transport(settings)
    if backend.name in ("embedded", "file"):
        return {"type": "file", "location": str(settings.spool_dir / f"{spool_name}.jsonl")}
    if transport["type"] == "console":
        # The listener's console transport logs at a level that Spark's log configuration drops.
        return {"type": "file", "location": "/dev/stdout"}
    conf = {
        "type": "http",
        "url": str(transport["url"]),
        "endpoint": str(transport["endpoint"]),
        "timeoutInMillis": str(TIMEOUT_SECONDS * 1000),
    }
    match transport.get("auth"):
        case {"apiKey": key}:
            conf |= {"auth.type": "api_key", "auth.apiKey": str(key)}
    return conf
