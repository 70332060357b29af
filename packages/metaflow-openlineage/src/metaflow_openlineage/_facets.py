"""Create OpenLineage events and facets from plain values.

Import this module late, because it imports openlineage-python.
"""

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

from headwater_client import RunRef
from headwater_client._captured_run import explicit_lineage
from headwater_client.masking import mask_text

from ._dataset import ColumnSource, Dataset, Direct, merge
from ._names import PRODUCER, VERSION

T = TypeVar("T")
State = Literal["START", "COMPLETE", "FAIL", "ABORT"]
RunFacets = dict[str, fv.RunFacet]
JobFacets = dict[str, fv.JobFacet]

# Some backends accept events of at most 300 kB.
MAX_CODE, MAX_TRACE, MAX_VALUE, MAX_FIELDS = 50_000, 10_000, 1_000, 500

_SECRET_NAME = re.compile(
    r"passw|passphrase|pwd|(?:^|[_.-])pass$|secret|token|credential|key", re.IGNORECASE
)
_TAG_WITH_VALUE = re.compile(r"(?!\w+://)([^:=]+)[:=](.*)", re.DOTALL)


def run_event(
    state: State,
    ref: RunRef,
    run_facets: RunFacets,
    job_facets: JobFacets,
    inputs: Iterable[Dataset] = (),
    outputs: Iterable[Dataset] = (),
    at: datetime | None = None,
) -> ev.RunEvent:
    """Create an event of the run `ref` at a time; without one, now.

    The version of Metaflow is added to the run's facets. Datasets with the same name and version
    are one (`merge`).
    """
    from metaflow.metaflow_version import get_version

    version: Callable[[], str | None] = get_version
    engine = _facet(
        fv.processing_engine_run.ProcessingEngineRunFacet, version() or "?", "metaflow", VERSION
    )
    return ev.RunEvent(
        eventType=ev.RunState[state],
        eventTime=(at or datetime.now(UTC)).isoformat(),
        producer=PRODUCER,
        run=ev.Run(ref.run_id, {"processing_engine": engine, **run_facets}),
        job=ev.Job(ref.namespace, ref.job, dict(job_facets)),
        inputs=[_input(dataset) for dataset in merge(inputs)],
        outputs=[_output(dataset) for dataset in merge(outputs)],
    )


