"""Column lineage of producers that match the columns of an INSERT by name.

openlineage-sql, which dbt and Airflow use, takes the names of the query's columns for those of the
table, but SQL fills the columns by position.
"""

from __future__ import annotations

from collections.abc import Set

from headwater.events import ColumnLineage


def without_unplaced(reported: ColumnLineage, unplaced: Set[str]) -> ColumnLineage:
    """Return reported lineage without the columns that have a name of the query.

    `unplaced` has these names in lower case. It is empty if the columns of the table are known.
    """
    if not unplaced:
        return reported
    columns = {
        name: kind for name, kind in reported.columns.items() if name.lower() not in unplaced
    }
    links = tuple(link for link in reported.links if link.target.lower() not in unplaced)
    return reported._replace(columns=columns, links=links)
