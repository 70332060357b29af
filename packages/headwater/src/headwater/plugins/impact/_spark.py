"""Uses of columns that OpenLineage's listener for Spark does not report.

- A query in the option `dbtable` of JDBC is reported as a read of its tables, without its filters
  and joins. It cannot be distinguished from a read of the whole table.
- UPDATE, DELETE and OPTIMIZE of Delta Lake have no datasets, and those of its API no text.
- A column that partitions a table is only in the SQL text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from headwater.events.facets import Sql
from headwater.graph.column_graph import Column, is_text_complete
from headwater.graph.generations import Generations
from headwater.graph.levels import Level
from headwater.identity import DatasetName
from headwater.projection import Run
from headwater.projection.derived import descendants_of

_DATABASE = re.compile(
    r"(?:postgres|mysql|mariadb|sqlserver|mssql|oracle|redshift|db2|teradata|sap|derby|sqlite|h2"
    r"|snowflake|duckdb|clickhouse|trino|athena|synapse|hsqldb|vertica|crate|cockroachdb)\w*:"
)
"""Namespaces of databases that Spark reads through JDBC."""
_SPARK = "/integration/spark"
_CHANGE = re.compile(r"\.execute_(?:update|delete|optimize_table|restore_table)_command(?:\.|$)")
"""In the names of jobs: statements of Delta Lake that the listener reports without datasets."""
_PARTITION = re.compile(r"\bpartition(?:ed\s+by)?\s*\(([^)]*)\)", re.IGNORECASE)


def jobs_with_jdbc(generations: Generations, name: DatasetName) -> list[str]:
    """Return the jobs of Spark that read a table of a database, perhaps with an unknown query."""
    if not _DATABASE.match(name.namespace):
        return []
    state = generations.state
    return sorted(
        {
            ref.name
            for ref in generations.readers(name)
            for generation in generations.effective(ref)
            for run in generation.runs
            if name in generations.own(run).reads
            if _is_of_spark(run) and not (run.lineage or is_text_complete(state, run))
        }
    )


def statements_of_unknown_tables(generations: Generations, name: DatasetName) -> list[str]:
    """Return the jobs that changed unknown tables in the applications that use a dataset."""
    state, levels = generations.state, generations.levels
    applications = {
        owner.key: owner
        for ref in {*generations.readers(name), *generations.writers(name)}
        for generation in generations.effective(ref)
        for run in generation.runs
        if (owner := levels.owner(run, Level.TASK)) is not run
    }
    return sorted(
        {
            run.key.job.name
            for owner in applications.values()
            for run in descendants_of(state, owner)
            if _CHANGE.search(run.key.job.name) and not (run.inputs or run.outputs)
            if not run.code.get(Sql.KEY)
        }
    )


def jobs_with_partition(generations: Generations, column: Column) -> list[str]:
    """Return the jobs whose SQL text selects partitions of a dataset by a column."""
    return sorted(
        {
            ref.name
            for ref in generations.writers(column.dataset)
            for generation in generations.effective(ref)
            for run in generation.runs
            if column.dataset in generations.own(run).writes
            if column.field.lower() in _partitions(run.code.get(Sql.KEY).get("query"))
        }
    )


def _partitions(text: object) -> Iterable[str]:
    """Return the words of the partition clauses of a SQL text, in lower case, without values."""
    clauses = _PARTITION.findall(text) if isinstance(text, str) else []
    return {
        word
        for clause in clauses
        for part in clause.lower().split(",")
        for word in re.findall(r"\w+", part.partition("=")[0])[:1]
    }


def _is_of_spark(run: Run) -> bool:
    """Return True if Spark's listener reported a run."""
    engine = run.facets.get("processing_engine") or run.facets.get("parent")
    return _SPARK in str(engine.get("_producer"))
