"""Query of the whole projection."""

from __future__ import annotations

from throughline.export.projection import export
from throughline.query.registry import query

query("export")(export)
