"""Import the last run of a dbt project from target/: run_results, manifest and catalog.

The events are created by openlineage-integration-common, the library of dbt-ol, so that both use
the same names. These things differ: run ids are those that dbt-ol reported to the same target, or
else derived from the invocation instead of random; seeds and snapshots, which the library omits,
are inputs of models, and seeds are runs that load their file; an ephemeral model is replaced with
the tables that its query reads; tables and columns have the tags of the project; exposures are
jobs; failed runs have dbt's message; and the checks of `dbt source freshness` are runs of tests.

A node is a model, seed, snapshot or test of dbt, by its unique id. `run_results.json` has the
results of the last command, `manifest.json` the project, and `catalog.json` the columns of tables.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import attrs
import orjson
from openlineage.client.event_v2 import (
    Dataset,
    InputDataset,
    JobEvent,
    OutputDataset,
    RunEvent,
    RunState,
)
from openlineage.client.facet_v2 import error_message_run, tags_run
from openlineage.common.provider.dbt import DbtLocalArtifactProcessor, ParentRunMetadata
from openlineage.common.provider.dbt.facets import DbtExposuresDatasetFacet
from openlineage.common.provider.dbt.processor import ModelNode

from headwater.collect.lines import Lines
from headwater.datasets.project import PROJECT
from headwater.errors import ConfigError, HeadwaterError
from headwater.events import JobRef, parse_time
from headwater.plugins.harvest._freshness import (
    freshness_runs,
    is_only_freshness,
    read_freshness,
    run_results,
)
from headwater.plugins.harvest._manifest import (
    Artifact,
    assertions_of,
    check_results,
    correct_test,
    definitions,
    empty_facet,
    exposure_event,
    omitted_table,
    project_facet,
    same_columns,
    skipped_event,
    table_config,
    tables_above,
    tags_of,
    with_config,
)
from headwater.plugins.harvest._processor import Processor, check_command, is_skipped, is_test
from headwater.plugins.harvest._references import Options, referring_options
from headwater.plugins.harvest._run_ids import RunIds
from headwater.plugins.harvest.events import FinishedRun, to_json
from headwater.plugins.harvest.harvester import Cursor, Portion, RunsOf
from headwater.redaction import Redactor
from headwater_client.events import PRODUCER
from headwater_client.parents import RunRef

log = logging.getLogger(__name__)

_FAILED = {"error", "fail", "runtime error"}
_AT_ONCE = 200

AnyDataset = TypeVar("AnyDataset", bound=Dataset)


@dataclass(frozen=True, kw_only=True)
class Dbt:
    """A dbt project; `target_path`, `profile` and `target` are dbt's options of that name."""

    project: Path
    target_path: Path | None
    profiles: Path | None
    profile: str | None
    target: str | None
    namespace: str
    runs_of: RunsOf | None = None

    def joining(self, runs_of: RunsOf) -> Dbt:
        """Return the project with a function that finds the runs that dbt-ol reported."""
        return replace(self, runs_of=runs_of)

    @property
    def source(self) -> str:
        """The project's folder, its artifacts' folder and the namespace."""
        return f"dbt:{self.project}:{self.target_path or ''}:{self.namespace}"

    def harvest(
        self, cursor: Cursor, since: datetime | None, redactor: Redactor
    ) -> Iterator[Portion]:
        """Yield the events of the last invocation, unless it is imported.

        Raises:
            ConfigError: the project or its artifacts cannot be read.
            HeadwaterError: the last invocation ran nothing, such as `dbt docs generate`.

        The cursor is the id of the invocation and the time of the catalog; equal ones were
        imported.
        """
        try:
            yield from self._portions(cursor, redactor)
        except HeadwaterError:
            raise
        except Exception as error:  # the library raises any error if a file of dbt is malformed
            log.debug("harvest dbt failed", exc_info=True)
            reason = error.__cause__ or error
            raise ConfigError(
                f"{self.project}: cannot read dbt's artifacts or profile: {reason!r}. Run dbt again"
                " if a file in its target folder is incomplete"
            ) from None

    def _portions(self, cursor: Cursor, redactor: Redactor) -> Iterator[Portion]:
        """Yield the events in portions; the last one has the new cursor. Raises ConfigError."""
        processor = self._processor()
        try:
            freshness = read_freshness(Path(processor.run_result_path).parent)
            results = run_results(Path(processor.run_result_path), freshness)
            new_cursor = {"invocation": results["metadata"]["invocation_id"]}
            path = Path(processor.catalog_path)
            catalog: Artifact = orjson.loads(path.read_bytes()) if path.exists() else {}
            if catalog:
                new_cursor["catalog"] = catalog["metadata"]["generated_at"]
            if freshness:
                new_cursor["freshness"] = freshness["metadata"]["invocation_id"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            reason = error.strerror if isinstance(error, OSError) else repr(error)
            raise ConfigError(
                f"{processor.run_result_path}: {reason}: dbt writes this file when it runs. Check"
                f" the project folder {self.project} and --target-path"
            ) from None
        check_results(results, processor.run_result_path)
        if not is_only_freshness(results):
            check_command(processor.run_result_path, results)
        if new_cursor == cursor:
            return
        # The library only knows the target of the profile.
        processor.target = processor.target or (results.get("args") or {}).get("target")
        stored_runs = self.runs_of(new_cursor["invocation"]) if self.runs_of else ()
        ids = RunIds(new_cursor["invocation"], stored_runs)
        invocation = _Invocation(processor, results, catalog, self.project, self.namespace, ids)
        lines = Lines(redactor)
        for event in chain(invocation.events(), invocation.freshness(freshness)):
            lines.add(to_json(event), str(processor.run_result_path))
            if len(lines.entries) >= _AT_ONCE:
                yield Portion(lines, cursor)
                lines = Lines(redactor)
        yield Portion(lines, new_cursor)

    def _processor(self) -> DbtLocalArtifactProcessor:
        """Return the library's reader of the artifacts.

        Raises ConfigError if there is no project.
        """
        more = ["--profiles-dir", str(self.profiles)] if self.profiles else []
        try:
            processor = Processor(
                producer=PRODUCER,
                job_namespace=self.namespace,
                project_dir=str(self.project),
                dbt_command_line=more,
                profile_name=self.profile,
                target=self.target,
                target_path=str(self.target_path) if self.target_path else None,
            )
            processor.project = self.project
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise ConfigError(f"{self.project}: not a dbt project: {error}") from None
        return processor


class _Invocation:
    """One run of dbt, from whose artifacts the events are made.

    `results` and `catalog` are the parsed artifacts of that name; `project` is the folder of the
    project, `namespace` that of the jobs, and `ids` makes the ids of runs.
    """

    def __init__(
        self,
        processor: DbtLocalArtifactProcessor,
        results: Artifact,
        catalog: Artifact,
        project: Path,
        namespace: str,
        ids: RunIds,
    ) -> None:
        """Take the processor of openlineage-dbt and the artifacts that it does not read."""
        self._processor = processor
        self._results = results
        self._catalog = {**catalog.get("nodes", {}), **catalog.get("sources", {})}
        self._messages: dict[str, str] = {
            result["unique_id"]: (result.get("message") or "").strip()
            for result in results["results"]
        }
        self._project = project
        self._ids = ids
        job = JobRef(namespace, str(processor.job_name))
        self._ref = RunRef(*job, ids.of(job))
        self._ids_by_library: dict[str, str] = {}
        self._datasets: dict[str, Dataset] = {}
        names = {"job_namespace": namespace, "job_name": self._ref.job, "run_id": self._ref.run_id}
        processor.dbt_run_metadata = ParentRunMetadata(
            **names, **{f"root_parent_{key}": value for key, value in names.items()}
        )

    def events(self) -> Iterator[RunEvent | JobEvent]:
        """Yield the events of the invocation and its nodes, and of exposures and semantic models.

        Skipped models have no runs: events declare their jobs, which may never have run.
        """
        events: list[RunEvent] = self._processor.parse().events()
        if is_only_freshness(self._results):
            return
        yield from self._invocation_run().events()
        for event in events:
            yield self._completed(event)
        for run in (*self._seed_runs(), *self._check_runs()):
            yield from run.events()
        at = parse_time(self._results["metadata"]["generated_at"])
        for result in self._results["results"]:
            node = result["unique_id"]
            is_built = node in self._tables and not node.startswith("seed.")
            if is_skipped(result) and is_built:
                output, above = self._dataset(node), self._tables_above(node)
                yield skipped_event(self._ref.namespace, self._manifest, node, above, output, at)
        models = self._manifest.get("semantic_models", {})
        named = {node: {**model, "type": "semantic model"} for node, model in models.items()}
        for node, exposure in {**self._manifest.get("exposures", {}), **named}.items():
            yield exposure_event(self._ref.namespace, exposure, self._tables_above(node), at)

    def freshness(self, results: Artifact) -> Iterator[RunEvent]:
        """Yield the events of the checks of sources; call `events` first."""
        runs = freshness_runs(results, self._manifest, self._ref.namespace, self._dataset)
        for run in runs:
            yield from run.events()

    @property
    def _manifest(self) -> Artifact:
        manifest: Artifact = self._processor.manifest
        return manifest

    @cached_property
    def _tables(self) -> dict[str, Artifact]:
        return definitions(self._manifest)

    @cached_property
    def _references(self) -> dict[str, Options]:
        return referring_options(self._manifest, self._tables)

    @cached_property
    def _nodes(self) -> dict[tuple[str, str], str]:
        """The unique id of each table, by its namespace and name."""
        datasets = {node: self._dataset(node) for node in self._tables}
        return {(item.namespace, item.name): node for node, item in datasets.items()}

    def _completed(self, event: RunEvent) -> RunEvent:
        """Return an event of the library with what it omits: see the docstring of the module."""
        facets: Any = event.job.facets
        node = facets["dbt_node"].unique_id
        run = attrs.evolve(event.run, runId=self._run_id(event))
        is_test = facets["jobType"].jobType == "TEST"
        is_start = event.eventType == RunState.START
        inputs = (event.inputs or []) if is_test else self._inputs(node, event.inputs or [])
        if not is_test:
            run = attrs.evolve(run, facets={**(run.facets or {}), **empty_facet(self._results)})
        if event.eventType == RunState.FAIL and (message := self._message(event, node)):
            error = error_message_run.ErrorMessageRunFacet(message, "SQL", producer=PRODUCER)
            run = attrs.evolve(run, facets={**(run.facets or {}), "errorMessage": error})
        return attrs.evolve(
            event,
            run=run,
            job=with_config(event.job, self._manifest),
            eventTime=self._time(node, is_test=is_test, is_start=is_start),
            inputs=[self._tagged(item) for item in inputs],
            outputs=[self._tagged(item) for item in event.outputs or ()],
        )

    def _message(self, event: RunEvent, node: str) -> str:
        """Return dbt's message about a failed node, or those about the failed tests of a table.

        A test event of the library is about all tests of one table.
        """
        inputs = (item for item in event.inputs or () if isinstance(item, InputDataset))
        checks: Any = [
            item.inputFacets["dataQualityAssertions"] for item in inputs if item.inputFacets
        ]
        failed = {
            check.name
            for facet in checks
            for check in facet.assertions
            if not check.success and check.severity != "warn"
        }
        if not failed:
            return self._messages.get(node, "")
        names = {test: self._manifest["nodes"].get(test, {}).get("name") for test in self._messages}
        found = [(name, test) for test, name in names.items() if name in failed]
        return "\n".join(f"{name}: {self._messages[test]}" for name, test in found)

    def _invocation_run(self) -> FinishedRun:
        """Return the run of the invocation itself, the parent of all other runs.

        It carries the facet with the nodes of the project and the tag with the target.
        """
        results = self._results["results"]
        timings = [timing for result in results for timing in result["timing"]]
        ended = parse_time(self._results["metadata"]["generated_at"])
        starts = [parse_time(item["started_at"]) for item in timings if item.get("started_at")]
        failed = [result for result in results if result["status"] in _FAILED]
        messages = [f"{result['unique_id']}: {result.get('message')}" for result in failed]
        # All targets share this job, unless each has its own namespace.
        environment = tags_run.TagsRunFacetFields("environment", self._processor.target, "DBT")
        return FinishedRun(
            ref=self._ref,
            integration="DBT",
            job_type="JOB",
            started=min(starts, default=ended),
            ended=ended,
            state="FAIL" if failed else "COMPLETE",
            error="\n".join(messages),
            run_facets={
                "tags": tags_run.TagsRunFacet([environment], producer=PRODUCER),
                PROJECT: project_facet(self._processor.project_name, self._manifest),
                **empty_facet(self._results),
            },
        )

    def _run_id(self, event: RunEvent) -> str:
        """Return a stable id for a node's run in place of the library's random one."""
        ids = self._ids_by_library
        if event.run.runId not in ids:
            job = JobRef(self._ref.namespace, event.job.name)
            ids[event.run.runId] = self._ids.of(job, event.job.name, str(len(ids)))
        return ids[event.run.runId]

    def _time(self, node: str, *, is_test: bool, is_start: bool) -> str:
        """Return when a node, or its tests, began or ended; the library may use now instead.

        `is_test` selects the results of the tests of the node, and `is_start` the start.
        """
        times = _times(self._results_by_node[is_test].get(node, ()), is_start=is_start)
        return str(
            (min if is_start else max)(times, default=self._results["metadata"]["generated_at"])
        )

    @cached_property
    def _results_by_node(self) -> tuple[dict[str, list[Artifact]], dict[str, list[Artifact]]]:
        """The result of each node, and the results of the tests of each node, or of a test."""
        parents = self._manifest["parent_map"]
        own: dict[str, list[Artifact]] = defaultdict(list)
        of_tests: dict[str, list[Artifact]] = defaultdict(list)
        for result in self._results["results"]:
            node = result["unique_id"]
            own[node].append(result)
            for tested in (node, *parents.get(node, ())) if is_test(result) else ():
                of_tests[tested].append(result)
        return own, of_tests

    def _inputs(self, node: str, reported: list[InputDataset]) -> list[InputDataset]:
        """Return the tables that a model reads by the manifest, as in `reported` if it has them."""
        by_name = {(item.namespace, item.name): item for item in reported}
        return [
            by_name.get((item.namespace, item.name))
            or InputDataset(item.namespace, item.name, facets=item.facets)
            for item in self._tables_above(node)
        ]

    def _tables_above(self, node: str) -> list[Dataset]:
        return [self._dataset(item) for item in tables_above(self._manifest, self._tables, node)]

    def _dataset(self, node: str) -> Dataset:
        if node not in self._datasets:
            definition, found = self._tables[node], self._catalog.get(node)
            model_node = ModelNode(node.partition(".")[0], definition, found)
            dataset = self._processor.node_to_dataset(model_node, has_facets=True)
            self._datasets[node] = self._tagged(dataset, node)
        return self._datasets[node]

    def _tagged(self, dataset: AnyDataset, node: str | None = None) -> AnyDataset:
        """Return a dataset with the tags of its node; without tags, an empty facet removes them.

        Events of exposures declare all tables that they read. An empty facet in each table replaces
        one of dbt-ol, which may name exposures that no longer exist.

        `node` is the id of its node; None to find it by name.
        """
        node = node or self._nodes.get((dataset.namespace, dataset.name))
        if node is None:
            return dataset
        columns = (self._catalog.get(node) or {}).get("columns", {})
        tags = tags_of(self._tables[node], columns)
        facets = {"tags": tags, "dbt_exposures": DbtExposuresDatasetFacet()}
        facets |= table_config(self._tables[node], self._references.get(node, {}))
        return attrs.evolve(dataset, facets={**(dataset.facets or {}), **facets})

    def _seed_runs(self) -> Iterator[FinishedRun]:
        """Yield the runs that loaded the files of seeds."""
        for result in self._results["results"]:
            node = result["unique_id"]
            if not node.startswith("seed.") or is_skipped(result):
                continue
            file = str(self._project / self._tables[node]["original_file_path"])
            output, facets = self._dataset(node), {}
            if columns := getattr((output.facets or {}).get("schema"), "fields", None):
                names = [column.name for column in columns]
                facets = {"columnLineage": same_columns("file", file, names)}
            yield self._run_of_table(
                node,
                "seed",
                [result],
                inputs=[InputDataset("file", file)],
                outputs=[
                    OutputDataset(
                        output.namespace, output.name, facets={**(output.facets or {}), **facets}
                    )
                ],
            )

    def _check_runs(self) -> Iterator[FinishedRun]:
        """Yield the tests of each seed and snapshot as one run, like those of a model."""
        by_table: dict[str, list[Artifact]] = defaultdict(list)
        for result in self._results["results"]:
            table = omitted_table(self._manifest, result) if is_test(result) else None
            if table and not is_skipped(result):
                correct_test(self._manifest, result)
                by_table[table].append(result)
        for table, results in by_table.items():
            tests = [self._manifest["nodes"][result["unique_id"]] for result in results]
            facet = assertions_of(zip(tests, results, strict=True))
            item = self._dataset(table)
            checked = InputDataset(
                item.namespace,
                item.name,
                facets=item.facets,
                inputFacets={"dataQualityAssertions": facet},
            )
            yield self._run_of_table(table, "test", results, inputs=[checked])

    def _run_of_table(
        self,
        node: str,
        kind: str,
        results: Sequence[Artifact],
        *,
        inputs: Sequence[InputDataset],
        outputs: Sequence[OutputDataset] = (),
    ) -> FinishedRun:
        """Return a run that the library omits, with the job name that it would have.

        `kind` is `seed` or `test`, and `results` are those of the node or of its tests.
        """
        base = self._dataset(node).name.rpartition(".")[0]
        suffix = f".build.{kind}" if self._processor.command == "build" else f".{kind}"
        name = f"{base}.{node.partition('.')[2]}{suffix}"
        failed = [result for result in results if result["status"] in _FAILED]
        messages = [self._messages[result["unique_id"]] for result in failed]
        job, is_test = JobRef(self._ref.namespace, name), kind == "test"
        started, ended = (
            parse_time(self._time(node, is_test=is_test, is_start=is_start))
            for is_start in (True, False)
        )
        return FinishedRun(
            ref=RunRef(*job, self._ids.of(job, name)),
            integration="DBT",
            job_type=kind.upper(),
            started=started,
            ended=ended,
            state="FAIL" if failed else "COMPLETE",
            error="\n".join(messages),
            inputs=inputs,
            outputs=outputs,
            parents=(self._ref, self._ref),
        )


def _times(results: Iterable[Artifact], *, is_start: bool) -> list[str]:
    """Return the time when results began or ended to execute, or to compile if they did not."""
    timings = [timing for result in results for timing in result["timing"]]
    executed = [timing for timing in timings if timing["name"] == "execute"]
    times = (timing["started_at" if is_start else "completed_at"] for timing in executed or timings)
    return [time for time in times if time]
