"""The query for the writers and readers of a version, and the nodes that contain its data.

- version: the contents of a dataset after one write, as reported or else the id of the run
- generation: the runs of a task under one parent run; a flow is data that it gets from another
- owner of a run: the task run that it is a part of, or itself
- proven: derived from reported versions; otherwise from the times of writes and reads
- current: of a node, that its present contents have the data
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Annotated, NamedTuple

from headwater import memory
from headwater.datasets.taints import taints_of
from headwater.datasets.writes import written_by
from headwater.events import JobRef, shown_time
from headwater.filter_values import job_owners
from headwater.graph.current import generations_of
from headwater.graph.frontier import Walked
from headwater.graph.generation import Generation
from headwater.graph.generations import Generations
from headwater.graph.levels import Level
from headwater.graph.nodes import Node, dataset_ref, node_ref
from headwater.graph.placeholders import is_job, only_datasets
from headwater.identity import DatasetName
from headwater.lineage.reached import generations_downstream
from headwater.log import EventLog
from headwater.node_facets import kind_of, owners_of
from headwater.plugins.incidents import models
from headwater.plugins.incidents._gaps import gaps_of
from headwater.plugins.incidents._named import Version, find_version
from headwater.plugins.incidents._readers import Reader, readers_of
from headwater.projection import Run, RunKey, State
from headwater.query.models import CodeLocation
from headwater.query.parameters import Limit
from headwater.query.registry import Times, query
from headwater.runs.summary import code_of, place_of_run, run_line

MOST = 20
"""Maximum number of versions, and of runs, of an affected node in an answer."""


def deleted_before(log: EventLog) -> int:
    """Return the time (microseconds) before which events were deleted; 0 if none were.

    Queries get it as `stored`, because only the database of the log has it.
    """
    return log.pruned_until()


@query("version", Times.THEN, load=deleted_before)
def version_answer(
    state: State,
    version: Annotated[str, "DATASET@VERSION, or a version alone if only one dataset has it."],
    limit: Limit = 100,
    stored: int = 0,
) -> models.VersionAnswer:
    """Return the writers and readers of a version of a dataset, and what contains its data.

    A version is one that runs reported (an Iceberg snapshot, a model version or a file hash) or, if
    none was reported, the id of the run that wrote it. DATASET@RUN also selects what a run wrote.
    `limit` applies to the readers and to the affected nodes.
    """
    generations, named = generations_of(state), find_version(state, version)
    readers, spread = readers_of(generations, named), spread_of(generations, named)
    found = sorted(readers.found, key=lambda r: place_of_run(state, r.run), reverse=True)
    is_exact = any(reader.by == "version" for reader in found)
    writers = list(writers_of(generations, named))
    return {
        **dataset_ref(named.name),
        "kind": kind_of(state, named.node),
        "version": named.version,
        "isReported": named.is_reported,
        "taint": _taint(state, named),
        "writers": writers,
        "wasRead": "yes" if is_exact else "by_time" if found else "unknown",
        "readerCount": len(found),
        "readers": [reader_answer(generations, named, reader) for reader in found[:limit]],
        "affectedCount": len(spread.nodes),
        "affected": [node.answer(state) for node in spread.nodes[:limit]],
        "unknown": list(
            gaps_of(
                generations,
                named,
                readers,
                writers=jobs_by_time(writers),
                downstream=spread.by_time,
                deleted_before=stored,
            )
        ),
    }


def _taint(state: State, named: Version) -> models.TaintInfo | None:
    """Return the recall of a version; None if it is not recalled."""
    for taint in taints_of(state, named.name):
        if taint.version == named.version:
            return {"reason": taint.reason, "at": shown_time(taint.at)}
    return None


def reader_answer(generations: Generations, named: Version, reader: Reader) -> models.VersionReader:
    """Return a reader of a version as part of an answer.

    `named` is the version that it read. The outputs are those that contain what it read.
    """
    return {
        "run": run_line(generations.state, reader.run),
        "by": reader.by,
        "owners": owners_of(generations.state, Node.of_job(reader.run.key.job)),
        "outputs": _outputs(generations, reader.generation, reader.run, named.name),
    }


def writers_of(generations: Generations, named: Version) -> Iterator[models.VersionWriter]:
    """Yield the task runs that wrote a version, with the versions of their inputs.

    The query copies of a task are counted as the task.
    """
    state = generations.state
    for generation in dict.fromkeys(writer.original for writer in named.writers):
        owners = {
            write.run.key: write.run
            for write in written_by(generations, generation, named.name)
            if write.version == named.version
        }
        for owner in owners.values():
            lineage = generations.levels.lineage(owner)
            # Its own code, or else that of the nearest run above.
            code = next((code for run in lineage if (code := code_of(run))), CodeLocation())
            yield {
                "run": run_line(state, owner),
                "code": code,
                "inputs": _inputs(generations, generation, owner, named.name),
            }


def jobs_by_time(writers: Iterable[models.VersionWriter]) -> list[JobRef]:
    """Return the jobs of writers that did not report the versions of all their inputs."""
    return [
        JobRef(writer["run"]["job"]["namespace"], writer["run"]["job"]["name"])
        for writer in writers
        if any(used["by"] == "time" for used in writer["inputs"])
    ]


def _inputs(
    generations: Generations, generation: Generation, owner: Run, target: DatasetName
) -> list[models.UsedVersions]:
    """Return the inputs of a task run that feed an output, with their versions.

    `owner` is the task run and `target` the output. If a run reported no version of an input, the
    versions are those that the flows say, and `by` is "time".
    """
    primary = generations.state.identity.primary
    reported: dict[DatasetName, set[str]] = {}
    for run in generation.runs:
        if generations.levels.owner(run, Level.TASK) is owner:
            for name in only_datasets(generations.own(run).reads):
                reported.setdefault(name, set())
            for spelled, use in run.inputs.items():
                if (name := primary(spelled)) in reported:
                    reported[name] |= use.version_names
    written: dict[DatasetName, set[str]] = defaultdict(set)
    for flow in generations.flows(generation):
        if not flow.is_kept:
            found = written_by(generations, flow.source, flow.dataset)
            written[flow.dataset] |= {write.version for write in found}
    return [
        {
            **dataset_ref(name),
            "versions": sorted(versions or written[name]),
            "by": "version" if versions else "time",
        }
        for name, versions in sorted(reported.items())
        if name in generation.edges.sources_of(target)
    ]


def _outputs(
    generations: Generations, generation: Generation, owner: Run, source: DatasetName
) -> list[models.WrittenVersions]:
    """Return the outputs of a task run that an input feeds, with the versions that it wrote.

    `owner` is the task run and `source` the input. An output without a write is left out.
    """
    found: list[models.WrittenVersions] = []
    for name in sorted(only_datasets(generation.edges.targets_of(source))):
        writes = written_by(generations, generation, name)
        versions = sorted(write.version for write in writes if write.run is owner)
        if versions:
            found.append({**dataset_ref(name), "versions": versions})
    return found


@dataclass(slots=True)
class Affected:
    """A node that contains or uses data of a version.

    `first` is the start (microseconds) of its first run. `is_proven` is true if reported versions
    prove a way to it.
    """

    node: Node
    versions: dict[str, int] = field(default_factory=dict)
    """The versions of a dataset, with the time of each in microseconds."""
    runs: dict[RunKey, Run] = field(default_factory=dict)
    is_versioned: bool = True
    """False if some of the data is in no version, such as that of a view or a renamed table."""
    is_proven: bool = False
    is_current: bool = False
    first: int = 0

    def owners(self, state: State) -> list[str]:
        """Return the owners of the node; of a dataset without any, those of its writers."""
        return owners_of(state, self.node) or (
            job_owners(state, self.node) if self.node.type == "dataset" else []
        )

    def answer(self, state: State) -> models.NodeWithVersion:
        """Return the node as part of an answer."""
        memory.charge(2_048)
        is_job = self.node.type == "job"
        kind = kind_of(state, self.node) if not is_job else "job"
        if is_job and self.node.job_ref in state.exposed:
            kind = "exposure"
        versions = sorted(self.versions, key=lambda v: (self.versions[v], v), reverse=True)
        runs = sorted(self.runs.values(), key=lambda run: place_of_run(state, run), reverse=True)
        return {
            **node_ref(self.node),
            "kind": kind,
            "versionCount": len(versions),
            "versions": versions[:MOST],
            "runCount": len(runs),
            "runs": [run_line(state, run) for run in runs[:MOST]],
            "by": "version" if self.is_proven else "time",
            "isCurrent": self.is_current,
            "owners": self.owners(state),
        }


class Spread(NamedTuple):
    """The nodes that contain or use data of a version."""

    nodes: list[Affected]
    """In the order of their first runs."""
    by_time: list[JobRef]
    """The jobs with runs that only times connect with the version."""
    walk: Walked
    """The generations that contain or use the data, with the edges on its way."""


def spread_of(generations: Generations, *versions: Version) -> Spread:
    """Return the nodes that contain or use data of at least one of the versions.

    Without writers, the walk starts at the runs that reported reading the version. The versions
    themselves are no affected nodes, unless their dataset has other versions with the data.
    """
    writes = [(writer, named.name) for named in versions for writer in named.writers]
    reads = [
        (reader.generation, named.name)
        for named in versions
        for reader in (() if named.writers else readers_of(generations, named).found)
        if reader.by == "version"
    ]
    walk = generations_downstream(generations, writes, reads)
    proven = generations_downstream(generations, writes, reads, is_proven=True)
    nodes: dict[Node, Affected] = {}
    for generation, edges in walk.items():
        for part in _parts(generations, generation, edges.writes):
            node = nodes.setdefault(part.node, part)
            node.versions |= part.versions
            node.runs |= part.runs
            node.is_proven |= generation in proven
            node.is_current |= part.is_current
            node.is_versioned &= part.is_versioned
            node.first = min(node.first, part.first)
    for named in versions:
        if (own := nodes.get(named.node)) is not None:
            own.versions.pop(named.version, None)
            if own.is_versioned and not own.versions:
                del nodes[named.node]
    # Without this version, a dataset is only affected if it has other versions with the data.
    unproven = {g.job for g in walk if g not in proven and is_job(g.job)}
    return Spread(sorted(nodes.values(), key=lambda n: (n.first, n.node)), sorted(unproven), walk)


def _parts(
    generations: Generations, generation: Generation, writes: Iterable[DatasetName]
) -> Iterator[Affected]:
    """Yield the written datasets of a generation, or else its job.

    `writes` are the datasets of it that contain the data.
    """
    owners = [generations.levels.owner(run, Level.TASK) for run in generation.runs]
    runs = {owner.key: owner for owner in owners}
    names = only_datasets(writes)
    for name in names:
        # Without a write, a run failed, is open or renamed a table: the data may be in it.
        found = written_by(generations, generation, name)
        yield Affected(
            Node.of_dataset(name),
            {write.version: write.at for write in found},
            {write.run.key: write.run for write in found} or runs,
            is_versioned=bool(found),
            is_current=generation in generations.writing(name),
            first=generation.started,
        )
    if not names and is_job(generation.job):
        is_current = generation in generations.effective(generation.job)
        node = Node.of_job(generation.job)
        yield Affected(node, {}, runs, is_current=is_current, first=generation.started)
