"""Record the reads and writes of data libraries.

These are pandas, Polars, PyArrow, DuckDB, PyIceberg, SQLAlchemy, boto3 and s3fs. Their functions
are wrapped once a capture is active, also if they are imported later. The wrappers add no
dependency, log their own errors at the level DEBUG, and read only metadata, such as the list of
DuckDB's databases. HEADWATER_CAPTURE=false turns capturing off.

Not recorded: files that are read or written with Python's `open`, calls of functions that were
imported by name (`from pandas import read_csv`) before the first capture, and libraries that are
not in the list.
"""

from ._active import capturing, start
from ._names import name_of_path
from ._origins import bind, fields_of, origin_of
from ._recorder import Capture, Captured, CapturedQuery, is_on, paused

__all__ = [
    "Capture",
    "Captured",
    "CapturedQuery",
    "bind",
    "capturing",
    "fields_of",
    "is_on",
    "name_of_path",
    "origin_of",
    "paused",
    "start",
]
