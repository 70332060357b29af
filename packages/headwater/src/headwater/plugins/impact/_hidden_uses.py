"""Uses of a dataset or of a column that no producer reported.

A job that reads a folder reads the files in it, and a job that reads a file of a folder reads the
folder. Producers also omit tables that a SQL text names: Spark's listener omits those of scalar
subqueries. In PostgreSQL and Redshift, a view depends on all columns of a `*` in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from headwater import deadline
from headwater.events import ONLY_IN_TEXT
from headwater.events.facets import Sql
from headwater.graph.column_graph import Column, is_text_complete
from headwater.graph.generations import Generations
from headwater.identity import DatasetName
from headwater.projection import Run, State
from headwater.runs.summary import newest_run

_BINDS_STARS = ("postgres://", "redshift://")
_VIEW = re.compile(r"\bcreate\s+(?:or\s+replace\s+)?(?:materialized\s+)?view\b", re.IGNORECASE)


def readers_of_folders(generations: Generations, name: DatasetName) -> list[str]:
    """Return the jobs that read a folder that contains a dataset, or a file in the dataset."""
    state = generations.state
    own = state.identity.primary(name)
    found: set[str] = set()
    for other in _around(state, name):
        primary = state.identity.primary(other)
        if primary != own:
            found |= {f"{ref.name} ({other.name})" for ref in generations.readers(primary)}
    return sorted(found)


def _around(state: State, name: DatasetName) -> Iterator[DatasetName]:
    """Yield the known folders above the names of a dataset, and the known files below them."""
    own = [alias for alias in {name, *state.identity.names(name)} if "/" in alias.name.strip("/")]
    for alias in own:
        parts = alias.name.split("/")
        for end in range(len(parts) - 1, 0, -1):
            folder = alias._replace(name="/".join(parts[:end]) or "/")
            if folder in state.identity:
                yield folder
    starts = {alias.namespace: f"{alias.name.rstrip('/')}/" for alias in own}
    for other in deadline.watched(state.identity) if starts else ():
        if other.namespace in starts and other.name.startswith(starts[other.namespace]):
            yield other


def jobs_with_table_in_text(generations: Generations, column: Column) -> list[str]:
    """Return the jobs whose SQL text may use a column of a dataset that they did not list.

    The text reads from a table of this name and contains the column or a star.
    """
    state = generations.state
    names = {column.dataset, *state.identity.names(column.dataset)}
    tables = [(name, _read_of(name)) for name in sorted(names) if "/" not in name.name]
    used = re.compile(rf"\*|(?<!\w){re.escape(column.field)}(?!\w)", re.IGNORECASE)
    found: set[str] = set()
    for ref in deadline.watched(list(state.jobs) if tables else []):
        run = newest_run(state, ref)
        text = run.code.get(Sql.KEY).get("query") if run is not None else None
        if run is None or not isinstance(text, str) or not used.search(text):
            continue
        if any(_may_read(generations, run, name, pattern, text) for name, pattern in tables):
            found.add(ref.name)
    return sorted(found)


def views_with_star(generations: Generations, column: Column) -> list[str]:
    """Return the jobs that create a view with a `*` of a dataset, if this uses all its columns."""
    name, state = column.dataset, generations.state
    if not name.namespace.startswith(_BINDS_STARS):
        return []
    tables = [_read_of(alias) for alias in {name, *state.identity.names(name)}]
    stars = [re.compile(rf"\*[^();]*{table.pattern}", re.IGNORECASE) for table in tables]
    return sorted(
        {
            ref.name
            for ref in generations.readers(name)
            for generation in generations.effective(ref)
            for run in generation.runs
            if isinstance(text := run.code.get(Sql.KEY).get("query"), str)
            and _is_view(run, text)
            and any(star.search(text) for star in stars)
        }
    )


def _is_view(run: Run, text: str) -> bool:
    """Return True if a text creates a view, or is the query of a view of dbt."""
    models = (use.dataset_facets.get("dbt_model").get("config") for use in run.outputs.values())
    return _VIEW.search(text) is not None or any(
        isinstance(config, dict) and config.get("materialized") in ("view", "materialized_view")
        for config in models
    )


def _read_of(name: DatasetName) -> re.Pattern[str]:
    """Return the pattern of a table that a statement reads, with the qualifiers of its name."""
    table = re.escape(name.name.rpartition(".")[2])
    part = r"[\"`\[]?\w+[\"`\]]?\s*\.\s*"
    return re.compile(
        rf"(?:\b(?:from|join|using|update)\s|,)\s*(?P<above>(?:{part})*)"
        rf"[\"`\[]?{table}(?![\w.])",
        re.IGNORECASE,
    )


def _is_only_in_text(state: State, run: Run, name: DatasetName) -> bool:
    """Return True if only the SQL text shows that a run reads a dataset."""
    primary = state.identity.primary
    uses = [use for other, use in run.inputs.items() if primary(other) == primary(name)]
    return bool(uses) and all(use.facets.get(ONLY_IN_TEXT) for use in uses)


def _may_read(
    generations: Generations, run: Run, name: DatasetName, table: re.Pattern[str], text: str
) -> bool:
    """Return True if a text names a table with its schema, or the run uses others of its schema."""
    state = generations.state
    matches = list(table.finditer(text))
    if not matches or is_text_complete(state, run):
        return False
    own = generations.own(run)
    listed = own.reads | own.writes
    if state.identity.primary(name) in listed and not _is_only_in_text(state, run, name):
        return False  # judged by its column lineage
    above = name.name.rpartition(".")[0]
    schema = above.rpartition(".")[2].lower()
    is_next_to_others = any(
        (other.namespace, other.name.rpartition(".")[0]) == (name.namespace, above)
        for other in listed
    )
    return any(
        re.findall(r"\w+", match["above"])[-1].lower() == schema
        if match["above"]
        else is_next_to_others
        for match in matches
    )
