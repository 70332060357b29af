"""The last run of a dbt project, from what it left in target/: run_results, manifest, catalog.

openlineage-integration-common, which dbt-ol consists of, makes the events, so that what is
harvested and what dbt-ol sends have the same names. Here its random run ids become those of the
invocation, and seeds come along, which it leaves out: as what models read, and as runs that load
their file.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from throughline.collect import Lines
from throughline.errors import ConfigError
from throughline.harvest.events import Body, Ran, dataset, run_id
from throughline.harvest.harvester import Cursor, Portion
from throughline.log import Refusal
from throughline.spec import dump, parse_time
from throughline.wrap.events import PRODUCER

_FAILED = {"error", "fail", "runtime error"}
_AT_ONCE = 200


class Dbt:
    """A project's folder; `target_path`, `profile` and `target` as dbt's options of that name."""

    def __init__(
        self,
        project: Path,
        *,
        target_path: Path | None = None,
        profiles: Path | None = None,
        profile: str | None = None,
        target: str | None = None,
        namespace: str = "dbt",
    ) -> None:
        self._project = project.absolute()
        self._profiles = profiles
        self._namespace = namespace
        self._options = {
            "profile_name": profile,
            "target": target,
            "target_path": str(target_path.absolute()) if target_path else None,
        }

    @property
    def source(self) -> str:
        """The project's folder, and where its artifacts are."""
        return f"dbt:{self._project}:{self._options['target_path'] or ''}:{self._namespace}"

    def harvest(self, cursor: Cursor, since: datetime | None) -> Iterator[Portion]:
        """The last invocation, unless it was harvested. Raises ConfigError."""
        processor = self._processor()
        try:
            results = orjson.loads(Path(processor.run_result_path).read_bytes())
            now = {"invocation": results["metadata"]["invocation_id"]}
            catalog = _catalog(Path(processor.catalog_path))
            if catalog:
                now["catalog"] = catalog["metadata"]["generated_at"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            why = error.strerror if isinstance(error, OSError) else repr(error)
            raise ConfigError(
                f"{processor.run_result_path}: {why}: dbt writes it when it runs; is"
                f" {self._project} its project, and --target-path where it writes?"
            ) from None
        if now == cursor:
            return
        known = catalog.get("nodes", {})
        invocation = _Invocation(processor, results, known, self._project, self._namespace)
        lines = Lines()
        try:
            for body in invocation.events():
                lines.add(dump(body), str(processor.run_result_path))
                if len(lines.entries) >= _AT_ONCE:
                    yield Portion(lines, cursor)
                    lines = Lines()
        except _unsupported() as error:
            lines.refusals.append(Refusal(str(processor.run_result_path), str(error), ""))
        yield Portion(lines, now)

    def _processor(self) -> Any:
        try:
            from openlineage.common.provider.dbt import DbtLocalArtifactProcessor
        except ModuleNotFoundError as error:
            raise ConfigError(
                f"harvest dbt: it needs the package {error.name}: pip install"
                " './packages/throughline[dbt]', from a clone"
            ) from None
        more = ["--profiles-dir", str(self._profiles)] if self._profiles else []
        try:
            return DbtLocalArtifactProcessor(
                producer=PRODUCER,
                job_namespace=self._namespace,
                project_dir=str(self._project),
                dbt_command_line=more,
                **self._options,
            )
        except (OSError, KeyError, ValueError) as error:
            raise ConfigError(f"{self._project}: it is no dbt project: {error}") from None


class _Invocation:
    """One run of dbt."""

    def __init__(
        self, processor: Any, results: Body, known: Body, project: Path, namespace: str
    ) -> None:
        from openlineage.common.provider.dbt.facets import ParentRunMetadata

        self._processor = processor
        self._results = results
        self._known = known
        self._project = project
        self._id: str = results["metadata"]["invocation_id"]
        self._top = namespace, str(processor.job_name)
        self._ids: dict[str, str] = {}
        above = run_id("dbt", self._id)
        names = {"job_namespace": namespace, "job_name": processor.job_name, "run_id": above}
        processor.dbt_run_metadata = ParentRunMetadata(
            **names, **{f"root_parent_{key}": value for key, value in names.items()}
        )

    def events(self) -> Iterator[Body]:
        """Its own START and end, and those of each node. Raises ConfigError."""
        from openlineage.client.serde import Serde

        try:
            found = self._processor.parse().events()
        except (OSError, KeyError, ValueError) as error:
            reason = error.__cause__ or error
            raise ConfigError(f"{self._project}: dbt's artifacts or profile: {reason!r}") from None
        yield from self._whole().events()
        for each in found:
            body = orjson.loads(Serde.to_json(each))
            node = body["job"]["facets"]["dbt_node"]["unique_id"]
            body["run"]["runId"] = self._run_id(body)
            if body["job"]["facets"]["jobType"]["jobType"] == "TEST":
                body["eventTime"] = self._tested(node, is_start=body["eventType"] == "START")
            else:
                body["inputs"] = [*body.get("inputs", []), *self._seeds_of(node)]
            yield body
        for result in self._results["results"]:
            if result["unique_id"].startswith("seed.") and result["status"] != "skipped":
                yield from self._seed(result).events()

    def _whole(self) -> Ran:
        timings = [each for result in self._results["results"] for each in result["timing"]]
        ended = parse_time(self._results["metadata"]["generated_at"])
        starts = [parse_time(each["started_at"]) for each in timings if each.get("started_at")]
        failed = [each for each in self._results["results"] if each["status"] in _FAILED]
        told = [f"{each['unique_id']}: {each.get('message')}" for each in failed]
        return Ran(
            self._top,
            run_id("dbt", self._id),
            min(starts, default=ended),
            ended,
            kind="DBT/JOB",
            state="FAIL" if failed else "COMPLETE",
            error="\n".join(told) or None,
        )

    def _run_id(self, body: Body) -> str:
        """The same id for the same node's run; the library makes them up."""
        made_up = body["run"]["runId"]
        return self._ids.setdefault(
            made_up, run_id("dbt", self._id, body["job"]["name"], str(len(self._ids)))
        )

    def _tested(self, node: str, *, is_start: bool) -> str:
        """When a node's tests, or a test, began or ended; the library says when it was asked."""
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

    def _seeds_of(self, node: str) -> Iterator[Body]:
        """The seeds and snapshots that a model reads."""
        for parent in self._processor.manifest["parent_map"].get(node, ()):
            if parent.startswith(("seed.", "snapshot.")):
                yield self._dataset(parent)

    def _dataset(self, node: str) -> Body:
        from openlineage.client.serde import Serde
        from openlineage.common.provider.dbt.processor import ModelNode

        told = self._processor.manifest["nodes"][node]
        known = ModelNode(node.partition(".")[0], told, self._known.get(node))
        made = self._processor.node_to_dataset(known, has_facets=True)
        body: Body = orjson.loads(Serde.to_json(made))
        return body

    def _seed(self, result: Body) -> Ran:
        """The run that loaded a seed's file."""
        node = self._processor.manifest["nodes"][result["unique_id"]]
        output = self._dataset(result["unique_id"])
        times = [each for each in result["timing"] if each["name"] == "execute"] or result["timing"]
        base = output["name"].rpartition(".")[0]
        suffix = ".build.seed" if self._processor.command == "build" else ".seed"
        name = f"{base}.{result['unique_id'].partition('.')[2]}{suffix}"
        return Ran(
            (self._top[0], name),
            run_id("dbt", self._id, name),
            parse_time(times[0]["started_at"]),
            parse_time(times[-1]["completed_at"]),
            kind="DBT/SEED",
            state="FAIL" if result["status"] in _FAILED else "COMPLETE",
            error=result.get("message") if result["status"] in _FAILED else None,
            inputs=[dataset("file", str(self._project / node["original_file_path"]))],
            outputs=[output],
            parent=(self._top, run_id("dbt", self._id)),
        )


def _catalog(path: Path) -> Body:
    found: Body = orjson.loads(path.read_bytes()) if path.exists() else {}
    return found


def _unsupported() -> type[Exception]:
    from openlineage.common.provider.dbt import UnsupportedDbtCommand

    found: type[Exception] = UnsupportedDbtCommand
    return found
