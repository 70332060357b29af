"""Columns that the configuration of a dbt project names, such as `unique_key`.

`headwater harvest dbt` reports the options of a model or snapshot that may name columns as the
facet `headwater_dbt_config` of its job, and as that of a dataset the options of a source, and what
else names columns of a table, such as semantic models. dbt-ol reports some options of incremental
models with the dataset, and none of snapshots and sources.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from headwater.datasets.project import CONFIG
from headwater.events import JobRef
from headwater.events.facets import JobType
from headwater.graph.column_graph import Column
from headwater.graph.generations import Generations
from headwater.graph.nodes import Node, facets_of
from headwater.graph.sql_lineage import sql_lineage
from headwater.projection import Run, State
from headwater.text import strings_in

_BUILT = ("MODEL", "SNAPSHOT")
_QUERIES = ("pre-hook", "post-hook", "pre_hook", "post_hook", "sql_header")
"""The options that may contain queries of other tables."""
_KEEPS_ROWS = ("incremental", "snapshot")
"""The materializations that read their own table in the next run."""


def jobs_with_option(generations: Generations, column: Column) -> list[str]:
    """Return the dbt jobs whose options name a column of a dataset.

    All options of the jobs that write it count, and the hooks of those that read it: they may
    contain queries. Each is a text for a reason of the verdict: the job with the options in
    parentheses.
    """
    state, found = generations.state, []
    for ref in _dbt_writers(generations, column):
        if options := _naming(_options(state, ref, column), column):
            found.append(f"{ref.name} ({', '.join(options)})")
    for ref in sorted(generations.readers(column.dataset)):
        if _is_of_dbt(state, ref, _BUILT) and _reported(state, ref):
            texts = _texts(state.jobs[ref].facets.get(CONFIG))
            if options := _naming((item for item in texts if item[0] in _QUERIES), column):
                found.append(f"{ref.name} ({', '.join(options)})")
    return found


def jobs_with_unnamed_table(generations: Generations, column: Column) -> list[str]:
    """Return the dbt jobs that read a dataset which their whole SQL text does not name.

    A hook or macro may read it, or a part of the model that was not compiled in this run, such as
    that of `is_incremental()`.
    """
    state, name = generations.state, column.dataset

    def is_unnamed(run: Run) -> bool:
        sql = sql_lineage(state, run)
        if sql is None or not sql.is_complete or name not in generations.own(run).reads:
            return False
        sources = {source for read in sql.sources.values() for source in read}
        named = sources | {dataset for dataset, _ in sql.used}
        return name not in map(state.identity.primary, named)

    return sorted(
        ref.name
        for ref in generations.readers(name)
        if _is_of_dbt(state, ref, _BUILT)
        if any(is_unnamed(run) for g in generations.effective(ref) for run in g.runs)
    )


def table_options(state: State, column: Column) -> list[str]:
    """Return what names a column of a table in dbt, such as `loaded_at_field` of a source."""
    books = facets_of(state, Node.of_dataset(column.dataset))
    return _naming((item for book in books for item in _texts(book.get(CONFIG))), column)


def _naming(options: Iterable[tuple[str, list[str]]], column: Column) -> list[str]:
    """Return the options that name a column, sorted; texts may contain SQL.

    `options` has each option with its texts. `check_cols: all` names every column.
    """
    name = re.compile(rf"(?<!\w){re.escape(column.field)}(?!\w)", re.IGNORECASE)
    found = {
        option
        for option, texts in options
        if any(name.search(text) or (option, text) == ("check_cols", "all") for text in texts)
    }
    return sorted(found)


def jobs_without_options(generations: Generations, column: Column) -> list[str]:
    """Return the dbt jobs that write a dataset and whose unreported options may name a column."""
    state = generations.state
    kind = _model_config(state, column).get("materialized")
    if kind is not None and kind not in _KEEPS_ROWS:
        return []
    return [ref.name for ref in _dbt_writers(generations, column) if not _reported(state, ref)]


def readers_of_unknown_source(generations: Generations, column: Column) -> list[str]:
    """Return the dbt jobs that read a table of another producer, whose options were not imported.

    Such a table is a source, or a seed whose job dbt-ol does not report.
    """
    state, name = generations.state, column.dataset
    if any(_is_of_dbt(state, ref) for ref in generations.writers(name)):
        return []
    if any(book.get(CONFIG) for book in facets_of(state, Node.of_dataset(name))):
        return []
    readers = sorted(generations.readers(name))
    return [ref.name for ref in readers if _is_of_dbt(state, ref, _BUILT)]


def _dbt_writers(generations: Generations, column: Column) -> Iterator[JobRef]:
    """Yield the dbt jobs of models and snapshots that write the dataset of a column."""
    for ref in sorted(generations.writers(column.dataset)):
        if _is_of_dbt(generations.state, ref, _BUILT):
            yield ref


def _is_of_dbt(state: State, ref: JobRef, types: tuple[str, ...] = ()) -> bool:
    """Return True if a job is one of dbt and, with `types`, of one of these types."""
    job = state.jobs.get(ref)
    kind = job.facets.parsed(JobType) if job else None
    is_of_dbt = kind is not None and (kind.integration or "").upper() == "DBT"
    return is_of_dbt and (not types or (kind is not None and kind.jobType in types))


def _reported(state: State, ref: JobRef) -> bool:
    """Return True if the options of a job were imported by `headwater harvest dbt`."""
    return isinstance(state.jobs[ref].facets.get(CONFIG).get("options"), dict)


def _options(state: State, ref: JobRef, column: Column) -> Iterator[tuple[str, list[str]]]:
    """Yield the options of a job, each with its texts; without an import, those of dbt-ol."""
    if _reported(state, ref):
        yield from _texts(state.jobs[ref].facets.get(CONFIG))
    else:
        yield from _texts({"options": _model_config(state, column).get("incremental")})


def _texts(config: Mapping[str, object]) -> Iterator[tuple[str, list[str]]]:
    """Yield each option of a facet with the texts in its value."""
    options = config.get("options")
    for option, value in options.items() if isinstance(options, dict) else ():
        yield option, list(strings_in(value))


def _model_config(state: State, column: Column) -> dict[str, object]:
    """Return the configuration that dbt-ol reports with a dataset; empty if there is none."""
    for book in facets_of(state, Node.of_dataset(column.dataset)):
        config = book.get("dbt_model").get("config")
        if isinstance(config, dict):
            return config
    return {}
