"""Derivations: datasets that get data from others without a job.

A DatasetEvent states them, for example of a view. Folders have them, too. A folder contains the
files that jobs wrote into it. A file that no job wrote came with its folder: it gets data from the
innermost folder above it that a job wrote as a whole, but not from other files in that folder.

If both are tables of a catalog, the inner one is a table of its own, although its location is in
that of the other.

In the graph, a derivation is a job that does not exist (`derivation(name)`): it writes the dataset
and reads its sources. `state.files` has the names below each folder, at any depth;
`state.derived_from` the datasets that are stated to get data from each one. A dataset has a record
under each of its names; its primary name is the one under which it is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headwater.events import JobRef, parse_derivation
from headwater.graph.generation import Generation, declared_generation, renaming_generation
from headwater.graph.placeholders import derivation, derived_dataset
from headwater.graph.run_edges import Edges, Side, sources_of_entry
from headwater.identity import DatasetName, folders_above, is_location
from headwater.projection import Run, RunKey, State, start_of
from headwater.projection.derived import records_of
from headwater.projection.facet_books import parsed


def derived_generations(state: State, name: DatasetName) -> list[Generation]:
    """Return the generations of the derivation of a dataset; none of a former primary name.

    One has its present sources, and counts as a view: it contains what they do when it is read.
    Each rename by a DatasetEvent has one of its own, at its time.
    """
    if state.identity.primary(name) != name:
        return []
    ref, edges = derivation(name), _derived_edges(state, name)
    found = [declared_generation(ref, edges, frozenset({name}))] if edges.reads else []
    return found + [renaming_generation(ref, name, *rename) for rename in renames(state, name)]


def _derived_edges(state: State, name: DatasetName) -> Edges:
    """Return the edges of the derivation of a dataset, such as a view or a folder."""
    edges = Edges({*_in_folder(state, name)} | _folder_of(state, name), {name})
    for record in records_of(state, name):
        if record.derivation is not None:
            entry = parsed(record.derivation[1], parse_derivation)
            edges.reads |= sources_of_entry(state, entry, None) - {name}
    return edges


def renames(state: State, name: DatasetName) -> set[tuple[DatasetName, int]]:
    """Return the former names of a dataset that got its name by DatasetEvents, with the times.

    Renames by runs are edges of these runs. A former name that is joined with the new one is none.
    """
    changes = (change for record in records_of(state, name) for change in record.lifecycle or ())
    return {
        (former, change.stamp.time)
        for change in changes
        if change.kind == "RENAME" and change.run is None and change.other
        if (former := state.identity.primary(change.other)) != state.identity.primary(name)
    }


class FirstWrites:
    """The times at which files in folders were first written, updated after events.

    A reader of a folder depends only on the files that were in it by then.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._found: dict[DatasetName, tuple[int, RunKey] | None] = {}

    def edges_at(self, edges: Edges, end: float) -> Edges:
        """Return the edges of a derivation without files that were first written after a time.

        `edges` are those of the folder, which it writes; `end` is in microseconds.
        """
        files = (file for name in edges.writes for file in _in_folder(self._state, name))
        later = {file for file in files if (first := self._of(file)) and first[0] > end}
        return Edges(edges.reads - later, edges.writes)

    def update(self, placed: Iterable[DatasetName], runs: Iterable[RunKey]) -> set[DatasetName]:
        """Clear outdated times; return the datasets whose derivations may have changed.

        `placed` are names that are new, or joined to another dataset, or first written; `runs` are
        those with new events.
        """
        state = self._state
        found = related(state, placed)
        for name in datasets_of(state, placed):
            self._found.pop(name, None)
        for run in map(state.runs.__getitem__, runs if self._found else ()):
            for file in self._first_written(run):
                for name in state.identity.names(file):
                    found.update(map(state.identity.primary, _known_folders(state, name)))
        return found

    def _first_written(self, run: Run) -> Iterator[DatasetName]:
        """Yield the files whose first write changed with the event of a run.

        Only a run that was the first writer, or began before it, can change it.
        """
        for file in {*map(self._state.identity.primary, run.outputs)} & self._found.keys():
            before = self._found[file]
            own = start_of(run) or 0, run.key
            if before is None or before[1] == run.key or own < before:
                del self._found[file]
                if self._of(file) != before:
                    yield file

    def _of(self, file: DatasetName) -> tuple[int, RunKey] | None:
        """Return the start and the key of the first run that wrote a file, or None; cached."""
        if file not in self._found:
            runs = _writers(self._state, file)
            self._found[file] = min(((start_of(run) or 0, run.key) for run in runs), default=None)
        return self._found[file]


