"""The verdict on dropping a column: safe, not safe or unknown, with reasons.

A column is safe to drop only if every job that reads its dataset completed and reported column
lineage with every use, also in filters, joins and groupings, and none of them uses the column. If
the newest run of such a job failed, that run must have reported column lineage, too. Nor may the
SQL text of a job use the column, even if only to select the rows of the dataset that it changes.
Nor may a job read a folder that contains the dataset, or name the dataset in its SQL text without
having listed it. Nor may the configuration of its dbt model or source name the column, such as in
`unique_key`, or a hook, semantic model or unit test of dbt; for sources, incremental models and
snapshots, it must have been imported. Nor may a check of the dataset name the column.

If only its writers name a column, and neither a schema nor a SQL text contains it, the verdict is
unknown: the column may exist under another spelling, which a reader uses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from headwater.datasets.models import Removal
from headwater.datasets.printing import removal_text
from headwater.datasets.removal import removal_of
from headwater.events import JobRef
from headwater.events.facets import Sql
from headwater.graph.column_graph import (
    Column,
    ColumnGraph,
    declares_every_use,
    described_by,
    is_text_complete,
    reports_every_use,
)
from headwater.graph.generations import Generations
from headwater.graph.levels import Level
from headwater.graph.nodes import Node, fields_of, node_id
from headwater.graph.placeholders import is_job
from headwater.graph.sql_lineage import sql_lineage
from headwater.health.project import removed_model
from headwater.identity import DatasetName
from headwater.lineage.hidden_uses import (
    jobs_with_table_in_text,
    readers_of_folders,
    views_of_folders,
    views_with_star,
)
from headwater.lineage.models import AffectedNode, DropReason, DropReasonKind, DropVerdict
from headwater.lineage.orphans import likely_namesake
from headwater.lineage.producers import producer_of_columns
from headwater.plugins.impact._checks import checks_with_column, checks_with_unknown_columns
from headwater.plugins.impact._dbt_config import (
    jobs_with_option,
    jobs_with_unnamed_table,
    jobs_without_options,
    readers_of_unknown_source,
    table_options,
)
from headwater.plugins.impact._impact import impact
from headwater.plugins.impact._spark import (
    jobs_with_jdbc,
    jobs_with_partition,
    statements_of_unknown_tables,
)
from headwater.projection import Run, RunState, State
from headwater.runs.summary import condition_of, newest_run
from headwater.text import counted

_CHANGE = re.compile(
    r"\b(?:update|delete|merge|on\s+(?:conflict|duplicate)|alter\s+table|analy[sz]e|optimize"
    r"|grant|comment\s+on\s+column|create\s+(?:or\s+replace\s+)?(?:\w+\s+){0,3}?"
    r"(?:index|policy|rule|statistics|trigger|function|procedure))\b",
    re.I,
)
"""Statements that select rows of the table that they change, or that may name its columns."""

_OPEN = {RunState.NEW, RunState.RUNNING, RunState.LOST}  # states without an end
_NAMED = 3  # maximum number of names in a reason


def drop_verdict(
    generations: Generations,
    root: Node,
    field: str,
    values: Sequence[AffectedNode],
    rows: Sequence[AffectedNode],
    unreported: list[str],
) -> DropVerdict:
    """Return the verdict on dropping a column.

    `field` is the name of the column of `root`. `values` takes values from it, and `rows` depends
    on it indirectly. `unreported` are the names of the jobs and views without column lineage.
    """
    removal = removal_of(generations.state, root.dataset_name)
    column = Column(root.dataset_name, field)
    naming = _naming(generations, column, {node["job"] for node in (*values, *rows)})
    dropped = [n for n in (*values, *rows) if _is_dropped(n) and n["distance"] == 1]
    replaced = _replaced_uses(generations, column, {node["id"] for node in (*values, *rows)})
    values, rows = ([n for n in nodes if not _is_dropped(n)] for nodes in (values, rows))
    used = [
        _reason("values", "column", "takes values from it", "take values from it", _names(values)),
        _reason("rows", "column", "depends on rows that it filters, joins, groups or sorts",
                "depend on rows that it filters, joins, groups or sorts", _names(rows)),
        _reason("sql_text", "job", "uses it in its SQL text", "use it in their SQL texts",
                naming),
        _reason("sql_text", "job", "selects partitions by it", "select partitions by it",
                jobs_with_partition(generations, column)),
        _reason("check", "check", "names it, and fails without it",
                "name it, and fail without it", checks_with_column(generations.state, column)),
        _reason("dbt_config", "job", "names it in its dbt configuration",
                "name it in their dbt configurations",
                jobs_with_option(generations, column)),
        _reason("dbt_config", "part", "of its dbt project names it",
                "of its dbt project name it",
                table_options(generations.state, column)),
    ]  # fmt: skip
    open_ = [
        _reason("no_column_lineage", "downstream node", "reported no column lineage",
                "reported no column lineage", unreported),
        _reason("values_only", "job", "reads the dataset, and only its use of values is known",
                "read the dataset, and only their use of values is known",
                _values_only(generations, root)),
        _reason("unknown_use", "job", "reads the dataset, and its use of columns is unknown",
                "read the dataset, and their use of columns is unknown",
                _unknown_uses(generations, root)),
        _reason("unknown_use", "job", "of Spark reads the dataset through JDBC, perhaps with a"
                " query that uses the column",
                "of Spark read the dataset through JDBC, perhaps with queries that use the column",
                jobs_with_jdbc(generations, root.dataset_name)),
        _reason("unknown_use", "statement", "of Spark, beside those that use the dataset, changes"
                " an unknown table",
                "of Spark, beside those that use the dataset, change unknown tables",
                statements_of_unknown_tables(generations, root.dataset_name)),
        _reason("unknown_use", "job", "of dbt reads the dataset, but its SQL text does not name it,"
                " so a hook, a macro or a condition of the model may use the column",
                "of dbt read the dataset, but their SQL texts do not name it, so hooks, macros or"
                " conditions of the models may use the column",
                jobs_with_unnamed_table(generations, column)),
        _reason("unread_change", "job", "changes the dataset by SQL that could not be read",
                "change the dataset by SQL that could not be read",
                _unread_changes(generations, root)),
        _reason("incomplete", "job", "reads the dataset, and its newest run did not complete",
                "read the dataset, and their newest runs did not complete",
                _incomplete(generations, root)),
        _reason("no_schema", "job", "names the column, and no producer reported a schema with it",
                "name the column, and no producer reported a schema with it",
                [] if any(used) else _naming_alone(generations, column)),
        _reason("no_dbt_config", "job", "writes the dataset, and its dbt configuration, which may"
                " name the column, was not imported",
                "write the dataset, and their dbt configurations, which may name the column, were"
                " not imported",
                jobs_without_options(generations, column)),
        _reason("no_dbt_config", "job", "of dbt reads the dataset as a source, and its"
                " configuration, which may name the column, was not imported",
                "of dbt read the dataset as a source, and its configuration, which may name the"
                " column, was not imported",
                readers_of_unknown_source(generations, column)),
        _reason("unknown_use", "column", "or job uses a whole column that contains it",
                "or jobs use a whole column that contains it",
                _uses_of_outer(generations, column)),
        _reason("unknown_use", "check", "of the dataset names no column, or one that contains it",
                "of the dataset name no column, or one that contains it",
                checks_with_unknown_columns(generations.state, column)),
        _reason("dropped_use", "job", "used it for a dataset that was dropped since, and fails"
                " without it if it runs again",
                "used it for datasets that were dropped since, and fail without it if they run"
                " again", sorted({f"{node['job']} ({node['name']})" for node in dropped})),
        _reason("dropped_use", "job", "used it for data that another run replaced since, and fails"
                " without it if it runs again",
                "used it for data that other runs replaced since, and fail without it if they run"
                " again", replaced),
        _reason("spelling", "column", "that is used has a name that differs only in case",
                "that are used have names that differ only in case",
                _spellings(generations, column)),
    ]  # fmt: skip
    if not any((*used, *open_)):
        open_ += _unlisted(generations, column)
    unsafe, unknown = ([reason for reason in part if reason] for part in (used, open_))
    if removal and removal["kind"] == "renamed":
        unknown.append(_removed(removal))  # its columns are used under the new name
    if unsafe or unknown:
        verdict: Literal["unsafe", "unknown"] = "unsafe" if unsafe else "unknown"
        reasons = [*unsafe, *unknown, *_removed_readers(generations, root)]
        return {"verdict": verdict, "reasons": reasons}
    readers = generations.readers(root.dataset_name)
    unused: DropReason = {
        "kind": "unused" if readers else "no_readers",
        "message": "All columns that the reading jobs use are known, and this one is not used."
        if readers
        else "No job was reported to read the dataset. Readers that send no events are unknown.",
    }
    first = [_removed(removal)] if removal and removal["kind"] == "dropped" else []
    return {"verdict": "safe", "reasons": [*first, unused]}


def _is_dropped(node: AffectedNode) -> bool:
    """Return True for a dropped dataset: only its job, if it runs again, needs the column."""
    removal = node["removal"]
    return removal is not None and removal["kind"] == "dropped"


def _unlisted(generations: Generations, column: Column) -> list[DropReason | None]:
    """Return the reasons about jobs that may use a column, but did not list its dataset."""
    return [
        *_in_folders(
            readers_of_folders(generations, column.dataset),
            views_of_folders(generations, column.dataset)),
        _reason("unknown_use", "view", "has a `*` of the dataset, so that the database may refuse"
                " to drop the column",
                "have a `*` of the dataset, so that the database may refuse to drop the column",
                views_with_star(generations, column)),
        _reason("unknown_use", "job", "names the dataset and perhaps the column in its SQL text,"
                " but did not report that it reads the dataset",
                "name the dataset and perhaps the column in their SQL texts, but did not report"
                " that they read the dataset",
                sorted({ref.name for ref in jobs_with_table_in_text(
                    generations, column.dataset, column.field)})),
        _reason("unknown_use", "name", "of a dataset that jobs read is likely another name of this"
                " one; join or separate them with `headwater alias`",
                "of datasets that jobs read are likely other names of this one",
                _other_names(generations, column)),
    ]  # fmt: skip


def _other_names(generations: Generations, column: Column) -> list[str]:
    """Return the name under which a dataset is likely read, unless its columns lack the given one.

    A producer may spell the host of a database differently, for example.
    """
    pair = likely_namesake(generations.state, column.dataset)
    if pair is None:
        return []
    known = {name.lower() for name in fields_of(generations.state, Node.of_dataset(pair.read))}
    is_without = known and column.field.lower() not in known
    return [] if is_without else [f"{pair.read.name} in {pair.read.namespace}"]


def _in_folders(
    readers: set[tuple[JobRef, DatasetName]], views: set[tuple[DatasetName, DatasetName]]
) -> list[DropReason | None]:
    """Return reasons for jobs and views that use a folder, naming the folder or part used.

    A pair has the job or view, and the folder or part that it uses.
    """
    return [
        _reason(
            "unknown_use", "job", "reads a folder that contains the dataset, or a part of it",
            "read folders that contain the dataset, or parts of it",
            sorted(f"{ref.name} ({other.name})" for ref, other in readers),
        ),
        _reason(
            "unknown_use", "dataset", "is derived from a folder that contains the dataset, or from"
            " a part of it",
            "are derived from folders that contain the dataset, or from parts of it",
            sorted(f"{view.name} ({other.name})" for view, other in views),
        ),
    ]  # fmt: skip


def unknown_readers(generations: Generations, root: Node) -> list[DropReason]:
    """Return reasons why nodes without an edge may use a dataset: they use its folder or files.

    `root` is the node of an impact without a column. Nodes that it affects anyway are left out.
    """
    if root.type == "job":
        return []
    readers = readers_of_folders(generations, root.dataset_name)
    views = views_of_folders(generations, root.dataset_name)
    if not (readers or views):
        return []
    nodes = impact(generations, root, Level.TASK, -1)
    affected = {node["id"] for node in nodes}
    reasons = _in_folders(
        {reader for reader in readers if node_id(Node.of_job(reader[0])) not in affected},
        {view for view in views if node_id(Node.of_dataset(view[0])) not in affected},
    )
    return [reason for reason in reasons if reason]


def _removed(removal: Removal) -> DropReason:
    """Return a reason that the dataset itself was removed."""
    return {"kind": "removed", "message": f"The dataset was {removal_text(removal)}."}


def _removed_readers(generations: Generations, root: Node) -> Iterator[DropReason]:
    """Yield a reason per reader removed from its dbt project; its table may still exist."""
    for ref in sorted(generations.readers(root.dataset_name)):
        if removed := removed_model(generations.state, Node.of_job(ref)):
            message = (
                f"{ref.name} reads the dataset, but was removed from the dbt project"
                f" {removed.project}: if its table or view still exists in the database,"
                " drop it first."
            )
            yield {"kind": "removed_reader", "message": message}


def _incomplete(generations: Generations, root: Node) -> list[str]:
    """Return the jobs that read the dataset and whose column lineage may still be missing."""
    name = root.dataset_name
    state = generations.state

    def is_incomplete(ref: JobRef) -> bool:
        """Return True if the newest run is open, or failed and may lack column lineage."""
        run = newest_run(state, ref)
        if run is None:  # only a declaration
            return False
        condition = condition_of(state, run)
        if condition in _OPEN:
            return True
        # A job that never completed may have reported its inputs without column lineage. A failed
        # run may use newer code than the last complete run, so it must report column lineage, too.
        has_completed = any(
            name in g.edges.reads for g in generations.effective(ref) if g.is_complete
        )
        has_columns = has_completed and any(True for _ in described_by(state, run))
        return condition is not RunState.COMPLETED and not has_columns

    return sorted(ref.name for ref in generations.readers(name) if is_incomplete(ref))


def _values_only(generations: Generations, root: Node) -> list[str]:
    """Return the jobs that read the dataset and may use the column in a filter, join or grouping.

    Each is named with the producer of its column lineage.
    """
    name, state = root.dataset_name, generations.state
    found: dict[str, str] = {}
    for ref in generations.readers(name):
        for generation in generations.effective(ref):
            is_declaration = not generation.runs and name in generation.edges.reads
            if is_declaration and not declares_every_use(state, ref):
                found[ref.name] = "a declaration"
            for run in generation.runs:
                is_reader = name in generations.own(run).reads
                has_columns = any(True for _ in described_by(state, run))
                if is_reader and has_columns and not reports_every_use(state, run):
                    found[ref.name] = producer_of_columns(state, run) or found.get(ref.name, "")
    return [f"{job} ({producer})" if producer else job for job, producer in sorted(found.items())]


def _unknown_uses(generations: Generations, root: Node) -> list[str]:
    """Return the queries and tasks that read the dataset and whose use of columns is unknown.

    A query without outputs has no column lineage; a driver may have collected its rows. If a task
    later wrote data that none of its queries read, the data may come from any earlier query, even
    from one without events: Spark's listener does not report an aggregation that is collected.
    """
    name, times = root.dataset_name, generations.times
    found: set[str] = set()
    for ref in generations.readers(name):
        for generation in generations.effective(ref):
            queries = [
                (run, generations.own(run))
                for run in generation.runs
                if generations.levels.owner(run, Level.TASK) is not run
            ]
            if name not in generation.edges.reads or not queries:
                continue  # a job without queries is judged by its column lineage
            sourced = {t for _, edges in queries for t in edges.writes if edges.sources_of(t)}
            for run, edges in queries:
                if run.lineage or is_text_complete(generations.state, run):
                    continue
                if name in edges.reads and not edges.writes:
                    found.add(run.key.job.name)
                began = times.of_reads(generation, name).start
                for target in edges.writes - sourced - generation.only_created:
                    if began <= times.of_writes(generation, target).end:
                        found.add(ref.name)
    return sorted(found)


def _naming(generations: Generations, column: Column, known: set[str]) -> list[str]:
    """Return the jobs whose SQL text names a column, except those with a known use.

    `known` are names of jobs.
    """
    name, state = column.dataset, generations.state
    refs = {*generations.readers(name), *generations.writers(name)}
    return sorted(
        ref.name
        for ref in refs
        if ref.name not in known
        and any(_names_column(state, run, column) for run in _runs(generations, ref))
    )


def _names_column(state: State, run: Run, column: Column) -> bool:
    """Return True if the SQL text of a run names a column, even if no output depends on it."""
    sql = sql_lineage(state, run)
    return sql is not None and (column.dataset, column.field.lower()) in sql.used


def _naming_alone(generations: Generations, column: Column) -> list[str]:
    """Return the writers of a column; none if a schema or a whole SQL text contains it."""
    state, name = generations.state, column.dataset
    if column.field in fields_of(state, Node.of_dataset(name)):
        return []
    found: set[str] = set()
    for ref in generations.writers(name):
        for run in _runs(generations, ref):
            if column not in described_by(state, run):
                continue
            text = sql_lineage(state, run)
            if text is not None and name in text.whole & text.certain:
                return []
            found.add(ref.name)
    return sorted(found)


def _uses_of_outer(generations: Generations, column: Column) -> list[str]:
    """Return the columns and jobs that use a column in which the given one is nested."""
    name, *outer = column.dataset, column.field
    while "." in outer[-1]:  # `a.b.c` is nested in `a.b` and `a`
        outer.append(outer[-1].rpartition(".")[0])
    edges = ColumnGraph.present(generations).edges_from(name)
    found = [edge.target for field in outer[1:] for edge in edges.get(field, ())]
    columns = {f"{target.dataset.name}.{target.field or '*'}" for target in found}
    jobs = {job for field in outer[1:] for job in _naming(generations, Column(name, field), set())}
    return [*sorted(columns), *([] if columns else sorted(jobs))]


def _replaced_uses(generations: Generations, column: Column, shown: set[str]) -> list[str]:
    """Return the jobs that used a column for replaced data, each with the dataset that it wrote.

    `shown` are the ids of the datasets that depend on the column now.
    """
    name, field = column
    edges = (
        edge
        for part, found in ColumnGraph.present(generations).edges_from(name).items()
        if part == field or part.startswith(f"{field}.")
        for edge in found
    )
    targets = {(edge.job, edge.target.dataset) for edge in edges if is_job(edge.job)}
    return sorted(
        f"{job.name} ({target.name})"
        for job, target in targets
        if target != name and node_id(Node.of_dataset(target)) not in shown
    )


def _spellings(generations: Generations, column: Column) -> list[str]:
    """Return used columns, not in a schema, whose names differ only in case from a column's."""
    name, field = column
    used = ColumnGraph.present(generations).edges_from(name).keys()
    known = fields_of(generations.state, Node.of_dataset(name)).keys()
    same = {other for other in used - known if other.lower() == field.lower()}
    return [f"{name.name}.{other}" for other in sorted(same - {field})]


