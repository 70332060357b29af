"""Add what a capture recorded to the events of a run. Importing this loads openlineage-python.

A capture has the datasets that were read, *consumed* (read only by queries that wrote tables) and
written. The sources of a written one are None if they are unknown.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import attr
from openlineage.client.event_v2 import InputDataset, OutputDataset
from openlineage.client.facet_v2 import (
    DatasetFacet,
    JobFacet,
    dataset_version_dataset,
    lifecycle_state_change_dataset,
    schema_dataset,
    source_code_job,
    sql_job,
)

from headwater_client.capture import Capture, Captured, CapturedQuery
from headwater_client.events import PRODUCER, ReportedRun
from headwater_client.masking import mask_text
from headwater_client.parents import RunRef
from headwater_client.stated import Name, stated_sources

_MOST_COLUMNS = 2_000  # in one event
_LONGEST_TEXT = 50_000


@attr.define
class CoarseLineageFacet(DatasetFacet):
    """States that the sources of an output are all inputs of its run that may feed it."""

    isCoarse: bool = True


@attr.define
class ReadBackFacet(DatasetFacet):
    """States that a run wrote all rows of an output before it read the output."""

    isReadBack: bool = True


@attr.define
class ExplicitLineageFacet(JobFacet):
    """The facet `lineage` of a job; openlineage-python 1.52 has no class for it."""

    entries: list[dict[str, Any]]

    @staticmethod
    def _get_schema() -> str:
        return "https://openlineage.io/spec/facets/1-0-0/LineageFacet.json#/$defs/LineageJobFacet"


def with_captured(run: ReportedRun, capture: Capture) -> ReportedRun:
    """Return the run with the datasets that were captured; declared ones take precedence.

    Explicit lineage states the sources of each output: inputs, and other outputs that the run read
    back. An output whose sources are unknown gets the facet of `coarse_facet`: anything that was
    read before may feed it. One that is a source gets that of `read_back_facet` if all of its rows
    are from this run.
    """
    declared_inputs = [(item.namespace, item.name) for item in run.inputs]
    declared_outputs = [(item.namespace, item.name) for item in run.outputs]
    reads, consumed = capture.reads, capture.consumed
    inputs = [item.key for item in reads] + declared_inputs
    known = {*inputs, *(item.key for item in consumed)}
    captured = sources_of_writes(capture, inputs, known)
    outputs: list[tuple[Name, tuple[Name, ...] | None]]
    outputs = [(name, None) for name in declared_outputs]
    outputs += [(item.key, sources) for item, (sources, _) in captured.items()]
    read_back = _read_back(capture, captured)
    stated = stated_sources(inputs, outputs, [item.key for item in consumed], read_back)
    inner = {name for sources in stated.values() for name in sources if name not in known}
    fields = _Columns()
    new_inputs = [
        InputDataset(*item.key, facets=fields.facets(item))
        for item in (*reads, *consumed)
        if item.key not in declared_inputs
    ]

    def facets(item: Captured) -> dict[str, Any]:
        _, is_coarse = captured.get(item, ((), False))
        is_own = item.key in inner and capture.has_own_rows(item.key)
        return {
            **fields.facets(item),
            **change_facet(item),
            **(coarse_facet() if is_coarse else {}),
            **(read_back_facet() if is_own else {}),
        }

    new_outputs = [
        OutputDataset(*item.key, facets=facets(item))
        for item in capture.writes
        if item.key not in declared_outputs
    ]
    return replace(
        run,
        inputs=[*run.inputs, *new_inputs],
        outputs=[*run.outputs, *new_outputs],
        job_facets={**run.job_facets, **explicit_lineage(stated)},
    )


def sources_of_writes(
    capture: Capture, inputs: Iterable[Name], known: Collection[Name]
) -> dict[Captured, tuple[tuple[Name, ...], bool]]:
    """Return the sources of the datasets that received rows or a new name.

    The second value is True if the sources are only possible ones, because they are unknown.
    `known` are the datasets that the run lists as inputs, `inputs` those of them that were not only
    read by queries that wrote tables. A source may be another output, unless a query passed it on:
    the run of the query states this edge.
    """
    written = [item for item in capture.writes if item.has_rows or item.former]
    outputs = {item.key for item in written}
    passed = {
        (source.key, target.key)
        for query in capture.queries
        for source in query.inputs
        for target in query.targets
    }
    read_back = _read_back(capture, written)
    found: dict[Captured, tuple[tuple[Name, ...], bool]] = {}
    for item in written:

        def is_source(name: Name, target: Name = item.key) -> bool:
            return name in known or (name != target and (name, target) not in passed)

        sources = capture.sources_of(item, {*outputs, *known})
        is_coarse = sources is None
        if sources is None:
            before = capture.read_before(item, [*known, *read_back])
            is_coarse = any(map(is_source, before))
            sources = capture.read_before(item, [*inputs, *read_back])
        found[item] = tuple(filter(is_source, dict.fromkeys(sources))), is_coarse
    return found


def _read_back(capture: Capture, written: Iterable[Captured]) -> list[Name]:
    """Return the outputs that were read after they were written, without those dropped since."""
    names = {item.key for item in written}
    return [name for name in capture.read_back if name in names]


def change_facet(item: Captured, producer: str = PRODUCER) -> dict[str, DatasetFacet]:
    """Return the facet of a dataset that a run dropped, emptied, renamed or overwrote."""
    if item.change is None:
        return {}
    module = lifecycle_state_change_dataset
    former = None
    if item.former is not None:
        namespace, name = item.former
        former = module.PreviousIdentifier(name=name, namespace=namespace)
    kind = module.LifecycleStateChange(item.change)
    facet = module.LifecycleStateChangeDatasetFacet(kind, former, producer=producer)
    return {"lifecycleStateChange": facet}


def coarse_facet(producer: str = PRODUCER) -> dict[str, Any]:
    """Return the facet of an output whose sources are not known exactly."""
    return {"headwater_coarseLineage": CoarseLineageFacet(producer=producer)}


def read_back_facet(producer: str = PRODUCER) -> dict[str, Any]:
    """Return the facet of an output that its run read only after it wrote all of its rows."""
    return {"headwater_readBack": ReadBackFacet(producer=producer)}


def query_runs(
    parent: ReportedRun, capture: Capture
) -> Iterator[tuple[ReportedRun, datetime, datetime | None]]:
    """Yield the runs of the captured SQL texts, children of a run, with their starts and ends.

    The job of a text is named by its hash, so that equal texts are one job. `parents` of a run are
    its parent and the root of its tree. The end of a query that was only built is unknown (None),
    because it may run at any time.
    """
    root = parent.parents[1] if parent.parents else parent.ref
    for query in capture.queries:
        digest = hashlib.sha256(query.sql.encode()).hexdigest()[:8]
        ref = RunRef.new(parent.ref.namespace, f"{parent.ref.job}.query_{digest}")
        fields = _Columns()
        yield (
            ReportedRun(
                ref=ref,
                integration=parent.integration,
                job_type="QUERY",
                parents=(parent.ref, root),
                language=parent.language,
                inputs=[InputDataset(*i.key, facets=fields.facets(i)) for i in query.inputs],
                outputs=[
                    OutputDataset(*item.key, facets={**fields.facets(item), **change_facet(item)})
                    for item in query.targets
                ],
                run_facets=parent.run_facets,
                job_facets=text_facets(query),
            ),
            query.at,
            query.ended,
        )


def text_facets(query: CapturedQuery) -> dict[str, JobFacet]:
    """Return the text of a query: as SQL if the server can read it, or else as source code."""
    text = mask_text(query.sql)[:_LONGEST_TEXT]
    if query.is_readable:
        return {"sql": sql_job.SQLJobFacet(text, query.dialect, producer=PRODUCER)}
    return {"sourceCode": source_code_job.SourceCodeJobFacet("sql", text, producer=PRODUCER)}


class _Columns:
    """Creates the facets of datasets, with a limit on the columns of an event."""

    def __init__(self) -> None:
        self._left = _MOST_COLUMNS

    def facets(self, item: Captured) -> dict[str, Any]:
        """Return the facets of a dataset: its version, and its columns while some are left."""
        facets: dict[str, Any] = {}
        if item.version:
            facets["version"] = dataset_version_dataset.DatasetVersionDatasetFacet(
                item.version, producer=PRODUCER
            )
        if item.fields and len(item.fields) <= self._left:
            self._left -= len(item.fields)
            columns = [schema_dataset.SchemaDatasetFacetFields(*column) for column in item.fields]
            facets["schema"] = schema_dataset.SchemaDatasetFacet(columns, producer=PRODUCER)
        return facets


def explicit_lineage(
    stated: Mapping[Name, Iterable[Name]], producer: str = PRODUCER
) -> dict[str, JobFacet]:
    """Return the facet `lineage` with the sources of each output; empty without outputs."""
    entries = [
        {**_entity(target), "inputs": [_entity(source) for source in sources]}
        for target, sources in stated.items()
    ]
    return {"lineage": ExplicitLineageFacet(entries, producer=producer)} if entries else {}


def _entity(name: Name) -> dict[str, Any]:
    namespace, dataset = name
    return {"namespace": namespace, "name": dataset, "type": "DATASET"}
