"""The context of an event: everything reported about its run and job.

Some backends replace lineage with every event, so each event must be complete.

- body: an event, dataset or facet as JSON
- use: a dataset as an input or output of one run
- members: the runs whose inputs and outputs the context has, see `Contexts`
- flow: the DAG or flow of a job, which is the top of its hierarchy. DataHub names the flow after
  the job's name up to the first dot
- engine: what runs a job, such as `spark`; DataHub's id of a job contains it
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal

from headwater.events import DatasetEvent, EventType, Facets, JobEvent, JobRef, RunEvent
from headwater.events.column_lineage import objects
from headwater.events.facets import ASSERTION_FACETS
from headwater.events.renaming import rename_datasets, with_renamed_lineage
from headwater.graph.current import generations_of
from headwater.graph.levels import Level
from headwater.identity import DatasetName, Identity, canonical_name
from headwater.node_facets import newest_facets
from headwater.plugins.delivery._effective_runs import (
    NewestRuns,
    effective_runs,
    newest_effective_runs,
    start_time,
    with_subruns,
)
from headwater.plugins.delivery.body import Body, symlink
from headwater.projection import Run, RunKey, Stamp, State, Use, start_of, unpack
from headwater.projection.derived import ancestry_of, records_of

_PRODUCER = re.compile(
    r"https://github\.com/(?:OpenLineage/OpenLineage/.*/(.*)|apache/(airflow)/.*|(trino)db/trino/.*)"
)
"""Producers from which DataHub derives the orchestrator of a job."""
PLACEMENT_FACETS = ("parent", "processing_engine", "nominalTime", "jobDependencies")
"""Run facets that place a run; every event should have them."""
_RUN_SPECIFIC = {
    "columnLineage",
    *ASSERTION_FACETS,
    "dataQualityMetrics",
    "lifecycleStateChange",
    "version",
}
"""Facets that describe a dataset in one run; other facets describe the dataset itself."""
_Side = Literal["inputs", "outputs"]
_Uses = Mapping[DatasetName, Use]


@dataclass(frozen=True, slots=True)
class Model:
    """A model after its newest training, with the jobs that train and use it."""

    dataset: Body
    trained_by: tuple[JobRef, ...]
    used_by: tuple[JobRef, ...]


@dataclass(frozen=True, slots=True)
class RunContext:
    """Everything that was reported about a run and its job; empty if nothing was.

    `inputs` and `outputs` are OpenLineage datasets, each once and under its name for the backend:
    those of the run and all runs below it, of a pipeline only its own. The run's facets are those
    of all its events.
    """

    inputs: tuple[Body, ...] = ()
    outputs: tuple[Body, ...] = ()
    run_facets: Facets = field(default_factory=dict)
    job_facets: Facets = field(default_factory=dict)
    flow_facets: Facets = field(default_factory=dict)
    """The facets of the flow: the top of the hierarchy of jobs, whatever its name."""
    ancestors: tuple[RunKey, ...] = ()
    """The runs above, nearest first."""
    other_writers: tuple[Body, ...] = ()
    """The newest completed writes of other jobs to the same outputs: for each output and job, a
    body of that output, with its column lineage, and of the job's inputs."""
    models: tuple[Model, ...] = ()
    """The models that it reads or writes."""
    engines: Mapping[JobRef, str] = field(default_factory=dict)
    """The engines, in lower case, of the jobs above, of upstream jobs and of its models' jobs."""
    started: int | None = None
    """The start of the run in microseconds."""


