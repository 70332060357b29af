"""Models of alerts."""

from __future__ import annotations

from throughline.query.models import Answer


class Alert(Answer):
    """An alert, as actions receive it."""

    rule: str
    kind: str
    node: str | None
    runId: str | None
    message: str
    firedAt: str | None


class AlertInfo(Alert):
    """An alert with the state of its actions."""

    isPending: bool
    """True while an action is still to be done."""
    error: str | None
    """Why an action was given up."""
