"""Completeness of the reported lineage, as shares of runs, with the incomplete jobs.

A unit is a task run with all its descendants. The ten newest units of each job count:

- `inputs`: of the completed runs that wrote rows, those that read something
- `outputs`: of the completed runs that read something, those that wrote something; runs that only
  checked their inputs (assertions, tests, check operators), or whose job has the tag `ad-hoc`, do
  not count
- `columns`: of the completed runs that read something and wrote tables or datasets with a schema,
  those whose column lineage covers each of them; tables that were only created, renamed,
  emptied or dropped do not count; the share is unknown if SQL wrote tables whose columns are
  unknown, such as a dbt model with `select *`
- `code`: of the completed runs that read or wrote something, those whose code is known
  (sourceCodeLocation of the run or of an ancestor, or the sourceCode or SQL of the job); tests and
  seeds of dbt do not count
- `ends`: of the ended and stale runs, those with an end event; streaming runs do not count

In a large store, the first queries before a deadline measure only some jobs each.

A run above the tasks, such as a DAG run, is a unit without its descendants. A measure that does not
apply to a unit is missing in its results; None means that it is unknown if the measure is met.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from typing import NamedTuple, Protocol

from headwater import deadline
from headwater.datasets.not_run import is_test
from headwater.datasets.quality import is_checking
from headwater.events import JobRef
from headwater.events.facets import ASSERTION_FACETS, JobType, Sql
from headwater.graph.column_graph import described_by
from headwater.graph.current import generations_of, once_an_event
from headwater.graph.generations import Generations
from headwater.graph.levels import Level
from headwater.graph.lifecycle import created_datasets, former_names, removes_data
from headwater.graph.nodes import Node, node_id
from headwater.health.findings import finding, names_of, warning
from headwater.health.freshness import is_ad_hoc
from headwater.health.models import Finding, Measure
from headwater.identity import DatasetName
from headwater.plugins.trust import models
from headwater.projection import Job, Run, RunKey, RunState, State, Use, outcome
from headwater.projection.derived import (
    began_at,
    descendants_of,
    is_lost,
    is_streaming,
    parent_of,
)
from headwater.runs.summary import code_of
from headwater.text import counted

_NEWEST = 10  # runs of a job; older losses may be fixed since
_SECONDS, _LEAST = 0.7, 500
"""Seconds after which a query returns a partial answer, and the jobs that it always measures."""
_NO_LIMIT = repeat(True)
_MISSING: dict[Measure, str] = {
    "inputs": "inputs",
    "outputs": "outputs",
    "columns": "column lineage",
    "code": "a code location",
    "ends": "an end event",
}

_OF_CLIENT: dict[Measure, str] = {
    "columns": "use SQL on tables where columns matter; columns of frames and files stay unknown",
    "code": "keep the script and its lineage.yaml in a git repository",
}
"""Remedies for jobs that headwater-client reports."""

_UNKNOWN = (
    "wrote tables whose columns are unknown",
    "run `dbt docs generate` before the import, or make its producer report the schema",
)


@dataclass(slots=True)
class Unit:
    """A task run with all its descendants."""

    run: Run
    members: list[Run] = field(default_factory=list)
    reported: dict[Measure, bool | None] | None = None
    """Results that depend only on the runs, None if unknown; computed on request."""


def completeness_answer(state: State) -> models.CompletenessAnswer:
    """Return the share of runs with inputs, outputs, columns, code and an end, and orphans."""
    generations = generations_of(state)
    units, unmeasured = _some_units(generations)
    measures = measure_units(generations, units)
    if unmeasured:  # a share of some jobs would look like that of all
        for measure in measures.values():
            measure["share"] = None
    orphans = [] if unmeasured else _orphans(state)
    return {"measures": measures, "orphans": orphans, "uncounted": len(unmeasured)}


class PipelinesInPart(NamedTuple):
    """Pipelines with the incomplete jobs of each, and the number of jobs not measured yet."""

    items: list[models.PipelineCompleteness]
    uncounted: int


def pipelines_of(state: State) -> PipelinesInPart:
    """Return the pipelines with the incomplete jobs of each, per measure.

    Pipelines with a job that is not measured yet are missing.
    """
    generations = generations_of(state)
    units, unmeasured = _some_units(generations)
    owner = partial(generations.levels.owner, level=Level.PIPELINE)
    by_pipeline: dict[JobRef, list[Unit]] = defaultdict(list)
    for unit in units:
        by_pipeline[owner(unit.run).key.job].append(unit)
    for ref in deadline.watched(unmeasured):
        for key in state.jobs[ref].runs:
            by_pipeline.pop(owner(state.runs[key]).key.job, None)
    found = (_pipeline(generations, ref, units) for ref, units in by_pipeline.items())
    return PipelinesInPart(list(found), len(unmeasured))


def _pipeline(
    generations: Generations, ref: JobRef, units: list[Unit]
) -> models.PipelineCompleteness:
    """Return a pipeline's completeness, given the newest units of its jobs."""
    measures = measure_units(generations, units)
    return {
        "id": node_id(Node.of_job(ref)),
        "job": {"namespace": ref.namespace, "name": ref.name},
        "runs": len(units),
        "missing": [found for part in measures.values() for found in part["findings"]],
        "isMeasured": any(part["runs"] for name, part in measures.items() if name != "ends"),
    }


