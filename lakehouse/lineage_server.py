"""The lineage server, as the processes of this project ask it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakehouse.settings import Settings

if TYPE_CHECKING:
    import httpx


def lineage_server(settings: Settings, timeout: float) -> httpx.Client:
    """A client of the lineage server, with its key where there is one; timeout in seconds.

    In a container the server is another machine, while links are still for a browser on this one.
    """
    import httpx

    key = settings.throughline_api_key.get_secret_value()
    return httpx.Client(
        base_url=settings.throughline_server_url or settings.throughline_url,
        headers={"Authorization": f"Bearer {key}"} if key else {},
        timeout=timeout,
    )
