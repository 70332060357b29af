"""Versions of datasets and jobs, with ids derived from their content.

- label: the name of a dataset version: that of the version facet, or else the id of the run
- use: a dataset as an input or output of one run
"""

from __future__ import annotations

import uuid
from bisect import bisect_right
from collections.abc import Iterable, Set
from dataclasses import dataclass
from functools import lru_cache

from headwater.events import Facets, JobRef
from headwater.identity import DatasetName
from headwater.node_facets import newest_facets
from headwater.projection import Job, Run, State, Use, outcome, start_of, version_of, versions_of
from headwater.projection.derived import ancestry_of, records_of
from headwater.projection.facet_books import FacetBook
from headwater.runs.summary import place_of_run

_NAMESPACE = uuid.UUID("6d8a64b5-0a62-5f0c-9f5c-3c6f6b0c1f4e")
_INITIAL = ""  # label of the version before the first write
_CARRIED = ("schema", "documentation", "dataSource", "tags")
"""Facets that a version takes over from earlier versions."""


@lru_cache(maxsize=65_536)
def uuid_of(*parts: object) -> str:
    """Return an id derived from its parts."""
    return str(uuid.uuid5(_NAMESPACE, "\n".join(map(str, parts))))


@dataclass(frozen=True, slots=True)
class DatasetVersion:
    """A dataset after one write; without a run, before any write.

    `reported` are the facets that its run reported. `created` is in microseconds.
    """

    id: str
    label: str | None
    """The version in the version facet."""
    run: Run | None
    created: int | None
    reported: Facets
    facets: Facets
    """`reported` with schema, description, source and tags of earlier versions."""


@dataclass(slots=True)
class JobVersion:
    """Runs of a job with the same code, inputs and outputs.

    A declaration counts like a run. `created` is the first end of such a run, or the time of the
    declaration, in microseconds. `run` is the newest run; None if there is only a declaration.
    """

    id: str
    created: int
    location: str | None
    reads: tuple[DatasetName, ...]
    writes: tuple[DatasetName, ...]
    run: Run | None


