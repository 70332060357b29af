"""The jobs around a model, for backends that keep models apart from other datasets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from throughline.deliver.datasets import Body, dataset_of
from throughline.deliver.job_runs import Done, newest_of
from throughline.graph.current import generations_of
from throughline.identity import DatasetName
from throughline.projection import Run, State, Use
from throughline.spec import JobRef


@dataclass(frozen=True, slots=True)
class Model:
    """A model as its newest training left it, with the jobs that train and use it."""

    dataset: Body
    trained_by: tuple[JobRef, ...]
    used_by: tuple[JobRef, ...]


def models_of(state: State, own: JobRef, members: list[Run], done: Done) -> Iterator[Model]:
    """The models that the runs of the job `own` read or write, each with all jobs around it."""
    sides = (side for run in members for side in (run.inputs, run.outputs))
    names = {state.identity.primary(name) for side in sides for name in side}
    known = generations_of(state)
    for name in sorted(each for each in names if _is_model(state, each)):

        def uses(
            ref: JobRef, side: Literal["inputs", "outputs"], name: DatasetName = name
        ) -> list[Use]:
            runs = members if ref == own else newest_of(state, ref, done)
            pairs = (pair for run in runs for pair in getattr(run, side).items())
            return [use for given, use in pairs if state.identity.primary(given) == name]

        training = {ref: uses(ref, "outputs") for ref in (own, *known.writers(name))}
        using = {ref: uses(ref, "inputs") for ref in (own, *known.readers(name))}
        written = [use for found in training.values() for use in found]
        yield Model(
            dataset_of(state, name, written, "outputFacets"),
            tuple(sorted(ref for ref, found in training.items() if found)),
            tuple(sorted(ref for ref, found in using.items() if found)),
        )


def _is_model(state: State, name: DatasetName) -> bool:
    records = (state.datasets.get(each) for each in state.identity.names(name))
    kinds = (record.facets.get("datasetType") for record in records if record)
    return any(str(kind.get("datasetType")).upper() == "MODEL" for kind in kinds)
