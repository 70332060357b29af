"""Derivations: datasets that get data from others without a job.

A DatasetEvent states them, for example of a view. Folders have them, too. A folder contains the
files that jobs wrote into it. A file that no job wrote came with its folder: it gets data from the
innermost folder above it that a job wrote as a whole, but not from other files in that folder.

If both are tables of a catalog, the inner one is a table of its own, although its location is in
that of the other.
"""

from __future__ import annotations

from collections.abc import Iterator

from headwater.events import JobRef, parse_derivation
from headwater.graph.run_edges import Edges, derivation, derived_dataset, sources_of_entry
from headwater.identity import DatasetName, folders_above, is_location
from headwater.projection import Run, State, start_of
from headwater.projection.derived import records_of
from headwater.projection.facet_books import parsed


def derived_edges(state: State, name: DatasetName) -> Edges:
    """Return the edges of the derivation of a dataset, such as a view or a folder."""
    edges = Edges(_in_folder(state, name) | _folder_of(state, name), {name})
    for record in records_of(state, name):
        if record.derivation is not None:
            entry = parsed(record.derivation[1], parse_derivation)
            edges.reads |= sources_of_entry(state, entry, None) - {name}
    return edges


def renames(state: State, name: DatasetName) -> set[tuple[DatasetName, int]]:
    """Return the former names of the datasets to which DatasetEvents gave a name, with times."""
    changes = (change for record in records_of(state, name) for change in record.lifecycle or ())
    return {
        (former, change.stamp.time)
        for change in changes
        if change.kind == "RENAME" and change.run is None and change.other
        if (former := state.identity.primary(change.other)) != name
    }


def edges_at(state: State, edges: Edges, end: float) -> Edges:
    """Return the edges of a derivation without files that were first written after a time."""
    later = {
        file
        for name in edges.writes
        for file in _in_folder(state, name)
        if (began := [start_of(run) or 0 for run in _writers(state, file)]) and min(began) > end
    }
    return Edges(edges.reads - later, edges.writes)


def derivations(state: State) -> Iterator[JobRef]:
    """Yield the derivations of all datasets."""
    for name in state.identity:
        yield from derivations_writing(state, name)


def derivations_of(state: State, name: DatasetName, side: str) -> set[JobRef]:
    """Return the derivations that may be `reading` or `writing` a dataset."""
    return (derivations_reading if side == "reading" else derivations_writing)(state, name)


def derivations_writing(state: State, name: DatasetName) -> set[JobRef]:
    """Return the derivation of a dataset, if it has one."""
    is_stated = any(record.derivation is not None for record in records_of(state, name))
    is_stated = is_stated or bool(renames(state, name))
    is_derived = is_stated or _in_folder(state, name) or _folder_of(state, name)
    return {derivation(name)} if is_derived else set()


def derivations_reading(state: State, name: DatasetName) -> set[JobRef]:
    """Return the derivations that may get data from a dataset."""
    found: set[DatasetName] = set()
    for spelled in state.identity.names(name):
        found.update(state.derived_from.get(spelled, ()))
        if is_written(state, name):
            found.update(filter(state.identity.__contains__, folders_above(spelled)))
            files = state.files.get(spelled, ())
            found.update(file for file in files if not is_written(state, file))
    primaries = {state.identity.primary(dependent) for dependent in found} - {name}
    return {derivation(primary) for primary in primaries if primary in state.identity}


def connects_files(state: State, writer: JobRef, folder: DatasetName, reader: JobRef) -> bool:
    """Return True if a file would get data of other files in its folder."""
    file = derived_dataset(reader)
    if file is None or derived_dataset(writer) != folder:
        return False
    return folder in _folder_of(state, file)


def is_written(state: State, name: DatasetName) -> bool:
    """Return True if a job writes a dataset, or its sources are stated."""
    return any(
        record.writers
        or record.derivation is not None
        or renames(state, name)
        or any(
            (declared := state.jobs[ref].declared) and record.name in declared.outputs
            for ref in record.declaring or ()
        )
        for record in records_of(state, name)
    )


def _in_folder(state: State, folder: DatasetName) -> set[DatasetName]:
    """Return the datasets that jobs wrote into a folder, or into folders in it."""
    primary = state.identity.primary
    names = state.identity.names(folder) if state.files else ()
    files = {primary(file) for name in names for file in state.files.get(name, ())}
    return {f for f in files if _contains(state, folder, f) and is_written(state, f)}


def _folder_of(state: State, file: DatasetName) -> set[DatasetName]:
    """Return the innermost written folder above a dataset that no job wrote."""
    if not state.files or is_written(state, file):
        return set()
    above = (f for name in state.identity.names(file) for f in folders_above(name))
    written = (state.identity.primary(f) for f in above if f in state.identity)
    found = next((f for f in written if f != file and is_written(state, f)), None)
    return {found} if found and _contains(state, found, file) else set()


def _contains(state: State, folder: DatasetName, file: DatasetName) -> bool:
    """Return True unless a folder and a file in it are one dataset, or two tables of a catalog."""
    identity = state.identity
    both = (identity.names(name) for name in (folder, file))
    are_tables = all(any(not is_location(name) for name in names) for names in both)
    return folder != file and not are_tables


def _writers(state: State, name: DatasetName) -> Iterator[Run]:
    for record in records_of(state, name):
        yield from map(state.runs.__getitem__, record.writers)
