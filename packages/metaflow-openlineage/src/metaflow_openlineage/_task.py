"""The lineage of one attempt of a task, in the process that runs it.

In Metaflow, a *run* of a flow has *tasks*, one or more per step; a task that fails is tried again
(an *attempt*). A *store* is the datastore of an attempt; it has artifacts by name, each with the
hash (`sha`) of its content. A *resumed* run copies the tasks of another run that succeeded
(clones). The *launcher* is the process that starts a process for each attempt. Functions marked
`harmless` return None after an error, which becomes a warning: lineage must not break a flow.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from metaflow.metadata_provider.metadata import MetaDatum
from metaflow.metaflow_config import UI_URL
from metaflow.metaflow_current import current
from metaflow.util import get_username

from headwater_client import RunRef
from headwater_client.capture import Capture

from . import _facets as facets
from ._artifacts import (
    MAX_COMPARED_BYTES,
    InMemory,
    Options,
    Stored,
    WatchedStore,
    equal_content,
    read_and_written,
    stored_in,
)
from ._captured import Lineage, captured_queries, datasets_of, with_captured
from ._dataset import Dataset
from ._emit import Emitter
from ._helpers import Query
from ._names import FlowNames, instant_of
from ._report import harmless
from ._settings import Settings
from ._stated import Name, stated_sources

ENDED = "openlineage-ended-{attempt}"  # task metadata: the attempt's end was emitted
LOCATION = "METAFLOW_OPENLINEAGE_LOCATION"  # passes the launcher's git location to its tasks


@dataclass
class TaskRun:
    """The lineage of one attempt: its facets, inputs, outputs and end."""

    settings: Settings
    options: Options
    flow: Any
    flow_datastore: Any
    run_id: str
    step: str
    task_id: str
    attempt: int
    store: Any  # the task datastore being written
    upstream: list[Any]  # the task datastores of the upstream tasks
    inputs: list[Dataset] = field(default_factory=list)
    outputs: list[Dataset] = field(default_factory=list)
    error: BaseException | None = None

    def __post_init__(self) -> None:
        """Compute the names of the attempt; nothing is sent yet.

        `_loads` has the loaded artifacts by name and sha, `_assigned` those at the end by name, and
        `_queries` the number of repetitions of each query.
        """
        settings = self.settings
        self.names = FlowNames(settings.namespace, self.flow.name, self.run_id, settings.branch)
        self.ref = self.names.attempt(self.step, self.task_id, self.attempt)
        self.root = self.settings.root or self.names.flow_run()
        self.metadata = self.flow_datastore.metadata
        deployment = settings.deployment or deployment_of(self.metadata)
        branch = f".{settings.branch}" if settings.branch else ""
        self.artifact_namespace = f"metaflow://{deployment}{branch}"
        self._emitter = Emitter(self.settings.timeout)
        self._loads: dict[tuple[str, str], InMemory] = {}
        self._assigned: dict[str, InMemory] = {}
        self._queries: dict[str, int] = {}
        self._consumed: list[Dataset] = []  # inputs of queries that have outputs
        self.capture = Capture(includes_nested=True)
        self.tables: dict[Name, Dataset] = {}  # declared tables, by their locations
        self._run_facets: facets.RunFacets = {}
        self._job_facets: facets.JobFacets = {}

    def start(self, node: Any) -> None:
        """Emit START and start to watch artifacts; `node` is the step in Metaflow's graph."""
        upstream = [store for store in self.upstream if store.step_name != "_parameters"]
        downstream = [
            (self.names.job_namespace, f"{self.names.flow}.{step}") for step in node.out_funcs
        ]
        parameters = parameter_values(self.flow, self.upstream[0]) if self.upstream else {}
        code = getattr(type(self.flow), self.step)
        self._run_facets = {
            **facets.parent(self.names.flow_run(), self.root),
            **facets_of_run(self.settings, self.run_id, self.metadata),
            **facets.dependencies(map(self._producing_attempt, upstream), downstream),
            **facets.parameters(parameters),
            **self._task_facet(code),
        }
        location = json.loads(os.environ.get(LOCATION, "{}"))
        self._job_facets = {
            **facets.job("STEP", owner()),
            **facets.source(code, location, with_code=self.settings.source_code),
        }
        self.watch(self.flow)
        self._watch_persist()
        self._emit("START", self.ref, self._run_facets, self._job_facets)

    def _task_facet(self, code: Any) -> facets.RunFacets:
        pathspec = "/".join((self.flow.name, self.run_id, self.step, self.task_id))
        program = self.settings.program or f"python {Path(sys.argv[0]).name}"
        decorators = {decorator.name for decorator in code.decorators}
        return facets.task(pathspec, program, UI_URL, has_card="card" in decorators)

    def _emit(self, *event: Any) -> None:
        self._emitter.emit(facets.run_event(*event))

    def _producing_attempt(self, store: Any) -> RunRef:
        """Return the attempt that produced an upstream task's data.

        A resumed run clones tasks, also those of a resumed run: the metadata of a clone names its
        origin.
        """
        step, run_id, task_id = store.step_name, str(store.run_id), str(store.task_id)
        while current.origin_run_id:
            metadata = metadata_of(self.metadata, self.names.flow, run_id, step, task_id)
            if "origin-task-id" not in metadata:
                break
            run_id, task_id = metadata["origin-run-id"], metadata["origin-task-id"]
            store = self.flow_datastore.get_task_datastore(run_id, step, task_id)
        return replace(self.names, run_id=run_id).attempt(step, task_id, store.attempt or 0)

    def watch(self, flow: Any) -> None:
        """Record the artifacts that are loaded from a flow object."""
        flow._set_datastore(WatchedStore(flow._datastore, self._loads, self._dataset_of))

    def _dataset_of(self, name: str, store: Any) -> Name | None:
        is_dataset = self.options.is_dataset(name, stored_in(store)[name].type)
        return (self.artifact_namespace, f"{self.names.flow}/{name}") if is_dataset else None

    def _watch_persist(self) -> None:
        """Record the flow's artifacts just before Metaflow stores and drops them.

        If storing fails, the end of the attempt is emitted.
        """
        persist = self.store.persist

        def watched(flow: Any) -> None:
            self._record_assigned()
            try:
                persist(flow)
            except Exception as error:
                self.end(ok=False, error=self.error or error)
                raise

        self.store.persist = watched

    @harmless
    def _record_assigned(self) -> None:
        names = [name for name in vars(self.flow) if not name.startswith("_")]
        self._assigned = {name: InMemory.of(vars(self.flow)[name]) for name in names}

    @harmless
    def end(self, *, ok: bool | None, error: BaseException | None = None) -> None:
        """Emit the end of the attempt with inputs and outputs, and record it in the metadata.

        `ok` is True if the step succeeded; otherwise, it wrote no artifact. The launcher reads in
        the metadata that the end was emitted.
        """
        state = "COMPLETE" if ok else facets.end_state(error)
        read, written = self._artifacts() or ([], [])
        run_facets = {**self._run_facets, **facets.error(error)}
        captured = with_captured(
            self.capture,
            self.tables,
            Lineage(
                [*read, *self.inputs], [*(written if ok else ()), *self.outputs], self._consumed
            ),
        )
        if ok:
            self._emit_captured_queries()
        sides = captured.inputs, captured.filled, captured.consumed
        stated = stated_sources(*sides, captured.read_back)
        job_facets = {**self._job_facets, **facets.lineage(stated)}
        inputs = [*captured.inputs, *captured.consumed]
        self._emit(state, self.ref, run_facets, job_facets, inputs, captured.marked())
        self._emitter.close()
        datum = MetaDatum(
            ENDED.format(attempt=self.attempt),
            self.ref.run_id,
            "openlineage",
            [f"attempt_id:{self.attempt}"],
        )
        self.metadata.register_metadata(self.run_id, self.step, self.task_id, [datum])

    @harmless
    def _emit_captured_queries(self) -> None:
        """Emit the runs of the SQL texts that libraries ran."""
        for query in captured_queries(self.capture):
            name = query.name
            nth = self._queries[name] = self._queries.get(name, -1) + 1
            ref = self.names.query(self.step, self.task_id, self.attempt, name, nth)
            about = facets.parent(self.ref, self.root), {**facets.job("QUERY"), **query.facets}
            datasets = query.inputs, query.outputs
            self._emit("START", ref, *about, *datasets, query.start)
            self._emit("COMPLETE", ref, *about, *datasets, query.end)

    @harmless
    def _artifacts(self) -> tuple[list[Dataset], list[Dataset]]:
        """Return the artifacts that the step read and wrote, as datasets; None after an error.

        Parameters are no datasets. `_loads` and `_assigned` describe the values in memory.
        """
        parameters = {name for name, _ in self.flow._get_parameters()}
        stored = {k: v for k, v in stored_in(self.store).items() if k not in parameters}
        upstream: dict[str, dict[str, Stored]] = {}
        for store in self.upstream:
            for name, content in stored_in(store).items():
                upstream.setdefault(name, {})[content.sha] = content
        loads, assigned = self._loads, self._assigned
        read, written = read_and_written(upstream, loads, assigned, stored, self._unchanged)
        inputs = ((key[0], replace(upstream[key[0]][key[1]], in_memory=loads[key])) for key in read)
        outputs = ((name, replace(stored[name], in_memory=assigned.get(name))) for name in written)
        return list(self._datasets(inputs)), list(self._datasets(outputs))

    def _datasets(self, artifacts: Iterator[tuple[str, Stored]]) -> Iterator[Dataset]:
        """Yield artifacts as datasets; their names are per flow, their versions by content."""
        for name, artifact in artifacts:
            if self.options.is_dataset(name, artifact.type):
                identity = (self.artifact_namespace, f"{self.names.flow}/{name}", artifact.sha)
                in_memory, kind = artifact.in_memory or InMemory(0), self.options.dataset_type(name)
                origin = None if in_memory.origin is None else datasets_of(in_memory.origin)
                columns = in_memory.fields, in_memory.rows, artifact.size
                yield Dataset(*identity, kind, *columns, sources=origin)

    def _unchanged(self, name: str, sha: str) -> bool:
        """Compare an artifact before and after the step, unless it is too large."""
        origin = self._loads[name, sha].store
        if (stored_in(origin)[name].size or 0) > MAX_COMPARED_BYTES:
            return True
        return equal_content(origin[name], self.store[name])

    @harmless
    def start_query(
        self, sql: str, name: str, dialect: str | None, query: Query
    ) -> Callable[[BaseException | None], None]:
        """Emit a query's START; return a function that emits its end.

        `query` may get further datasets until then. Those of a failed query are not those of the
        step.
        """
        nth = self._queries[name] = self._queries.get(name, -1) + 1
        ref = self.names.query(self.step, self.task_id, self.attempt, name, nth)
        run_facets = facets.parent(self.ref, self.root)
        job_facets = {**facets.job("QUERY"), **facets.sql(sql, dialect)}

        @harmless
        def end(error: BaseException | None) -> None:
            state = facets.end_state(error) if error else "COMPLETE"
            if not error:
                self._add_query(query)
            facets_at_end = {**run_facets, **facets.error(error)}
            self._emit(state, ref, facets_at_end, job_facets, query.inputs, query.outputs)

        self._emit("START", ref, run_facets, job_facets, query.inputs, query.outputs)
        return end

    def _add_query(self, query: Query) -> None:
        """Add the inputs and outputs of a query to the step; its outputs depend on its inputs.

        Inputs of a query with outputs (`_consumed`) feed only these outputs, not the other outputs
        of the step. Outputs with declared sources keep them.
        """
        if not query.outputs:
            self.inputs += query.inputs
            return
        self._consumed += query.inputs
        sources = tuple(query.inputs)
        self.outputs += [
            output
            if output.sources is not None or not sources
            else replace(output, sources=sources)
            for output in query.outputs
        ]


