"""The HTTP API: Marquez's under /api/v1, throughline's own under /api/v2."""

from throughline.api.access import Access
from throughline.api.app import make_app
from throughline.api.bodies import BodyLimits
from throughline.api.connections import BoundedProtocol, ConnectionLimits
from throughline.api.stream import end_streams

__all__ = ["Access", "BodyLimits", "BoundedProtocol", "ConnectionLimits", "end_streams", "make_app"]
