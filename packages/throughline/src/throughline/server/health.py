"""Health and spool problems: these endpoints respond at once, even while queries run."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from throughline.http.models import Healthz, RejectedLine, StuckFile
from throughline.http.routes import Cursor, LiveState, PageLimit, answer
from throughline.query.models import Page
from throughline.query.pages import cursor_of, paged, place_of

router = APIRouter()

_REJECTED = ("rejected",)


@router.get("/healthz", response_model=Healthz)
def healthz(request: Request, live: LiveState) -> Response:
    """Return the status, the size of the graph, unread spool bytes and damaged rows.

    The status is `degraded` while a spool file cannot be read or a row of the log is damaged;
    `/api/v2/stuck` and `/api/v2/doctor` list them. Events received while a query runs are counted
    after it.
    """
    state = request.app.state
    stuck = len(state.stuck_files()) if state.stuck_files else 0
    damaged = len(live.unreadable)
    health: Healthz = {
        "status": "degraded" if stuck or damaged else "ok",
        "jobs": live.counts.jobs,
        "runs": live.counts.runs,
        "datasets": live.counts.datasets,
        "damagedRows": damaged,
    }
    if state.spool_lag is not None:
        lag, unended = state.spool_lag()
        health["spool"] = {"lagBytes": lag, "unendedBytes": unended, "stuckFiles": stuck}
    return answer(health)


@router.get("/api/v2/rejected", response_model=Page[RejectedLine])
def list_rejected(live: LiveState, limit: PageLimit = 1_000, cursor: Cursor = None) -> Response:
    """Return the rejected lines of spool files with the reasons, oldest first."""
    after = 0 if cursor is None else int(place_of(_REJECTED, cursor, (int,))[0])
    lines = live.log.rejected_lines(after, limit + 1)
    more = cursor_of(_REJECTED, (lines[limit - 1].id,)) if len(lines) > limit else None
    rejected: list[RejectedLine] = [
        {"source": line.source, "reason": line.reason, "line": line.line} for line in lines[:limit]
    ]
    return answer(paged(rejected, more))


@router.get("/api/v2/stuck", response_model=Page[StuckFile])
def list_stuck(request: Request, live: LiveState) -> Response:
    """List the spool files that cannot be read, with the reason; other files are read."""
    stuck_files = request.app.state.stuck_files
    return answer(paged(list(stuck_files()) if stuck_files else [], None))
