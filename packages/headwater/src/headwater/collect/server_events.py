"""Read the events that a server stores: headwater, Marquez, or another one with Marquez's API."""

from __future__ import annotations

from collections.abc import Iterator

from headwater.console.source import request
from headwater.query.models import Json
from headwater.settings import Settings


def events_of_server(settings: Settings, page_size: int = 500) -> Iterator[Json]:
    """Yield all events of the server of the settings in order of event time.

    `page_size` is the number of events in a response.
    """
    offset, total = 0, 1
    while offset < total:
        query = f"limit={page_size}&offset={offset}&sortDirection=asc"
        page = request(settings, f"/api/v1/events/lineage?{query}")
        yield from page["events"]
        offset, total = offset + page_size, page["totalCount"]
