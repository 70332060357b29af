"""Import an export of DataHub: the datasets, jobs, runs and dashboards of its catalog.

Datasets become DatasetEvents with the datasets that they are derived from, jobs and dashboards
become JobEvents, and the runs of jobs RunEvents. A dbt model and the table that it builds are
siblings in DataHub, and one dataset here. Dependencies between jobs without data are left out.

Entities, aspects and URNs (ids of entities) are explained in `_datahub_file`. `_Pairs` maps a
source to pairs of a column and its source column.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from openlineage.client.event_v2 import (
    DatasetEvent,
    InputDataset,
    Job,
    JobEvent,
    OutputDataset,
    Run,
    RunEvent,
    RunState,
)
from openlineage.client.facet_v2 import job_type_job

from headwater.events import JobRef
from headwater.events.column_lineage import objects
from headwater.events.facets import EXPOSURE
from headwater.identity import DatasetName
from headwater.plugins.harvest._catalog_names import Namespaces
from headwater.plugins.harvest._datahub_file import (
    Aspect,
    Entity,
    by_type,
    column_of,
    dataset_of,
    edges_of,
    entities_of,
    field_of,
    flow_of,
    job_of,
    last_part,
)
from headwater.plugins.harvest._declared import Declared, dataset_event, job_event, portions_of
from headwater.plugins.harvest.events import run_id
from headwater.plugins.harvest.harvester import Cursor, Portion
from headwater.redaction import Redactor

log = logging.getLogger(__name__)

_PRODUCER = "https://github.com/datahub-project/datahub"
_PROD = "PROD"
_KINDS = ("dataset", "dataJob", "dataFlow", "dataProcessInstance", "chart", "dashboard")
_STATES = {"SUCCESS": "COMPLETE", "FAILURE": "FAIL", "SKIPPED": "ABORT"}
_Pairs = dict[DatasetName, set[tuple[str, str]]]


@dataclass(frozen=True, kw_only=True)
class DataHub:
    """Files that `datahub ingest` wrote with its file sink."""

    paths: list[Path]
    namespaces: Namespaces

    @property
    def source(self) -> str:
        """The files."""
        return f"datahub:{'|'.join(sorted(map(str, self.paths)))}"

    def harvest(
        self, cursor: Cursor, since: datetime | None, redactor: Redactor
    ) -> Iterator[Portion]:
        """Yield the events of all files, which are one export. Raises ConfigError.

        An export has no position, so `cursor` and `since` are not used; the caller drops known
        events.
        """
        entities: dict[str, Entity] = {}
        for path in self.paths:
            entities |= entities_of(path)
        changed = max(path.stat().st_mtime for path in self.paths)
        export = _Export(entities, self.namespaces, int(changed * 1000))
        yield from portions_of(export.events(), self.source, redactor)
        self.namespaces.warn()
        types = Counter(urn.removeprefix("urn:li:").partition(":")[0] for urn in entities)
        if left := [f"{types[kind]} {kind}" for kind in sorted(types.keys() - set(_KINDS))]:
            log.warning("Not imported, because they contain no lineage: %s", ", ".join(left))


class _Export:
    """An export; `changed` is the time of its file in milliseconds."""

    def __init__(self, entities: dict[str, Entity], namespaces: Namespaces, changed: int) -> None:
        self._entities = entities
        self._by_type = by_type(entities)
        self._namespaces = namespaces
        self._changed = changed

    def events(self) -> Iterator[DatasetEvent | JobEvent | RunEvent]:
        """Yield the events of all entities."""
        for entity in self._by_type["dataset"]:
            name = None if _is_ephemeral(entity) else self._name(entity.urn)
            if name is not None:
                sources = self._sources(entity.get("upstreamLineage"), name)
                at = self._time(entity.observed)
                yield dataset_event(name, _declared(entity), sources, at, _PRODUCER)
        for entity in (*self._by_type["dataFlow"], *self._by_type["dataJob"]):
            if (event := self._job_event(entity)) is not None:
                yield event
        for entity in self._by_type["dataProcessInstance"]:
            yield from self._runs(entity)
        for entity in (*self._by_type["chart"], *self._by_type["dashboard"]):
            yield self._exposure(entity)

    def _time(self, milliseconds: int) -> datetime:
        return datetime.fromtimestamp((milliseconds or self._changed) / 1000, UTC)

    @cached_property
    def _siblings(self) -> dict[str, str]:
        """The table that each dbt model builds.

        DataHub's server derives siblings from copies of dbt models; other exports have only these.

        Keys and values are URNs.
        """
        found: dict[str, str] = {}
        for entity in self._by_type["dataset"]:
            upstreams = objects(entity.get("upstreamLineage").get("upstreams"))
            copies = [item.get("dataset") for item in upstreams if item.get("type") == "COPY"]
            for other in (*(entity.get("siblings").get("siblings") or ()), *copies):
                by_is_dbt = {_platform(urn) == "dbt": str(urn) for urn in (entity.urn, other)}
                if len(by_is_dbt) == 2:  # exactly one of the two is of dbt
                    found[by_is_dbt[True]] = by_is_dbt[False]
        return found

    def _name(self, urn: object) -> DatasetName | None:
        """Return the name of a dataset by its URN; None for other URNs.

        The place that a user can map to a namespace is the platform, with the instance and the
        environment if these are set (`postgres.eu/DEV`).
        """
        urn = self._siblings.get(str(urn), str(urn))
        if (parts := dataset_of(urn)) is None:
            return None
        platform, name, environment = parts
        place = platform
        entity = self._entities.get(urn)
        instance = entity.get("dataPlatformInstance").get("instance") if entity else None
        if instance:
            own = str(instance).rstrip(")").rpartition(",")[2]
            name, place = name.removeprefix(f"{own}."), f"{platform}.{own}"
        if environment != _PROD:
            place = f"{place}/{environment}"
        return self._namespaces.of(place, platform, name)

    def _names(self, urns: Iterable[str]) -> list[DatasetName]:
        """Return names of datasets; an ephemeral dbt model is replaced by those that it reads."""
        found: dict[DatasetName, None] = {}
        waiting, seen = deque(urns), set[str]()
        while waiting:
            urn = waiting.popleft()
            entity = self._entities.get(urn)
            if entity is not None and _is_ephemeral(entity):
                upstreams = objects(entity.get("upstreamLineage").get("upstreams"))
                above = {str(item.get("dataset")) for item in upstreams} - seen
                seen |= above
                waiting.extend(sorted(above))
            elif (name := self._name(urn)) is not None:
                found[name] = None
        return list(found)

    def _sources(self, aspect: Aspect, own: DatasetName) -> _Pairs:
        """Return the sources of a dataset by an aspect with lineage of tables and columns."""
        upstreams = (str(item.get("dataset")) for item in objects(aspect.get("upstreams")))
        sources: _Pairs = {name: set() for name in self._names(upstreams) if name != own}
        for target, name, pair in self._columns(aspect):
            if target in (None, own) and name != own:
                sources.setdefault(name, set()).add(pair)
        return sources

    def _columns(
        self, aspect: Aspect
    ) -> Iterator[tuple[DatasetName | None, DatasetName, tuple[str, str]]]:
        """Yield the target, the source, and the columns of both.

        The target is None if its URN is not that of a dataset. Columns of ephemeral models are left
        out.
        """
        for edge in objects(aspect.get("fineGrainedLineages")):
            for below in filter(None, map(field_of, edge.get("downstreams") or ())):
                for above in filter(None, map(field_of, edge.get("upstreams") or ())):
                    entity = self._entities.get(above[0])
                    is_table = entity is None or not _is_ephemeral(entity)
                    source = self._name(above[0]) if is_table else None
                    if source is not None:
                        yield self._name(below[0]), source, (below[1], above[1])

    def _job_ref(self, urn: str) -> JobRef | None:
        """Return the job of a flow's or a task's URN; None for other URNs."""
        if (flow := flow_of(urn)) is not None:
            return JobRef(self._namespaces.of_jobs(flow[0]), flow[1])
        job = job_of(urn)
        flow_ref = self._job_ref(job[0]) if job else None
        if job is None or flow_ref is None:
            return None
        return JobRef(flow_ref.namespace, f"{flow_ref.name}.{job[1]}")

    def _job_event(self, entity: Entity) -> JobEvent | None:
        """Return the event that declares a flow or a job; None if its URN cannot be read."""
        ref = self._job_ref(entity.urn)
        if ref is None:
            return None
        aspect = entity.get("dataJobInputOutput")
        inputs = self._names(edges_of(aspect, "inputDatasets", "inputDatasetEdges"))
        written = self._names(edges_of(aspect, "outputDatasets", "outputDatasetEdges"))
        outputs: dict[DatasetName, _Pairs] = {name: {} for name in written}
        for target, source, pair in self._columns(aspect):
            if target in outputs:
                outputs[target].setdefault(source, set()).add(pair)
        is_flow = job_of(entity.urn) is None
        kind = _job_type(ref.namespace, "DAG" if is_flow else "TASK")
        at = self._time(entity.observed)
        return job_event(ref, _declared(entity), inputs, outputs, at, _PRODUCER, kind)

    def _runs(self, entity: Entity) -> Iterator[RunEvent]:
        """Yield the events of a run of a job, with the datasets of the run or else of the job.

        Events are in the order of their times; the result of a run determines its end.
        """
        template = str(entity.get("dataProcessInstanceRelationships").get("parentTemplate"))
        ref = self._job_ref(template)
        if ref is None:
            return
        job = self._entities.get(template, Entity(template)).get("dataJobInputOutput")
        own = entity.get("dataProcessInstanceInput").get("inputs")
        read = own or edges_of(job, "inputDatasets", "inputDatasetEdges")
        own = entity.get("dataProcessInstanceOutput").get("outputs")
        wrote = own or edges_of(job, "outputDatasets", "outputDatasetEdges")
        for item in sorted(entity.run_events, key=lambda item: str(item.get("timestampMillis"))):
            result = str((item.get("result") or {}).get("type"))
            state = "START" if item.get("status") == "STARTED" else _STATES.get(result, "OTHER")
            yield RunEvent(
                eventType=RunState(state),
                eventTime=self._time(int(item.get("timestampMillis") or 0)).isoformat(),
                producer=_PRODUCER,
                run=Run(run_id("datahub", entity.urn)),
                job=Job(*ref, {"jobType": _job_type(ref.namespace, "TASK")}),
                inputs=[InputDataset(*name) for name in self._names(read)],
                outputs=[OutputDataset(*name) for name in self._names(wrote)],
            )

    def _exposure(self, entity: Entity) -> JobEvent:
        """Return the event of a chart, or of a dashboard, which reads what its charts read."""
        tool, _, name = entity.urn.partition("(")[2].rstrip(")").partition(",")
        found = self._read_by(entity)
        for chart in edges_of(entity.get("dashboardInfo"), "charts", "chartEdges"):
            found += self._read_by(self._entities.get(chart, Entity(chart)))
        info = entity.get("dashboardInfo") or entity.get("chartInfo")
        declared = _declared(entity)
        declared.description = declared.description or str(info.get("title") or "")
        kind = _job_type(tool, EXPOSURE)
        at = self._time(entity.observed)
        ref = JobRef(self._namespaces.of_jobs(tool), name)
        return job_event(ref, declared, self._names(found), {}, at, _PRODUCER, kind)

    def _read_by(self, entity: Entity) -> list[str]:
        """Return the URNs of the datasets that a chart or a dashboard reads itself."""
        charts = edges_of(entity.get("chartInfo"), "inputs", "inputEdges")
        return [*charts, *edges_of(entity.get("dashboardInfo"), "datasets", "datasetEdges")]


def _is_ephemeral(entity: Entity) -> bool:
    """Return True for a model of dbt that is a part of other queries, not a table."""
    properties = entity.get("datasetProperties").get("customProperties") or {}
    return _platform(entity.urn) == "dbt" and properties.get("materialization") == "ephemeral"


def _platform(urn: object) -> str | None:
    parts = dataset_of(urn)
    return parts[0] if parts else None


def _job_type(integration: str, kind: str) -> job_type_job.JobTypeJobFacet:
    return job_type_job.JobTypeJobFacet("BATCH", integration.upper(), kind, producer=_PRODUCER)


def _declared(entity: Entity) -> Declared:
    """Return the descriptions, owners, tags and columns of an entity; edits take precedence."""
    texts: dict[str, str] = defaultdict(str)
    tags = [(tag, None) for tag in _tags(entity.aspects)]
    columns: dict[str, tuple[str, str]] = {}
    column_tags: list[tuple[str, str | None]] = []
    fields = objects(entity.get("schemaMetadata").get("fields"))
    edited = objects(entity.get("editableSchemaMetadata").get("editableSchemaFieldInfo"))
    for item in fields:
        column = column_of(str(item.get("fieldPath")))
        columns[column] = (
            str(item.get("nativeDataType") or ""),
            str(item.get("description") or ""),
        )
    for item in edited:
        column = column_of(str(item.get("fieldPath")))
        if column in columns and item.get("description"):
            columns[column] = (columns[column][0], str(item["description"]))
    for item in (*fields, *edited):
        column = column_of(str(item.get("fieldPath")))
        column_tags += ((tag, column) for tag in _tags(item))
    for name in ("Properties", "Info"):
        for aspect, content in entity.aspects.items():
            if aspect.endswith(name) and content.get("description"):
                texts[aspect] = str(content["description"])
    edits = [text for aspect, text in texts.items() if aspect.startswith("editable")]
    kinds = entity.get("subTypes").get("typeNames") or [""]
    owners = objects(entity.get("ownership").get("owners"))
    return Declared(
        description=next(iter([*edits, *texts.values()]), ""),
        owners=list(dict.fromkeys(last_part(owner.get("owner")) for owner in owners)),
        tags=list(dict.fromkeys([*tags, *column_tags])),
        columns=columns,
        kind=str(kinds[0]).upper(),
    )


def _tags(part: Aspect) -> list[str]:
    """Return the names of the tags and the glossary terms of an entity or a field."""
    tags = objects((part.get("globalTags") or {}).get("tags"))
    terms = objects((part.get("glossaryTerms") or {}).get("terms"))
    urns = [*(item.get("tag") for item in tags), *(item.get("urn") for item in terms)]
    return [last_part(urn) for urn in urns]