def related(state: State, names: Iterable[DatasetName]) -> set[DatasetName]:
    """Return some datasets, all folders that they are in, and all files in them.

    Their derivations may change if the names, the folders or the first writers of these datasets
    change: a first writer of a file ends that the file comes from its folder.
    """
    found = datasets_of(state, names)
    for dataset in tuple(found):
        for spelled in state.identity.names(dataset):
            near = (*_known_folders(state, spelled), *state.files.get(spelled, ()))
            found.update(map(state.identity.primary, near))
    return found


def datasets_of(state: State, names: Iterable[DatasetName]) -> set[DatasetName]:
    """Return some names, and the primary names of the datasets with these names."""
    return {dataset for name in names for dataset in (name, *state.identity.datasets(name))}


def _known_folders(state: State, name: DatasetName) -> Iterator[DatasetName]:
    return filter(state.identity.__contains__, folders_above(name))


def derivations(state: State) -> Iterator[JobRef]:
    """Yield the derivations of all datasets."""
    for name in state.identity:
        yield from derivations_writing(state, name)


def derivations_of(state: State, name: DatasetName, side: Side) -> set[JobRef]:
    """Return the derivations that may read or write a dataset."""
    return (_derivations_reading if side == "reads" else derivations_writing)(state, name)


def derivations_writing(state: State, name: DatasetName) -> set[JobRef]:
    """Return the derivation of a dataset, if it has one.

    Its sources are stated, or it was renamed, or it is a folder with written files, or an unwritten
    file in a written folder.
    """
    if state.identity.primary(name) != name:
        return set()
    is_stated = any(record.derivation is not None for record in records_of(state, name))
    is_stated = is_stated or bool(renames(state, name))
    is_derived = is_stated or any(_in_folder(state, name)) or _folder_of(state, name)
    return {derivation(name)} if is_derived else set()


def _derivations_reading(state: State, name: DatasetName) -> set[JobRef]:
    """Return the derivations that may get data from a dataset.

    These are the derivations of the datasets that are stated to get data from it; if it is written,
    also those of the folders above it and of the files in it that no job writes. They are
    candidates: their edges decide.
    """
    found: set[DatasetName] = set()
    for spelled in state.identity.names(name):
        found.update(state.derived_from.get(spelled, ()))
        if is_written(state, name):
            found.update(_known_folders(state, spelled))
            files = state.files.get(spelled, ())
            found.update(file for file in files if not is_written(state, file))
    primaries = {state.identity.primary(dependent) for dependent in found} - {name}
    return {derivation(primary) for primary in primaries if primary in state.identity}


def connects_files(state: State, writer: JobRef, folder: DatasetName, reader: JobRef) -> bool:
    """Return True if a file would get data of other files in its folder.

    `writer` derives the folder from the files in it, and `reader` a file from the folder. Followed
    one after the other, the two would connect every file of a folder with every other.
    """
    file = derived_dataset(reader)
    if file is None or derived_dataset(writer) != folder:
        return False
    return folder in _folder_of(state, file)


def is_written(state: State, name: DatasetName) -> bool:
    """Return True if a job writes a dataset, or its sources are stated.

    Jobs write it by runs (`writers`) or as an output of their newest JobEvent (`declared`). A
    dataset that a DatasetEvent renamed to this name counts, too.
    """
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


def _in_folder(state: State, folder: DatasetName) -> Iterator[DatasetName]:
    """Yield the datasets that jobs wrote into a folder, or into folders in it."""
    primary = state.identity.primary
    names = state.identity.names(folder) if state.files else ()
    files = {primary(file) for name in names for file in state.files.get(name, ())}
    return (f for f in files if is_written(state, f) and _contains(state, folder, f))


def _folder_of(state: State, file: DatasetName) -> set[DatasetName]:
    """Return a set of the innermost written folder above a dataset, if no job wrote the dataset.

    Otherwise it is empty, and also if the folder is another table of a catalog (`_contains`).
    """
    if not state.files or is_written(state, file):
        return set()
    above = (f for name in state.identity.names(file) for f in _known_folders(state, name))
    written = map(state.identity.primary, above)
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
