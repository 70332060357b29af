"""Runs and their facets."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from throughline.errors import ConfigError, NotFoundError
from throughline.events import run_id_of
from throughline.http.admission import Queried
from throughline.http.routes import LiveState, answer
from throughline.marquez import models as marquez
from throughline.marquez.shapes import Shapes
from throughline.projection import Run, State

router = APIRouter(prefix="/api/v1/jobs/runs", route_class=Queried)


@router.get("/{run_id:segment}", response_model=marquez.Run)
def get_run(live: LiveState, run_id: str) -> Response:
    """One run."""
    with live.reading() as state:
        return answer(Shapes(state).run(find_run(state, run_id)))


@router.get("/{run_id:segment}/facets", response_model=marquez.RunFacets)
def get_run_facets(
    live: LiveState,
    run_id: str,
    kind: Annotated[str, Query(alias="type", description="run, or job.")],
) -> Response:
    """The facets of a run, or of its job."""
    with live.reading() as state:
        run = find_run(state, run_id)
        if kind.lower() not in ("run", "job"):
            raise ConfigError(f"type: received {kind!r}, expected run or job")
        book = run.facets if kind.lower() == "run" else state.jobs[run.key.job].facets
        return answer({"runId": run.key.run_id, "facets": book.plain()})


def find_run(state: State, run_id: str) -> Run:
    """The run of an id; where several jobs use it, the one heard of last."""
    keys = state.runs_by_id.get(run_id_of(run_id), ())
    known = [key for key in keys if state.runs[key].has_events]
    if not keys:
        raise NotFoundError(f"Run '{run_id}' not found.")
    return state.runs[max(known or keys, key=lambda key: (state.runs[key].last or 0, key))]
