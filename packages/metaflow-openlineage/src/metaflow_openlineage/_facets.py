"""OpenLineage events and facets from plain values. Imports openlineage-python: import it late."""

from __future__ import annotations

import inspect
import re
import textwrap
import traceback
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar, get_args

import attr
from openlineage.client import event_v2 as ev
from openlineage.client import facet_v2 as fv
from openlineage.client.constants import DEFAULT_PRODUCER

from ._dataset import ColumnSource, Dataset, Direct, merge
from ._names import PRODUCER, VERSION, RunRef

T = TypeVar("T")
State = Literal["START", "COMPLETE", "FAIL", "ABORT"]
RunFacets = dict[str, fv.RunFacet]
JobFacets = dict[str, fv.JobFacet]

# Some backends take events of 300 kB at most.
MAX_CODE, MAX_TRACE, MAX_VALUE, MAX_FIELDS = 50_000, 10_000, 1_000, 500

_SECRET_NAME = re.compile(
    r"passw|passphrase|pwd|(?:^|[_.-])pass$|secret|token|credential|key", re.IGNORECASE
)
_SECRET_IN_URL = re.compile(r"(\w://[^\s:/@]*):[^\s/]+@")
_TAG_WITH_VALUE = re.compile(r"(?!\w+://)([^:=]+)[:=](.*)", re.DOTALL)


def run_event(
    state: State,
    ref: RunRef,
    run_facets: RunFacets,
    job_facets: JobFacets,
    inputs: Iterable[Dataset] = (),
    outputs: Iterable[Dataset] = (),
) -> ev.RunEvent:
    """An event of the run `ref`, now."""
    from metaflow.metaflow_version import get_version

    version: Callable[[], str | None] = get_version
    engine = _ours(
        fv.processing_engine_run.ProcessingEngineRunFacet, version() or "?", "metaflow", VERSION
    )
    return ev.RunEvent(
        eventType=ev.RunState[state],
        eventTime=datetime.now(UTC).isoformat(),
        producer=PRODUCER,
        run=ev.Run(ref.run_id, {"processing_engine": engine, **run_facets}),
        job=ev.Job(ref.namespace, ref.job, dict(job_facets)),
        inputs=[_input(each) for each in merge(inputs)],
        outputs=[_output(each) for each in merge(outputs)],
    )