def _facet(facet: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    return facet(*args, **kwargs, producer=PRODUCER)


def parent(ref: RunRef, root: RunRef) -> RunFacets:
    """Create the facet of the parent run and the root run.

    The facet's producer is openlineage-python, because DataHub's converter rejects events whose
    parent facet has an unknown producer.
    """
    m = fv.parent_run
    root_facet = m.Root(m.RootRun(root.run_id), m.RootJob(root.namespace, root.job))
    parent_run = m.Run(ref.run_id), m.Job(ref.namespace, ref.job)
    return {"parent": m.ParentRunFacet(*parent_run, root_facet, producer=DEFAULT_PRODUCER)}


def nominal_time(instant: str | None) -> RunFacets:
    """Create the facet of a run's nominal time."""
    if not instant:
        return {}
    return {"nominalTime": _facet(fv.nominal_time_run.NominalTimeRunFacet, instant)}


def error(exception: BaseException | None) -> RunFacets:
    """Create the facet of an exception with its traceback."""
    if exception is None:
        return {}
    message = ": ".join(filter(None, (type(exception).__name__, str(exception))))
    trace = "".join(traceback.format_exception(exception))
    facet = _facet(
        fv.error_message_run.ErrorMessageRunFacet,
        mask_text(message)[:MAX_TRACE],
        "python",
        mask_text(trace)[-MAX_TRACE:],
    )
    return {"errorMessage": facet}


def end_state(exception: BaseException | None) -> State:
    """Return the end state of a run that an exception ended."""
    return "ABORT" if isinstance(exception, KeyboardInterrupt) else "FAIL"


def dependencies(upstream: Iterable[RunRef], downstream: Iterable[tuple[str, str]]) -> RunFacets:
    """Create the facet of a task's control flow: upstream runs and downstream jobs."""
    m = fv.job_dependencies_run
    dependency_type = "DIRECT_INVOCATION"
    upstream_jobs = [
        m.JobDependency(
            m.JobIdentifier(ref.namespace, ref.job), m.RunIdentifier(ref.run_id), dependency_type
        )
        for ref in upstream
    ]
    downstream_jobs = [
        m.JobDependency(m.JobIdentifier(*job), dependency_type=dependency_type)
        for job in downstream
    ]
    return {"jobDependencies": _facet(m.JobDependenciesRunFacet, upstream_jobs, downstream_jobs)}


def parameters(values: Mapping[str, object]) -> RunFacets:
    """Create the facet of the flow's parameters, with secrets masked."""
    m = fv.execution_parameters_run
    items = [
        m.ExecutionParameter(name, name, value=redacted(name, value)[:MAX_VALUE])
        for name, value in values.items()
    ]
    return {"executionParameters": _facet(m.ExecutionParametersRunFacet, items)} if items else {}


@attr.define
class TaskFacet(fv.RunFacet):
    """A task's pathspec, the command that starts its flow, and its page."""

    pathspec: str
    program: str
    hasCard: bool
    url: str | None = None


def task(pathspec: str, program: str, ui: str | None, *, has_card: bool) -> RunFacets:
    """Create the facet of a task with its page in Metaflow's UI, if there is one."""
    url = f"{ui.rstrip('/')}/{pathspec}" if ui else None
    return {"metaflow_task": _facet(TaskFacet, pathspec, program, has_card, url)}


def tags(user: Iterable[str], system: Iterable[str]) -> RunFacets:
    """Create the facet of a run's tags: `a:b` and `a=b` have key a and value b, others `true`."""
    fields = [_tag(tag, "USER") for tag in sorted(user)]
    fields += [_tag(tag, "METAFLOW") for tag in sorted(system)]
    return {"tags": _facet(fv.tags_run.TagsRunFacet, fields)} if fields else {}


def _tag(tag: str, source: str) -> fv.tags_run.TagsRunFacetFields:
    """Return a tag of Metaflow as key and value; values of secret keys are masked."""
    pair = _TAG_WITH_VALUE.fullmatch(tag)
    key, value = pair.groups() if pair else (mask_text(tag), "true")
    name = "token" if key == "production" else key if pair else ""  # Metaflow's production token
    return fv.tags_run.TagsRunFacetFields(key, redacted(name, value), source)


def redacted(name: str, value: object) -> str:
    """Return a value as text, with secrets by name and passwords in URLs masked."""
    if _SECRET_NAME.search(name):
        return "***"
    if isinstance(value, dict):
        return str({key: redacted(str(key), item) for key, item in value.items()})
    return mask_text(str(value))


def job(kind: Literal["FLOW", "STEP", "QUERY"], owner: str | None = None) -> JobFacets:
    """Create the facets of a job's type and owner."""
    m = fv.ownership_job
    # The plain name, as Airflow's provider reports it, so that both report the same owner.
    owners = [m.Owner(owner, "MAINTAINER")] if owner else []
    return {
        "jobType": _facet(fv.job_type_job.JobTypeJobFacet, "BATCH", "METAFLOW", kind),
        **({"ownership": _facet(m.OwnershipJobFacet, owners)} if owners else {}),
    }


def sql(query: str, dialect: str | None) -> JobFacets:
    """Create the facet of a query's text."""
    return {"sql": _facet(fv.sql_job.SQLJobFacet, mask_text(query)[:MAX_CODE], dialect)}


def source(code: Any, location: Mapping[str, str], *, with_code: bool) -> JobFacets:
    """Create the facets of a class or function: source, docstring and git location.

    `code` is the class or function, `location` the fields of its git location, empty if unknown.
    """
    facets: JobFacets = {}
    try:
        text = textwrap.dedent(inspect.getsource(code)) if with_code else ""
    except (OSError, TypeError):  # typed in a notebook, or generated
        text = ""
    if text:
        text = mask_text(text)[:MAX_CODE]
        facets["sourceCode"] = _facet(fv.source_code_job.SourceCodeJobFacet, "python", text)
    if code.__doc__:
        facets["documentation"] = _facet(
            fv.documentation_job.DocumentationJobFacet,
            inspect.cleandoc(code.__doc__),
            contentType="text/plain",
        )
    if location:
        facets["sourceCodeLocation"] = _facet(
            fv.source_code_location_job.SourceCodeLocationJobFacet, **location
        )
    return facets


def lineage(stated: Mapping[tuple[str, str], Iterable[tuple[str, str]]]) -> JobFacets:
    """Create the facet of the inputs that feed each output (explicit lineage, experimental)."""
    return explicit_lineage(stated, PRODUCER)


def _dataset_facets(dataset: Dataset) -> dict[str, Any]:
    """Return the facets of a dataset that apply to it as an input and as an output."""
    facets: dict[str, Any] = dict(dataset.facets)
    if dataset.version:
        facets["version"] = _facet(
            fv.dataset_version_dataset.DatasetVersionDatasetFacet, dataset.version
        )
    if dataset.type:
        facets["datasetType"] = _facet(
            fv.dataset_type_dataset.DatasetTypeDatasetFacet, dataset.type
        )
    if dataset.layer:
        facets["storage"] = _facet(fv.storage_dataset.StorageDatasetFacet, dataset.layer)
    if dataset.fields:
        column = fv.schema_dataset.SchemaDatasetFacetFields
        columns = [column(*field) for field in dataset.fields[:MAX_FIELDS]]
        facets["schema"] = _facet(fv.schema_dataset.SchemaDatasetFacet, columns)
    if dataset.symlink:
        table = fv.symlinks_dataset.Identifier(*dataset.symlink, type="TABLE")
        facets["symlinks"] = _facet(fv.symlinks_dataset.SymlinksDatasetFacet, [table])
    return facets


def _input(dataset: Dataset) -> ev.InputDataset:
    """Return a dataset as an input of an event, with its statistics."""
    facet = fv.input_statistics_input_dataset.InputStatisticsInputDatasetFacet
    return ev.InputDataset(
        dataset.namespace,
        dataset.name,
        facets=_dataset_facets(dataset),
        inputFacets=_statistics("inputStatistics", facet, dataset),
    )


def _output(dataset: Dataset) -> ev.OutputDataset:
    """Return a dataset as an output of an event, with column lineage and commit report."""
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
    return {name: _facet(facet, rowCount=dataset.rows, size=dataset.size)}


def _column_lineage(dataset: Dataset) -> dict[str, Any]:
    """Return the columnLineage facet of a dataset: of its columns and of its rows."""
    m = fv.column_lineage_dataset
    columns = {
        column: m.Fields(_input_fields(sources))
        for column, sources in dataset.column_lineage.items()
    }
    rows = _input_fields(dataset.row_lineage)
    if not columns and not rows:
        return {}
    return {"columnLineage": _facet(m.ColumnLineageDatasetFacet, columns, rows)}


def _input_fields(sources: Iterable[ColumnSource]) -> list[fv.column_lineage_dataset.InputField]:
    """Return one entry per source column, with all its transformations."""
    m = fv.column_lineage_dataset
    transformations: dict[tuple[str, str, str], list[m.Transformation]] = {}
    for dataset, column, *subtypes in sources:
        of_column = transformations.setdefault((dataset.namespace, dataset.name, column), [])
        for subtype in subtypes:
            kind = "DIRECT" if subtype in get_args(Direct) else "INDIRECT"
            if (transformation := m.Transformation(kind, subtype)) not in of_column:
                of_column.append(transformation)
    return [m.InputField(*column, kinds) for column, kinds in transformations.items()]
