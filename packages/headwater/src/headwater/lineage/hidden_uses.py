"""Uses of a dataset or of a column that no producer reported.

A job that reads a folder reads the files in it, and a job that reads a file of a folder reads the
folder. Producers also omit tables that a SQL text names: Spark's listener omits those of scalar
subqueries. In PostgreSQL and Redshift, a view depends on all columns of a `*` in it.

A column is safe to drop, and a dataset is unused, only if none of these uses is possible. A use
that is found by mistake makes the verdict "unknown".

The *primary name* of a dataset is the one of its joined names under which it is shown.
`Generations` finds the jobs that read or write a dataset by its primary name. A *generation* is the
runs of a task under one parent run. The *effective* ones of a task are the newest finished one,
later unfinished ones, and older ones with an output that no later finished one wrote.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator

from headwater import deadline
from headwater.events import ONLY_IN_TEXT, JobRef
from headwater.events.facets import Sql
from headwater.graph.column_graph import Column, is_text_complete
from headwater.graph.current import once_an_event
from headwater.graph.generations import Generations
from headwater.graph.lifecycle import removes_data
from headwater.graph.placeholders import derived_dataset, is_job
from headwater.identity import DatasetName, folders_above, is_location
from headwater.projection import Run, State
from headwater.projection.derived import parent_of
from headwater.runs.summary import newest_run

_WORD = re.compile(r"\w+")
_ABOVE = r"[\"`\[]?\w+[\"`\]]?\s*\.\s*"
_BINDS_STARS = ("postgres://", "redshift://")
_VIEW = re.compile(r"\bcreate\s+(?:or\s+replace\s+)?(?:materialized\s+)?view\b", re.IGNORECASE)


def readers_of_folders(
    generations: Generations, name: DatasetName
) -> set[tuple[JobRef, DatasetName]]:
    """Return the jobs that read a folder above a dataset or a file in it, and what they read.

    The jobs of a pair read the second element, which shares files with the dataset.
    """
    return {(ref, other) for ref, other in _using_folders(generations, name) if is_job(ref)}


def views_of_folders(
    generations: Generations, name: DatasetName
) -> set[tuple[DatasetName, DatasetName]]:
    """Return the views of a folder above a dataset or of a file in it, and what they read.

    A view is a dataset that is derived without a job, but is not itself a folder or file of what it
    reads.
    """
    names = generations.state.identity.names
    return {
        (derived, other)
        for ref, other in _using_folders(generations, name)
        if (derived := derived_dataset(ref)) is not None
        if not any(_is_in(alias, other) or _is_in(other, alias) for alias in names(derived))
    }


def _using_folders(
    generations: Generations, name: DatasetName
) -> Iterator[tuple[JobRef, DatasetName]]:
    """Yield the jobs that read a folder above a dataset or a file in it, with what they read.

    A derivation, such as a view, is among them as a job without a namespace.
    """
    primary = generations.state.identity.primary
    for other in _around(generations.state, name):
        if primary(other) != primary(name):
            yield from ((ref, other) for ref in generations.readers(primary(other)))


def _is_in(file: DatasetName, folder: DatasetName) -> bool:
    return folder in folders_above(file)


def _around(state: State, name: DatasetName) -> Iterator[DatasetName]:
    """Yield the known folders above the names of a dataset, and the known files below them.

    A name counts as a path if it is a location or contains a slash.
    """
    aliases = {name, *state.identity.names(name)}
    paths = [alias for alias in aliases if is_location(alias) or "/" in alias.name.strip("/")]
    for alias in paths:
        parts = alias.name.split("/")
        for end in range(len(parts) - 1, 0, -1):
            folder = alias._replace(name="/".join(parts[:end]) or "/")
            if folder in state.identity:
                yield folder
        names, start = _sorted_names(state)[alias.namespace], f"{alias.name.rstrip('/')}/"
        for place in range(bisect_left(names, start), len(names)):
            deadline.check()
            if not names[place].startswith(start):
                break
            yield alias._replace(name=names[place])


@once_an_event
def _sorted_names(state: State) -> dict[str, list[str]]:
    """Return the names of all datasets by namespace, sorted."""
    found: dict[str, list[str]] = defaultdict(list)
    for name in sorted(state.identity):
        found[name.namespace].append(name.name)
    return found


def jobs_with_table_in_text(
    generations: Generations, name: DatasetName, field: str | None = None
) -> set[JobRef]:
    """Return the jobs whose SQL text may use a dataset that they did not list, or its column.

    The text reads from a table of this name. With a column, it names the table in any way, as in
    CREATE INDEX or in an argument of CALL, except to fill it, and contains the column or a star.
    A path is named as in Spark, or by its last two parts, as with a table in a catalog.

    `field` is the column; None means any use of the table. A text that was read completely is
    left out: its reads are known. Only the newest run of each job counts, and those beside it under
    the same parent run: Spark's listener gives all statements of a kind one name.
    """
    state = generations.state
    names = sorted({name, *state.identity.names(name)})
    found: set[JobRef] = set()
    used = None if field is None else _used(field)
    for alias in (other for listed in names for other in _in_texts(state, listed)):
        for ref, run, text in _texts_with(state, alias):
            if (used and not used.search(text)) or _reports(state, run, alias):
                continue
            table = _read_of(alias) if field is None else _named_as(alias)
            if _may_read(generations, run, alias, table, text):
                found.add(ref)
    return found


def _in_texts(state: State, name: DatasetName) -> Iterator[DatasetName]:
    """Yield a name, and for a path, the tables that texts may call it."""
    yield name
    if "/" not in name.name:
        return
    *_, above, last = ("", *name.name.strip("/").split("/"))
    yield name._replace(name=f"{above.removesuffix('.db')}.{last}")
    place = re.compile(
        r"\btable\s+(?:if\s+not\s+exists\s+)?(?P<table>[\w.`]+)[^;]{0,5000}?\blocation\s+"
        rf"['\"](?:[^'\"]*/)?{re.escape(name.name.strip('/'))}/?['\"]",
        re.IGNORECASE,
    )
    for _, _, text in _texts_with(state, name):
        for match in place.finditer(text):
            yield name._replace(name=match["table"].replace("`", ""))


def _texts_with(state: State, name: DatasetName) -> Iterator[tuple[JobRef, Run, str]]:
    """Yield the SQL texts, with job and run, that contain the last word of a name."""
    last = re.split(r"[./]", name.name.casefold().rstrip("/"))[-1]
    word = (_WORD.findall(last) or [""])[-1]
    for ref in _texts_by_word(state).get(word, ()):
        deadline.check()
        yield from ((ref, run, text) for run, text in _texts_of(state, ref))


def _used(field: str) -> re.Pattern[str]:
    """Return the pattern of a text that names a column, or may use it through a star."""
    return re.compile(rf"\*|(?<!\w){re.escape(field)}(?!\w)", re.IGNORECASE)


@once_an_event
def _texts_by_word(state: State) -> dict[str, list[JobRef]]:
    """Return the jobs by each word of the SQL texts of their newest runs, in lower case."""
    found: dict[str, list[JobRef]] = defaultdict(list)
    for ref in deadline.watched(list(state.jobs)):
        texts = {text.casefold() for _, text in _texts_of(state, ref)}
        for word in {word for text in texts for word in _WORD.findall(text)}:
            found[word].append(ref)
    return found


def _texts_of(state: State, ref: JobRef) -> list[tuple[Run, str]]:
    """Return the SQL texts of the newest run of a job and of those under the same parent run."""
    newest = newest_run(state, ref)
    if newest is None:
        return []
    parent = parent_of(state, newest)
    beside = (parent.children or set()) & state.jobs[ref].runs if parent else set()
    runs = [newest, *(state.runs[key] for key in sorted(beside - {newest.key}))]
    texts = ((run, run.code.get(Sql.KEY).get("query")) for run in runs)
    return [(run, text) for run, text in texts if isinstance(text, str)]


def views_with_star(generations: Generations, column: Column) -> list[str]:
    """Return the jobs that create a view with a `*` of a dataset, if this uses all its columns.

    Such a view prevents the database from dropping the column. Other databases expand the star anew
    with each query, so the list is empty for them.
    """
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
    """Return the pattern of a table that a statement reads, with the qualifiers of its name.

    The group `above` of a match has the qualifiers before the table, such as `shop.public.`.
    """
    return re.compile(
        rf"(?:\b(?:from|join|using|update)\s|,)\s*(?P<above>(?:{_ABOVE})*)"
        rf"{_spelled(name)}(?![\w.])",
        re.IGNORECASE,
    )


def _named_as(name: DatasetName) -> re.Pattern[str]:
    """Return the pattern of a table that a text names, like `_read_of`, but in any statement.

    The group `filled` matches if the statement only creates, fills or removes the table: a job
    that writes a column is changed with it.
    """
    return re.compile(
        r"(?P<filled>\b(?:into|overwrite|copy|truncate"
        r"|(?:create|drop|truncate|overwrite)\s[\w\s]{0,40}?\b(?:table|view|exists))\s+)?"
        rf"(?<![\w.])(?P<above>(?:{_ABOVE})*){_spelled(name)}(?!\w)",
        re.IGNORECASE,
    )


def _spelled(name: DatasetName) -> str:
    """Return the pattern of the last part of a table, or of a path as in Spark, in backticks."""
    if "/" in name.name:
        return rf"`(?:[^`]*/)?{re.escape(name.name.strip('/'))}/?`"
    return rf"[\"`\[]?{re.escape(name.name.rpartition('.')[2])}"


def _reports(state: State, run: Run, name: DatasetName) -> bool:
    """Return True if a run reports that it reads or writes a dataset; its text is not searched.

    `_may_read` returns False for such a run, but it needs a pattern for each dataset.
    """
    primary = state.identity.primary
    own = primary(name)
    is_used = any(primary(other) == own for other in run.inputs) or any(
        primary(other) == own and not removes_data(run, use) for other, use in run.outputs.items()
    )
    return is_used and not _is_only_in_text(state, run, name)


def _is_only_in_text(state: State, run: Run, name: DatasetName) -> bool:
    """Return True if only the SQL text shows that a run reads a dataset."""
    primary = state.identity.primary
    uses = [use for other, use in run.inputs.items() if primary(other) == primary(name)]
    return bool(uses) and all(use.io_facets.get(ONLY_IN_TEXT) for use in uses)


def _may_read(
    generations: Generations, run: Run, name: DatasetName, table: re.Pattern[str], text: str
) -> bool:
    """Return True if a text names a table with its schema, or the run uses others of its schema.

    It returns False if the text was read completely or the run reports the dataset, since other
    rules decide about these. `table` is the pattern of the last part of `name`, see `_read_of`.
    """
    state = generations.state
    matches = [match for match in table.finditer(text) if not match.groupdict().get("filled")]
    if not matches or is_text_complete(state, run):
        return False
    own = generations.own(run)
    listed = own.reads | own.writes
    if state.identity.primary(name) in listed and not _is_only_in_text(state, run, name):
        return False  # judged by its column lineage
    if "/" in name.name:
        return True  # the path is in the text
    above = name.name.rpartition(".")[0]
    schema = above.rpartition(".")[2].lower()
    is_placed = not above and name not in state.identity  # a text gave it a location
    is_next_to_others = is_placed or any(
        (other.namespace, other.name.rpartition(".")[0]) == (name.namespace, above)
        for other in listed
    )
    return any(
        re.findall(r"\w+", match["above"])[-1].lower() == schema
        if match["above"]
        else is_next_to_others
        for match in matches
    )
