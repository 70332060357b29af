"""GET /healthz: responds immediately, even while queries run."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from throughline.api.http import LiveState, answer

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
