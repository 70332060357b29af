"""GET /api/v1/search: find jobs and datasets by a part of their names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, NamedTuple

from fastapi import APIRouter, Query, Response

from throughline import deadline
from throughline.events import shown_time
from throughline.graph import Node, node_id
from throughline.http.admission import Queried
from throughline.http.routes import Limit, LiveState, answer
from throughline.marquez import models as marquez
from throughline.projection import State

router = APIRouter(prefix="/api/v1", route_class=Queried)


class _Hit(NamedTuple):
    node: Node
    last: int


@router.get("/search", response_model=marquez.SearchResults)
def search(
    live: LiveState,
    q: Annotated[str, Query(min_length=1, description="A part of a name.")],
    kind: Annotated[
        Literal["JOB", "DATASET"] | None,
        Query(alias="filter", description="Only jobs, or only datasets."),
    ] = None,
    sort: Annotated[
        Literal["NAME", "UPDATE_AT", "name", "update_at"], Query(description="Sort order.")
    ] = "NAME",
    limit: Limit = 10,
    namespace: Annotated[str | None, Query(description="Only results of this namespace.")] = None,
) -> Response:
    """Return jobs and datasets with `q` in a name."""
    with live.reading() as state:
        found = [
            hit
            for hit in (*_datasets(state, q.lower()), *_jobs(state, q.lower()))
            if kind in (None, hit.node.type.upper()) and namespace in (None, hit.node.namespace)
        ]
    if sort.upper() == "NAME":
        found.sort(key=lambda hit: (hit.node.name, hit.node))
    else:
        found.sort(key=lambda hit: (-hit.last, hit.node))
    return answer({"totalCount": len(found), "results": [_shown(hit) for hit in found[:limit]]})


def _jobs(state: State, text: str) -> Iterator[_Hit]:
    for ref, job in deadline.watched(state.jobs.items()):
        if text in ref.name.lower():
            yield _Hit(Node.of_job(ref), job.last or 0)


def _datasets(state: State, text: str) -> Iterator[_Hit]:
    for primary in deadline.watched(state.identity):
        names = state.identity.names(primary)
        if any(text in name.name.lower() for name in names):
            records = [state.datasets[name] for name in names if name in state.datasets]
            yield _Hit(Node.of_dataset(primary), max((r.last for r in records), default=0))


def _shown(hit: _Hit) -> marquez.SearchResult:
    return {
        "type": hit.node.type.upper(),
        "name": hit.node.name,
        "updatedAt": shown_time(hit.last or None),
        "namespace": hit.node.namespace,
        "nodeId": node_id(hit.node),
    }
