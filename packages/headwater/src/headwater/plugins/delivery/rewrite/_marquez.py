"""Rewriting for Marquez, which stores nearly everything but restricts some valid events.

- It rejects events without a type, and known facets without `_producer` or `_schemaURL`.
- Every event that is not an end changes the start of its run, so the start time is sent instead.
- It prepends the name of a parent to that of its child, and creates a placeholder for a parent
  whose name in the facet is not that full name.
- A dataset in an event without its schema loses its columns. A dataset without a dataSource facet
  breaks the list of sources.
"""

from __future__ import annotations

from collections.abc import Sequence

from headwater.events import shown_time
from headwater.plugins.delivery.body import Body, datasets_in, is_run, with_required_fields
from headwater.plugins.delivery.context import RunContext
from headwater.plugins.delivery.rewrite._rewriting import ENDS, Rewriting, complete_event
from headwater.projection import RunKey


def rewrite(event: Body, context: RunContext) -> list[Body]:
    """Return one body for each event, including JobEvents and DatasetEvents.

    An end keeps its own time. The start is unknown if the run has no event in the log.
    """
    if not is_run(event):
        kind = "JobEvent" if "job" in event else "DatasetEvent"
        return [_with_data_sources(with_required_fields(event, kind))]
    body = complete_event(event, context)
    if body["eventType"] not in ENDS and context.started is not None:
        body["eventTime"] = shown_time(context.started)
    if context.ancestors and (parent := body["run"]["facets"].get("parent")):
        body["run"]["facets"]["parent"] = _under_full_name(parent, context.ancestors)
    return [_with_data_sources(body)]


def _under_full_name(parent: Body, ancestors: Sequence[RunKey]) -> Body:
    """Return the parent facet with Marquez's full name of the parent's job.

    That is the full name of the job above it, a dot, and its own name without that prefix.
    `ancestors` are the runs above, nearest first.
    """
    name = ""  # of the jobs from the root down: `etl`, `etl.load`, …
    for key in reversed(ancestors):
        name = f"{name}.{key.job.name.removeprefix(f'{name}.')}" if name else key.job.name
    return {**parent, "job": {**(parent.get("job") or {}), "name": name}}


MARQUEZ = Rewriting(
    rewrite, lambda body, _context: body, lost=frozenset({"control edges", "models"})
)


def _with_data_sources(body: Body) -> Body:
    """Return a body whose datasets have a dataSource facet, by default that of their namespace."""
    for dataset in datasets_in(body):
        namespace = dataset["namespace"]
        uri = namespace if ":" in namespace else f"{namespace}:"
        source = {"name": namespace, "uri": uri}
        dataset.setdefault("facets", {}).setdefault("dataSource", source)
    return with_required_fields(body, "RunEvent")
