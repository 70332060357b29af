"""Versions of datasets and jobs, with ids that follow from what they are."""

from __future__ import annotations

import uuid
from bisect import bisect_right
from collections.abc import Iterable, Set
from dataclasses import dataclass
from functools import lru_cache

from throughline.api.facets import location_of
from throughline.identity import DatasetName
from throughline.projection import Job, Run, State, Use, outcome, start_of, version_of
from throughline.projection.derived import ancestry_of, began_at
from throughline.projection.facets import Stamp, unpack
from throughline.spec import Facets, JobRef

_NAMESPACE = uuid.UUID("6d8a64b5-0a62-5f0c-9f5c-3c6f6b0c1f4e")
_MET = ""  # stands for the version that was there before anybody wrote one


@lru_cache(maxsize=65_536)
def uuid_of(*parts: object) -> str:
    """An id derived from what it names."""
    return str(uuid.uuid5(_NAMESPACE, "\n".join(map(str, parts))))


@dataclass(frozen=True, slots=True)
class DatasetVersion:
    """What a dataset was after one write; without a run, as it was met before any."""

    id: str
    label: str | None
    """What the version facet calls it."""
    run: Run | None
    made: int | None
    said: Facets
    known: Facets
    """`said` with what earlier versions said of the schema, the description and the source."""


@dataclass(slots=True)
class JobVersion:
    """What a job did in one way: the same code, inputs and outputs."""

    id: str
    made: int
    location: str | None
    reads: tuple[DatasetName, ...]
    writes: tuple[DatasetName, ...]
    run: Run | None


_CARRIED = ("schema", "documentation", "dataSource", "tags")