def metadata_of(metadata: Any, flow: str, run_id: str, step: str, task_id: str) -> dict[str, str]:
    """Return Metaflow's metadata of one task."""
    items = metadata.get_object("task", "metadata", {}, None, flow, run_id, step, task_id)
    return {item["field_name"]: str(item["value"]) for item in items or ()}


def deployment_of(metadata: Any) -> str:
    """Return `local`, or the host of the metadata service."""
    if metadata.TYPE == "local":
        return "local"
    return urlsplit(metadata.default_info()).netloc or str(metadata.TYPE)


def facets_of_run(settings: Settings, run_id: str, metadata: Any) -> facets.RunFacets:
    """Return the facets shared by a flow's run and its tasks: nominal time and tags."""
    instant = instant_of(run_id)
    time = settings.nominal_time or (instant.isoformat() if instant else None)
    system = {*metadata.sticky_sys_tags, f"run_id:{run_id}"}
    tags = facets.tags(metadata.sticky_tags, system)
    return facets.nominal_time(time) | tags


def owner() -> str | None:
    """Return the owner of the run: the user; on a scheduler, the user who deployed the flow."""
    user: Callable[[], str | None] = get_username
    return os.environ.get("METAFLOW_OWNER") or user()


def parameter_values(flow: Any, store: Any) -> dict[str, object]:
    """Return the flow's parameters and configs stored with a task, without included files."""
    stored = stored_in(store)
    names = [name for name, _ in flow._get_parameters() if name in stored]
    return {name: store[name] for name in names if "IncludedFile" not in stored[name].type}
