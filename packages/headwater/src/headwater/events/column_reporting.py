"""Coverage of column lineage by producer: only values, or also filters, joins and groupings.

A column that a producer does not mention is unused only if the producer reports every use.
"""

from __future__ import annotations

import re

from headwater.events._event import Json
from headwater.events.column_lineage import has_indirect_links

_INDIRECT_SINCE: tuple[tuple[str, tuple[int, ...]], ...] = (
    # OpenLineage#2757 (types of transformations and indirect dependencies), June 2024.
    (r"/OpenLineage/tree/([\w.-]+)/integration/spark", (1, 18)),
    # Declared by a person for a whole step or function.
    (r"/metaflow-openlineage/tree/([\w.-]+)", (0,)),
    (r"/headwater/tree/([\w.-]+)", (0,)),
)
"""Patterns of `_producer` with the version, and the first version that reports indirect columns.

Not here, because they report values only: integration/dbt and the providers of Airflow, which use
openlineage-sql, and plain clients, about which nothing is known.
"""


def reports_indirect(facet: Json) -> bool:
    """Return True if the producer of a columnLineage facet reports filters, joins and groupings.

    For known producers, the version in `_producer` decides; for others, the facet must have such an
    entry.
    """
    if not facet:
        return False
    producer = facet.get("_producer")
    for pattern, first in _INDIRECT_SINCE:
        if isinstance(producer, str) and (found := re.search(pattern, producer)):
            return _version(found[1]) >= first
    return has_indirect_links(facet)


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"[0-9]{1,18}", text))
