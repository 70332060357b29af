"""Where lineage goes: one table of backends, as native OpenLineage transports.

The embedded backend and `file` are written to the spool, a folder in which every process has a
file of its own: no network in a task, nothing to lose. The others are posted to directly, with
one short timeout, because a backend that hangs must not hold up a job.
"""

from __future__ import annotations

import json
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
    """A place that takes OpenLineage, and the transport that gets it there."""

    name: str
    description: str
    transport: Callable[[Settings], Transport]
    spark: bool = True
    """Whether Spark's listener has such a transport."""


def _spool(settings: Settings) -> Transport:
    return {"type": "throughline.spool.SpoolTransport", "directory": str(settings.spool_dir)}


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
        raise SettingsError("The datazone backend needs DATAZONE_DOMAIN_ID (dzd_...); it is empty.")
    return {"type": "amazon_datazone_api", "domainId": settings.datazone_domain_id}


BACKENDS = {
    backend.name: backend
    for backend in (
        Backend("embedded", "throughline on this machine, through the spool", _spool),
        Backend("file", "the spool's files, with nobody reading them", _spool),
        Backend("console", "each process's own log", lambda _: {"type": "console"}),
        Backend(
            "datahub",
            "DataHub's OpenLineage endpoint",
            lambda s: _http(s.datahub_url, "openapi/openlineage/api/v1/lineage", s.datahub_token),
        ),
        Backend(
            "datazone",
            "Amazon DataZone / SageMaker Catalog; not from Spark, which has no such transport",
            _datazone,
            spark=False,
        ),
        Backend(
            "marquez",
            "Marquez",
            lambda s: _http(s.marquez_url, "api/v1/lineage", s.marquez_api_key),
        ),
        Backend(
            "openmetadata",
            "OpenMetadata",
            lambda s: _http(s.openmetadata_url, "api/v1/openlineage/lineage", s.openmetadata_token),
        ),
    )
}


def chosen(settings: Settings) -> list[Backend]:
    """The backends that LINEAGE_BACKEND names, in its order.

    Raises:
        SettingsError: a name is neither in the table nor a URL.
    """
    backends = []
    for name in (part.strip() for part in settings.lineage_backend.split(",")):
        if name.startswith(("http://", "https://")):
            key = settings.lineage_url_api_key
            backends.append(Backend(name, "any OpenLineage endpoint", _any_url(name, key)))
        elif name in BACKENDS:
            backends.append(BACKENDS[name])
        else:
            raise SettingsError(
                f"{name!r} is not a lineage backend; allowed: {', '.join(BACKENDS)}, or a URL; "
                "several are separated by commas."
            )
    if {"embedded", "file"} <= {backend.name for backend in backends}:
        backends = [backend for backend in backends if backend.name != "file"]  # one spool
    return list({backend.name: backend for backend in backends}.values())


def is_embedded(settings: Settings) -> bool:
    """Whether lineage goes to the lineage server of this machine."""
    return any(backend.name == "embedded" for backend in chosen(settings))


def unanswered(settings: Settings) -> list[str]:
    """URLs of chosen backends at which nothing listens; a try each, of two seconds at most."""
    urls = [str(b.transport(settings).get("url", "")) for b in chosen(settings)]
    return [url for url in urls if url and not _listens(url)]


def _listens(url: str) -> bool:
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname or "", port), TIMEOUT_SECONDS).close()
    except OSError:
        return False
    return True


def _any_url(url: str, key: SecretStr) -> Callable[[Settings], Transport]:
    return lambda _: _http(url, "api/v1/lineage", key)


def python_transport(settings: Settings) -> Transport:
    """The transport for openlineage-python: Airflow's tasks and Metaflow's steps."""
    transports = {backend.name: backend.transport(settings) for backend in chosen(settings)}
    if len(transports) == 1:
        return next(iter(transports.values()))
    named = {f"{n}": transport for n, transport in enumerate(transports.values())}
    return {"type": "composite", "continue_on_failure": True, "transports": named}


def lineage_environ(settings: Settings) -> dict[str, str]:
    """Environment that makes Airflow, Metaflow and plain openlineage-python send lineage."""
    transport = json.dumps(python_transport(settings))
    return {
        "OPENLINEAGE__TRANSPORT": transport,
        "OPENLINEAGE_NAMESPACE": settings.job_namespace,
        "AIRFLOW__OPENLINEAGE__TRANSPORT": transport,
        "AIRFLOW__OPENLINEAGE__NAMESPACE": settings.job_namespace,
    }


def spark_transport(settings: Settings, spool_name: str) -> dict[str, str]:
    """The transport for Spark's listener, as ``spark.openlineage.transport.*``.

    Backends that Spark has no transport for are left out: they get Spark's lineage through the
    collector only. If none is left, Spark writes to the spool, from where it can be replayed.
    """
    transports = [_spark(b, settings, spool_name) for b in chosen(settings) if b.spark]
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
        # The listener's console transport writes to Spark's log at a level that Spark is silent at.
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