class Contexts:
    """The contexts of runs and declarations in a state.

    Args:
        name: returns the backend's name of a dataset from any of its names.
        newest_runs: a cache, for backends that store lineage per job. The inputs and outputs are
            then those of the job: of the run, of its siblings of the same job (the newest hundred
            mapped or foreach elements), and of the newest completed run with data until this run
            has completed with some; of that run alone if it is newer. The context also includes
            the writes of other jobs to the same outputs, and the jobs of its models.
    """

    def __init__(
        self,
        state: State,
        name: Callable[[Identity, DatasetName], DatasetName] = Identity.primary,
        newest_runs: NewestRuns | None = None,
    ) -> None:
        """Take the state; `name` chooses a dataset's name for the backend, its primary by default.

        `newest_runs` is kept by the backend between events; None if it needs none.
        """
        self._state = state
        self._name = name
        self._newest_runs = newest_runs

    def of_run(self, key: RunKey) -> RunContext:
        """Return the context of a run.

        The context is empty if the run was deleted. It may include events that arrived after the
        one to deliver.
        """
        state, newest_runs = self._state, self._newest_runs
        run = state.runs.get(key)
        if run is None:
            return RunContext()
        ancestry = list(ancestry_of(state, run))
        own = generations_of(state).levels.owner(run, Level.TASK).key.job
        if newest_runs is None:
            members, models = with_subruns(state, [run]), []
        else:
            members = effective_runs(state, run, newest_runs)
            models = list(self._models(own, members, newest_runs))
        written = (name for member in members for name in member.outputs)
        return RunContext(
            inputs=self._datasets((run.inputs for run in members), "inputFacets"),
            outputs=self._datasets((run.outputs for run in members), "outputFacets"),
            run_facets=run.facets.plain(),
            job_facets=self._job_facets(run, members),
            flow_facets=self._job_facets_of(ancestry[-1].key.job),
            ancestors=tuple(ancestor.key for ancestor in ancestry[1:]),
            other_writers=self._other_writers(own, written),
            models=tuple(models),
            engines=dict(self._engines(run, ancestry, models)),
            started=start_of(run),
        )

    def of_declaration(self, event: JobEvent | DatasetEvent) -> RunContext:
        """Return the context of a JobEvent or DatasetEvent.

        `started` and `run_facets` are those of one run of the job; None and empty without one.
        """
        state = self._state
        if isinstance(event, DatasetEvent):
            name = canonical_name(event.dataset.namespace, event.dataset.name)
            return RunContext(
                outputs=self._datasets([{name: Use()}], "outputFacets"),
                other_writers=self._other_writers(None, [name]),
            )
        job = state.jobs.get(event.job)
        if job is None:
            return RunContext()
        run = state.runs[min(job.runs)] if job.runs else None
        inputs, outputs = (job.declared.inputs, job.declared.outputs) if job.declared else ((), ())
        return RunContext(
            inputs=self._datasets([dict.fromkeys(inputs, Use())], "inputFacets"),
            outputs=self._datasets([dict.fromkeys(outputs, Use())], "outputFacets"),
            run_facets=run.facets.plain() if run else {},
            job_facets=job.facets.plain(),
            flow_facets=self._job_facets_of(self._root_of(event.job)),
            other_writers=self._other_writers(event.job, outputs),
            started=start_time(run) if run else None,
        )

    def renamed(self, namespace: str, name: str) -> DatasetName:
        """Return the backend's name of a dataset."""
        return self._name(self._state.identity, canonical_name(namespace, name))

    def _datasets(self, sides: Iterable[_Uses], io: str) -> tuple[Body, ...]:
        """Return the distinct inputs or outputs of runs; `io` is inputFacets or outputFacets."""
        uses_by_name: dict[DatasetName, list[Use]] = defaultdict(list)
        for uses in sides:
            for name, use in uses.items():
                uses_by_name[self._state.identity.primary(name)].append(use)
        return tuple(self._dataset(name, uses, io) for name, uses in sorted(uses_by_name.items()))

    def _dataset(self, name: DatasetName, uses: list[Use], io: str) -> Body:
        """Return a dataset with its own facets and those of some uses of it.

        `uses` are the inputs or outputs under any of its names, and `io` is `inputFacets` or
        `outputFacets`.
        """
        state = self._state
        names, sent_name = state.identity.names(name), self.renamed(*name)
        own_facets = newest_facets(record.facets for record in records_of(state, name))
        facets = {key: facet for key, facet in own_facets.items() if key not in _RUN_SPECIFIC}
        facets |= newest_facets(use.dataset_facets for use in uses)
        versions = [version for use in uses for version in use.versions]
        if versions and "version" not in facets:
            facets["version"] = {"datasetVersion": max(versions).name}
        if "columnLineage" in facets:
            facets["columnLineage"] = _merged_columns(uses)
        facets = with_renamed_lineage(facets, self.renamed)
        facets.pop("symlinks", None)
        if aliases := [symlink(alias) for alias in names if alias != sent_name]:
            facets["symlinks"] = {"identifiers": aliases}
        return {
            **sent_name._asdict(),
            "facets": facets,
            io: newest_facets(use.io_facets for use in uses),
        }

    def _job_facets(self, run: Run, members: list[Run]) -> Facets:
        """Return the facets of a run's job, with the code and the explicit lineage of this run.

        The lineage is merged over the run's events and its job's runs in `members`.
        """
        facets = self._state.jobs[run.key.job].facets.plain() | run.code.plain()
        facets.pop("lineage", None)
        if not run.lineage:
            return facets
        runs = [run, *(item for item in members if item.key.job == run.key.job and item is not run)]
        entries: list[Body] = []
        for packed in (packed for item in runs for packed in sorted(item.lineage or ())):
            added = objects(unpack(packed).get("entries"))
            entries += (entry for entry in added if entry not in entries)
        return facets | {"lineage": {"entries": rename_datasets(entries, self.renamed)}}

    def _job_facets_of(self, ref: JobRef) -> Facets:
        job = self._state.jobs.get(ref)
        return job.facets.plain() if job else {}

    def _root_of(self, ref: JobRef) -> JobRef:
        """Return the job at the top of a job's hierarchy, such as its DAG or flow."""
        visited: set[JobRef] = set()
        while (job := self._state.jobs.get(ref)) and (above := job.parents - visited - {ref}):
            visited.add(ref)
            ref = min(above)
        return ref

    def _engines(
        self, run: Run, ancestry: list[Run], models: Iterable[Model]
    ) -> Iterator[tuple[JobRef, str]]:
        """Yield the engine of each job in the payload; DataHub's id of a job contains it."""
        state, newest_runs = self._state, self._newest_runs or {}
        upstream = [RunKey(run_id or "", job) for job, run_id in run.upstream or ()]
        model_jobs = {ref for model in models for ref in (*model.trained_by, *model.used_by)}
        newest = [key for ref in sorted(model_jobs) if (key := newest_runs.get(ref))]
        for key in (*newest, *(item.key for item in ancestry), *upstream):
            source_run, job = state.runs.get(key), state.jobs.get(key.job)
            run_facets = source_run.facets.plain() if source_run else {}
            job_facets = job.facets.plain() if job else {}
            producers = (facet.get("_producer") for facet in (run_facets | job_facets).values())
            if engine := engine_of(run_facets, job_facets, str(next(producers, ""))):
                yield key.job, engine

    def _uses(self, runs: Iterable[Run], side: _Side, name: DatasetName) -> list[Use]:
        """Return the uses of a dataset by runs, under any of its names; `name` is the primary."""
        pairs = (pair for run in runs for pair in getattr(run, side).items())
        return [use for alias, use in pairs if self._state.identity.primary(alias) == name]

    def _other_writers(self, own: JobRef | None, names: Iterable[DatasetName]) -> tuple[Body, ...]:
        """Return the newest completed write of each other job to each dataset.

        `own` is the job of the context; None for a dataset without a job.
        """
        if self._newest_runs is None:
            return ()
        state, bodies = self._state, []
        for name in sorted({state.identity.primary(alias) for alias in names}):
            for ref in generations_of(state).writers(name):
                if ref == own:
                    continue
                runs = newest_effective_runs(state, ref, self._newest_runs)
                if uses := self._uses(runs, "outputs", name):
                    inputs = self._datasets((run.inputs for run in runs), "inputFacets")
                    output = self._dataset(name, uses, "outputFacets")
                    bodies.append({"inputs": list(inputs), "outputs": [output]})
        return tuple(bodies)

    def _models(self, own: JobRef, members: list[Run], newest_runs: NewestRuns) -> Iterator[Model]:
        """Yield the models that the runs of the job `own` read or write, with all their jobs.

        The newest effective runs of the other jobs count, see `_effective_runs`.
        """
        state = self._state
        sides = (side for run in members for side in (run.inputs, run.outputs))
        names = {state.identity.primary(name) for side in sides for name in side}
        for name in sorted(name for name in names if self._is_model(name)):

            def uses(ref: JobRef, side: _Side, name: DatasetName = name) -> list[Use]:
                runs = members if ref == own else newest_effective_runs(state, ref, newest_runs)
                return self._uses(runs, side, name)

            generations = generations_of(state)
            training = {ref: uses(ref, "outputs") for ref in (own, *generations.writers(name))}
            using = {ref for ref in (own, *generations.readers(name)) if uses(ref, "inputs")}
            yield Model(
                self._dataset(name, list(chain(*training.values())), "outputFacets"),
                tuple(sorted(ref for ref, items in training.items() if items)),
                tuple(sorted(using)),
            )

    def _is_model(self, name: DatasetName) -> bool:
        records = records_of(self._state, name)
        kinds = (record.facets.get("datasetType") for record in records)
        return any(str(kind.get("datasetType")).upper() == "MODEL" for kind in kinds)


