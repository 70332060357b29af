"""The HTTP API: Marquez's under /api/v1, throughline's own under /api/v2."""

from throughline.server.access import Access
from throughline.server.app import make_app
from throughline.server.bodies import BodyLimits
from throughline.server.connections import BoundedProtocol, ConnectionLimits
from throughline.server.stream import end_streams

__all__ = ["Access", "BodyLimits", "BoundedProtocol", "ConnectionLimits", "end_streams", "make_app"]
