"""Find secrets in source code by its syntax.

Producers mask source code before they send it: metaflow_openlineage contains this folder as
`_masking`. It imports only the standard library.
"""

from .python import mask_python
from .text import mask_code

__all__ = ["mask_code", "mask_python"]
