"""Nodes blocked by failed jobs and checks: those downstream that were not written since.

A walk from a failed job, or from the dataset of a failed check, continues only through jobs that
did not run since: one that ran anyway, without the new data, blocks nothing further. A node is
*behind* a failure if the walk reaches it; it is *blocked* if it was also due.

A view has the current rows of its tables, and an exposure shows them. Behind a failed check of a
table, a view and an exposure that read it directly or through views are not blocked: they *show*
the data that failed the check, even if they were created since or are not due.

`_behind` determines this once for all nodes, until the next event or until an open run becomes
stale. A *partial state* (`PartialState`) has only the events of the log that a query needs, so it
is determined for one node at a time. A *generation* is the runs of a task under one parent run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from headwater import deadline
from headwater.datasets.not_run import was_not_run
from headwater.datasets.quality import Check
from headwater.datasets.removal import is_gone
from headwater.events import JobRef
from headwater.filter_values import is_exposure, is_view
from headwater.graph.current import generations_of, graph_of
from headwater.graph.effective import EffectiveGraph
from headwater.graph.families import Family
from headwater.graph.generation import Generation
from headwater.graph.generations import Generations
from headwater.graph.levels import Level
from headwater.graph.nodes import Node
from headwater.graph.walk import neighbors, parts_of, reach
from headwater.health.caching import until_stale
from headwater.health.failing import failed_checks, failing_jobs, reported_job_type
from headwater.health.freshness import rhythm_of
from headwater.health.project import removed_model
from headwater.health.recovery import failed_since, successors
from headwater.identity import DatasetName
from headwater.partial import PartialState
from headwater.projection import Run, RunKey, RunState, State, outcome
from headwater.projection.derived import (
    ancestry_of,
    began_at,
    children_of,
    descendants_of,
    ended_at,
    is_lost,
    parent_of,
)
from headwater.runs.failures import causes_of, is_failed, outputs_of_other_elements
from headwater.runs.summary import newest_run


class Blocker(NamedTuple):
    """A failed job upstream, or a failed check of a dataset upstream."""

    distance: int
    """Steps along edges; 1 for a dataset that the job writes."""
    node: Node
    """The job that failed or checked; the dataset, if an event without a run reported the check."""
    run: Run | None
    """The run that failed or checked."""
    at: int
    """The end of the run or the time of the event, in microseconds."""
    subject: Node
    """The failed job, or the dataset whose check failed."""
    is_shown: bool = False
    """True if the node is a view or an exposure that shows the data that failed the check."""


def _nearness(blocker: Blocker) -> tuple[int, Node]:
    """Return the sort key of blockers: the nearest first."""
    return blocker.distance, blocker.node


def blockers_of(state: State, node: Node) -> list[Blocker]:
    """Return the failed jobs and checks upstream that block a node, nearest first.

    A node is blocked only if it was due: its pipeline ran, or should have run since. The state of a
    query is that of its task; a pipeline is blocked by other pipelines if one of its tasks is.
    """
    found = {blocker.node: blocker for blocker in reversed(_all_blockers(state, node))}
    return sorted(found.values(), key=_nearness)


def _all_blockers(state: State, node: Node) -> list[Blocker]:
    """Return everything that blocks a node, nearest first; a blocker may occur several times.

    A removed dataset or model is never blocked. A dataset that a failed job itself writes (distance
    1) is blocked even if it was not due. A pipeline is not blocked by its own tasks, which stand in
    for it (`_stand_ins`).
    """
    stand_ins = [
        stand_in for stand_in in _stand_ins(state, node) if _failures_above(state, stand_in)
    ]
    is_removed = bool(stand_ins) and node.type == "dataset" and is_gone(state, node.dataset_name)
    if not stand_ins or is_removed or removed_model(state, node) is not None:
        return []
    found = (
        blocker
        for stand_in in stand_ins
        for blocker in _failures_above(state, stand_in)
        if blocker.is_shown
        or (blocker.distance == 1 and node.type == "dataset")
        or _was_due(state, stand_in, blocker)
        if stand_in == node or _pipeline_above(state, blocker) != node.job_ref
    )
    return sorted(found, key=_nearness)


def blocked_nodes(state: State) -> dict[RunKey, list[tuple[Node, bool]]]:
    """Return the nodes that each failed run blocks, nearest first.

    The second value of a node is True if it shows data that failed a check instead of waiting. The
    datasets that the failed job itself writes are left out.
    """
    found: dict[RunKey, list[tuple[int, Node, bool]]] = {}
    for node in _behind(state):
        for blocker in blockers_of(state, node):
            if blocker.run is None or (blocker.distance == 1 and node.type == "dataset"):
                continue  # no run failed, or its own load did
            blocked = blocker.distance, node, blocker.is_shown
            found.setdefault(blocker.run.key, []).append(blocked)
    return {key: [(node, shown) for _, node, shown in sorted(near)] for key, near in found.items()}


def possibly_blocked(state: State) -> set[Node]:
    """Return all nodes that a failed job or check can block or fail, and possibly others.

    Cached states of these nodes must be determined again after each event, since the failure may
    end.
    """
    jobs = (ref for family in _families_behind(state) for ref in family.jobs)
    return {*_behind(state), *map(Node.of_job, jobs)}


def nodes_behind(state: State) -> dict[Node, list[Node]]:
    """Return the nodes not written or run since, by failed job or dataset with a failed check.

    Nearest first; unlike in `blocked_nodes`, also the datasets that the failed job itself writes.
    Views and exposures that show the data that failed a check are included.
    """
    found: dict[Node, dict[Node, int]] = {}
    for node in _behind(state):
        for blocker in _all_blockers(state, node):
            found.setdefault(blocker.subject, {}).setdefault(node, blocker.distance)
    return {
        subject: sorted(nodes, key=lambda node: (nodes[node], node))
        for subject, nodes in found.items()
    }


def risks_of(state: State, node: Node) -> list[Node]:
    """Return the failed jobs and datasets with failed checks upstream of a node, nearest first.

    They block the node now, or once it is due, unless they are corrected before.
    """
    near = [b for stand_in in _stand_ins(state, node) for b in _failures_above(state, stand_in)]
    return list(dict.fromkeys(blocker.subject for blocker in sorted(near, key=_nearness)))


def _stand_ins(state: State, node: Node) -> list[Node]:
    """Return the tasks that stand for a job in the graph of tasks; otherwise the node itself.

    These are the task that a query is part of, or the tasks of a pipeline. The list is empty for a
    job in whose family (jobs linked by parents) no task is behind a failure.
    """
    if node.type == "dataset":
        return [node]
    generations, graph = generations_of(state), graph_of(state, Level.TASK)
    is_partial = isinstance(state, PartialState)
    if not is_partial and generations.families.of(node.job_ref) not in _families_behind(state):
        return []
    if graph.has_job(node.job_ref):
        return [node]
    run = newest_run(state, node.job_ref)
    owner = generations.levels.owner(run, Level.TASK).key.job if run else node.job_ref
    if owner != node.job_ref:
        return [Node.of_job(owner)]
    return parts_of(generations, graph, node, Level.TASK)


@until_stale
def _families_behind(state: State) -> set[Family]:
    """Return the families of the jobs in `_behind`. All tasks of a job are in its family."""
    families = generations_of(state).families
    return {families.of(node.job_ref) for node in _behind(state) if node.type == "job"}


def _failures_above(state: State, node: Node) -> Sequence[Blocker]:
    """Return the failed jobs and checks behind which a node is; see `_behind`.

    A partial state has no such index, so the failures among the nodes upstream are determined.
    """
    if not isinstance(state, PartialState):
        return _behind(state).get(node, ())
    state.will_walk("up", *node)
    above = reach(graph_of(state, Level.TASK), node, "up", -1, neighbors).keys()
    families = generations_of(state).families
    jobs = {ref for n in above if n.type == "job" for ref in families.of(n.job_ref).jobs}
    names = {n.dataset_name for n in above if n.type == "dataset"}
    failing = failing_jobs(state, [ref for ref in jobs if ref in state.jobs])
    return _found_behind(state, failing, failed_checks(state, names), above).get(node, ())


@until_stale
def _behind(state: State) -> dict[Node, list[Blocker]]:
    """Return the nodes that were not written since a job or a check upstream failed.

    Each has the jobs and checks behind which it is, at any distance. Whether it was due does not
    matter here.
    """
    return _found_behind(state, failing_jobs(state), failed_checks(state))


def _found_behind(
    state: State,
    failing: Mapping[JobRef, Run],
    checks: Iterable[tuple[DatasetName, Check]],
    within: Set[Node] | None = None,
) -> dict[Node, list[Blocker]]:
    """Return the nodes that were not written since some jobs and checks failed.

    If a pipeline run failed without a failed task, its tasks stand for it. `within` are the nodes
    through which a failure is followed; None for all.
    """
    graph = graph_of(state, Level.TASK)
    found: dict[Node, list[Blocker]] = {}
    for ref, run in failing.items():
        root, since = Node.of_job(ref), failed_since(state, run)
        steps: dict[Node, int] = {}
        if graph.has_job(ref):
            steps = _waiting(state, graph, root, ref, since, run, within=within)
            del steps[root]
        elif causes_of(state, run) == [run]:  # no reported task failed
            for part in _possibly_missed_tasks(state, graph, root, run):
                below = _waiting(state, graph, part, ref, since, within=within)
                steps |= {node: distance + 1 for node, distance in below.items()}
        for node, distance in steps.items():
            if _ran_and_failed(state, node, since):
                continue
            blocker = Blocker(distance, root, run, ended_at(state, run), root)
            found.setdefault(node, []).append(blocker)
    for name, check in checks:
        behind = _behind_check(state, graph, Node.of_dataset(name), check, within)
        for node, blocker in behind.items():
            found.setdefault(node, []).append(blocker)
    return found


def _possibly_missed_tasks(state: State, graph: EffectiveGraph, root: Node, run: Run) -> list[Node]:
    """Return the tasks that may not have run in a failed pipeline run without a failed task.

    Either the run failed before its first task, or a task failed that sent no events. If tasks were
    reported, return only other tasks of their job types: a failed `dbt test` does not run models.
    """
    parts = parts_of(generations_of(state), graph, root, Level.TASK)
    children = children_of(state, run)
    if not children:
        return parts
    types = {reported_job_type(state, child.key.job) for child in children}
    completed = {
        child.key.job for child in children if outcome(state, child).state is RunState.COMPLETED
    }
    return [
        part
        for part in parts
        if part.job_ref not in completed and reported_job_type(state, part.job_ref) in types
    ]


def _behind_check(
    state: State, graph: EffectiveGraph, checked: Node, check: Check, within: Set[Node] | None
) -> dict[Node, Blocker]:
    """Return the nodes that were not written since a check of a dataset failed.

    If a run reported the check, nodes count as written if they were written since its whole
    pipeline run began; if an event without a run did, since the time of the event. Nodes that show
    the data that failed the check are included.
    """
    by, failed, since = checked, None, check.time
    if check.run is not None:
        *_, above = ancestry_of(state, check.run)
        # Runs of the pipeline before the check are complete. The run above may have no START.
        runs = (above, *descendants_of(state, above))
        since = min((began for run in runs if (began := began_at(state, run))), default=0)
        failed, by = check.run.key.job, Node.of_job(check.run.key.job)
    shown = _showing(state, graph, checked, within)
    steps = shown | _waiting(state, graph, checked, failed, since, within=within)
    return {
        node: Blocker(distance + 1, by, check.run, check.time, checked, node in shown)
        for node, distance in steps.items()
        if node not in (checked, by) and not _ran_and_failed(state, node, since)
    }


def _showing(
    state: State, graph: EffectiveGraph, checked: Node, within: Set[Node] | None
) -> dict[Node, int]:
    """Return the views and exposures that show the rows of a dataset, with their distance.

    They read it directly or through views only. `within` are the nodes that count; None for all.
    """

    def readers(_: object, node: Node, __: str) -> list[Node]:
        if node.type == "job":
            return []
        found: list[Node] = []
        for ref in sorted(graph.readers_of(node.dataset_name)):
            written = map(
                Node.of_dataset, sorted(graph.edges_of(ref).targets_of(node.dataset_name))
            )
            found += (item for item in written if is_view(state, item))
            found += [job] if is_exposure(state, job := Node.of_job(ref)) else []
        return [item for item in found if within is None or item in within]

    hops = reach(graph, checked, "down", -1, readers)
    # One hop to a view leads along two edges, through its job.
    return {node: 2 * hop - (node.type == "job") for node, hop in hops.items() if node != checked}


def _ran_and_failed(state: State, node: Node, since: int) -> bool:
    """Return True for a job that ran since a failure and failed itself; nothing keeps it waiting.

    `since` is in microseconds.
    """
    run = newest_run(state, node.job_ref) if node.type == "job" else None
    return (
        run is not None
        and (began_at(state, run) or 0) >= since
        and is_failed(state, run)
        and not was_not_run(state, run)
    )


def _waiting(
    state: State,
    graph: EffectiveGraph,
    root: Node,
    failed: JobRef | None,
    since: int,
    part: Run | None = None,
    *,
    within: Set[Node] | None,
) -> dict[Node, int]:
    """Return a node and those downstream that did not run since a job failed, by distance.

    `part` is the failed run; other elements of the same mapped task do not replace it, but what
    they alone wrote does not wait for it.

    `failed` is the job that failed; None for a check without a run. `since` is the time, in
    microseconds, from which a run counts as newer than the failure, see `failed_since`. The walk
    starts at `root`, stays `within` some nodes (None: all) and ends at the nodes that ran since. A
    dataset counts as run when a job that loads it ran, see `_loaders`.
    """

    own = {ref for ref in (failed, root.job_ref if root.type == "job" else None) if ref}

    def waiting_below(_: object, node: Node, way: str) -> list[Node]:
        below = neighbors(graph, node, way)
        if part is not None and node == root:
            written = set(map(Node.of_dataset, outputs_of_other_elements(state, part)))
            below = [item for item in below if item not in written]
        return [
            neighbor
            for neighbor in below
            if within is None or neighbor in within
            if _ran_at(state, _loaders(state, neighbor, own, since), failed, part) < since
        ]

    return reach(graph, root, "down", -1, waiting_below)


def _ran_at(
    state: State, jobs: Iterable[JobRef], failed: JobRef | None, part: Run | None = None
) -> int:
    """Return the start of the newest run of some jobs, in microseconds; 0 without any.

    Failed and skipped runs do not count, nor does an open run of the failed job: it may fail again.
    Then the start of the job's newest complete generation counts. A job whose newest run is stale
    counts as not run, because that run may have written its outputs. `part` is the failed run: runs
    of its job under the same parent do not count either.
    """
    generations, newest = generations_of(state), 0
    above = parent_of(state, part) if part else None
    for ref in jobs:
        run = newest_run(state, ref)
        if run is not None and ref == failed and above and parent_of(state, run) is above:
            history = generations.history(ref)
            newest = max(
                newest, _newest_start(g for g in history if not _is_below(state, g, above))
            )
            continue
        is_open = run is not None and outcome(state, run).ended is None
        is_undone = run is None or run.is_skipped or is_failed(state, run)
        if run is None or is_undone or (is_open and ref == failed):
            newest = max(newest, generations.derived(ref, "done", _newest_start))
        elif not is_lost(state, run):
            newest = max(newest, began_at(state, run) or 0)
    return newest


def _loaders(state: State, node: Node, own: Set[JobRef], since: int) -> list[JobRef]:
    """Return a job itself, or the failed writers of a dataset and those that took over since.

    Other writers are ignored, because they may write other rows.

    `own` has the failed job and the job at which the walk started; `since` is in microseconds.
    """
    if node.type == "job":
        return [node.job_ref]
    name = node.dataset_name
    generations = generations_of(state)
    writers = generations.writers(name)
    failed = [ref for ref in writers if ref in own]
    if failed and not any(g.job in own for g in generations.writing(name)):
        return writers  # the failed job's rows were dropped, and other jobs wrote the dataset since
    return failed + successors(state, name, failed or writers, since)


def _is_below(state: State, generation: Generation, above: Run) -> bool:
    return any(above in ancestry_of(state, run) for run in generation.runs)


def _newest_start(generations: Iterable[Generation]) -> int:
    """Return the start of the newest complete generation, in microseconds; 0 if none is."""
    return max((g.order[0] for g in generations if g.is_complete), default=0)


def _was_due(state: State, node: Node, blocker: Blocker) -> bool:
    """Return True if a node should have run since a failure.

    That is so if its pipeline is the one that failed, or if a pipeline that writes it is overdue.
    """
    pipelines = _pipelines(state, node)
    above = _pipeline_above(state, blocker)
    return above in pipelines or any(_is_due(state, pipeline) for pipeline in pipelines)


def _pipeline_above(state: State, blocker: Blocker) -> JobRef | None:
    """Return the pipeline of the run that failed or checked; None without a run."""
    return pipeline_of(state, blocker.run) if blocker.run else None


def _pipelines(state: State, node: Node) -> set[JobRef]:
    """Return the pipelines of a node; without runs, as for a view, those of what is upstream.

    These are the root jobs of the newest runs of the job, or of the writers of the dataset.
    """
    generations, graph = generations_of(state), graph_of(state, Level.TASK)
    found: set[JobRef] = set()
    seen, open_ = {node}, [node]
    for nearest in deadline.popped(open_):
        jobs = [nearest.job_ref] if nearest.type == "job" else _writers(generations, nearest)
        runs = [run for ref in jobs if (run := newest_run(state, ref))]
        found |= {pipeline_of(state, run) for run in runs}
        above = set(neighbors(graph, nearest, "up")) - seen if not runs else ()
        seen.update(above)
        open_ += above
    return found


def _writers(generations: Generations, node: Node) -> list[JobRef]:
    """Return the tasks that wrote a dataset, except those that only possibly wrote it."""
    name = node.dataset_name
    return [ref for ref in generations.writers(name) if generations.history_of_writes(ref, name)]


def _is_due(state: State, ref: JobRef) -> bool:
    """Return True if the time at which a pipeline was due to start again has passed."""
    rhythm = rhythm_of(state, ref, needs_reason=False)
    return rhythm is not None and state.now >= rhythm.due


def pipeline_of(state: State, run: Run) -> JobRef:
    """Return the job of the root run above a run."""
    *_, root = ancestry_of(state, run)
    return root.key.job
