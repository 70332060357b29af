"""The SQL dialects that events report, or that follow from the namespaces of datasets."""

from __future__ import annotations

import re
from functools import lru_cache

from sqlglot.dialects.dialect import Dialects

# Names in events that differ from sqlglot's: schemes of the OpenLineage naming specification, and
# values of the sql facet's `dialect`.
_DIALECTS = {
    "awsathena": "athena",
    "hive": "spark",
    "mariadb": "mysql",
    "mssql": "tsql",
    "postgresql": "postgres",
    "spark_sql": "spark",
    "sqlserver": "tsql",
}

# sqlglot itself looks for an unknown name among modules and plugins, but names come from events.
_KNOWN = frozenset(dialect.value for dialect in Dialects)


@lru_cache(maxsize=1_024)
def dialect_of(reported: str | None, namespace: str) -> str | None:
    """Return sqlglot's name of the dialect of a text; None if it is unknown.

    A text of an unknown dialect is not read.

    Args:
        reported: the `dialect` of the sql facet. If sqlglot does not know it, the namespace counts.
        namespace: that of a dataset in the text; its scheme, such as `postgres`, is the dialect.
    """
    for name in ((reported or "").lower(), re.split(r"[:/]", namespace.lower())[0]):
        found = _DIALECTS.get(name, name)
        if found in _KNOWN and found:  # an empty name is that of sqlglot's own dialect
            return found
    return None
