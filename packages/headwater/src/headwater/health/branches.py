"""Jobs with runs of several branches or environments, which share a name and thus lineage.

The branch of a run is that of Metaflow's `@project`, the tag `project_branch`; its environment is
the tag, or the reported environment variable, `environment` or `env`. One that has not run for a
month before the newest run does not count: the job may have moved.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from headwater.events import JobRef
from headwater.events.column_lineage import objects
from headwater.events.facets import Tags
from headwater.graph.current import generations_of
from headwater.projection import Run, State
from headwater.projection.derived import began_at
from headwater.runs.failures import is_failed

_ENVIRONMENT = ("environment", "env")
_KINDS = {"project_branch": "branches", **dict.fromkeys(_ENVIRONMENT, "environments")}
_VARIABLES = "environmentVariables"
_LABELS = frozenset((Tags.KEY, _VARIABLES))
"""Facets of a run with its branch or environment."""
_MONTH = 30 * 86_400_000_000  # microseconds


class Mix(NamedTuple):
    """Branches, projects or environments of one job, newest first, and its newest run."""

    kind: str
    names: tuple[str, ...]
    run: Run
    failed: tuple[str, ...]
    """The names whose newest run failed."""


def mixed_jobs(state: State) -> Iterator[tuple[JobRef, tuple[Mix, ...]]]:
    """Yield the jobs with runs of several branches or environments, but not the tasks of one.

    A run of a test branch may hide a failure in production. A pipeline that sends no events itself,
    as on a production scheduler, is yielded with the branches or environments of its first mixed
    task.
    """
    generations = generations_of(state)
    mixed = generations.jobs_where(
        "mixed", lambda ref: bool(_mixes_of(state, ref)), _may_have_labels
    )
    found: dict[JobRef, tuple[Mix, ...]] = {}
    for ref in sorted(mixed):
        parents = sorted(state.jobs[ref].parents)
        if not any(parent in mixed for parent in parents):
            silent = (parent for parent in parents if state.jobs[parent].first is None)
            found.setdefault(next(silent, ref), _mixes_of(state, ref))
    yield from found.items()


def _mixes_of(state: State, ref: JobRef) -> tuple[Mix, ...]:
    """Return the properties in which the runs of a job differ, such as two branches.

    The result is empty if all runs are of one branch and one environment. It is cached until runs
    change.
    """

    def mixes(runs: list[Run]) -> tuple[Mix, ...]:
        """Return the properties, such as branches, of which recent runs have several values."""
        newest: dict[str, dict[str, tuple[int, str]]] = defaultdict(dict)
        for run in runs:
            place = began_at(state, run) or 0, run.key.run_id
            for kind, name in _labels(run):
                newest[kind][name] = max(place, newest[kind].get(name, place))
        by_id = {run.key.run_id: run for run in runs}

        def failed(places: dict[str, tuple[int, str]], names: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(name for name in names if is_failed(state, by_id[places[name][1]]))

        return tuple(
            Mix(kind, names, by_id[max(places.values())[1]], failed(places, names))
            for kind, places in sorted(newest.items())
            if len(names := _recent(places)) > 1
        )

    return generations_of(state).of_runs(ref, "mixes", mixes)


def _recent(places: dict[str, tuple[int, str]]) -> tuple[str, ...]:
    """Return the names whose newest run is recent, newest first.

    `places` has the start, in microseconds, and the id of the newest run of each name.
    """
    since = max(places.values())[0] - _MONTH
    ordered = sorted(places, key=lambda name: (places[name], name), reverse=True)
    return tuple(name for name in ordered if places[name][0] >= since)


def _may_have_labels(run: Run) -> bool:
    return run.facets.has_any(_LABELS)


def _labels(run: Run) -> Iterator[tuple[str, str]]:
    """Yield the branch, the project and the environments of a run, each with its kind.

    The kind is the plural by which a message names them, such as `branches`.
    """
    for tag in run.facets.parsed(Tags).tags:
        kind = _KINDS.get(tag.key.lower())
        if tag.key == "project" and tag.source == "METAFLOW":  # others may mean something else
            kind = "projects"
        if kind and tag.value.lower() not in ("", "true"):
            yield kind, tag.value
    reported = run.facets.get(_VARIABLES).get(_VARIABLES)
    for variable in objects(reported):
        if str(variable.get("name")).lower() in _ENVIRONMENT and variable.get("value"):
            yield "environments", str(variable["value"])
