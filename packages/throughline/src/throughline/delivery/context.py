"""The context of an event: everything reported about its run and job.

Backends need it whose lineage is replaced by every event, so that each must be complete.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from throughline.delivery.datasets import Body, dataset_of, datasets_of
from throughline.delivery.effective_runs import (
    NewestRuns,
    effective_runs,
    newest_effective_runs,
    start_time,
    with_subruns,
)
from throughline.delivery.explicit import lineage_facet
from throughline.delivery.models import Model, models_of
from throughline.events import DatasetEvent, Facets, JobEvent, JobRef, RunEvent, shown_time
from throughline.graph.current import generations_of
from throughline.graph.levels import Level, Levels
from throughline.identity import DatasetName, canonical_name
from throughline.projection import Run, RunKey, State, start_of
from throughline.projection.derived import ancestry_of

_PRODUCER = re.compile(
    r"https://github\.com/(?:OpenLineage/OpenLineage/.*/(.*)|apache/(airflow)/.*|(trino)db/trino/.*)"
)
"""Producers from which DataHub derives the orchestrator of a job."""
PLACEMENT_FACETS = ("parent", "processing_engine", "nominalTime", "jobDependencies")
"""Run facets that place a run; every event should have them."""


@dataclass(frozen=True, slots=True)
class RunContext:
    """Everything reported about a run and its job; empty if nothing was reported.

    `inputs` and `outputs` are OpenLineage datasets, each once and under its primary name: those of
    the run and all runs below it, of a pipeline only its own. The run's facets are those of all its
    events.
    """

    inputs: tuple[Body, ...] = ()
    outputs: tuple[Body, ...] = ()
    run_facets: Facets = field(default_factory=dict)
    job_facets: Facets = field(default_factory=dict)
    flow_facets: Facets = field(default_factory=dict)
    """The facets of the flow: the job whose name is this job's name up to the first dot."""
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


@dataclass(frozen=True, slots=True)
class SentEnd:
    """The end event of a run, which must be resent with later data."""

    key: RunKey
    hash: str
    """The hash of the end event."""
    time: int
    type: str

    def body(self, like: Body) -> Body:
        """Return the end as an event with the producer of another one."""
        return {
            "eventType": self.type,
            "eventTime": shown_time(self.time),
            "producer": like.get("producer"),
            "schemaURL": like.get("schemaURL"),
            "run": {"runId": self.key.run_id},
            "job": self.key.job._asdict(),
        }


def run_context(state: State, key: RunKey, newest_runs: NewestRuns | None = None) -> RunContext:
    """Return the context of a run.

    With `newest_runs`, for backends that store lineage per job, the inputs and outputs are those of
    the job: of the run, of its siblings of the same job (the newest hundred mapped or foreach
    elements), and of the newest completed run with data until this run has completed with some; of
    that run alone if it is newer. The context then includes the writes of other jobs to the same
    outputs, and the jobs of its models. `newest_runs` is a cache and is updated.
    """
    run = state.runs.get(key)
    if run is None:
        return RunContext()
    ancestry = list(ancestry_of(state, run))
    members = (
        with_subruns(state, [run])
        if newest_runs is None
        else effective_runs(state, run, newest_runs)
    )
    written = (name for member in members for name in member.outputs)
    own = generations_of(state).levels.owner(run, Level.TASK).key.job
    models = () if newest_runs is None else tuple(models_of(state, own, members, newest_runs))
    return RunContext(
        inputs=datasets_of(state, [run.inputs for run in members], "inputFacets"),
        outputs=datasets_of(state, [run.outputs for run in members], "outputFacets"),
        run_facets=run.facets.plain(),
        job_facets=_job_facets(state, run, members),
        flow_facets=_flow_facets(state, key.job),
        ancestors=tuple(ancestor.key for ancestor in ancestry[1:]),
        other_writers=_other_writers(state, own, written, newest_runs),
        models=models,
        engines=dict(_engines(state, run, ancestry, models, newest_runs or {})),
        started=start_of(run),
    )