def _ours(facet: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    return facet(*args, **kwargs, producer=PRODUCER)


def parent(ref: RunRef, root: RunRef) -> RunFacets:
    """The run that started this one, and the outermost run of all.

    The facet's producer is openlineage-python: DataHub's converter refuses an event whose parent
    facet has a producer that it does not know.
    """
    m = fv.parent_run
    top = m.Root(m.RootRun(root.run_id), m.RootJob(root.namespace, root.job))
    above = m.Run(ref.run_id), m.Job(ref.namespace, ref.job)
    return {"parent": m.ParentRunFacet(*above, top, producer=DEFAULT_PRODUCER)}


def nominal_time(instant: str | None) -> RunFacets:
    """The time a run is for."""
    if not instant:
        return {}
    return {"nominalTime": _ours(fv.nominal_time_run.NominalTimeRunFacet, instant)}


def error(exception: BaseException | None) -> RunFacets:
    """What went wrong, if anything, with its traceback."""
    if exception is None:
        return {}
    message = ": ".join(filter(None, (type(exception).__name__, str(exception))))
    trace = "".join(traceback.format_exception(exception))
    facet = _ours(
        fv.error_message_run.ErrorMessageRunFacet,
        without_password(message)[:MAX_TRACE],
        "python",
        without_password(trace)[-MAX_TRACE:],
    )
    return {"errorMessage": facet}


def failure(exception: BaseException | None) -> State:
    """How a run ends that an exception ended."""
    return "ABORT" if isinstance(exception, KeyboardInterrupt) else "FAIL"


def dependencies(upstream: Iterable[RunRef], downstream: Iterable[tuple[str, str]]) -> RunFacets:
    """The control flow around a task: runs before it, and jobs after it, whose runs are to come."""
    m = fv.job_dependencies_run
    how = "DIRECT_INVOCATION"
    before = [
        m.JobDependency(
            m.JobIdentifier(each.namespace, each.job), m.RunIdentifier(each.run_id), how
        )
        for each in upstream
    ]
    after = [m.JobDependency(m.JobIdentifier(*job), dependency_type=how) for job in downstream]
    return {"jobDependencies": _ours(m.JobDependenciesRunFacet, before, after)}


def parameters(values: Mapping[str, object]) -> RunFacets:
    """The flow's parameters, without what looks like a secret."""
    m = fv.execution_parameters_run
    given = [
        m.ExecutionParameter(name, name, value=redacted(name, value)[:MAX_VALUE])
        for name, value in values.items()
    ]
    return {"executionParameters": _ours(m.ExecutionParametersRunFacet, given)} if given else {}


@attr.define
class TaskFacet(fv.RunFacet):
    """Metaflow's name of a task, what starts its flow, and where it can be looked at."""

    pathspec: str
    program: str
    hasCard: bool
    url: str | None = None


def task(pathspec: str, program: str, ui: str | None, *, has_card: bool) -> RunFacets:
    """Where a task can be looked at: on Metaflow's page, if there is one, and on its card."""
    url = f"{ui.rstrip('/')}/{pathspec}" if ui else None
    return {"metaflow_task": _ours(TaskFacet, pathspec, program, has_card, url)}


def tags(user: Iterable[str], system: Iterable[str]) -> RunFacets:
    """The run's tags: `a:b` and `a=b` are the value b of the key a, others `true` of theirs."""
    found = [_tag(each, "USER") for each in sorted(user)]
    found += [_tag(each, "METAFLOW") for each in sorted(system)]
    return {"tags": _ours(fv.tags_run.TagsRunFacet, found)} if found else {}


def _tag(tag: str, source: str) -> fv.tags_run.TagsRunFacetFields:
    pair = _TAG_WITH_VALUE.fullmatch(tag)
    key, value = pair.groups() if pair else (without_password(tag), "true")
    name = "token" if key == "production" else key if pair else ""  # Metaflow's production token
    return fv.tags_run.TagsRunFacetFields(key, redacted(name, value), source)


def redacted(name: str, value: object) -> str:
    """A value as text: `***` if its name, or one within it, is a secret's; no password in a URL."""
    if _SECRET_NAME.search(name):
        return "***"
    if isinstance(value, dict):
        return str({key: redacted(str(key), each) for key, each in value.items()})
    return without_password(str(value))


def without_password(text: str) -> str:
    """The text with the password of each URL in it replaced."""
    return _SECRET_IN_URL.sub(r"\1:***@", text)


def job(kind: Literal["FLOW", "STEP", "QUERY"], owner: str | None = None) -> JobFacets:
    """What kind of job this is, and whose."""
    m = fv.ownership_job
    owners = [m.Owner(f"user:{owner}", "MAINTAINER")]
    return {
        "jobType": _ours(fv.job_type_job.JobTypeJobFacet, "BATCH", "METAFLOW", kind),
        **({"ownership": _ours(m.OwnershipJobFacet, owners)} if owner else {}),
    }


def sql(query: str, dialect: str | None) -> JobFacets:
    """The text of a query."""
    return {"sql": _ours(fv.sql_job.SQLJobFacet, without_password(query)[:MAX_CODE], dialect)}


def source(code: Any, location: Mapping[str, str], *, with_code: bool) -> JobFacets:
    """A class or function: its source, its docstring, and where it lives in git."""
    facets: JobFacets = {}
    try:
        text = textwrap.dedent(inspect.getsource(code)) if with_code else ""
    except (OSError, TypeError):  # typed in a notebook, or generated
        text = ""
    if text:
        text = without_password(text)[:MAX_CODE]
        facets["sourceCode"] = _ours(fv.source_code_job.SourceCodeJobFacet, "python", text)
    if code.__doc__:
        facets["documentation"] = _ours(
            fv.documentation_job.DocumentationJobFacet,
            inspect.cleandoc(code.__doc__),
            contentType="text/plain",
        )
    if location:
        facets["sourceCodeLocation"] = _ours(
            fv.source_code_location_job.SourceCodeLocationJobFacet, "git", **location
        )
    return facets


def lineage(stated: Mapping[tuple[str, str], Iterable[tuple[str, str]]]) -> JobFacets:
    """The inputs that feed each output (explicit lineage, which is experimental)."""
    m = fv.lineage
    entries = [
        m.LineageDatasetEntry(
            *target, "DATASET", [m.LineageDatasetInput(*source, "DATASET") for source in sources]
        )
        for target, sources in stated.items()
    ]
    return {"lineage": _ours(m.LineageJobFacet, entries)} if entries else {}


def _dataset_facets(dataset: Dataset) -> dict[str, Any]:
    facets: dict[str, Any] = dict(dataset.facets)
    if dataset.version:
        facets["version"] = _ours(
            fv.dataset_version_dataset.DatasetVersionDatasetFacet, dataset.version
        )
    if dataset.type:
        facets["datasetType"] = _ours(fv.dataset_type_dataset.DatasetTypeDatasetFacet, dataset.type)
    if dataset.fields:
        column = fv.schema_dataset.SchemaDatasetFacetFields
        columns = [column(*field) for field in dataset.fields[:MAX_FIELDS]]
        facets["schema"] = _ours(fv.schema_dataset.SchemaDatasetFacet, columns)
    if dataset.symlink:
        table = fv.symlinks_dataset.Identifier(*dataset.symlink, type="TABLE")
        facets["symlinks"] = _ours(fv.symlinks_dataset.SymlinksDatasetFacet, [table])
    return facets


def _input(dataset: Dataset) -> ev.InputDataset:
    facet = fv.input_statistics_input_dataset.InputStatisticsInputDatasetFacet
    return ev.InputDataset(
        dataset.namespace,
        dataset.name,
        facets=_dataset_facets(dataset),
        inputFacets=_statistics("inputStatistics", facet, dataset),
    )


def _output(dataset: Dataset) -> ev.OutputDataset:
    facet = fv.output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet
    return ev.OutputDataset(
        dataset.namespace,
        dataset.name,
        facets={**_dataset_facets(dataset), **_column_lineage(dataset)},
        outputFacets={**_statistics("outputStatistics", facet, dataset), **_commit(dataset)},
    )


def _commit(dataset: Dataset) -> dict[str, Any]:
    if not dataset.commit:
        return {}
    schema = "https://openlineage.io/spec/facets/1-0-0/IcebergCommitReportOutputDatasetFacet.json"
    report = {"_producer": PRODUCER, "_schemaURL": schema, **dataset.commit}
    return {"icebergCommitReport": report}


def _statistics(name: str, facet: Callable[..., Any], dataset: Dataset) -> dict[str, Any]:
    if dataset.rows is None and dataset.size is None:
        return {}
    return {name: _ours(facet, rowCount=dataset.rows, size=dataset.size)}


def _column_lineage(dataset: Dataset) -> dict[str, Any]:
    m = fv.column_lineage_dataset
    columns = {
        column: m.Fields(_input_fields(sources))
        for column, sources in dataset.column_lineage.items()
    }
    rows = _input_fields(dataset.row_lineage)
    if not columns and not rows:
        return {}
    return {"columnLineage": _ours(m.ColumnLineageDatasetFacet, columns, rows)}


def _input_fields(sources: Iterable[ColumnSource]) -> list[fv.column_lineage_dataset.InputField]:
    """Return one entry per source column, with all its transformations."""
    m = fv.column_lineage_dataset
    found: dict[tuple[str, str, str], list[m.Transformation]] = {}
    for dataset, column, *subtypes in sources:
        known = found.setdefault((dataset.namespace, dataset.name, column), [])
        for subtype in subtypes:
            kind = "DIRECT" if subtype in get_args(Direct) else "INDIRECT"
            if (transformation := m.Transformation(kind, subtype)) not in known:
                known.append(transformation)
    return [m.InputField(*column, kinds) for column, kinds in found.items()]
