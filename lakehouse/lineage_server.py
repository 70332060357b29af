"""HTTP client of the lineage server for the processes of this project."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from lakehouse.settings import Settings

if TYPE_CHECKING:
    import httpx


def lineage_server(settings: Settings, timeout: float) -> httpx.Client:
    """Return a client of the lineage server, with its key if it has one; timeout in seconds.

    In a container, the server has another host name than in links, which a browser on this
    machine opens.
    """
    import httpx

    key = settings.headwater_api_key.get_secret_value()
    return httpx.Client(
        base_url=settings.headwater_server_url or settings.headwater_url,
        headers={"Authorization": f"Bearer {key}"} if key else {},
        timeout=timeout,
    )


def wait_for_spool(server: httpx.Client, seconds: float = 20.0) -> int:
    """Wait until the server has read this machine's spool; return the bytes left after that time.

    Raises:
        httpx.HTTPError: the server does not answer.
    """
    until = time.monotonic() + seconds
    while (lag := _lag(server)) and time.monotonic() < until:
        time.sleep(0.2)  # poll interval
    return lag


def _lag(server: httpx.Client) -> int:
    spool = server.get("/healthz").raise_for_status().json().get("spool", {})
    return int(spool.get("lagBytes", 0))
