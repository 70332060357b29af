"""Provenance: every run, input version and code version that a dataset's contents come from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from throughline.errors import NotFoundError
from throughline.graph.generations import Generation, Generations, Walked
from throughline.graph.levels import Level
from throughline.graph.nodes import Node, kind_of, node_id, owners_of
from throughline.graph.run_edges import Edges, derived_by, only_datasets
from throughline.graph.tags import Tags, shown
from throughline.graph.walk import run_line
from throughline.identity import DatasetName
from throughline.projection import Run, State, start_of, version_of
from throughline.projection.derived import began_at
from throughline.projection.state import RunKey
from throughline.spec import JobRef

Versions = dict[DatasetName, set[str]]


def code_of(run: Run) -> dict[str, Any]:
    """Where the code of a run is (sourceCodeLocation); empty when it did not say."""
    location = run.code.get("sourceCodeLocation")
    return {key: location.get(key) for key in ("repoUrl", "path", "version") if location}


def origin(known: Generations, root: Node, version: str | None = None) -> Walked:
    """All that led to the present contents of a dataset, or to one version of it.

    Raises:
        NotFoundError: no run is known to have written that version.
    """
    name = DatasetName(root.namespace, root.name)
    if version is None:
        return known.behind(known.writing(name), name)
    found = known.writing_version(name, version)
    if not found:
        raise NotFoundError(f"no run is known to have written version {version!r} of {root.name}")
    return known.behind(found, name)


def sources_of(generations: Walked, root: Node) -> set[DatasetName]:
    """The datasets that generations read and none of them wrote; the root, if nothing did."""
    if not generations:
        return {DatasetName(root.namespace, root.name)}
    written = {name for edges in generations.values() for name in edges.writes}
    return only_datasets(name for edges in generations.values() for name in edges.reads) - written


def provenance(known: Generations, root: Node, version: str | None, level: Level) -> dict[str, Any]:
    """What led to a dataset as a flat list, the newest run first; data edges only.

    `versions` are those that the producers stated; where a run wrote without stating one, the
    version is that run, and where one read without, it is what the runs before it left. `sources`
    are the datasets that no run is known to have written; `datasets` says of each that is named
    what it is, and `tags` which tags they and their columns have, with whence they came.
    """
    generations = origin(known, root, version)
    entries = _entries(known, generations, level)
    entries.sort(key=lambda each: (each.started, each.job), reverse=True)
    sources = sorted(sources_of(generations, root))
    met: Versions = defaultdict(set)
    for entry in entries:
        for name, versions in entry.reads.items():
            met[name] |= versions
    names = sorted(
        only_datasets(name for each in generations.values() for name in (*each.reads, *each.writes))
        | {DatasetName(root.namespace, root.name)}
    )
    tags = Tags(known, generations)
    return {
        "node": node_id(root),
        "version": version,
        "level": level.name.lower(),
        "runs": [_shown(known, entry) for entry in entries],
        "sources": _listed({name: met[name] for name in sources}),
        "datasets": [_about(known.state, Node.of_dataset(name)) for name in names],
        "tags": [shown(each) for name in names for each in tags.of(name)],
    }


def _about(state: State, node: Node) -> dict[str, Any]:
    kind = kind_of(state, node)
    return {
        "id": node_id(node),
        **node._asdict(),
        "kind": kind,
        "owners": owners_of(state, node),
    }


@dataclass(slots=True)
class _Entry:
    """A run with what it and those below it did; without one, what a job declares."""

    job: JobRef
    started: int
    run: Run | None = None
    members: list[tuple[Run, Edges]] = field(default_factory=list)
    reads: Versions = field(default_factory=lambda: defaultdict(set))
    writes: Versions = field(default_factory=lambda: defaultdict(set))


def _entries(known: Generations, generations: Walked, level: Level) -> list[_Entry]:
    state = known.state
    found: dict[RunKey, _Entry] = {}
    declared = []
    for generation, edges in generations.items():
        if not generation.runs:
            if derived_by(generation.job) is None:
                declared.append(_declared(generation, edges))
            continue
        left = _written(state, ((run, None) for g in known.sources(generation) for run in g.runs))
        for run in generation.runs:
            owner = known.levels.owner(run, level)
            begun = began_at(state, owner) or start_of(run) or 0
            entry = found.setdefault(owner.key, _Entry(owner.key.job, begun, owner))
            for spelled, use in run.inputs.items():
                if (name := state.identity.primary(spelled)) in edges.reads:
                    entry.reads[name] |= {use.version[1]} if use.version else left.get(name, set())
            entry.members.append((run, edges))
    for entry in found.values():
        entry.writes = _written(state, entry.members)
    return [*found.values(), *declared]


def _declared(generation: Generation, edges: Edges) -> _Entry:
    entry = _Entry(generation.job, 0)
    entry.reads |= {name: set() for name in only_datasets(edges.reads)}
    entry.writes |= {name: set() for name in only_datasets(edges.writes)}
    return entry


def _written(state: State, runs: Iterable[tuple[Run, Edges | None]]) -> Versions:
    """The versions that some runs stated of what they wrote; where none did, those runs.

    With edges, only of the datasets that these write.
    """
    stated: Versions = defaultdict(set)
    runs_of: Versions = defaultdict(set)
    for run, edges in runs:
        for spelled, use in run.outputs.items():
            name = state.identity.primary(spelled)
            if edges is not None and name not in edges.writes:
                continue
            runs_of[name].add(version_of(run, use))
            stated[name] |= {use.version[1]} if use.version else set()
    return {name: stated[name] or runs_of[name] for name in runs_of}


def _shown(known: Generations, entry: _Entry) -> dict[str, Any]:
    line, code = None, {}
    if entry.run is not None:
        line = run_line(known.state, entry.run)
        told = (code_of(run) for run in known.levels.lineage(entry.run))
        code = next(filter(None, told), {})  # its own, or else that of the nearest run above
    return {
        "job": entry.job._asdict(),
        "run": line,
        "code": code,
        "inputs": _listed(entry.reads),
        "outputs": _listed(entry.writes),
    }


def _listed(versions: Versions) -> list[dict[str, Any]]:
    return [{**name._asdict(), "versions": sorted(versions[name])} for name in sorted(versions)]
