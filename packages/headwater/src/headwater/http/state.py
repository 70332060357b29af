"""The state of an application that its endpoints share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request

from headwater.collect.spool import SpoolTail
from headwater.http.admission import Admission
from headwater.http.tags import KnownTags
from headwater.projection.live import Live


@dataclass(kw_only=True)
class AppState:
    """The state for endpoints of features and plugins; `ServerState` extends it."""

    live: Live
    admission: Admission
    longest_query: float
    """Time limit of a query in seconds."""
    program: str = "headwater"
    """The command that the page names, such as `./run lineage`."""
    present: str = ""
    """The time that the page shows as now; empty: the browser's time."""
    known_tags: KnownTags = field(default_factory=KnownTags)
    tail: SpoolTail | None = None
    """The reader of the spool folder, if any."""


def state_of(request: Request) -> AppState:
    """Return the state of the application that received a request."""
    state = request.app.state
    assert isinstance(state, AppState)
    return state


async def _shared(request: Request) -> AppState:
    return state_of(request)


Shared = Annotated[AppState, Depends(_shared)]
"""An endpoint parameter that receives the state of the application."""