class Versions:
    """The versions of one state, each dataset's and job's found once."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._writes: dict[DatasetName, tuple[list[int], list[tuple[str, Run, Use]]]] = {}

    def of_dataset(self, name: DatasetName) -> list[DatasetVersion]:
        """The versions of a dataset, the newest first; one that nobody wrote has one as met."""
        found: list[DatasetVersion] = []
        known: Facets = {}
        for label, run, use in self._made(name)[1]:
            said = {**use.dataset_facets.plain(), **use.facets.plain()}
            known = {**{key: known[key] for key in _CARRIED if key in known}, **said}
            told = use.version[1] if use.version else None
            id_ = self._id(name, label)
            found.append(DatasetVersion(id_, told, run, run.first, said, known))
        return found[::-1] or [self.met(name)]

    def met(self, name: DatasetName) -> DatasetVersion:
        """What those met who read a dataset before anybody wrote it."""
        facets = dataset_facets(self._state, name)
        names = self._state.identity.names(name)
        records = [self._state.datasets[each] for each in names if each in self._state.datasets]
        first = min((record.first for record in records), default=None)
        return DatasetVersion(self._id(name, _MET), None, None, first, facets, facets)

    def current(self, name: DatasetName) -> str:
        """The id of the newest version of a dataset."""
        made = self._made(name)[1]
        return self._id(name, made[-1][0] if made else _MET)

    def written(self, run: Run, name: DatasetName, use: Use) -> str:
        """The id of the version that a run wrote."""
        return self._id(name, version_of(run, use))

    def read(self, run: Run, name: DatasetName, use: Use) -> tuple[str, Run | None]:
        """The id of the version that a run read, and who had made it.

        It is the one that the version facet names, or else the newest whose maker had begun by the
        time that the run did and is neither the run itself nor above or below it.
        """
        times, made = self._made(name)
        if use.version is not None:
            makers = [maker for label, maker, _ in made if label == use.version[1]]
            return self._id(name, use.version[1]), makers[0] if makers else None
        start = start_of(run) or 0
        last = bisect_right(times, start)
        while last and times[last - 1] == start and self._are_related(run, made[last - 1][1]):
            last -= 1
        label, maker, _ = made[last - 1] if last else (_MET, None, None)
        return self._id(name, label), maker

    def _are_related(self, run: Run, other: Run) -> bool:
        """Return whether one of two runs is the other or above it."""
        above, above_other = ancestry_of(self._state, run), ancestry_of(self._state, other)
        return any(each is other for each in above) or any(each is run for each in above_other)

    def of_run(self, run: Run) -> JobVersion | None:
        """The version of its job that a run was; None as long as it is open."""
        ended = outcome(self._state, run).ended
        if ended is None:
            return None
        location = location_of(run.code)
        return self._job_version(run.key.job, ended, location, run.inputs, run.outputs, run)

    def of_job(self, job: Job) -> list[JobVersion]:
        """The versions of a job, the newest first: what its ended runs did, and its declaration."""
        found: dict[str, JobVersion] = {}
        if job.declared is not None:
            location = location_of(job.facets)
            said = job.declared
            declared = self._job_version(
                job.ref, said.stamp.time, location, said.inputs, said.outputs, None
            )
            found[declared.id] = declared
        for run in reversed(runs_of(self._state, job)):
            version = self.of_run(run)
            if version is not None:
                held = found.setdefault(version.id, version)
                held.run, held.made = run, min(held.made, version.made)
        return sorted(found.values(), key=lambda each: (each.made, each.id), reverse=True)

    def current_of_job(self, job: Job, newest_first: list[Run]) -> JobVersion | None:
        """What the newest ended run of a job was, or else what is declared of it."""
        for run in newest_first:
            if version := self.of_run(run):
                return version
        return next(iter(self.of_job(job)), None)

    def _id(self, name: DatasetName, label: str) -> str:
        return uuid_of("dataset", *self._state.identity.primary(name), label)

    def _job_version(
        self,
        ref: JobRef,
        made: int,
        location: str | None,
        reads: Iterable[DatasetName],
        writes: Iterable[DatasetName],
        run: Run | None,
    ) -> JobVersion:
        primary = self._state.identity.primary
        ins, outs = (tuple(sorted(set(map(primary, side)))) for side in (reads, writes))
        id_ = uuid_of("job version", *ref, location, ins, outs)
        return JobVersion(id_, made, location, ins, outs, run)

    def _made(self, name: DatasetName) -> tuple[list[int], list[tuple[str, Run, Use]]]:
        """The versions by when their first run began, and these times."""
        primary = self._state.identity.primary(name)
        if primary not in self._writes:
            made: dict[str, tuple[str, Run, Use]] = {}
            for alias in self._state.identity.names(primary):
                record = self._state.datasets.get(alias)
                for key in record.writers if record else ():
                    run = self._state.runs[key]
                    use = run.outputs[alias]
                    label = version_of(run, use)
                    if label not in made or _age(run) < _age(made[label][1]):
                        made[label] = label, run, use
            ordered = sorted(made.values(), key=lambda each: _age(each[1]))
            self._writes[primary] = [_age(run)[0] for _, run, _ in ordered], ordered
        return self._writes[primary]


def dataset_facets(state: State, name: DatasetName, only: Set[str] | None = None) -> Facets:
    """The newest facets of a dataset, or `only` some, whichever of its names they came under."""
    newest: dict[str, tuple[Stamp, bytes]] = {}
    for alias in state.identity.names(name):
        record = state.datasets.get(alias)
        for facet_name, found in (record.facets.stamped() if record else {}).items():
            held = newest.get(facet_name)
            is_asked = only is None or facet_name in only
            if is_asked and (held is None or found[0] > held[0]):
                newest[facet_name] = found
    return {facet_name: unpack(held) for facet_name, (_, held) in sorted(newest.items())}


def runs_of(state: State, job: Job) -> list[Run]:
    """The runs of a job, the newest first."""
    runs = [state.runs[key] for key in job.runs]
    return sorted(runs, key=lambda run: (began_at(state, run) or 0, run.key), reverse=True)


def _age(run: Run) -> tuple[int, str]:
    return start_of(run) or 0, run.key.run_id
