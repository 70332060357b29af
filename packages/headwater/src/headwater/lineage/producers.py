"""The short names of producers, such as `dbt 1.54.0`."""

from __future__ import annotations

import re
from itertools import chain

from headwater.events import Json
from headwater.projection import Run, State

_PARTS = re.compile(r"https?://[^/]+/|/tree/|/blob/")
_NAMES = {"headwater": "headwater-client"}
"""Names of producers, by the repository in their URL."""
_NUMBER = re.compile(r"v?\d")


def producer_of_run(state: State, run: Run) -> str | None:
    """Return the short name of the producer of a run, such as `dbt 1.54.0`; None if unnamed.

    The facets of a run name their producer. The engine counts first, then facets of the code and of
    datasets, because the other facets of a run may be added by another tool, such as an
    orchestrator.
    """
    uses = (*run.outputs.values(), *run.inputs.values())
    books = [run.code, *(book for use in uses for book in (use.dataset_facets, use.io_facets))]
    facets = (book.get(name) for book in books for name in sorted(book.stamped()))
    about_job = state.jobs[run.key.job].facets.get("jobType")
    others = (run.facets.get(name) for name in sorted(run.facets.stamped()))
    every = chain([run.facets.get("processing_engine")], facets, [about_job], others)
    named = (_name_of(facet, about_job) for facet in every if facet)
    return next(filter(None, named), None)


def producer_of_columns(state: State, run: Run) -> str | None:
    """Return the short name of the producer of a run's column lineage; None if unnamed."""
    about_job = state.jobs[run.key.job].facets.get("jobType")
    facets = (use.dataset_facets.get("columnLineage") for use in run.outputs.values())
    return next(filter(None, (_name_of(facet, about_job) for facet in facets)), None)


def _name_of(facet: Json, about_job: Json) -> str | None:
    """Return the name and version of a producer.

    OpenLineage's client has the name of the integration that uses it. A producer whose URL has only
    a repository has the name of the repository.

    `facet` is any facet with the key `_producer`. `about_job` is the jobType facet, whose
    integration names a producer that uses OpenLineage's client. Return None if the facet names no
    producer.
    """
    producer = facet.get("_producer")
    if not isinstance(producer, str) or not producer:
        return None
    *before, path = _PARTS.split(producer)
    parts = [part for part in path.split("/") if part]
    numbers = [part for part in parts if _NUMBER.match(part)]
    names = [part for part in parts if part not in numbers]
    if names[-2:] in (["client", "python"], ["client", "java"]):
        kind = about_job.get("integration")
        names = [str(kind).lower() if kind else f"openlineage-{names[-1]}"]
    elif not names and numbers and before[-1]:
        repository = before[-1].rpartition("/")[2]
        names = [_NAMES.get(repository, repository)]
    return " ".join([*names[-1:], *numbers[:1]]) or producer


def tool_of(producer: str | None) -> str:
    """Return the name of a producer without its version."""
    return (producer or "unnamed").split(" ")[0]
