"""Quality checks of datasets over time: dataQualityAssertions and dataQualityMetrics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from throughline import deadline
from throughline.events import Facets, Json
from throughline.events.facets import DataQualityAssertions
from throughline.identity import DatasetName
from throughline.projection import Run, State
from throughline.projection.derived import ended_at, records_of


class Check(NamedTuple):
    """The assertions and metrics of a dataset at one time, of a run or of none."""

    time: int
    run: Run | None
    version: str | None
    """The checked version, if the producer reported it."""
    assertions: list[Json]
    metrics: Json

    @property
    def failed(self) -> list[Json]:
        """Return the failed assertions; those of severity `warn` are warnings only."""
        failed = [assertion for assertion in self.assertions if assertion.get("success") is False]
        return [
            assertion for assertion in failed if str(assertion.get("severity")).lower() != "warn"
        ]


def checks_of(state: State, name: DatasetName) -> list[Check]:
    """Return every check of a dataset, under any of its aliases, oldest first."""
    deadline.check()
    found = [
        Check(
            time,
            run,
            version,
            DataQualityAssertions.parse(facets.get(DataQualityAssertions.KEY, {})).assertions,
            {
                key: value
                for key, value in facets.get("dataQualityMetrics", {}).items()
                if not key.startswith("_")
            },
        )
        for time, run, version, facets in _reported(state, name)
    ]
    found = [check for check in found if check.assertions or check.metrics]
    return sorted(found, key=lambda check: (check.time, check.run.key.run_id if check.run else ""))


def _reported(
    state: State, name: DatasetName
) -> Iterator[tuple[int, Run | None, str | None, Facets]]:
    for record in records_of(state, name):
        yield from (
            (stamp.time, None, None, facets)
            for stamp, facets in (record.facets_without_run or {}).items()
        )
        for keys, side in ((record.readers, "inputs"), (record.writers, "outputs")):
            for run in (state.runs[key] for key in keys):
                use = getattr(run, side)[record.name]
                # dbt reports the checks twice; older versions only as a facet of the dataset.
                facets = use.dataset_facets.plain() | use.facets.plain()
                yield ended_at(state, run), run, use.version[1] if use.version else None, facets
