"""The checks of the lessons in docs/learn/lessons."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from headwater.config import read_yaml
from headwater.console.source import Source, open_source
from headwater.errors import ConfigError, NotFoundError
from headwater.settings import resolve


@dataclass(frozen=True)
class Result:
    """A part of a lesson's result, and whether it is right."""

    text: str
    is_right: bool


@dataclass(frozen=True)
class Exercise:
    """The state of a lesson: the reader's files and the lineage log."""

    folder: Path

    def query(self, name: str, **params: object) -> Any:
        """Return the answer to a query; None if a node is unknown or a parameter is invalid."""
        try:
            return self._source(name, params)
        except (NotFoundError, ConfigError):
            return None

    def compare(self, name: str, file: str, **params: object) -> Any:
        """Return the answer to a query that compares the lineage with a file of the reader.

        The name of the query's parameter is that of the file without its suffix.
        """
        body = json.dumps(self.read(file))
        answer = self.query(name, **{Path(file).stem: body}, **params)
        return answer or {"passed": False, "datasets": []}

    @cached_property
    def _source(self) -> Source:
        settings = resolve({"database": str(self.folder / "lineage.db")})
        return open_source(settings, is_local=True)

    def read(self, name: str) -> dict[str, Any]:
        """Return a YAML file of the reader; empty if it is missing or not a mapping."""
        try:
            content = read_yaml(self.folder / name)
        except ConfigError:
            return {}
        return content if isinstance(content, dict) else {}

    def answers(self, expected: dict[str, object]) -> Iterator[Result]:
        """Compare the reader's `answers.yaml` with the expected answers; lists as sets."""
        answers = self.read("answers.yaml")
        for key, value in expected.items():
            is_right = key in answers and _comparable(answers[key]) == _comparable(value)
            yield Result(f"{key} in answers.yaml", is_right)


def _comparable(value: object) -> object:
    return sorted(map(str, value)) if isinstance(value, list) else str(value)


def _forecast(exercise: Exercise) -> Iterator[Result]:
    """Check the answers about the forecast's origin."""
    provenance = exercise.query("provenance", node="yellow_rides_hourly_forecast")
    train = _run_of(provenance["runs"], "TrainForecastModelFlow.train")
    actuals = _run_of(provenance["runs"], "TrainForecastModelFlow.compute_actuals")
    yield from exercise.answers(
        {
            "source_files": [Path(source["name"]).name for source in provenance["sources"]],
            "training_run": train["run"]["runId"],
            "raw_version": actuals["inputs"][0]["versions"][0],
        }
    )


def _run_of(runs: Iterable[Any], job: str) -> Any:
    return next(run for run in runs if run["job"]["name"] == job)


RAW = "yellow_taxi_raw"


def _schema(exercise: Exercise) -> Iterator[Result]:
    """Check that the column was renamed, and the answers about what this affects."""
    yield _was_removed(exercise, "pulocationid")
    before = exercise.query("impact", node=RAW, field="pulocationid")
    affected = [*before["affected"], *before["indirect"]]
    columns = [column for column in affected if column["distance"] == 1]
    yield from exercise.answers(
        {
            "broken_job": before["affected"][0]["writtenBy"]["job"]["name"],
            "broken_columns": [column["field"] for column in columns],
            "owner": before["affected"][0]["jobOwners"][0],
        }
    )


def _removed(exercise: Exercise) -> list[str]:
    """Return the columns that later schemas of the raw table no longer have."""
    changes = exercise.query("drift", node=RAW, limit=1_000)["items"]
    return [column["name"] for change in changes for column in change["removed"]]


def _was_removed(exercise: Exercise, column: str) -> Result:
    return Result(f"{RAW} without the column {column}", column in _removed(exercise))


def _data_source(exercise: Exercise) -> Iterator[Result]:
    """Check the run, the source and the owner of the table of taxi zones."""
    provenance = exercise.query("provenance", node="taxi_zones") or {"runs": [], "sources": []}
    states = [run["run"]["state"] for run in provenance["runs"]]
    yield Result("a completed run that wrote taxi_zones", "COMPLETED" in states)
    sources = [source["name"].rpartition("/")[2] for source in provenance["sources"]]
    text = "taxi_zone_lookup.csv as the source of taxi_zones"
    yield Result(text, sources == ["taxi_zone_lookup.csv"])
    affected = exercise.query("impact", node="misc/taxi_zone_lookup.csv") or {"affected": []}
    owners = [node["owners"] for node in affected["affected"] if node["name"] == "taxi_zones"]
    yield Result("an owner of taxi_zones", any(owners))


def _flow(exercise: Exercise) -> Iterator[Result]:
    """Check the flow's run and the sources of its result."""
    runs = exercise.query("runs", job="RankZonesFlow") or {"items": []}
    states = [run["state"] for run in runs["items"]]
    yield Result("a completed run of RankZonesFlow", "COMPLETED" in states)
    provenance = exercise.query("provenance", node="RankZonesFlow/ranking") or {"runs": []}
    written = {output["name"] for run in provenance["runs"] for output in run["outputs"]}
    for table in ("yellow_rides_hourly_forecast", RAW):
        is_upstream = f"nyc_taxi.{table}" in written
        yield Result(f"RankZonesFlow/ranking comes from {table}", is_upstream)


