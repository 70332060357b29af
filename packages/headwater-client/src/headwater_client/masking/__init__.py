"""Mask secrets in source code, SQL and commands by their syntax, and in events.

This package imports only the standard library. The server applies these rules and others.
"""

from .event import mask_facets
from .python import mask_python
from .text import mask_code, mask_text

__all__ = ["mask_code", "mask_facets", "mask_python", "mask_text"]
