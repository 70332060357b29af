"""Quality checks of datasets over time: dataQualityAssertions and dataQualityMetrics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from itertools import chain, product
from typing import NamedTuple

from throughline import deadline
from throughline.events import Facets, Json
from throughline.events.facets import DataQualityAssertions
from throughline.graph.current import generations_of
from throughline.identity import DatasetName
from throughline.projection import Run, State, Use
from throughline.projection.derived import ended_at, records_of

_METRICS = "dataQualityMetrics"
_FACETS = (DataQualityAssertions.KEY, _METRICS)


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
    generations = generations_of(state)
    found: list[Check] = []
    for record in records_of(state, name):
        stamped = (record.facets_without_run or {}).items()
        found += (_check(stamp.time, None, None, facets) for stamp, facets in stamped)
        for ref in {key.job for key in chain(record.readers, record.writers)}:
            by_dataset = generations.of_runs(ref, "checks", partial(_checks_of_runs, state))
            found += by_dataset.get(record.name, ())
    found = [check for check in found if check.assertions or check.metrics]
    return sorted(found, key=lambda check: (check.time, check.run.key.run_id if check.run else ""))


def _checks_of_runs(state: State, runs: Iterable[Run]) -> dict[DatasetName, list[Check]]:
    """Return the checks that runs reported, by the reported name of the dataset."""
    found: dict[DatasetName, list[Check]] = defaultdict(list)
    for run, side in product(runs, ("inputs", "outputs")):
        uses: dict[DatasetName, Use] = getattr(run, side)
        for name, use in uses.items():
            books = use.dataset_facets, use.facets
            if any(book.stamp_of(key) for book in books for key in _FACETS):
                # dbt says the same twice, older ones only as a facet of the dataset's own.
                facets = use.dataset_facets.plain() | use.facets.plain()
                version = use.version
                found[name].append(_check(ended_at(state, run), run, version, facets))
    return dict(found)


def _check(time: int, run: Run | None, version: str | None, facets: Facets) -> Check:
    assertions = DataQualityAssertions.parse(facets.get(DataQualityAssertions.KEY, {})).assertions
    metrics = facets.get(_METRICS, {}).items()
    shown = {key: value for key, value in metrics if not key.startswith("_")}
    return Check(time, run, version, assertions, shown)
