"""Models that were removed from their dbt project, according to the imported manifests.

`headwater.datasets.project` describes the manifest. A model is removed if its job did not run since
and the newest manifest with its schema lacks it. A test job is removed if the manifest has none of
its tests. Events of dbt-ol do not list the models of a project, so that removals are unknown
without an import. The table may still exist in the database.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from headwater.datasets.not_run import is_test
from headwater.datasets.project import (
    PROJECT,
    has_manifest,
    newest_with_manifest,
    runs_with_manifest,
)
from headwater.datasets.quality import lacks_all_tests
from headwater.events import JobRef, Json
from headwater.graph.current import generations_of, once_an_event
from headwater.graph.nodes import Node, facets_of
from headwater.partial import PartialState
from headwater.projection import Run, State
from headwater.projection.derived import ancestry_of
from headwater.runs.summary import newest_run, place_of_run

_NODE = "dbt_node"


class Removed(NamedTuple):
    """A model that its project no longer has."""

    project: str
    run: Run
    """The first invocation whose manifest lacks the model; no later one has it."""


def removed_model(state: State, node: Node) -> Removed | None:
    """Return the project that a job, or every job that writes a dataset, was removed from.

    Return None if no manifest shows it.
    """
    if not isinstance(state, PartialState) and not _has_manifest(state):
        return None
    if node.type == "job":
        return _removed_job(state, node.job_ref)
    generations, name = generations_of(state), node.dataset_name
    writers = [
        ref
        for ref in generations.writers(
            name
        )  # which may also have jobs that only declare to read it
        if any(name in generation.edges.writes for generation in generations.effective(ref))
    ]
    found = [_removed_job(state, ref) for ref in writers]
    return found[0] if found and all(found) else None


def _removed_job(state: State, ref: JobRef) -> Removed | None:
    """Return the project that a job was removed from; None if no manifest shows it.

    Manifests of the root job of its newest run count, if they are newer than that run. Those that
    have neither a model nor its schema, as of another target, are ignored. The model was removed if
    the newest of the others lacks it. A test was removed if the newest manifest lacks all tests of
    the job.
    """
    run = newest_run(state, ref)
    if run is None:
        return None
    *_, root = ancestry_of(state, run)
    since = place_of_run(state, root)
    models = [book.get(_NODE) for book in facets_of(state, Node.of_job(ref))]
    first: Run | None = None
    for listing in reversed(runs_with_manifest(state, root.key.job)):
        if place_of_run(state, listing) <= since:
            break
        project = listing.facets.get(PROJECT)
        if lacks_all_tests(state, project, run) or any(_lacks(project, item) for item in models):
            first = listing
        elif is_test(state, ref) or any(_has(project, item) for item in models):
            break
    if first is None:
        return None
    return Removed(str(first.facets.get(PROJECT).get("name")), first)


def _has(project: Json, model: Json) -> bool:
    """Return True if a manifest has a model."""
    return model.get("unique_id") in project["nodes"]


def _lacks(project: Json, model: Json) -> bool:
    """Return True if a manifest has the schema of a model, but not the model."""
    schema = f"{model.get('database')}.{model.get('schema')}"
    return schema in project.get("schemas", ()) and not _has(project, model)


@once_an_event
def _has_manifest(state: State) -> bool:
    """Return True if any dbt manifest was imported. Most stores have none."""
    generations = generations_of(state)
    newest = partial(newest_with_manifest, state)
    return bool(
        generations.jobs_where("manifest", lambda ref: newest(ref) is not None, has_manifest)
    )
