"""Placeholders for the missing dataset between two jobs, and the missing job between two datasets.

Explicit lineage states that a job passes data to another one (a handoff), or that a dataset gets
data from others (a derivation). As reads and writes of placeholders, both are ordinary edges: the
rules about times, views and effective runs apply to them without special cases (ADR 25).
No event can contain a placeholder, because its namespace is empty. `LevelGraph` replaces them with
direct links. Code that takes jobs or datasets from generations needs `is_job` or `only_datasets`.
"""

from __future__ import annotations

from collections.abc import Iterable

from headwater.events import JobRef
from headwater.identity import DatasetName


def handoff(job: JobRef) -> DatasetName:
    """Return the placeholder for data that a job passes on without a dataset."""
    return DatasetName("", "\0".join(job))


def handoff_job(name: DatasetName) -> JobRef | None:
    """Return the job that a handoff comes from; None for a real dataset."""
    if name.namespace:
        return None
    namespace, _, job = name.name.partition("\0")
    return JobRef(namespace, job)


def only_datasets(names: Iterable[DatasetName]) -> set[DatasetName]:
    """Return the names without handoffs."""
    return {name for name in names if name.namespace}


def derivation(name: DatasetName) -> JobRef:
    """Return the placeholder for the job that derives a dataset, such as a view."""
    return JobRef("", "\0".join(name))


def derived_dataset(ref: JobRef) -> DatasetName | None:
    """Return the dataset that a derivation derives; None for a real job."""
    if is_job(ref):
        return None
    namespace, _, name = ref.name.partition("\0")
    return DatasetName(namespace, name)


def is_job(ref: JobRef) -> bool:
    """Return True for a real job, False for a derivation."""
    return bool(ref.namespace)
