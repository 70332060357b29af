"""Provenance: every run, input version and code version that a dataset's contents come from.

Versions are those that producers reported. Where a run wrote without reporting one, the version is
the run's id; where a run read without one, it is the version that the runs before it wrote.

- walked: the generations upstream with their edges on the way; a generation is the runs of a task
  under one parent run, or a declaration without runs
- entry: a run at the level of the query, with the runs below it (its members)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated

from headwater import memory
from headwater.datasets.removal import removal_of
from headwater.datasets.writes import has_written
from headwater.events import JobRef
from headwater.graph.current import generations_of, level_of
from headwater.graph.frontier import Walked
from headwater.graph.generation import Generation
from headwater.graph.generations import Generations
from headwater.graph.levels import Level
from headwater.graph.nodes import Node, name_of, node_id, node_ref
from headwater.graph.placeholders import is_job, only_datasets
from headwater.graph.run_edges import Edges
from headwater.identity import DatasetName
from headwater.lineage.provenance import deleted_sources, flows_from_others, origin, sources_of
from headwater.lineage.tags import Tags, dataset_tag
from headwater.lookup import find_dataset
from headwater.node_facets import kind_of, owners_of
from headwater.plugins.provenance import models
from headwater.plugins.provenance._personal import personal_data
from headwater.plugins.provenance._unknown import unknown_facts
from headwater.projection import Run, State, start_of
from headwater.projection.derived import began_at
from headwater.projection.state import RunKey
from headwater.query.models import CodeLocation
from headwater.query.parameters import LevelName, Name
from headwater.query.registry import Times, query
from headwater.runs.summary import code_of, run_line

Versions = dict[DatasetName, set[str]]


@query("provenance", Times.THEN)
def provenance_answer(
    state: State,
    node: Name,
    version: Annotated[
        str | None, "A version of the dataset, or the id of the run that wrote it."
    ] = None,
    level: LevelName = "task",
) -> models.ProvenanceAnswer:
    """Return every run, input version and code version upstream of a dataset."""
    root, generations = find_dataset(state, node), generations_of(state)
    walked = origin(generations, root, version)
    entries = _entries(generations, walked, level_of(level))
    entries.sort(key=lambda entry: (entry.started, entry.job), reverse=True)
    source_versions = {  # of the datasets upstream that no known run wrote
        name: {version for entry in entries for version in entry.reads.get(name, ())}
        for name in sources_of(walked, root)
    }
    names = sorted(
        only_datasets(name for edges in walked.values() for name in (*edges.reads, *edges.writes))
        | {root.dataset_name}
    )
    tags_of = Tags(generations, walked.keys())
    tags = [column_tag for name in names for column_tag in tags_of.of(name)]
    # without the other outputs of these runs, which the contents do not come from
    inputs = {name for entry in entries for name in entry.reads}
    runs = [_run_answer(generations, entry) for entry in entries]
    deleted = deleted_sources(generations, walked)
    return {
        "node": node_id(root),
        "version": version,
        "level": level,
        "runs": runs,
        "sources": _version_list(source_versions),
        "deletedSources": deleted,
        "unknown": unknown_facts(runs, deleted, sum(map(_unreported_reads, entries))),
        "datasets": [_about(state, Node.of_dataset(name)) for name in names],
        "tags": list(map(dataset_tag, tags)),
        "personalData": personal_data(root.dataset_name, inputs, tags, deleted is not None),
    }


def _about(state: State, node: Node) -> models.ProvenanceDataset:
    """Return a dataset upstream as part of the answer."""
    return {
        **node_ref(node),
        "kind": kind_of(state, node),
        "owners": owners_of(state, node),
        "removal": removal_of(state, node.dataset_name),
    }


@dataclass(slots=True)
class _Entry:
    """The reads and writes of a run and of those below it; without a run, those a job declares.

    `started` is in microseconds, and 0 for a declaration. Versions are by primary name.
    """

    job: JobRef
    started: int
    run: Run | None = None
    members: list[tuple[Run, Edges]] = field(default_factory=list)
    edges: Edges = field(default_factory=Edges)
    """The edges that its members report."""
    reads: Versions = field(default_factory=lambda: defaultdict(set))
    writes: Versions = field(default_factory=lambda: defaultdict(set))
    reported: set[DatasetName] = field(default_factory=set)
    """Inputs whose versions the run reported. Other versions come from the writers."""


def _entries(generations: Generations, walked: Walked, level: Level) -> list[_Entry]:
    """Return the runs at a level, and the declarations, of `walked`: the generations upstream."""
    state = generations.state
    found: dict[RunKey, _Entry] = {}
    declared = []
    for generation, edges in walked.items():
        if not generation.runs:
            if is_job(generation.job):
                declared.append(_declared(generation, edges))
            continue
        sources = [flow.source for flow in flows_from_others(generations, generation)]
        input_versions = _written(generations, ((run, None) for g in sources for run in g.runs))
        for run in generation.runs:
            owner = generations.levels.owner(run, level)  # the run at the level, or itself
            begun = began_at(state, owner) or start_of(run) or 0
            entry = found.setdefault(owner.key, _Entry(owner.key.job, begun, owner))
            for spelled, use in run.inputs.items():
                if (name := state.identity.primary(spelled)) in edges.reads:
                    unreported = input_versions.get(name, set())
                    entry.reads[name] |= use.version_names or unreported
                    entry.reported |= {name} if use.version_names else set()
            entry.members.append((run, edges))
            own = generations.own(run)
            # of a part of a generation, such as one partition, only the edges of this part
            entry.edges.add(own.within(edges) if generation.is_limited else own)
    for entry in found.values():
        entry.writes = _written(generations, entry.members)
    return [*found.values(), *declared]


def _declared(generation: Generation, edges: Edges) -> _Entry:
    """Return the entry of a declaration: its datasets have no versions."""
    entry = _Entry(generation.job, 0, edges=edges)
    entry.reads |= {name: set() for name in only_datasets(edges.reads)}
    entry.writes |= {name: set() for name in only_datasets(edges.writes)}
    return entry


def _written(generations: Generations, runs: Iterable[tuple[Run, Edges | None]]) -> Versions:
    """Return the versions that some runs reported for their outputs, or else the runs' ids.

    A task that reports an output stands for its queries. With edges, only their writes count. An
    output that no run wrote, because all of them failed, has no version.

    Names are primary names.
    """
    stated: Versions = defaultdict(set)
    tasks: dict[DatasetName, dict[RunKey, RunKey]] = defaultdict(dict)
    for run, edges in runs:
        for spelled, use in run.outputs.items():
            name = generations.state.identity.primary(spelled)
            if edges is not None and name not in edges.writes:
                continue
            of = tasks[name]  # the task of each run that wrote it
            if has_written(generations.state, run, use):
                of[run.key] = generations.levels.owner(run, Level.TASK).key
            stated[name] |= use.version_names
    return {
        name: stated[name] or {(task if task in of else run).run_id for run, task in of.items()}
        for name, of in tasks.items()
    }


def _unreported_reads(entry: _Entry) -> int:
    """Return the number of inputs of a run whose versions it did not report."""
    return len(entry.reads.keys() - entry.reported) if entry.run else 0


def _run_answer(generations: Generations, entry: _Entry) -> models.ProvenanceRun:
    """Return an entry as part of the answer."""
    memory.charge(2_048)
    lineage = generations.levels.lineage(entry.run) if entry.run else ()
    # Its own code, or else that of the nearest run above.
    code = next((code for run in lineage if (code := code_of(run))), CodeLocation())
    return {
        "job": name_of(entry.job),
        "run": run_line(generations.state, entry.run) if entry.run else None,
        "code": code,
        "inputs": _version_list(entry.reads),
        "outputs": _outputs(entry),
    }


def _outputs(entry: _Entry) -> list[models.ProvenanceOutput]:
    """Return the outputs of an entry; `sources` is null if all its inputs feed the output."""
    found: list[models.ProvenanceOutput] = []
    for name in sorted(entry.writes):
        sources = entry.edges.sources_of(name) & entry.reads.keys()
        stated = None if sources == entry.reads.keys() else list(map(name_of, sorted(sources)))
        versions = sorted(entry.writes[name])
        has_failed = entry.run is not None and not versions
        found.append(
            {**name_of(name), "versions": versions, "sources": stated, "hasFailed": has_failed}
        )
    return found


def _version_list(versions: Versions) -> list[models.DatasetVersions]:
    """Return datasets with their versions as part of the answer, sorted by name."""
    return [{**name_of(name), "versions": sorted(versions[name])} for name in sorted(versions)]