def declared_context(
    state: State, event: JobEvent | DatasetEvent, newest_runs: NewestRuns | None = None
) -> RunContext:
    """Return the context of a JobEvent or DatasetEvent; `newest_runs` as in `run_context`.

    `started` and `run_facets` are those of one run of the job; None and empty without a run.
    """
    if isinstance(event, DatasetEvent):
        name = canonical_name(event.dataset.namespace, event.dataset.name)
        return RunContext(
            outputs=_declared_datasets(state, [name], "outputFacets"),
            other_writers=_other_writers(state, None, [name], newest_runs),
        )
    job = state.jobs.get(event.job)
    if job is None:
        return RunContext()
    run = state.runs[min(job.runs)] if job.runs else None
    inputs, outputs = (job.declared.inputs, job.declared.outputs) if job.declared else ((), ())
    return RunContext(
        inputs=_declared_datasets(state, inputs, "inputFacets"),
        outputs=_declared_datasets(state, outputs, "outputFacets"),
        run_facets=run.facets.plain() if run else {},
        job_facets=job.facets.plain(),
        flow_facets=_flow_facets(state, event.job),
        other_writers=_other_writers(state, event.job, outputs, newest_runs),
        started=start_time(run) if run else None,
    )


def _job_facets(state: State, run: Run, members: list[Run]) -> Facets:
    """Return the facets of a run's job, with the code and the explicit lineage of this run."""
    facets = state.jobs[run.key.job].facets.plain() | run.code.plain()
    facets.pop("lineage", None)
    stated = lineage_facet(state, run, members)
    return facets | ({"lineage": stated} if stated else {})


def _flow_facets(state: State, ref: JobRef) -> Facets:
    flow = state.jobs.get(JobRef(ref.namespace, ref.name.split(".")[0]))
    return flow.facets.plain() if flow else {}


def _declared_datasets(state: State, names: Iterable[DatasetName], io: str) -> tuple[Body, ...]:
    primary_names = sorted({state.identity.primary(name) for name in names})
    return tuple(dataset_of(state, name, [], io) for name in primary_names)


def affected_ends(state: State, event: RunEvent) -> list[SentEnd]:
    """Return the ends that an event changes: of its run, and of the tasks that contain it."""
    run = state.runs.get(RunKey(event.run_id, event.job))
    if run is None:
        return []
    levels = Levels(state)
    runs = [] if event.type.is_end else [run]
    if any(member.inputs or member.outputs for member in with_subruns(state, [run])):
        for ancestor in levels.lineage(run)[1:]:
            if levels.of(run.key.job) >= Level.TASK:
                break
            runs.append(run := ancestor)
    ends = ((run.key, run.end) for run in runs)
    return [SentEnd(key, end[0].hash, end[0].time, str(end[1])) for key, end in ends if end]


def engine_of(run_facets: Facets, job_facets: Facets, producer: str = "") -> str | None:
    """Return the engine of a job in lower case: from its run, its job or its producer."""
    producer_match = _PRODUCER.fullmatch(producer)
    candidates = (
        run_facets.get("processing_engine", {}).get("name"),
        job_facets.get("jobType", {}).get("integration"),
        *(producer_match.groups() if producer_match else ()),
    )
    return next((str(name).lower() for name in candidates if name), None)


def _engines(
    state: State, run: Run, ancestry: list[Run], models: Iterable[Model], newest_runs: NewestRuns
) -> Iterator[tuple[JobRef, str]]:
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


def _other_writers(
    state: State,
    own: JobRef | None,
    names: Iterable[DatasetName],
    newest_runs: NewestRuns | None,
) -> tuple[Body, ...]:
    """Return the newest completed write of each other job to each dataset."""
    if newest_runs is None:
        return ()
    bodies: list[Body] = []
    generations = generations_of(state)
    for name in sorted({state.identity.primary(alias) for alias in names}):
        for ref in generations.writers(name):
            runs = [] if ref == own else newest_effective_runs(state, ref, newest_runs)
            written = (pair for run in runs for pair in run.outputs.items())
            uses = [use for alias, use in written if state.identity.primary(alias) == name]
            if uses:
                inputs = datasets_of(state, [run.inputs for run in runs], "inputFacets")
                output = dataset_of(state, name, uses, "outputFacets")
                bodies.append({"inputs": list(inputs), "outputs": [output]})
    return tuple(bodies)
