"""Models with the jobs that train and use them, for backends that support models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from throughline.delivery.datasets import Body, dataset_of
from throughline.delivery.effective_runs import NewestRuns, newest_effective_runs
from throughline.events import JobRef
from throughline.graph.current import generations_of
from throughline.identity import DatasetName
from throughline.projection import Run, State, Use


@dataclass(frozen=True, slots=True)
class Model:
    """A model after its newest training, with the jobs that train and use it."""

    dataset: Body
    trained_by: tuple[JobRef, ...]
    used_by: tuple[JobRef, ...]


def models_of(
    state: State, own: JobRef, members: list[Run], newest_runs: NewestRuns
) -> Iterator[Model]:
    """Yield the models that the runs of the job `own` read or write, with all their jobs."""
    sides = (side for run in members for side in (run.inputs, run.outputs))
    names = {state.identity.primary(name) for side in sides for name in side}
    generations = generations_of(state)
    for name in sorted(name for name in names if _is_model(state, name)):

        def uses(
            ref: JobRef, side: Literal["inputs", "outputs"], name: DatasetName = name
        ) -> list[Use]:
            runs = members if ref == own else newest_effective_runs(state, ref, newest_runs)
            pairs = (pair for run in runs for pair in getattr(run, side).items())
            return [use for alias, use in pairs if state.identity.primary(alias) == name]

        training = {ref: uses(ref, "outputs") for ref in (own, *generations.writers(name))}
        using = {ref: uses(ref, "inputs") for ref in (own, *generations.readers(name))}
        written = [use for items in training.values() for use in items]
        yield Model(
            dataset_of(state, name, written, "outputFacets"),
            tuple(sorted(ref for ref, items in training.items() if items)),
            tuple(sorted(ref for ref, items in using.items() if items)),
        )


def _is_model(state: State, name: DatasetName) -> bool:
    records = (state.datasets.get(alias) for alias in state.identity.names(name))
    kinds = (record.facets.get("datasetType") for record in records if record)
    return any(str(kind.get("datasetType")).upper() == "MODEL" for kind in kinds)
