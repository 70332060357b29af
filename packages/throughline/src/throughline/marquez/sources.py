"""Endpoints of sources and tags, which come from facets."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter, Response

from throughline import deadline
from throughline.errors import NotFoundError
from throughline.events import shown_time
from throughline.http.admission import Queried
from throughline.http.routes import Limit, LiveState, Offset, answer
from throughline.marquez import models as marquez
from throughline.marquez.facets import tagged
from throughline.projection import Stamp, State

router = APIRouter(prefix="/api/v1", route_class=Queried)

_TYPES = {"POSTGRES": "POSTGRESQL"}


@dataclass(slots=True)
class Source:
    """A source of the dataSource facets; its times are those of its datasets."""

    first: int
    last: int
    stamp: Stamp
    url: str


@router.get("/sources", response_model=marquez.Sources)
def list_sources(live: LiveState, limit: Limit = 100, offset: Offset = 0) -> Response:
    """Return the sources of dataSource facets, by name."""
    with live.reading() as state:
        found = sources_of(state)
    names = sorted(found)[offset : offset + limit]
    return answer({"sources": [_shown(name, found[name]) for name in names]})


@router.get("/sources/{source:segment}", response_model=marquez.Source)
def get_source(live: LiveState, source: str) -> Response:
    """Return a source."""
    with live.reading() as state:
        found = sources_of(state)
    if source not in found:
        raise NotFoundError(f"Source '{source}' not found.")
    return answer(_shown(source, found[source]))


@router.get("/tags", response_model=marquez.Tags)
def list_tags(live: LiveState, limit: Limit = 100, offset: Offset = 0) -> Response:
    """Return the tags of jobs, datasets and fields, by name."""
    with live.reading() as state:
        books = [job.facets for job in state.jobs.values()]
        books += [record.facets for record in state.datasets.values()]
        found = {tag for book in deadline.watched(books) for _, tag in tagged(book.get("tags"))}
    names = sorted(found)[offset : offset + limit]
    return answer({"tags": [{"name": name, "description": None} for name in names]})


def sources_of(state: State) -> dict[str, Source]:
    """Return all sources by name."""
    found: dict[str, Source] = {}
    for record in deadline.watched(state.datasets.values()):
        stamp, facet = record.facets.stamp_of("dataSource"), record.facets.get("dataSource")
        if stamp is None or not facet.get("name"):
            continue
        name, url = str(facet["name"]), str(facet.get("uri") or "")
        source = found.setdefault(name, Source(record.first, record.last, stamp, url))
        source.first = min(source.first, record.first)
        source.last = max(source.last, record.last)
        if stamp > source.stamp:
            source.stamp, source.url = stamp, url
    return found


def _shown(name: str, source: Source) -> marquez.Source:
    scheme = source.url.partition(":")[0].upper()
    return {
        "type": _TYPES.get(scheme, scheme),
        "name": name,
        "createdAt": shown_time(source.first),
        "updatedAt": shown_time(source.last),
        "connectionUrl": source.url,
        "description": None,
    }