def _drop_column(exercise: Exercise) -> Iterator[Result]:
    """Check that only the unused column was dropped."""
    yield _was_removed(exercise, "congestion_surcharge")
    yield Result("no other column dropped", {*_removed(exercise)} <= {"congestion_surcharge"})
    answer = exercise.compare("check", "contract.yaml")
    yield Result("contract.yaml matches the lineage", answer["passed"])


def _gate(exercise: Exercise) -> Iterator[Result]:
    """Check the versions, and the policy before and after the failed check."""
    model = "TrainForecastModelFlow/model"
    train = exercise.query("provenance", node=model)["runs"][0]
    versions = {node["name"]: node["versions"][0] for node in train["inputs"] + train["outputs"]}
    yield from exercise.answers(
        {
            "model_version": versions[model],
            "training_data_version": versions["TrainForecastModelFlow/training_data"],
        }
    )
    before = exercise.compare("gate", "policy.yaml", dataset=[model], as_of=RECORDED_END)
    yield Result("policy.yaml accepts the recorded files", before["passed"])
    weather = exercise.compare("gate", "policy.yaml", dataset=["weather_raw"], as_of=RECORDED_END)
    yield Result("policy.yaml rejects other files", "sources" in _kinds(weather))
    now = exercise.compare("gate", "policy.yaml", dataset=[model])
    is_rejected = before["passed"] and _kinds(now) == {"quality_passed"}
    yield Result("policy.yaml rejects the model after the failed check", is_rejected)


RECORDED_END = "2026-11-22T18:00:00Z"
"""A time after the recorded events and before those that the reader adds."""


def _kinds(gate: Any) -> set[str]:
    return {item["kind"] for dataset in gate["datasets"] for item in dataset["violations"]}


def _datahub(exercise: Exercise) -> Iterator[Result]:
    """Check the backend, and the requests that the stand-in received."""
    backends = exercise.read("deliver.yaml").get("backends") or []
    types = [backend.get("type") for backend in backends if isinstance(backend, dict)]
    yield Result("a backend of type datahub in deliver.yaml", "datahub" in types)
    bodies = [record["body"] for record in _lines(exercise.folder / "received.jsonl")]
    received = {body["run"]["runId"] for body in bodies if "run" in body}
    runs = {event["run"]["runId"] for event in _lines(exercise.folder / "events.jsonl")}
    yield Result("received.jsonl with every run of the log", received == runs)
    proposals = [item for body in bodies for item in body.get("proposals", ())]
    has_model = any(item["entityType"] == "mlModel" for item in proposals)
    yield Result("received.jsonl with the model as a metadata change proposal", has_model)


def _lines(path: Path) -> list[Any]:
    """Return the complete lines of a file; its program may still be writing the last one."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


def _late_table(exercise: Exercise) -> Iterator[Result]:
    """Check the answers about the cause, and that no problems remain."""
    yield from exercise.answers(
        {
            "late_job": "TrainForecastModelFlow",
            "failed_task": "ingest_yellow_taxi_data.check_staging",
            "failed_run": "01a20016-0000-7000-8000-000000000012",
            "failed_check": "pickup_before_dropoff",
        }
    )
    findings = exercise.query("findings", as_of="2026-11-17T10:00:00Z")["items"]
    is_repaired = not any(item["severity"] == "error" for item in findings)
    yield Result("no problems at 2026-11-17T10:00Z", is_repaired)


def _recall(exercise: Exercise) -> Iterator[Result]:
    """Check the answers, and that the bad version is recalled and no longer in use."""
    file = "landing/yellow/yellow_tripdata_2025-05.parquet"
    first = exercise.query("history", node=file)["items"][-1]["version"]
    incident = exercise.query("incident", subject=f"{file}@{first}")
    affected = {node["name"]: node for node in incident["affected"]}
    yield from exercise.answers(
        {
            "owners": sorted({owner for node in affected.values() for owner in node["owners"]}),
            "bad_model": affected["TrainForecastModelFlow/model"]["versions"][0],
        }
    )
    recalled = {item["version"] for item in exercise.query("taints")["items"]}
    yield Result("the version of the file is recalled", first in recalled)
    is_in_use = any(node["isCurrent"] for node in affected.values())
    yield Result("nothing contains the data of the version now", not is_in_use)
    gate = exercise.query("gate", dataset=["TrainForecastModelFlow/model"])
    is_accepted = first in recalled and gate["passed"]
    yield Result("the gate accepts the new model", is_accepted)


CHECKS: dict[int, Callable[[Exercise], Iterator[Result]]] = {
    1: _forecast,
    2: _schema,
    3: _data_source,
    4: _flow,
    5: _drop_column,
    6: _gate,
    7: _datahub,
    8: _late_table,
    9: _recall,
}
"""The check of each lesson by its number."""