def affected_ends(state: State, event: RunEvent) -> dict[RunKey, tuple[Stamp, EventType]]:
    """Return the end events that an event changes: of its run, and of the tasks that contain it.

    A later event changes what a finished run contains, so backends need its end again.
    """
    run = state.runs.get(RunKey(event.run_id, event.job))
    if run is None:
        return {}
    levels = generations_of(state).levels
    runs = [] if event.type.is_end else [run]  # an end is the event that is sent itself
    if any(member.inputs or member.outputs for member in with_subruns(state, [run])):
        for ancestor in levels.lineage(run)[1:]:
            if levels.of(run.key.job) >= Level.TASK:
                break
            runs.append(run := ancestor)
    return {run.key: run.end for run in runs if run.end}


def engine_of(run_facets: Facets, job_facets: Facets, producer: str = "") -> str | None:
    """Return the engine of a job in lower case: from its run, its job or its producer."""
    producer_match = _PRODUCER.fullmatch(producer)
    candidates = (
        run_facets.get("processing_engine", {}).get("name"),
        job_facets.get("jobType", {}).get("integration"),
        *(producer_match.groups() if producer_match else ()),
    )
    return next((str(name).lower() for name in candidates if name), None)


def _merged_columns(uses: list[Use]) -> Body:
    """Merge the columnLineage facets of uses; later facets take precedence."""
    merged: Body = {}
    fields: Body = {}
    for use in sorted(uses, key=_column_lineage_stamp):
        facet = use.dataset_facets.get("columnLineage")
        merged |= facet
        fields |= facet.get("fields") or {}
    return {**merged, "fields": fields}


def _column_lineage_stamp(use: Use) -> Stamp:
    return use.dataset_facets.stamp_of("columnLineage") or Stamp(0, "")
