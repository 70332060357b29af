"""Import the last run of a dbt project from target/: run_results, manifest and catalog.

The events are created by openlineage-integration-common, the library of dbt-ol, so that both use
the same names. Two things differ: run ids are derived from the invocation instead of random, and
seeds, which the library omits, are included as inputs of models and as runs that load their file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import attrs
import orjson
from openlineage.client.event_v2 import Dataset, InputDataset, OutputDataset, RunEvent, RunState
from openlineage.common.provider.dbt import (
    DbtLocalArtifactProcessor,
    ParentRunMetadata,
    UnsupportedDbtCommand,
)
from openlineage.common.provider.dbt.processor import ModelNode

from throughline.collect.lines import Lines
from throughline.errors import ConfigError
from throughline.events import parse_time
from throughline.harvest.events import FinishedRun, run_id
from throughline.harvest.harvester import Cursor, Portion
from throughline.wrap.openlineage import PRODUCER, to_json
from throughline.wrap.parent import RunRef

_FAILED = {"error", "fail", "runtime error"}
_AT_ONCE = 200

Artifact = Mapping[str, Any]
"""JSON of a file that dbt writes."""


@dataclass(frozen=True, kw_only=True)
class Dbt:
    """A dbt project; `target_path`, `profile` and `target` are dbt's options of that name."""

    project: Path
    target_path: Path | None
    profiles: Path | None
    profile: str | None
    target: str | None
    namespace: str

    @property
    def source(self) -> str:
        """The project's folder, its artifacts' folder and the namespace."""
        return f"dbt:{self.project}:{self.target_path or ''}:{self.namespace}"

    def harvest(self, cursor: Cursor, since: datetime | None) -> Iterator[Portion]:
        """Yield the events of the last invocation, unless it is imported. Raises ConfigError."""
        processor = self._processor()
        try:
            results = orjson.loads(Path(processor.run_result_path).read_bytes())
            new_cursor = {"invocation": results["metadata"]["invocation_id"]}
            catalog = _read_catalog(Path(processor.catalog_path))
            if catalog:
                new_cursor["catalog"] = catalog["metadata"]["generated_at"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            reason = error.strerror if isinstance(error, OSError) else repr(error)
            raise ConfigError(
                f"{processor.run_result_path}: {reason}: dbt writes this file when it runs. Check"
                f" the project folder {self.project} and --target-path"
            ) from None
        if new_cursor == cursor:
            return
        nodes = catalog.get("nodes", {})
        invocation = _Invocation(processor, results, nodes, self.project, self.namespace)
        lines = Lines()
        try:
            for event in invocation.events():
                lines.add(to_json(event), str(processor.run_result_path))
                if len(lines.entries) >= _AT_ONCE:
                    yield Portion(lines, cursor)
                    lines = Lines()
        except UnsupportedDbtCommand as error:
            lines.add_problem(str(processor.run_result_path), str(error))
        yield Portion(lines, new_cursor)

    def _processor(self) -> DbtLocalArtifactProcessor:
        more = ["--profiles-dir", str(self.profiles)] if self.profiles else []
        try:
            return DbtLocalArtifactProcessor(
                producer=PRODUCER,
                job_namespace=self.namespace,
                project_dir=str(self.project),
                dbt_command_line=more,
                profile_name=self.profile,
                target=self.target,
                target_path=str(self.target_path) if self.target_path else None,
            )
        except (OSError, KeyError, ValueError) as error:
            raise ConfigError(f"{self.project}: not a dbt project: {error}") from None


class _Invocation:
    """One run of dbt; `results` and `nodes` are of the artifacts run_results and catalog."""

    def __init__(
        self,
        processor: DbtLocalArtifactProcessor,
        results: Artifact,
        nodes: Artifact,
        project: Path,
        namespace: str,
    ) -> None:
        self._processor = processor
        self._results = results
        self._catalog_nodes = nodes
        self._project = project
        self._id: str = results["metadata"]["invocation_id"]
        self._ref = RunRef(namespace, str(processor.job_name), run_id("dbt", self._id))
        self._ids: dict[str, str] = {}
        names = {"job_namespace": namespace, "job_name": self._ref.job, "run_id": self._ref.run_id}
        processor.dbt_run_metadata = ParentRunMetadata(
            **names, **{f"root_parent_{key}": value for key, value in names.items()}
        )

    def events(self) -> Iterator[RunEvent]:
        """Yield the START and end events of the invocation and its nodes. Raises ConfigError."""
        try:
            events: list[RunEvent] = self._processor.parse().events()
        except (OSError, KeyError, ValueError) as error:
            reason = error.__cause__ or error
            raise ConfigError(
                f"{self._project}: cannot read dbt's artifacts or profile: {reason!r}"
            ) from None
        yield from self._invocation_run().events()
        for event in events:
            yield self._completed(event)
        for result in self._results["results"]:
            if result["unique_id"].startswith("seed.") and result["status"] != "skipped":
                yield from self._seed_run(result).events()

    def _completed(self, event: RunEvent) -> RunEvent:
        """Return an event of the library with a stable run id, and a test's time or the seeds."""
        facets: Any = event.job.facets
        node = facets["dbt_node"].unique_id
        run = attrs.evolve(event.run, runId=self._run_id(event))
        if facets["jobType"].jobType == "TEST":
            is_start = event.eventType == RunState.START
            return attrs.evolve(event, run=run, eventTime=self._test_time(node, is_start=is_start))
        return attrs.evolve(event, run=run, inputs=[*(event.inputs or ()), *self._seeds_of(node)])

    def _invocation_run(self) -> FinishedRun:
        results = self._results["results"]
        timings = [timing for result in results for timing in result["timing"]]
        ended = parse_time(self._results["metadata"]["generated_at"])
        starts = [parse_time(item["started_at"]) for item in timings if item.get("started_at")]
        failed = [result for result in results if result["status"] in _FAILED]
        messages = [f"{result['unique_id']}: {result.get('message')}" for result in failed]
        return FinishedRun(
            ref=self._ref,
            integration="DBT",
            job_type="JOB",
            started=min(starts, default=ended),
            ended=ended,
            state="FAIL" if failed else "COMPLETE",
            error="\n".join(messages),
        )

    def _run_id(self, event: RunEvent) -> str:
        """Return a stable id for a node's run in place of the library's random one."""
        return self._ids.setdefault(
            event.run.runId, run_id("dbt", self._id, event.job.name, str(len(self._ids)))
        )

    def _test_time(self, node: str, *, is_start: bool) -> str:
        """Return when a node's tests, or a test, began or ended; the library uses now."""
        parents = self._processor.manifest["parent_map"]
        times = [
            timing["started_at" if is_start else "completed_at"]
            for result in self._results["results"]
            if result["unique_id"].startswith("test.")
            and (result["unique_id"] == node or node in parents.get(result["unique_id"], ()))
            for timing in result["timing"]
        ]
        return str(
            (min if is_start else max)(times, default=self._results["metadata"]["generated_at"])
        )

    def _seeds_of(self, node: str) -> Iterator[InputDataset]:
        """Yield the seeds and snapshots that a model reads."""
        for parent in self._processor.manifest["parent_map"].get(node, ()):
            if parent.startswith(("seed.", "snapshot.")):
                dataset = self._dataset(parent)
                yield InputDataset(dataset.namespace, dataset.name, facets=dataset.facets)

    def _dataset(self, node: str) -> Dataset:
        definition = self._processor.manifest["nodes"][node]
        model_node = ModelNode(node.partition(".")[0], definition, self._catalog_nodes.get(node))
        dataset: Dataset = self._processor.node_to_dataset(model_node, has_facets=True)
        return dataset

    def _seed_run(self, result: Artifact) -> FinishedRun:
        """Return the run that loaded a seed's file."""
        node = self._processor.manifest["nodes"][result["unique_id"]]
        output = self._dataset(result["unique_id"])
        times = [item for item in result["timing"] if item["name"] == "execute"] or result["timing"]
        base = output.name.rpartition(".")[0]
        suffix = ".build.seed" if self._processor.command == "build" else ".seed"
        name = f"{base}.{result['unique_id'].partition('.')[2]}{suffix}"
        is_failed = result["status"] in _FAILED
        return FinishedRun(
            ref=RunRef(self._ref.namespace, name, run_id("dbt", self._id, name)),
            integration="DBT",
            job_type="SEED",
            started=parse_time(times[0]["started_at"]),
            ended=parse_time(times[-1]["completed_at"]),
            state="FAIL" if is_failed else "COMPLETE",
            error=result.get("message") if is_failed else None,
            inputs=[InputDataset("file", str(self._project / node["original_file_path"]))],
            outputs=[OutputDataset(output.namespace, output.name, facets=output.facets)],
            parents=(self._ref, self._ref),
        )


def _read_catalog(path: Path) -> Artifact:
    catalog: Artifact = orjson.loads(path.read_bytes()) if path.exists() else {}
    return catalog
