"""Tools for lineage producers: `headwater run`, `lineage` and `track`, and a spool transport.

Modules for other packages:

- `spool`: a transport for openlineage-python that writes to a spool folder
- `events`, `parents`, `git`: events of runs, parent runs, and the git location of code
- `masking`: masking of secrets in source code, SQL and commands
- `capture`: recording of what pandas, Polars, DuckDB and other libraries read and write
- `yaml_file`: loading of YAML files of limited size

Importing this package is fast. Only a reported run loads openlineage-python.
"""

from headwater_client._function import lineage, track
from headwater_client.parents import RunRef, parents

__all__ = ["RunRef", "lineage", "parents", "track"]
