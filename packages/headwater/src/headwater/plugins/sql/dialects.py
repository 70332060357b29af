"""The SQL dialects of datasets and producers."""

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
    """Return sqlglot's name of a dialect: the reported one, or that of a dataset's namespace."""
    for name in ((reported or "").lower(), re.split(r"[:/]", namespace.lower())[0]):
        found = _DIALECTS.get(name, name)
        if found in _KNOWN and found:
            return found
    return None
