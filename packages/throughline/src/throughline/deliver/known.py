"""What is known of the run of an event, for backends that an event by itself says too little."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from throughline.deliver.datasets import Body, dataset_of, datasets_of
from throughline.deliver.explicit import stated_of
from throughline.deliver.job_runs import Done, began, generation_of, members_of, newest_of
from throughline.deliver.models import Model, models_of
from throughline.graph.current import generations_of
from throughline.graph.levels import Level, Levels
from throughline.identity import DatasetName, canonical_name
from throughline.projection import Job, Run, RunKey, State, start_of
from throughline.projection.derived import ancestry_of
from throughline.spec import (
    DatasetEvent,
    Facets,
    JobEvent,
    JobRef,
    RunEvent,
    shown_time,
)

_PRODUCER = re.compile(
    r"https://github\.com/(?:OpenLineage/OpenLineage/.*/(.*)|apache/(airflow)/.*|(trino)db/trino/.*)"
)
"""Producers by which DataHub knows what runs a job."""
PLACING = ("parent", "processing_engine", "nominalTime", "jobDependencies")
"""Facets of a run that every event of it should carry."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a run and of its job.

    `inputs` and `outputs` are OpenLineage datasets, each once and under its shown name: what the
    run and all below it read and wrote, of a pipeline only what it did itself. The run's facets are
    those of all its events. An empty one says that nothing is known.
    """

    inputs: tuple[Body, ...] = ()
    outputs: tuple[Body, ...] = ()
    run_facets: Facets = field(default_factory=dict)
    job_facets: Facets = field(default_factory=dict)
    flow_facets: Facets = field(default_factory=dict)
    """Those of the job that is called as this one is up to the first dot."""
    above: tuple[RunKey, ...] = ()
    """The runs above it, nearest first."""
    others: tuple[Body, ...] = ()
    """What other jobs made the same outputs of when they last completed: for each output and job a
    body of that one output, with its columns, and of the job's inputs."""
    models: tuple[Model, ...] = ()
    """The models that it reads or writes."""
    engines: Mapping[JobRef, str] = field(default_factory=dict)
    """What runs the jobs above, those that it waits for and those around its models, in lower
    case."""
    started: int | None = None
    """When the run began, in microseconds."""


@dataclass(frozen=True, slots=True)
class End:
    """The end of a run that was told already, and must be told again with what is known since."""

    key: RunKey
    hash: str
    """Of the event that said so."""
    time: int
    type: str

    def body(self, like: Body) -> Body:
        """The end as an event."""
        return {
            "eventType": self.type,
            "eventTime": shown_time(self.time),
            "producer": like.get("producer"),
            "schemaURL": like.get("schemaURL"),
            "run": {"runId": self.key.run_id},
            "job": self.key.job._asdict(),
        }


def known_of(state: State, key: RunKey, done: Done | None = None) -> Known:
    """What is known of a run.

    With `done` its inputs and outputs are those of its job, for a backend that keeps no other:
    those of siblings of the same job (mapped and foreach elements, the newest hundred) count as
    well; as long as the run has not completed with some of its own, those of the newest one that
    did; and those alone once that is newer. Each run that comes by is noted there, so that all are
    looked at only once. What other jobs made of the same outputs, and the jobs around its models,
    are told too.
    """
    run = state.runs.get(key)
    if run is None:
        return Known()
    lineage = list(ancestry_of(state, run))
    flow = _flow_of(state, key.job)
    members = members_of(state, [run]) if done is None else generation_of(state, run, done)
    own = generations_of(state).levels.owner(run, Level.TASK).key.job
    models = () if done is None else tuple(models_of(state, own, members, done))
    return Known(
        inputs=datasets_of(state, [run.inputs for run in members], "inputFacets"),
        outputs=datasets_of(state, [run.outputs for run in members], "outputFacets"),
        run_facets=run.facets.plain(),
        job_facets=_job_facets(state, run, members),
        flow_facets=flow.facets.plain() if flow else {},
        above=tuple(each.key for each in lineage[1:]),
        others=() if done is None else _others_of(state, own, members, done),
        models=models,
        engines=dict(_engines(state, run, lineage, models, done or {})),
        started=start_of(run),
    )


