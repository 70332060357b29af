"""Elements of mapped Airflow tasks and of Metaflow foreach steps: they use different data."""

from __future__ import annotations

from headwater.events.facets import Airflow, MetaflowTask
from headwater.projection import Run


def element_of(run: Run) -> str | None:
    """Return what identifies the element of a mapped task or of a foreach; None if unknown."""
    index = run.facets.parsed(Airflow).map_index
    if index is not None:
        return index
    path = run.facets.parsed(MetaflowTask).pathspec
    return path and "/".join(path.split("/")[-2:])  # resumed runs of a flow keep the ids of tasks
