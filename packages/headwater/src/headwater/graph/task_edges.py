"""The edges of a task run, from those of the runs that it consists of.

A Spark application or an Airflow task runs several queries. An input of one query does not feed an
output of another: data is assumed to pass between queries only through datasets. There are two
exceptions. If the queries that write an output read nothing, the inputs of earlier queries without
outputs feed it, because the application may have passed them on in memory. The same applies to a
MERGE that only reads its own output: of one that `foreachBatch` starts, Spark does not report the
source. A dataset that only the task run itself reports, and no run below it, feeds all outputs or
is fed by all inputs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import product

from headwater.events.facets import Sql
from headwater.graph.levels import Levels
from headwater.graph.run_edges import Edges, Sources
from headwater.identity import DatasetName
from headwater.projection import Run, RunKey, State, start_of
from headwater.projection.derived import parent_of
from headwater.sql.facet import may_merge

_AS_SELECT = "_as_select"
Part = tuple[Run, Edges]
"""A run and the edges that its own events report."""


def task_edges(levels: Levels, parts: Sequence[Part]) -> Edges:
    """Return the edges of a task run; the parts are the task run and the runs below it.

    The result states the sources of each output, unless every output has all inputs.
    """
    if len(parts) == 1:
        return parts[0][1]
    below = edges_below(levels, parts)
    stated = _sources_by_query([part for part in parts if part[0].key not in below])
    # The edges of each run with runs below it, and those of these runs.
    enclosing = [(edges, below[run.key]) for run, edges in parts if run.key in below]
    reads = {name for _, edges in parts for name in edges.reads}
    for name, (edges, inner) in product(stated, enclosing):
        stated[name] |= edges.reads - inner.reads if edges.is_cross_product else set()
    for edges, inner in enclosing:
        for name in edges.writes:
            if not edges.is_cross_product:
                stated[name] = stated.get(name, set()) | edges.sources_of(name)
            elif name not in inner.writes:
                stated[name] = reads
    if all(found == reads for found in stated.values()):
        return Edges(reads, set(stated))
    return Edges(reads, set(stated), stated, set())


def _sources_by_query(queries: Iterable[Part]) -> Sources:
    """Return the sources of the outputs of queries.

    An output whose queries read nothing gets the inputs of the queries that only read and that
    started before its last write ended. So does one that a MERGE without a text fills from itself.
    """
    found: Sources = defaultdict(set)
    merged: set[DatasetName] = set()
    ends: dict[DatasetName, int] = {}
    only_reading = [part for part in queries if not part[1].writes]
    for run, edges in queries:
        for name in edges.writes:
            found[name] |= edges.sources_of(name)
            ends[name] = max(ends.get(name, 0), run.last or 0)
        if may_merge(run.key.job.name) and not run.code.get(Sql.KEY):
            merged |= edges.writes
    for name, sources in found.items():
        for run, edges in [] if sources - ({name} & merged) else only_reading:
            if (start_of(run) or 0) <= ends[name]:
                sources |= edges.reads
    return dict(found)


def edges_below(levels: Levels, parts: Iterable[Part]) -> dict[RunKey, Edges]:
    """Return the edges of all runs below a run, by the key of that run; merged into one."""
    below: dict[RunKey, Edges] = defaultdict(Edges)
    for run, edges in parts:
        for above in levels.lineage(run)[1:]:
            below[above.key].add(edges)
    return below


def edges_not_below(edges: Edges, inner: Edges) -> Edges:
    """Return the edges of a run, coarser than the level of a graph, that no run below it reports.

    If edges remain on one side, the other side stays complete. Otherwise, a step that reads a table
    with a query and writes an artifact itself would have no path between the two.
    """
    reads, writes = edges.reads - inner.reads, edges.writes - inner.writes
    left = Edges(edges.reads if writes else reads, edges.writes if reads else writes)
    return edges.within(left)


def without_wrappers(state: State, runs: list[Run]) -> list[Run]:
    """Return the runs without those that only wrap a sibling's write of the same dataset.

    Spark reports two runs for one CREATE TABLE AS SELECT. The outer one's job is `..._as_select`.
    Siblings have the same parent run.
    """
    siblings: dict[RunKey, list[Run]] = defaultdict(list)
    for run in runs:
        if parent := parent_of(state, run):
            siblings[parent.key].append(run)
    wrappers = {
        outer.key
        for group in siblings.values()
        for outer in group
        if _AS_SELECT in outer.key.job.name
        if any(_wraps(state, outer, inner) for inner in group)
    }
    return [run for run in runs if run.key not in wrappers]


def _wraps(state: State, outer: Run, inner: Run) -> bool:
    """Return True if `inner` began during `outer` and wrote all of its outputs."""
    written = set(map(state.identity.primary, inner.outputs))
    is_during = (outer.first or 0) <= (inner.first or 0) <= (outer.last or 0)
    is_written = written.issuperset(map(state.identity.primary, outer.outputs))
    return is_during and is_written and _AS_SELECT not in inner.key.job.name
