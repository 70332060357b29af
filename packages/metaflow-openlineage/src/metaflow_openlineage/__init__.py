"""OpenLineage for Metaflow: `@openlineage` on a flow class, helpers for data in steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._dataset import ColumnSource, Dataset
from ._helpers import (
    Query,
    artifact,
    flow_run_id,
    query,
    reads,
    spark_conf,
    table_read,
    table_written,
    writes,
)
from ._names import VERSION as __version__

if TYPE_CHECKING:
    from ._decorator import openlineage

__all__ = [
    "ColumnSource",
    "Dataset",
    "Query",
    "__version__",
    "artifact",
    "flow_run_id",
    "openlineage",
    "query",
    "reads",
    "spark_conf",
    "table_read",
    "table_written",
    "writes",
]


def __getattr__(name: str) -> Any:
    # The decorator imports Metaflow, which code that only declares data does not need.
    if name == "openlineage":
        from ._decorator import openlineage

        return openlineage
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
