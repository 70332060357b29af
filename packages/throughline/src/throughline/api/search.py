"""Search jobs and datasets by a part of any of their names; and the list of tags, empty."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from throughline.api.http import Limit, LiveState, answer
from throughline.graph import Node, node_id
from throughline.projection import State
from throughline.spec import shown_time

router = APIRouter(prefix="/api/v1")


@router.get("/search")
def search(live: LiveState, q: Annotated[str, Query(min_length=1)], limit: Limit = 10) -> Response:
    """Jobs and datasets with `q` in a name."""
    with live.reading() as state:
        found = [*_datasets(state, q.lower()), *_jobs(state, q.lower())]
        return answer({"results": found[:limit], "totalCount": len(found)})


@router.get("/tags")
def list_tags() -> Response:
    """No tags: throughline keeps the tags facets where they are."""
    return answer({"tags": []})


def _jobs(state: State, wanted: str) -> list[dict[str, Any]]:
    refs = sorted(ref for ref in state.jobs if wanted in ref.name.lower())
    return [_result(Node.of_job(ref), state.jobs[ref].last) for ref in refs]


def _datasets(state: State, wanted: str) -> list[dict[str, Any]]:
    results = []
    for primary in sorted(state.identity):
        names = state.identity.names(primary)
        if any(wanted in name.name.lower() for name in names):
            records = [state.datasets[name] for name in names if name in state.datasets]
            last = max((record.last for record in records), default=None)
            results.append(_result(Node.of_dataset(primary), last))
    return results


def _result(node: Node, last: int | None) -> dict[str, Any]:
    return {
        "type": node.type.upper(),
        "name": node.name,
        "updatedAt": shown_time(last),
        "namespace": node.namespace,
        "nodeId": node_id(node),
    }