class Versions:
    """The versions of one state, cached by dataset; their ids are derived from their content."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._writes: dict[DatasetName, tuple[list[int], list[tuple[str, Run, Use]]]] = {}

    def of_dataset(self, name: DatasetName) -> list[DatasetVersion]:
        """Return the versions of a dataset, newest first; without writes only the initial one."""
        found: list[DatasetVersion] = []
        facets: Facets = {}
        for label, run, use in self._written(name)[1]:
            reported = {**use.dataset_facets.plain(), **use.io_facets.plain()}
            facets = {**{key: facets[key] for key in _CARRIED if key in facets}, **reported}
            version = label if use.versions else None
            id_ = self._id(name, label)
            found.append(DatasetVersion(id_, version, run, run.first, reported, facets))
        return found[::-1] or [self.initial(name)]

    def initial(self, name: DatasetName) -> DatasetVersion:
        """Return the version of a dataset before its first write."""
        facets = dataset_facets(self._state, name)
        first, _ = times_of(self._state, name)
        return DatasetVersion(self._id(name, _INITIAL), None, None, first, facets, facets)

    def current(self, name: DatasetName) -> str:
        """Return the id of the newest version of a dataset."""
        written = self._written(name)[1]
        return self._id(name, written[-1][0] if written else _INITIAL)

    def written(self, run: Run, name: DatasetName, use: Use) -> str:
        """Return the id of the version that a run wrote; `use` is its output under the name."""
        return self._id(name, version_of(run, use))

    def read(self, run: Run, name: DatasetName, use: Use) -> tuple[str, Run | None]:
        """Return the id of the version that a run read, and the run that wrote it.

        That is the version in the version facet, or else the newest one whose writer started no
        later than the run and is neither the run itself nor its ancestor or descendant.
        """
        times, written = self._written(name)
        if use.version is not None:
            writers = [writer for label, writer, _ in written if label == use.version]
            return self._id(name, use.version), writers[0] if writers else None
        start = start_of(run) or 0
        last = bisect_right(times, start)
        # Writers that started at the same time count unless they are related: a task cannot have
        # read what its own run or parent wrote afterwards.
        while last and times[last - 1] == start and self._are_related(run, written[last - 1][1]):
            last -= 1
        label, writer, _ = written[last - 1] if last else (_INITIAL, None, None)
        return self._id(name, label), writer

    def of_run(self, run: Run) -> JobVersion | None:
        """Return the job version of a run; None before it ends."""
        ended = outcome(self._state, run).ended
        if ended is None:
            return None
        location = location_of(run.code)
        return self._job_version(run.key.job, ended, location, run.inputs, run.outputs, run)

    def of_job(self, job: Job) -> list[JobVersion]:
        """Return the versions of a job, newest first, from its ended runs and its declaration."""
        found: dict[str, JobVersion] = {}
        if said := job.declared:
            location = location_of(job.facets)
            declared = self._job_version(
                job.ref, said.stamp.time, location, said.inputs, said.outputs, None
            )
            found[declared.id] = declared
        for run in reversed(runs_of(self._state, job)):
            if version := self.of_run(run):
                first = found.setdefault(version.id, version)
                first.run, first.created = run, min(first.created, version.created)
        return sorted(
            found.values(), key=lambda version: (version.created, version.id), reverse=True
        )

    def current_of_job(self, job: Job, newest_first: list[Run]) -> JobVersion | None:
        """Return the version of the newest ended run of a job, or else of its declaration."""
        for run in newest_first:
            if version := self.of_run(run):
                return version
        return next(iter(self.of_job(job)), None)

    def _are_related(self, run: Run, other: Run) -> bool:
        """Return True if the runs are equal or one is an ancestor of the other."""
        above, above_other = ancestry_of(self._state, run), ancestry_of(self._state, other)
        return any(a is other for a in above) or any(a is run for a in above_other)

    def _id(self, name: DatasetName, label: str) -> str:
        """Return the id of a version, given a name of the dataset and the label of the version."""
        return uuid_of("dataset", *self._state.identity.primary(name), label)

    def _job_version(
        self,
        ref: JobRef,
        created: int,
        location: str | None,
        reads: Iterable[DatasetName],
        writes: Iterable[DatasetName],
        run: Run | None,
    ) -> JobVersion:
        """Return a job version; its id depends on code, inputs and outputs, but not on the run."""
        primary = self._state.identity.primary
        ins, outs = (tuple(sorted(set(map(primary, side)))) for side in (reads, writes))
        id_ = uuid_of("job version", *ref, location, ins, outs)
        return JobVersion(id_, created, location, ins, outs, run)

    def _written(self, name: DatasetName) -> tuple[list[int], list[tuple[str, Run, Use]]]:
        """Return start times and versions, ordered by the start of their first run.

        A version has its label, its first run and the output of that run. Times are in
        microseconds.
        """
        primary = self._state.identity.primary(name)
        if primary not in self._writes:
            written: dict[str, tuple[str, Run, Use]] = {}
            for alias in self._state.identity.names(primary):
                record = self._state.datasets.get(alias)
                for key in record.writers if record else ():
                    run = self._state.runs[key]
                    use = run.outputs[alias]
                    for label in versions_of(run, use):
                        if label not in written or _age(run) < _age(written[label][1]):
                            written[label] = label, run, use
            ordered = sorted(written.values(), key=lambda item: _age(item[1]))
            self._writes[primary] = [_age(run)[0] for _, run, _ in ordered], ordered
        return self._writes[primary]


def runs_of(state: State, job: Job) -> list[Run]:
    """Return the runs of a job, newest first."""
    runs = [state.runs[key] for key in job.runs]
    return sorted(runs, key=lambda run: place_of_run(state, run), reverse=True)


def times_of(state: State, name: DatasetName) -> tuple[int | None, int | None]:
    """Return the first and the last mention of a dataset under any of its names.

    Both are microseconds, and None if it was never mentioned.
    """
    records = records_of(state, name)
    first = min((record.first for record in records), default=None)
    return first, max((record.last for record in records), default=None)


def dataset_facets(state: State, name: DatasetName, only: Set[str] | None = None) -> Facets:
    """Return the newest facets of a dataset and its aliases; `only` limits the facet names."""
    return newest_facets((record.facets for record in records_of(state, name)), only)


def location_of(book: FacetBook) -> str | None:
    """Return the URL of the code of a job or run."""
    url = book.get("sourceCodeLocation").get("url")
    return None if url is None else str(url)


def _age(run: Run) -> tuple[int, str]:
    """Return the sort key of runs from old to new: start (microseconds) and id."""
    return start_of(run) or 0, run.key.run_id
