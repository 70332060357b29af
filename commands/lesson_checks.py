"""The checks of the lessons in docs/learn/lessons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from throughline.console.source import Source, open_source
from throughline.errors import NotFoundError
from throughline.settings import resolve


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
        """Return the answer to a query of the lineage log; None if a node is unknown."""
        try:
            return self._source(name, params)
        except NotFoundError:
            return None

    @cached_property
    def _source(self) -> Source:
        settings = resolve({"database": str(self.folder / "lineage.db")})
        return open_source(settings, is_local=True)

    def read(self, name: str) -> dict[str, Any]:
        """Return a YAML file of the reader; empty if it is missing or not a mapping."""
        try:
            content = yaml.safe_load((self.folder / name).read_text())
        except (OSError, yaml.YAMLError):
            return {}
        return content if isinstance(content, dict) else {}

    def answers(self, expected: dict[str, object]) -> Iterator[Result]:
        """Compare the reader's `answers.yaml` with the expected answers; lists as sets."""
        given = self.read("answers.yaml")
        for key, value in expected.items():
            is_right = key in given and _comparable(given[key]) == _comparable(value)
            yield Result(f"{key} in answers.yaml", is_right)


def _comparable(value: object) -> object:
    return sorted(map(str, value)) if isinstance(value, list) else str(value)


def _forecast(exercise: Exercise) -> Iterator[Result]:
    """Check the answers about the forecast's origin."""
    provenance = exercise.query("provenance", node="yellow_rides_hourly_forecast")
    train = _run_of(provenance["runs"], "TrainForecastModelFlow.train")
    merge = _run_of(provenance["runs"], "TrainForecastModelFlow.compute_actuals")
    yield from exercise.answers(
        {
            "source_files": [Path(source["name"]).name for source in provenance["sources"]],
            "training_run": train["run"]["runId"],
            "raw_version": merge["inputs"][0]["versions"][0],
        }
    )


def _run_of(runs: Iterable[Any], job: str) -> Any:
    return next(run for run in runs if run["job"]["name"] == job)


RAW = "yellow_taxi_raw"


def _schema(exercise: Exercise) -> Iterator[Result]:
    """Check that the column was renamed, and the answers about who breaks."""
    yield _was_removed(exercise, "pulocationid")
    before = exercise.query("impact", node=RAW, field="pulocationid")
    columns = [*before["affected"], *before["indirect"]]
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


CHECKS: dict[int, Callable[[Exercise], Iterator[Result]]] = {1: _forecast, 2: _schema}
"""The check of each lesson by its number."""