def _unread_changes(generations: Generations, root: Node) -> list[str]:
    """Return the jobs that change the dataset, depending on its own columns, in unread SQL."""
    name, state = root.dataset_name, generations.state

    def is_unread(run: Run) -> bool:
        text = run.code.get(Sql.KEY).get("query")
        if not isinstance(text, str) or not _CHANGE.search(text):
            return False
        own = generations.own(run)
        return name in own.writes - own.reads and not is_text_complete(state, run)

    return sorted(
        ref.name
        for ref in generations.writers(name)
        if any(is_unread(run) for run in _runs(generations, ref))
    )


def _runs(generations: Generations, ref: JobRef) -> Iterator[Run]:
    """Return the runs of the effective generations of a job."""
    return (run for generation in generations.effective(ref) for run in generation.runs)


def _names(nodes: Sequence[AffectedNode]) -> list[str]:
    """Return each column once, with its dataset; nearest first."""
    names = (
        node["name"] + (f".{node['field']}" if node["field"] else " (all rows)") for node in nodes
    )
    return list(dict.fromkeys(names))


def _reason(
    kind: DropReasonKind, noun: str, one: str, many: str, names: list[str]
) -> DropReason | None:
    """Return a reason about some names; None if there are none.

    `noun` is what the names are, and `one` and `many` the rest of the sentence for one or more of
    them. The first three names are listed.
    """
    if not names:
        return None
    listed = ", ".join(names[:_NAMED]) + (" and more" if len(names) > _NAMED else "")
    verb = one if len(names) == 1 else many
    return {"kind": kind, "message": f"{counted(len(names), noun)} {verb}: {listed}."}
