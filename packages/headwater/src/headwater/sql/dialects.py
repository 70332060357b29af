"""The SQL dialects of datasets and producers."""

from __future__ import annotations

import re
from functools import lru_cache

from sqlglot.dialects.dialect import Dialect

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


@lru_cache(maxsize=1_024)
def dialect_of(reported: str | None, namespace: str) -> str | None:
    """Return sqlglot's name of a dialect: the reported one, or that of a dataset's namespace."""
    for name in ((reported or "").lower(), re.split(r"[:/]", namespace.lower())[0]):
        found = _DIALECTS.get(name, name)
        if found and Dialect.get(found) is not None:
            return found
    return None
