"""HTTP client of the lineage server for the processes of this project."""

from __future__ import annotations

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