class _Rule(Protocol):
    """A rule of the alerts file about completeness."""

    @property
    def measure(self) -> Measure | None: ...
    @property
    def below(self) -> float | None: ...
    def matches_job(self, job: JobRef) -> bool: ...


def find_violations(
    state: State, rule: _Rule, _changed: object
) -> Iterator[tuple[Measure, Finding]]:
    """Yield the measures of completeness below the limit of an alert rule.

    An alert fires for each yielded key. An unknown share violates any limit.
    """
    generations = generations_of(state)
    units = [unit for unit in newest_units(generations) if rule.matches_job(unit.run.key.job)]
    remedy = "make the producers of these jobs report more; `headwater health` lists them"
    for measure, result in measure_units(generations, units).items():
        share, unknown = result["share"], result["unknownRuns"]
        is_low = unknown > 0 if share is None else share < (rule.below or 0)
        if rule.measure in (None, measure) and is_low:
            worst, runs = names_of(result["findings"]), counted(result["runs"], "run")
            stated = f"unknown for {unknown}" if share is None else f"reported by {share:.0%}"
            message = f"{stated} of {runs}; incomplete: {worst}"
            yield measure, finding("completeness", measure, message, remedy)


def newest_units(generations: Generations) -> list[Unit]:
    """Return the ten newest units of each job, with their results.

    They are cached until a run of the job or below it changes.
    """
    return [unit for ref in generations.state.jobs for unit in _units_of_job(generations, ref)]


class _NotYet(Exception):
    """The time for a partial answer is over."""


def _some_units(generations: Generations) -> tuple[list[Unit], list[JobRef]]:
    """Return the ten newest units of each job, and the jobs that the next query measures."""
    units: list[Unit] = []
    unmeasured: list[JobRef] = []
    time = deadline.within(_SECONDS, repeat(True), least=_LEAST)
    for ref in generations.state.jobs:
        try:
            units += _units_of_job(generations, ref, time)
        except _NotYet:
            unmeasured.append(ref)
    return units, unmeasured


def _units_of_job(
    generations: Generations, ref: JobRef, time: Iterator[bool] = _NO_LIMIT
) -> list[Unit]:
    """Return the ten newest units of a job. Raises _NotYet if it would take time and none is left.

    `time` has an item for each job that may be measured.
    """

    def determine(runs: list[Run]) -> list[Unit]:
        if not next(time, False):
            raise _NotYet
        units = _newest_units(generations, ref, runs)
        for unit in units:
            unit.reported = _reported(generations, unit)
        return units

    return generations.of_runs(ref, "newest units", determine)


def _newest_units(generations: Generations, ref: JobRef, runs: list[Run]) -> list[Unit]:
    """Return the newest units of a job; for a job above the tasks, only its own runs."""
    state = generations.state
    is_above = generations.levels.of(ref) > Level.TASK  # a unit without the runs below it
    below = [] if is_above else [member for run in runs for member in descendants_of(state, run)]
    members = {run.key: run for run in (*runs, *below)}
    # a descendant may be a task of its own, as in a pipeline that a task triggers
    units = [unit for unit in units_of(generations, members.values()) if unit.run.key.job == ref]
    units.sort(key=lambda unit: (began_at(state, unit.run) or 0, unit.run.key), reverse=True)
    return units[:_NEWEST]


def units_of(generations: Generations, runs: Iterable[Run]) -> list[Unit]:
    """Return the units that contain some runs, each with only these as members."""
    found: dict[RunKey, Unit] = {}
    for run in deadline.watched(runs):
        if run.has_events:
            owner = generations.levels.owner(run, Level.TASK)
            found.setdefault(owner.key, Unit(owner)).members.append(run)
    return list(found.values())


def measure_units(
    generations: Generations, units: Iterable[Unit]
) -> dict[Measure, models.MeasureResult]:
    """Return, per measure, the share of complete runs and the incomplete jobs, worst first.

    A run counts as incomplete in a measure if the measure applies to it and is not met.
    """
    counts: dict[Measure, int] = dict.fromkeys(_MISSING, 0)
    lost: dict[Measure, list[Run]] = {measure: [] for measure in _MISSING}
    unknown: dict[Measure, list[Run]] = {measure: [] for measure in _MISSING}
    for unit in deadline.watched(units):
        for measure, is_met in _results(generations, unit).items():
            counts[measure] += 1
            if not is_met:
                (unknown if is_met is None else lost)[measure].append(unit.run)
    return {
        measure: {
            "share": _share(counts[measure], lost[measure], unknown[measure]),
            "runs": counts[measure],
            "unknownRuns": len(unknown[measure]),
            "findings": [
                *_by_job(generations.state, measure, lost[measure], _lacking(measure)),
                *_by_job(generations.state, measure, unknown[measure], _UNKNOWN),
            ],
        }
        for measure in _MISSING
    }


