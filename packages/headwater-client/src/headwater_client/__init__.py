"""What a producer of lineage needs: `headwater run`, the decorator `lineage` and a spool transport.

Modules for other packages:

- `spool`: a transport for openlineage-python that writes to a spool folder
- `events`, `parents`, `git`: runs, their parents and the git location of their code
- `masking`: mask secrets in source code, SQL and commands
- `yaml_file`: load YAML with bounded size

Importing this package is fast. Only a reported run loads openlineage-python.
"""

from headwater_client._function import lineage
from headwater_client.parents import RunRef, parents

__all__ = ["RunRef", "lineage", "parents"]