def declared_of(state: State, event: JobEvent | DatasetEvent, done: Done | None = None) -> Known:
    """What is known of the job or the dataset of an event that is of no run; `done` as above.

    `started` is when a run of the job began, or None if it never ran; `run_facets` are that run's.
    """
    if isinstance(event, DatasetEvent):
        name = state.identity.primary(canonical_name(event.dataset.namespace, event.dataset.name))
        return Known(
            outputs=(dataset_of(state, name, [], "outputFacets"),),
            others=() if done is None else tuple(_others(state, None, {name}, done)),
        )
    job = state.jobs.get(event.job)
    if job is None:
        return Known()
    run = state.runs[min(job.runs)] if job.runs else None
    flow = _flow_of(state, event.job)
    sides = (job.declared.inputs, job.declared.outputs) if job.declared else ((), ())
    inputs, outputs = ({state.identity.primary(name) for name in side} for side in sides)
    return Known(
        inputs=tuple(dataset_of(state, name, [], "inputFacets") for name in sorted(inputs)),
        outputs=tuple(dataset_of(state, name, [], "outputFacets") for name in sorted(outputs)),
        run_facets=run.facets.plain() if run else {},
        job_facets=job.facets.plain(),
        flow_facets=flow.facets.plain() if flow else {},
        others=() if done is None else tuple(_others(state, event.job, outputs, done)),
        started=began(run) if run else None,
    )


def _job_facets(state: State, run: Run, members: list[Run]) -> Facets:
    """The facets of a run's job, with the code and the stated lineage of this very run."""
    facets = state.jobs[run.key.job].facets.plain() | run.code.plain()
    facets.pop("lineage", None)
    stated = stated_of(state, run, members)
    return facets | ({"lineage": stated} if stated else {})


def _flow_of(state: State, ref: JobRef) -> Job | None:
    return state.jobs.get(JobRef(ref.namespace, ref.name.split(".")[0]))


def ends_before(state: State, event: RunEvent) -> list[End]:
    """The ends that an event comes after or adds to: of its run, and of the tasks that it is in."""
    run = state.runs.get(RunKey(event.run_id, event.job))
    if run is None:
        return []
    levels = Levels(state)
    found = [] if event.type.is_end else [run]
    if any(each.inputs or each.outputs for each in members_of(state, [run])):
        for above in levels.lineage(run)[1:]:
            if levels.of(run.key.job) >= Level.TASK:
                break
            found.append(run := above)
    ended = [(each.key, each.end) for each in found]
    return [
        End(key, end[0].hash, end[0].time, str(end[1])) for key, end in ended if end is not None
    ]


def engine_of(run_facets: Facets, job_facets: Facets, producer: str = "") -> str | None:
    """What runs a job, in lower case: as its run says, or its job, or its producer."""
    found = _PRODUCER.fullmatch(producer)
    told = (
        run_facets.get("processing_engine", {}).get("name"),
        job_facets.get("jobType", {}).get("integration"),
        *(found.groups() if found else ()),
    )
    return next((str(each).lower() for each in told if each), None)


def _engines(
    state: State, run: Run, lineage: list[Run], models: Iterable[Model], done: Done
) -> Iterator[tuple[JobRef, str]]:
    waited = [RunKey(run_id or "", job) for job, run_id in run.upstream or ()]
    around = {ref for model in models for ref in (*model.trained_by, *model.used_by)}
    newest = [key for ref in sorted(around) if (key := done.get(ref))]
    for key in (*newest, *(each.key for each in lineage), *waited):
        ran, job = state.runs.get(key), state.jobs.get(key.job)
        run_facets = ran.facets.plain() if ran else {}
        job_facets = job.facets.plain() if job else {}
        producers = (each.get("_producer") for each in (run_facets | job_facets).values())
        if engine := engine_of(run_facets, job_facets, str(next(producers, ""))):
            yield key.job, engine


def _others_of(state: State, own: JobRef, members: list[Run], done: Done) -> tuple[Body, ...]:
    return tuple(_others(state, own, (name for each in members for name in each.outputs), done))


def _others(
    state: State, own: JobRef | None, names: Iterable[DatasetName], done: Done
) -> Iterator[Body]:
    """Of each dataset, what each other job made of it when it last completed."""
    known = generations_of(state)
    for name in sorted({state.identity.primary(each) for each in names}):
        for ref in known.writers(name):
            runs = [] if ref == own else newest_of(state, ref, done)
            written = (pair for each in runs for pair in each.outputs.items())
            uses = [use for given, use in written if state.identity.primary(given) == name]
            if uses:
                yield {
                    "inputs": list(datasets_of(state, [run.inputs for run in runs], "inputFacets")),
                    "outputs": [dataset_of(state, name, uses, "outputFacets")],
                }
