"""Marquez: it keeps nearly all, and minds a few things that are allowed.

- An event without a type is refused, and so is a known facet without `_producer` or `_schemaURL`.
- Every event that is not an end moves the start of its run, so those go with the time it began.
- It puts the name of a parent before that of its child, and invents a placeholder for a parent
  whose name in the facet is not that long one.
- A dataset in an event without its schema loses its columns; one without a dataSource facet breaks
  the list of sources.
"""

from __future__ import annotations

from collections.abc import Sequence

from throughline.deliver.datasets import Body
from throughline.deliver.known import Known
from throughline.deliver.rewrite.rewriting import ENDS, Kept, Rewriting, is_run, valid, whole
from throughline.projection import RunKey
from throughline.spec import shown_time


def rewrite(event: Body, known: Known) -> list[Body]:
    """One body for each event, of jobs and datasets as well."""
    if not is_run(event):
        return [_sourced(valid(event, "JobEvent" if "job" in event else "DatasetEvent"))]
    body = whole(event, known)
    if body["eventType"] not in ENDS and known.started is not None:
        body["eventTime"] = shown_time(known.started)
    if known.above and (parent := body["run"]["facets"].get("parent")):
        body["run"]["facets"]["parent"] = _under_full_name(parent, known.above)
    return [_sourced(body)]


def _under_full_name(parent: Body, above: Sequence[RunKey]) -> Body:
    """The parent facet with the name that Marquez gives the parent's job.

    That is the name of the job above it, a dot, and its own without what it has in common with
    that; `above` are the runs above, nearest first.
    """
    name = ""
    for key in reversed(above):
        name = f"{name}.{key.job.name.removeprefix(f'{name}.')}" if name else key.job.name
    return {**parent, "job": {**(parent.get("job") or {}), "name": name}}


MARQUEZ = Rewriting(rewrite, Kept(facets=None, hierarchy=True))


def _sourced(body: Body) -> Body:
    one = [body["dataset"]] if "dataset" in body else []
    for dataset in (*one, *body.get("inputs", ()), *body.get("outputs", ())):
        namespace = dataset["namespace"]
        uri = namespace if ":" in namespace else f"{namespace}:"
        source = {"name": namespace, "uri": uri}
        dataset.setdefault("facets", {}).setdefault("dataSource", source)
    return valid(body, "RunEvent")
