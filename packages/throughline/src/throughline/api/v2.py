"""throughline's own answers: trees and edges at a level, runs, the canonical export, health."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from throughline.api.http import Limit, LiveState, answer
from throughline.graph.answers import (
    columns_answer,
    diff_answer,
    edges_answer,
    impact_answer,
    moment_of,
    path_answer,
    run_answer,
    runs_answer,
    search_answer,
    tree_answer,
)
from throughline.projection import export
from throughline.projection.live import Live
from throughline.projection.past import Moment

router = APIRouter()

AsOf = Annotated[str | None, Query(alias="asOf")]
KnownAt = Annotated[str | None, Query(alias="knownAt")]


@router.get("/api/v2/tree")
def get_tree(
    live: LiveState,
    node: str,
    direction: str = "up",
    depth: Annotated[int, Query(ge=0)] = 20,
    level: str | None = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> Response:
    """The tree above or below the node of an id or a short name, now or at a moment."""
    with live.reading(_moment(live, as_of, known_at)) as state:
        return answer(tree_answer(state, node, direction, depth, level))


@router.get("/api/v2/columns")
def get_columns(
    live: LiveState,
    node: str,
    field: str | None = None,
    direction: str = "up",
    depth: Annotated[int, Query(ge=0)] = 20,
    indirect: bool = False,
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> Response:
    """What the columns of a dataset, or one of them, are made of or make."""
    with live.reading(_moment(live, as_of, known_at)) as state:
        return answer(columns_answer(state, node, field, direction, depth, indirect=indirect))


@router.get("/api/v2/impact")
def get_impact(
    live: LiveState,
    node: str,
    field: str | None = None,
    level: str = "task",
    depth: Annotated[int, Query(ge=0)] = 20,
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> Response:
    """What a change of a node, or of one column of a dataset, reaches: by distance, with owners."""
    with live.reading(_moment(live, as_of, known_at)) as state:
        return answer(impact_answer(state, node, field, level, depth))


@router.get("/api/v2/search")
def get_search(live: LiveState, text: str, limit: Limit = 20) -> Response:
    """The nodes in whose names, columns, tags, owners, descriptions or queries a text is."""
    with live.reading() as state:
        return answer(search_answer(state, text, limit))


@router.get("/api/v2/path")
def get_path(
    live: LiveState,
    start: Annotated[str, Query(alias="from")],
    end: Annotated[str, Query(alias="to")],
    level: str = "task",
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> Response:
    """A shortest way of the data between two nodes."""
    with live.reading(_moment(live, as_of, known_at)) as state:
        return answer(path_answer(state, start, end, level))


@router.get("/api/v2/edges")
def list_edges(
    live: LiveState,
    level: str = "task",
    kind: str = "data",
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> Response:
    """Every edge of the graph at a level, now or at a moment."""
    with live.reading(_moment(live, as_of, known_at)) as state:
        return answer(edges_answer(state, level, kind))


@router.get("/api/v2/diff")
def get_diff(
    live: LiveState,
    from_: Annotated[str, Query(alias="from")],
    to: str | None = None,
    level: str = "task",
) -> Response:
    """What is different between two moments: times or runs; without `to` until now."""
    # The past is opened first: who reads it must not hold the present while waiting for it.
    moments = [_moment(live, from_), _moment(live, to)]
    with live.reading(moments[0]) as before, live.reading(moments[1]) as after:
        return answer(diff_answer(before, after, level))


def _moment(live: Live, as_of: str | None, known_at: str | None = None) -> Moment | None:
    with live.reading() as state:
        return moment_of(state, as_of, known_at)


@router.get("/api/v2/runs")
def list_runs(live: LiveState, job: str | None = None, limit: Limit = 20) -> Response:
    """The newest runs, of one job or of all."""
    with live.reading() as state:
        return answer(runs_answer(state, job, limit))


@router.get("/api/v2/runs/{run_id:segment}")
def get_run(live: LiveState, run_id: str) -> Response:
    """A run with parameters, code and dataset versions, and every run below it likewise."""
    with live.reading() as state:
        return answer(run_answer(state, run_id))


@router.get("/api/v2/export")
def get_export(live: LiveState) -> Response:
    """The canonical export of the projection."""
    with live.reading() as state:
        return answer(export(state))


@router.get("/api/v2/refused")
def list_refused(live: LiveState) -> Response:
    """Lines of spool files that could not be placed, and why."""
    lines = live.log.refusals()
    return answer([{"source": r.source, "reason": r.reason, "line": r.line} for r in lines])


@router.get("/healthz")
def healthz(request: Request, live: LiveState) -> Response:
    """Alive, how much is known, and how many bytes of the spool are still to be read."""
    spool_lag = request.app.state.spool_lag
    spool = {} if spool_lag is None else {"spool": {"lagBytes": spool_lag()}}
    with live.reading() as state:
        counts = {
            "jobs": len(state.jobs),
            "runs": len(state.runs),
            "datasets": len(state.datasets),
        }
    return answer({"status": "ok", **counts, **spool})