def _share(count: int, lost: list[Run], unknown: list[Run]) -> float | None:
    return 1 - len(lost) / count if count and not unknown else None


def _lacking(measure: Measure) -> tuple[str, str]:
    missing = _MISSING[measure]
    return f"without {missing}", f"make its producer report {missing}"


def _results(generations: Generations, unit: Unit) -> dict[Measure, bool | None]:
    """Return, for each measure that applies to a run, if it is met.

    Measures that do not apply are missing; None means that it is unknown if the measure is met.
    """
    if unit.reported is None:
        unit.reported = _reported(generations, unit)
    if is_lost(generations.state, unit.run):
        return {"ends": False}
    job, found = generations.state.jobs[unit.run.key.job], unit.reported.copy()
    if found.get("code") is False and (job.facets.get("sourceCode") or job.facets.get("sql")):
        found["code"] = True
    if found.get("code") is False and _has_no_code(generations.state, job):
        del found["code"]
    # not part of `_reported`: tags and facets of a job may change without a run
    shows = is_ad_hoc(generations.state, job.ref) or is_test(generations.state, job.ref)
    if found.get("outputs") is False and shows:
        del found["outputs"]  # its result is shown or decides, and is not written
    return found


def _has_no_code(state: State, job: Job) -> bool:
    """Return True for tests and seeds of dbt, which are declared in YAML or are files."""
    kind = job.facets.parsed(JobType)
    return kind.integration == "DBT" and (is_test(state, job.ref) or kind.jobType == "SEED")


def _reported(generations: Generations, unit: Unit) -> dict[Measure, bool | None]:
    """Return the results that need neither the time nor the facets of the job.

    The result is cached with the unit, so it must not depend on them.
    """
    state = generations.state
    condition, ended = outcome(state, unit.run)
    found: dict[Measure, bool | None] = {}
    if ended is None:
        return found
    if unit.run.has_events and not is_streaming(state, unit.run):
        found["ends"] = unit.run.end is not None
    reads = any(run.inputs for run in unit.members)
    writes = any(run.outputs for run in unit.members)
    # a run that only checked its inputs need not write
    checks = not writes and (
        any(is_checking(run) for run in unit.members) or _checks_all_inputs(state, unit)
    )
    if condition is not RunState.COMPLETED or not (reads or writes):
        return found
    found["code"] = any(code_of(above) for above in generations.levels.lineage(unit.run))
    if any(_adds_rows(state, run) for run in unit.members):
        found["inputs"] = reads or any(run.lineage for run in unit.members)
    if reads:
        if not checks:
            found["outputs"] = writes
        described, covered, bare = _columns(state, unit)  # with schema, with lineage, with neither
        if described and not described <= covered:
            found["columns"] = False
        elif described or bare:
            found["columns"] = None if bare - covered else True
    return found


def _checks_all_inputs(state: State, unit: Unit) -> bool:
    """Return True if the runs reported assertions on everything that they read.

    Such a run without outputs is a check: that it writes nothing is no gap.
    """
    read, checked = set(), set()
    for spelled, use in (item for run in unit.members for item in run.inputs.items()):
        name = state.identity.primary(spelled)
        read.add(name)
        books = use.io_facets, use.dataset_facets
        if any(book.stamp_of(key) for book in books for key in ASSERTION_FACETS):
            checked.add(name)
    return read == checked


def _adds_rows(state: State, run: Run) -> bool:
    """Return True unless a run only created, altered, emptied or dropped its outputs."""
    created = created_datasets(state, [run])
    return any(
        not removes_data(run, use) and state.identity.primary(spelled) not in created
        for spelled, use in run.outputs.items()
    )


def _is_created(use: Use) -> bool:
    """Return True if a table was created; a run without inputs creates it empty."""
    return use.dataset_facets.get("lifecycleStateChange").get("lifecycleStateChange") == "CREATE"


