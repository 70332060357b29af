"""The state of the server's application."""

from __future__ import annotations

from dataclasses import dataclass, field

from anyio import CapacityLimiter
from fastapi import Request

from headwater.http.state import AppState, state_of
from headwater.query.models import Json
from headwater.server._bodies import BodyReader
from headwater.server._counts import NodeStates, RequestCounts
from headwater.server._options import ServerOptions


@dataclass(kw_only=True)
class ServerState(AppState):
    """The state for all endpoints, including those of the server itself."""

    options: ServerOptions
    bodies: BodyReader
    request_counts: RequestCounts = field(default_factory=RequestCounts)
    node_states: NodeStates = field(default_factory=NodeStates)
    document: Json | None = None
    """The OpenAPI document; None until it is requested."""
    streams: int = 0
    """Number of clients that read the event stream."""
    stream_readers: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(4))
    """Threads that read events for streams; the others serve requests."""
    is_closing: bool = False


def server_state(request: Request) -> ServerState:
    """Return the state of the application that received a request."""
    state = state_of(request)
    assert isinstance(state, ServerState)
    return state
