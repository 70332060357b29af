"""Names of common table expressions, which some producers report as datasets.

openlineage-sql takes the name of a common table expression, such as dbt's usual `source`, for a
table where it resolves columns. The text of the query shows that it is none.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from typing import Any

from throughline.events._event import Dataset, Facets, Json
from throughline.events.column_lineage import objects

_Datasets = tuple[Dataset, ...]


def without_local_names(
    job_facets: Facets, inputs: _Datasets, outputs: _Datasets
) -> tuple[_Datasets, _Datasets]:
    """Return the inputs and outputs of an event without the common table expressions of its SQL."""
    facet = job_facets.get("sql", {})
    text, listed = facet.get("query"), (*outputs, *inputs)
    if not isinstance(text, str) or not listed or not _can_read_sql():
        return inputs, outputs
    from throughline.sql.dialects import dialect_of
    from throughline.sql.script import local_names

    reported = facet.get("dialect")
    dialect = dialect_of(reported if isinstance(reported, str) else None, listed[0].namespace)
    local = local_names(text, dialect) if dialect else frozenset()
    if not local:
        return inputs, outputs
    kept = tuple(item for item in inputs if _last(item.name) not in local)
    return kept, tuple(_without_sources(item, local) for item in outputs)


@cache
def _can_read_sql() -> bool:
    return find_spec("sqlglot") is not None


def _last(name: str) -> str:
    return name.rpartition(".")[2].lower()


def _without_sources(item: Dataset, local: frozenset[str]) -> Dataset:
    """Return a dataset without the column lineage that comes from some names."""
    facet = item.facets.get("columnLineage")
    if not facet:
        return item

    def kept(sources: Any) -> list[Json]:
        return [
            source for source in objects(sources) if _last(str(source.get("name"))) not in local
        ]

    fields = facet.get("fields")
    shown = {
        name: {**field, "inputFields": kept(field.get("inputFields"))}
        for name, field in (fields.items() if isinstance(fields, dict) else ())
        if isinstance(field, dict)
    }
    changed = {**facet, "fields": shown}
    if "dataset" in facet:
        changed["dataset"] = kept(facet["dataset"])
    return replace(item, facets={**item.facets, "columnLineage": changed})
