"""The SQL text of a `sql` facet, if it should be read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from headwater.sql.changes import TableChange, table_change
from headwater.sql.text import missing_reader

_READS_PLANS = re.compile(r"/integration/spark|/metaflow-openlineage/")
_MISREAD = re.compile(r"\b(?:merge\s+into|pivot|unpivot|stack|group\s+by)\b", re.IGNORECASE)
"""Statements and functions whose columns Spark's listener reports wrongly or incompletely."""

_MERGES = re.compile(r"\.(?:execute_merge_into_command|replace_data|write_delta)(?:\.|$)")
"""Names that Spark's listener gives to queries that change some rows of a table."""


def text_of(facet: Mapping[str, Any]) -> str | None:
    """Return the SQL text of a sql facet; None if there is none or if it should not be read."""
    text = facet.get("query")
    if not isinstance(text, str) or _READS_PLANS.search(str(facet.get("_producer"))):
        return None
    return text if can_read_sql() else None


def misread_text_of(facet: Mapping[str, Any]) -> str | None:
    """Return the SQL text if Spark's listener misreports its columns; None for other texts."""
    text = plan_text_of(facet)
    return text if text is not None and _MISREAD.search(text) else None


def plan_text_of(facet: Mapping[str, Any]) -> str | None:
    """Return the SQL text of a query that Spark's listener reported; None for other texts."""
    text, producer = facet.get("query"), str(facet.get("_producer"))
    is_plan = isinstance(text, str) and "/integration/spark" in producer
    return text if is_plan and can_read_sql() else None


def change_of(facet: Mapping[str, Any]) -> TableChange | None:
    """Return the change of whole tables that the text of a sql facet makes; None for others."""
    text = facet.get("query")
    return table_change(text) if isinstance(text, str) else None


def may_merge(job: str) -> bool:
    """Return True for a query of Spark that may be a MERGE, by the name of its job.

    The listener reports neither the columns of its ON and WHEN conditions nor, with Iceberg, its
    source. Only the SQL text has them; a MERGE of Delta's or Spark's API has no text.
    """
    return _MERGES.search(job) is not None


def can_read_sql() -> bool:
    """Return True if the extra `sql` is installed and works."""
    return missing_reader() is None
