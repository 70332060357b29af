"""Quality checks of datasets over time: dataQualityAssertions and dataQualityMetrics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from throughline import deadline
from throughline.events import Facets
from throughline.identity import DatasetName
from throughline.projection import Run, State
from throughline.projection.derived import ended_at


class Check(NamedTuple):
    """The assertions and metrics of a dataset at one time, of a run or of none."""

    time: int
    run: Run | None
    version: str | None
    """The checked version, if the producer reported it."""
    assertions: list[dict[str, Any]]
    metrics: dict[str, Any]

    @property
    def failed(self) -> list[dict[str, Any]]:
        """Return the failed assertions; those of severity `warn` are warnings only."""
        failed = [assertion for assertion in self.assertions if assertion.get("success") is False]
        return [
            assertion for assertion in failed if str(assertion.get("severity")).lower() != "warn"
        ]


def checks_of(state: State, name: DatasetName) -> list[Check]:
    """Return every check of a dataset, under any of its aliases, oldest first."""
    deadline.check()
    found = [
        Check(time, run, version, assertions, metrics)
        for time, run, version, facets in _reported(state, name)
        for assertions, metrics in [(_assertions(facets), _metrics(facets))]
        if assertions or metrics
    ]
    return sorted(found, key=lambda check: (check.time, check.run.key.run_id if check.run else ""))


def _reported(
    state: State, name: DatasetName
) -> Iterator[tuple[int, Run | None, str | None, Facets]]:
    for alias in state.identity.names(name):
        record = state.datasets.get(alias)
        if record is None:
            continue
        yield from (
            (stamp.time, None, None, facets)
            for stamp, facets in (record.facets_without_run or {}).items()
        )
        for keys, side in ((record.readers, "inputs"), (record.writers, "outputs")):
            for run in (state.runs[key] for key in keys):
                use = getattr(run, side)[alias]
                # dbt says the same twice, older ones only as a facet of the dataset's own.
                facets = use.dataset_facets.plain() | use.facets.plain()
                yield ended_at(state, run), run, use.version[1] if use.version else None, facets


def _assertions(facets: Facets) -> list[dict[str, Any]]:
    listed = facets.get("dataQualityAssertions", {}).get("assertions")
    return [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []


def _metrics(facets: Facets) -> dict[str, Any]:
    facet = facets.get("dataQualityMetrics", {})
    return {key: value for key, value in facet.items() if not key.startswith("_")}
