"""Columns that the configuration of a dbt model or snapshot names, such as `unique_key`.

`headwater harvest dbt` reports the options that may name columns as the job facet
`headwater_dbt_config`. dbt-ol reports some options of incremental models with the dataset, and none
of snapshots.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from headwater.datasets.project import CONFIG
from headwater.events import JobRef
from headwater.events.facets import JobType
from headwater.graph.column_graph import Column
from headwater.graph.generations import Generations
from headwater.graph.nodes import Node, facets_of
from headwater.projection import State
from headwater.text import strings_in

_BUILT = ("MODEL", "SNAPSHOT")
_KEEPS_ROWS = ("incremental", "snapshot")
"""The materializations that read their own table in the next run."""


def jobs_with_option(generations: Generations, column: Column) -> list[str]:
    """Return the dbt jobs that write a dataset and whose options name a column of it."""
    name = re.compile(rf"(?<!\w){re.escape(column.field)}(?!\w)", re.IGNORECASE)
    found = []
    for ref in _dbt_writers(generations, column):
        options = [
            option
            for option, texts in _options(generations.state, ref, column)
            if any(name.search(text) or (option, text) == ("check_cols", "all") for text in texts)
        ]
        if options:
            found.append(f"{ref.name} ({', '.join(sorted(set(options)))})")
    return found


def jobs_without_options(generations: Generations, column: Column) -> list[str]:
    """Return the dbt jobs that write a dataset and whose unreported options may name a column."""
    state = generations.state
    kind = _model_config(state, column).get("materialized")
    if kind is not None and kind not in _KEEPS_ROWS:
        return []
    return [ref.name for ref in _dbt_writers(generations, column) if not _reported(state, ref)]


def _dbt_writers(generations: Generations, column: Column) -> Iterator[JobRef]:
    for ref in sorted(generations.writers(column.dataset)):
        job = generations.state.jobs.get(ref)
        kind = job.facets.parsed(JobType) if job else None
        if kind and (kind.integration or "").upper() == "DBT" and kind.jobType in _BUILT:
            yield ref


def _reported(state: State, ref: JobRef) -> bool:
    return isinstance(state.jobs[ref].facets.get(CONFIG).get("options"), dict)


def _options(state: State, ref: JobRef, column: Column) -> Iterator[tuple[str, list[str]]]:
    reported = state.jobs[ref].facets.get(CONFIG).get("options")
    if not isinstance(reported, dict):
        reported = _model_config(state, column).get("incremental")
    for option, value in reported.items() if isinstance(reported, dict) else ():
        yield option, list(strings_in(value))


def _model_config(state: State, column: Column) -> dict[str, object]:
    for book in facets_of(state, Node.of_dataset(column.dataset)):
        config = book.get("dbt_model").get("config")
        if isinstance(config, dict):
            return config
    return {}
