"""Answers to the queries of /api/v2 and of the command line."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import islice
from typing import Annotated, Literal

from annotated_types import Ge, Le

from throughline import deadline
from throughline.errors import ConfigError, NotFoundError
from throughline.graph.aliases import aliases
from throughline.graph.changes import Scope
from throughline.graph.column_producers import describe_column
from throughline.graph.columns import columns
from throughline.graph.control import control_edges
from throughline.graph.current import generations_of, graph_of, level_of
from throughline.graph.diff import diff
from throughline.graph.edge_list import (
    data_edges,
    data_row,
    job_pair,
    node_pair,
    place_of_data,
    place_of_pair,
)
from throughline.graph.edges import LevelGraph
from throughline.graph.generations import Generation
from throughline.graph.history import history, place_of_entry
from throughline.graph.impact import column_impact, impact, path
from throughline.graph.levels import Level
from throughline.graph.models import (
    AliasPair,
    ColumnAnswer,
    ColumnsAnswer,
    DataEdgeRow,
    DatasetTag,
    DiffAnswer,
    GraphAnswer,
    HistoryAnswer,
    ImpactAnswer,
    ListedNode,
    NewestAnswer,
    NodeAnswer,
    NodePairRow,
    Page,
    PairRow,
    PathAnswer,
    ProvenanceAnswer,
    RunInfo,
    RunTree,
    SchemaChange,
    SearchAnswer,
    TimelineAnswer,
    TreeAnswer,
)
from throughline.graph.neighbourhood import at_level, neighbourhood
from throughline.graph.newest import newest
from throughline.graph.nodes import (
    Node,
    aliases_of,
    find_dataset,
    find_node,
    node_id,
    node_ref,
    owners_of,
)
from throughline.graph.pages import cut, paged
from throughline.graph.provenance import origin, provenance
from throughline.graph.queries import Times, micros_of, query
from throughline.graph.runs import external_id_of, find_run, run_info, run_tree
from throughline.graph.schemas import drift
from throughline.graph.search import counts_of, search, search_hit
from throughline.graph.summary import Summaries
from throughline.graph.tags import ColumnTag, Tags, dataset_tag, tags_of_tree
from throughline.graph.timeline import Span, timeline
from throughline.graph.walk import (
    MOST_STEPS,
    condition_of,
    leave_out_inner,
    place_of_run,
    run_line,
    tree,
)
from throughline.identity import DatasetName
from throughline.projection import State, export
from throughline.projection.derived import has_reported_ancestor

Name = Annotated[
    str, "A node: its id (dataset:NAMESPACE:NAME, job:NAMESPACE:NAME) or a short name."
]
Field = Annotated[str | None, "A column of the dataset."]
Depth = Annotated[int, Ge(0), Le(MOST_STEPS), "Maximum number of steps along edges."]
Grown = Annotated[
    list[str] | None,
    "Sides of shown nodes to expand by one step, in order: up:ID or down:ID.",
]
Limit = Annotated[int, Ge(1), Le(1_000), "Maximum number of items."]
Cursor = Annotated[str | None, "Value of `next` in the previous answer, to get the next page."]
LevelName = Annotated[Literal["pipeline", "task", "query"], "Level of detail."]
Direction = Literal["up", "down", "both"]
Condition = Literal["NEW", "RUNNING", "COMPLETED", "FAILED", "ABORTED", "LOST"]


@query("tree", Times.THEN)
def tree_answer(
    state: State,
    node: Name,
    direction: Annotated[Direction, "Upstream, downstream or both."] = "up",
    depth: Depth = 20,
    level: LevelName | None = None,
) -> TreeAnswer:
    """Return the tree of the nodes upstream or downstream of a node.

    Without a level, it shows tasks, or the level of the job if it has no edges as a task.
    """
    found = find_node(state, node)
    chosen = _default_level(state, found) if level is None else level_of(level)
    return tree(generations_of(state), found, direction, depth, chosen)


@query("graph", Times.THEN)
def graph_answer(
    state: State,
    node: Name,
    up: Depth = 1,
    down: Depth = 1,
    level: LevelName = "task",
    *,
    grown: Grown = None,
    datasets: Annotated[bool, "Show datasets only; an edge replaces the job between two."] = False,
    columns: Annotated[bool, "Include the columns of datasets and their lineage."] = False,
) -> GraphAnswer:
    """Return the graph around a node, with a summary of each node."""
    found, chosen = find_node(state, node), level_of(level)
    generations, graph = generations_of(state), _graph_around(state, found, chosen)
    depths = (up, down)
    return neighbourhood(
        generations,
        graph,
        found,
        depths,
        chosen,
        grown=grown or (),
        over_jobs=datasets,
        with_columns=columns,
    )


def _graph_around(state: State, node: Node, level: Level) -> LevelGraph:
    """Return the graph at a level; between pipelines, without datasets inside one pipeline."""
    if level is not Level.PIPELINE:
        return graph_of(state, level)
    generations = generations_of(state)
    graph = LevelGraph.build(generations, level, generations.present)  # a copy, to be changed
    leave_out_inner(graph, generations.present, node)
    return graph


@query("timeline")
def timeline_answer(
    state: State,
    node: Name,
    up: Depth = 1,
    down: Depth = 1,
    level: LevelName = "task",
    from_: Annotated[str | None, "Start time; by default that of the first run."] = None,
    to: Annotated[str | None, "End time; by default now."] = None,
    parts: Annotated[int, Ge(1), Le(500), "Number of intervals to count runs in."] = 60,
    limit: Limit = 200,
) -> TimelineAnswer:
    """Return the runs around a node over time, and the changes of the graph there, newest first."""
    found, chosen = find_node(state, node), level_of(level)
    generations, graph = generations_of(state), _graph_around(state, found, chosen)
    begin = 0 if from_ is None else micros_of(from_, "from")
    end = state.now or max((run.last or 0 for run in state.runs.values()), default=0)
    span = Span(begin, end if to is None else micros_of(to, "to"), parts)
    if span.begin > span.end:
        raise ConfigError(f"from: received {from_!r}, expected a time before {to or 'now'}")
    roots = at_level(generations, graph, found, chosen)
    scope = Scope.of(roots, graph, up, down)
    whole = graph_of(state, chosen)
    return timeline(generations, whole, scope, chosen, span, limit, found)


@query("node", Times.THEN)
def node_answer(state: State, node: Name) -> NodeAnswer:
    """Return a node with everything that was last reported about it."""
    return Summaries(generations_of(state)).in_full(find_node(state, node))


@query("diff", Times.BETWEEN)
def diff_answer(before: State, after: State, level: LevelName = "task") -> DiffAnswer:
    """Return the differences between two moments: nodes, edges, schemas, code and failed runs."""
    chosen = level_of(level)
    changes = diff(before, graph_of(before, chosen), after, graph_of(after, chosen))
    return {"level": chosen.name.lower(), **changes}


@query("columns", Times.THEN)
def columns_answer(
    state: State,
    node: Name,
    field: Field = None,
    direction: Annotated[Literal["up", "down"], "Upstream or downstream."] = "up",
    depth: Depth = 20,
    *,
    indirect: Annotated[bool, "Include columns that only filter, join, group or sort."] = False,
) -> ColumnsAnswer:
    """Return the columns upstream or downstream of a dataset or of one column, with tags."""
    found = find_dataset(state, node)
    generations = generations_of(state)
    answer = columns(generations, found, field, direction, depth=depth, indirect=indirect)
    tags = tags_of_tree(generations, found, direction, Level.TASK)
    open_ = [answer["up" if direction == "up" else "down"]]
    while open_:
        leaf = open_.pop()
        leaf["tags"] = tags.as_info(DatasetName(leaf["namespace"], leaf["name"]), leaf.get("field"))
        open_ += leaf["children"]
    return answer


@query("column", Times.THEN)
def column_answer(
    state: State, node: Name, field: Annotated[str, "A column of the dataset."]
) -> ColumnAnswer:
    """Return a column with its inputs and the queries or code of the jobs that write it.

    A job that writes the dataset without column lineage for the column has no `inputs`.
    """
    return describe_column(generations_of(state), find_dataset(state, node), field)


@query("impact", Times.THEN)
def impact_answer(
    state: State,
    node: Name,
    field: Field = None,
    level: LevelName = "task",
    depth: Depth = 20,
) -> ImpactAnswer:
    """Return the nodes that a change of a node or of one column affects, with tags.

    For a column, `affected` takes values from it, and `indirect` has rows that it filters, joins,
    groups or sorts. `untold` is possibly affected (no column lineage reported).
    """
    found = find_node(state, node, "dataset" if field is not None else None)
    generations = generations_of(state)
    if field is None:
        chosen = level_of(level)
        affected = impact(generations, found, chosen, depth)
        return {
            "node": node_id(found),
            "depth": depth,
            "level": chosen.name.lower(),
            "affected": affected,
        }
    reached = column_impact(generations, found, field, depth)
    return {
        "node": node_id(found),
        "depth": depth,
        "field": field,
        "affected": reached.affected,
        "indirect": reached.indirect,
        "untold": reached.possible,
    }


@query("search")
def search_answer(
    state: State,
    text: Annotated[str, "Text to search for; part of a word is enough."],
    limit: Limit = 20,
    cursor: Cursor = None,
) -> SearchAnswer:
    """Search names, columns, tags, owners, descriptions and queries of all nodes.

    `counts` has the number of all results by what matched.
    """
    if not (text := text.strip()):
        raise ConfigError("text: missing value; expected a non-empty string")
    hits = search(state, text)
    found, more = cut(("search", text), hits, lambda hit: hit.place, limit, cursor)
    levels = generations_of(state).levels
    items = [search_hit(state, levels, hit) for hit in found]
    return {"items": items, "next": more, "counts": counts_of(hits)}


@query("newest")
def newest_answer(state: State, limit: Limit = 10) -> NewestAnswer:
    """Return the tables and models written last, with the end of the run that wrote them."""
    return {"items": list(islice(newest(state, graph_of(state, Level.TASK)), limit))}


@query("path", Times.THEN)
def path_answer(state: State, from_: Name, to: Name, level: LevelName = "task") -> PathAnswer:
    """Return the shortest lineage path between two nodes, in either direction."""
    chosen = level_of(level)
    nodes = path(generations_of(state), find_node(state, from_), find_node(state, to), chosen)
    return {"level": chosen.name.lower(), "path": [node_ref(node) for node in nodes]}


@query("provenance", Times.THEN)
def provenance_answer(
    state: State,
    node: Name,
    version: Annotated[
        str | None, "A version of the dataset, or the id of the run that wrote it."
    ] = None,
    level: LevelName = "task",
) -> ProvenanceAnswer:
    """Return every run, input version and code version upstream of a dataset."""
    found = find_dataset(state, node)
    return provenance(generations_of(state), found, version, level_of(level))


@query("history", Times.THEN)
def history_answer(
    state: State, node: Name, limit: Limit = 20, cursor: Cursor = None
) -> HistoryAnswer:
    """Return the history of a node, newest first: a dataset's versions and checks, a job's runs."""
    found = find_node(state, node)
    page = history(generations_of(state), found, limit, cursor)
    return {"node": node_id(found), "items": page["items"], "next": page["next"]}


@query("drift", Times.THEN)
def drift_answer(
    state: State,
    node: Annotated[str | None, "A dataset; by default all."] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> Page[SchemaChange]:
    """Return the schema changes of one dataset or of all, newest first, with their runs."""
    if node is None:
        names = list(state.identity)
    else:
        found = find_dataset(state, node)
        names = [found.dataset_name]
    changes = (change for name in names for change in drift(state, name))
    about = ("drift", node)
    return paged(*cut(about, changes, place_of_entry, limit, cursor, newest_first=True))


@query("tags", Times.THEN)
def tags_answer(
    state: State,
    node: Annotated[str | None, "A dataset; by default all."] = None,
    key: Annotated[str | None, "Only tags with this key (not case-sensitive)."] = None,
    limit: Limit = 1_000,
    cursor: Cursor = None,
) -> Page[DatasetTag]:
    """Return the tags of datasets and columns, including those inherited through column lineage."""
    generations = generations_of(state)
    names = set(state.identity)
    selected: Iterable[Generation] = generations.present
    if node is not None:
        found = find_dataset(state, node)
        names, selected = {found.dataset_name}, origin(generations, found)
    tags = Tags(generations, selected)
    wanted = None if key is None else key.lower()
    column_tags = (column_tag for name in names for column_tag in tags.of(name))
    matching = (
        column_tag for column_tag in column_tags if wanted in (None, column_tag.tag.key.lower())
    )
    chosen, more = cut(("tags", node, wanted), matching, ColumnTag.place, limit, cursor)
    return paged([dataset_tag(column_tag) for column_tag in chosen], more)


@query("aliases", Times.THEN)
def aliases_answer(state: State, limit: Limit = 1_000, cursor: Cursor = None) -> Page[AliasPair]:
    """Return the pairs of aliases that users declared, with the time of each."""
    return aliases(state, limit, cursor)


@query("edges", Times.THEN)
def edges_answer(
    state: State,
    level: LevelName = "task",
    kind: Literal["data", "control", "direct"] = "data",
    limit: Limit = 1_000,
    cursor: Cursor = None,
) -> Page[DataEdgeRow] | Page[PairRow] | Page[NodePairRow]:
    """Return all edges of the graph at a level.
    `data` edges are between a job and a dataset. `direct` edges connect two jobs or two datasets,
    as reported by explicit lineage. `control` edges are dependencies between jobs without data.
    """
    about, chosen = ("edges", level, kind), level_of(level)
    if kind == "data":
        edges, more = cut(about, data_edges(graph_of(state, chosen)), place_of_data, limit, cursor)
        return paged([data_row(state, *edge) for edge in edges], more)
    if kind == "direct":
        links, more = cut(about, graph_of(state, chosen).links(), place_of_pair, limit, cursor)
        return paged([node_pair(*pair) for pair in links], more)
    waits, more = cut(about, control_edges(state, chosen), place_of_pair, limit, cursor)
    return paged([job_pair(*pair) for pair in waits], more)


@query("nodes", Times.THEN)
def nodes_answer(
    state: State, level: LevelName = "task", limit: Limit = 1_000, cursor: Cursor = None
) -> Page[ListedNode]:
    """Return all nodes of the graph at a level, with owners, aliases and the run of each job."""
    graph = graph_of(state, level_of(level))
    nodes = {Node.of_job(ref) for ref in graph.jobs}
    nodes |= {Node.of_dataset(name) for name in graph.readers.keys() | graph.writers.keys()}
    found, more = cut(("nodes", level), nodes, tuple, limit, cursor)
    items: list[ListedNode] = []
    for node in found:
        run = graph.runs.get(node.job_ref) if node.type == "job" else None
        items.append(
            {
                **node_ref(node),
                "owners": owners_of(state, node),
                "aliases": [] if node.type == "job" else aliases_of(state, node.dataset_name),
                "run": run_line(state, run) if run else None,
            }
        )
    return paged(items, more)


@query("runs")
def runs_answer(
    state: State,
    job: Annotated[str | None, "A job; by default all."] = None,
    limit: Limit = 20,
    condition: Annotated[Condition | None, "Only runs in this state."] = None,
    counting: Annotated[LevelName | None, "Only effective runs of the graph at this level."] = None,
    cursor: Cursor = None,
    *,
    roots: Annotated[bool, "Only runs without a parent."] = False,
    own_id: Annotated[str | None, "Only runs with this id in their orchestrator."] = None,
) -> Page[RunInfo]:
    """Return the newest runs of one job or of all, with parameters, external ids and errors."""
    if job is None:
        runs = [run for run in state.runs.values() if run.has_events]
    else:
        node = find_node(state, job, "job")
        if node.type != "job":
            raise NotFoundError(f"{job!r} is a dataset, and only jobs have runs")
        ref = node.job_ref
        runs = [state.runs[key] for key in state.jobs[ref].runs]
    if roots:
        runs = [run for run in runs if not has_reported_ancestor(state, run)]
    if own_id is not None:
        runs = [run for run in deadline.watched(runs) if external_id_of(run) == own_id]
    matching = (run for run in runs if condition in (None, condition_of(state, run)))
    if counting is not None:
        generations, level = generations_of(state), level_of(counting)
        members = (run for generation in generations.present for run in generation.runs)
        keys = {generations.levels.owner(run, level).key for run in members}
        matching = (run for run in matching if run.key in keys)
    about, place = ("runs", job, condition, counting, roots, own_id), partial(place_of_run, state)
    found, more = cut(about, matching, place, limit, cursor, newest_first=True)
    return paged([run_info(state, run) for run in found], more)


@query("runtree")
def runtree_answer(
    state: State, run: Annotated[str, "The id of a run, in OpenLineage or in its orchestrator."]
) -> RunTree:
    """Return the tree of a run and its child runs, at most 100 levels deep (see `hasMore`)."""
    return run_tree(state, find_run(state, run))


query("export")(export)


def _default_level(state: State, node: Node) -> Level:
    ref = node.job_ref
    if node.type == "dataset" or ref in graph_of(state, Level.TASK).jobs:
        return Level.TASK
    return generations_of(state).levels.of(ref)
