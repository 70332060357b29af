"""Mask secrets in source code, SQL and commands by their syntax, and in events before sending.

It imports only the standard library. The server applies these rules too, and more of its own.
"""

from .event import mask_facets
from .python import mask_python
from .text import mask_code, mask_text

__all__ = ["mask_code", "mask_facets", "mask_python", "mask_text"]