def _columns(
    state: State, unit: Unit
) -> tuple[set[DatasetName], set[DatasetName], set[DatasetName]]:
    """Return the written datasets with a schema, with column lineage, and tables without schema.

    The latter are outputs of SQL, which have columns; other outputs may be files without columns.
    Datasets that were only renamed, emptied or created empty are left out, as no rows were written.
    """
    described, covered, bare = set(), set(), set()
    for run in unit.members:
        for spelled, use in run.outputs.items():
            name = state.identity.primary(spelled)
            is_moved = removes_data(run, use) or name in former_names(state, run)
            is_empty = _is_created(use) and not run.inputs
            if use.dataset_facets.get("schema") and not is_moved and not is_empty:
                described.add(name)
            elif run.code.get(Sql.KEY) and run.inputs and not is_moved:
                bare.add(name)
            if use.dataset_facets.get("columnLineage"):
                covered.add(name)
    for run in unit.members if (described | bare) - covered else ():
        covered |= {column.dataset for column in described_by(state, run)}
    return described, covered, bare - described


def _by_job(
    state: State, measure: Measure, runs: Iterable[Run], texts: tuple[str, str]
) -> list[Finding]:
    """Return a finding per job; `texts` are the problem of its runs, and the remedy."""
    lacking, remedy = texts
    by_job: dict[JobRef, list[Run]] = defaultdict(list)
    for run in runs:
        by_job[run.key.job].append(run)
    own = {ref for ref in by_job if _integration(state, ref) == "HEADWATER"}
    most_first = sorted(by_job.items(), key=lambda item: (-len(item[1]), item[0]))
    return [
        warning(
            f"incomplete {measure}",
            ref,
            f"{counted(len(lost), 'run')} {lacking}",
            _OF_CLIENT.get(measure, remedy) if ref in own else remedy,
            run=lost[0],
            at=began_at(state, lost[0]),
        )
        for ref, lost in most_first
    ]


def _integration(state: State, ref: JobRef) -> object:
    return state.jobs[ref].facets.get("jobType").get("integration")


@once_an_event
def _orphans(state: State) -> list[Finding]:
    return list(_found_orphans(state))


def _found_orphans(state: State) -> Iterator[Finding]:
    """Yield jobs and tasks without datasets, datasets without jobs, and parents without events."""
    yield from _without_datasets(state)
    used: set[DatasetName] = set()
    for record in state.datasets.values():
        is_derived = record.derivation is not None or record.name in state.derived_from
        if record.readers or record.writers or record.declaring or is_derived:
            used.add(state.identity.primary(record.name))
    for name in sorted(set(state.identity) - used):
        remedy = "make its jobs report that they read or write it"
        yield warning("dataset without jobs", name, "is not read or written by any job", remedy)
    parents = (parent_of(state, run) for run in state.runs.values())
    silent = {parent.key: parent for parent in parents if parent and not parent.has_events}
    for key in sorted(silent):
        message = "is the parent of other runs but sent no events"
        remedy = "make it send its events to this server too"
        yield warning("silent parent run", key.job, message, remedy, run=silent[key])


def _without_datasets(state: State) -> Iterator[Finding]:
    """Yield a finding per job without datasets, or one per pipeline with other datasets."""
    generations = generations_of(state)
    units = newest_units(generations)
    with_data = [unit for unit in units if any(run.has_data for run in unit.members)]
    jobs_with_data = {run.key.job for unit in with_data for run in unit.members}
    owner = partial(generations.levels.owner, level=Level.PIPELINE)
    pipelines = {owner(unit.run).key.job for unit in with_data}
    tasks: dict[JobRef, list[str]] = defaultdict(list)
    for _, job in sorted(state.jobs.items()):
        if job.ref in jobs_with_data or not _is_idle(state, job) or _needs_no_data(state, job):
            continue
        owners = {owner(state.runs[key]).key.job for key in job.runs}
        if pipeline := min(owners & pipelines, default=None):
            tasks[pipeline].append(job.ref.name.removeprefix(f"{pipeline.name}."))
            continue
        message = "has neither inputs nor outputs nor child jobs"
        remedy = "if it reads or writes data, make its producer report this"
        yield warning("job without datasets", job.ref, message, remedy)
    for pipeline, names in tasks.items():
        message = f"{counted(len(names), 'task')} without inputs and outputs: {', '.join(names)}"
        remedy = "if these tasks read or write data, make their producer report this"
        yield warning("tasks without datasets", pipeline, message, remedy)


def _needs_no_data(state: State, job: Job) -> bool:
    """Return True for the first and the last step of a flow, and for tests."""
    kind, name = job.facets.parsed(JobType), job.ref.name.rpartition(".")[2]
    is_end = kind.integration == "METAFLOW" and kind.jobType == "STEP" and name in ("start", "end")
    return is_end or is_test(state, job.ref)


def _is_idle(state: State, job: Job) -> bool:
    """Return True for a job with events that has no child, no data and no declared lineage."""
    if job.children or job.first is None:
        return False
    if job.declared and (job.declared.inputs or job.declared.outputs):
        return False
    if job.stated_by or job.ref in state.handoffs or job.ref in state.exposed:
        return False
    return not any(state.runs[key].has_data for key in job.runs)
