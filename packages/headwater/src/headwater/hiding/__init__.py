"""Hide SQL and source code from receivers that may not see them.

A value at any depth is hidden if its name says that it is SQL or code, or if it reads as SQL.
"""

from headwater.hiding._values import REASON, json_without_sql, without_sql

__all__ = ["REASON", "json_without_sql", "without_sql"]
