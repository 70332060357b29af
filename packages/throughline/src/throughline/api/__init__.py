"""The HTTP API: Marquez's under /api/v1, throughline's own under /api/v2."""

from throughline.api.access import Access
from throughline.api.app import make_app

__all__ = ["Access", "make_app"]
