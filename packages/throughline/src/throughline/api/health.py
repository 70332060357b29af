"""Health and spool problems: these endpoints respond at once, even while queries run."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from throughline.api.http import Cursor, LiveState, PageLimit, answer
from throughline.graph.pages import cursor_of, paged, place_of

router = APIRouter()


@router.get("/healthz")
def healthz(request: Request, live: LiveState) -> Response:
    """Return the status, the size of the graph, unread spool bytes and damaged rows.

    The status is `degraded` while a spool file cannot be read or a row of the log is damaged;
    `/api/v2/stuck` and `/api/v2/doctor` list them. Events received while a query runs are counted
    after it.
    """
    state = request.app.state
    stuck = len(state.stuck_files()) if state.stuck_files else 0
    spool = {}
    if state.spool_lag is not None:
        lag = dict(zip(("lagBytes", "unendedBytes"), state.spool_lag(), strict=True))
        spool = {"spool": {**lag, "stuckFiles": stuck}}
    damaged = len(live.unreadable)
    status = "degraded" if stuck or damaged else "ok"
    return answer({"status": status, **live.counts._asdict(), "damagedRows": damaged, **spool})


@router.get("/api/v2/refused")
def list_refused(live: LiveState, limit: PageLimit = 1_000, cursor: Cursor = None) -> Response:
    """Lines of spool files that could not be placed, and why, the first that came first."""
    about = ("refused",)
    after = 0 if cursor is None else int(place_of(about, cursor, (int,))[0])
    lines = live.log.rejected_lines(after, limit + 1)
    more = cursor_of(about, (lines[limit - 1].id,)) if len(lines) > limit else None
    told = [{"source": r.source, "reason": r.reason, "line": r.line} for r in lines[:limit]]
    return answer(paged(told, more))


@router.get("/api/v2/stuck")
def list_stuck(request: Request, live: LiveState) -> Response:
    """List the spool files that cannot be read, with the reason; other files are read."""
    stuck_files = request.app.state.stuck_files
    return answer(paged(stuck_files() if stuck_files else [], None))
