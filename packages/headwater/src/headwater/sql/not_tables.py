"""Names of reported datasets that are no tables, according to the SQL text.

These are the names of common table expressions, subqueries, functions and temporary tables, which
openlineage-sql takes for tables, and the names of sources in a dbt project, which dbt-ol reports
even if the name of the table (`identifier`) differs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from headwater.sql.text import local_names

_MAY_BE_LOCAL = re.compile(r"\bwith\b|\btemp(?:orary)?\b", re.IGNORECASE)
_CALL = re.compile(r"(\w+)\s*\(")
_EPHEMERAL = "__dbt__cte__"  # prefix of the names that dbt gives the queries of ephemeral models


class NotTables(NamedTuple):
    """Names of datasets that are no tables: such inputs and sources are removed from an event."""

    names: frozenset[str] = frozenset()
    temporary: frozenset[str] = frozenset()
    """The lower-case names of temporary tables, without schemas."""
    has_ephemeral: bool = False
    """True if the text contains the query of an ephemeral model of dbt."""

    def without(self, facet: Mapping[str, Any]) -> dict[str, Any]:
        """Return a columnLineage facet without the sources that are no tables.

        The facet is that of an output; it is not changed.
        """
        fields = facet.get("fields")
        shown = {
            name: {**field, "inputFields": self._kept(field.get("inputFields"))}
            for name, field in (fields.items() if isinstance(fields, dict) else ())
            if isinstance(field, dict)
        }
        rows = {"dataset": self._kept(facet["dataset"])} if "dataset" in facet else {}
        return {**facet, "fields": shown, **rows}

    def _kept(self, sources: object) -> list[Any]:
        listed = sources if isinstance(sources, list) else []
        every = (source for source in listed if isinstance(source, dict))
        return [source for source in every if str(source.get("name")) not in self.names]


def not_tables(
    text: str, dialect: str, inputs: Collection[str], unlisted: Collection[str]
) -> NotTables:
    """Return the names of inputs, and of unlisted sources of columns, that are no tables.

    The text is parsed only if it may contain such names: after WITH or TEMPORARY, or called like a
    function.

    `inputs` are names that the run lists, and `unlisted` names in its column lineage that it does
    not list. `dialect` is the reader's name of the dialect of the text.
    """
    if not (unlisted or _MAY_BE_LOCAL.search(text) or _are_called(inputs, text)):
        return NotTables()
    local = local_names(text, dialect)
    names = {name for name in (*inputs, *unlisted) if local.has(name)}
    names |= {name for name in unlisted if last(name) in local.aliases}
    has_ephemeral = any(name.startswith(_EPHEMERAL) for name in local.names)
    return NotTables(frozenset(names), local.temporary, has_ephemeral)


def _are_called(names: Collection[str], text: str) -> bool:
    """Return True if the last part of a name may be called like a function."""
    called = {word.lower() for word in _CALL.findall(text)}
    # Compiling an expression for each name takes longer than the rest of reading an event.
    return any(
        name in called
        if name.isidentifier()
        else re.search(rf"\b{re.escape(name)}\s*\(", text, re.I) is not None
        for name in map(last, names)
    )


def other_names(unread: Mapping[str, bool], added: Collection[str]) -> set[str]:
    """Return the inputs of a dbt model in place of which its text reads another table.

    `unread` are the inputs that the text does not read, each with True for a model; `added` are the
    tables that it reads and the run lists neither as input nor as output. With `--defer`, the text
    reads the table of the same name in another schema. dbt lists a source
    under another name than its table if the text reads as many unlisted tables of the same schema.
    Otherwise, a macro may read the input in another query.
    """
    tables = {last(name) for name in added}
    deferred = {name for name in unread if last(name) in tables}
    sources = {name for name, is_model in unread.items() if not is_model} - deferred
    unlisted = [name for name in added if last(name) not in set(map(last, deferred))]
    counts, found = Counter(map(_schema, sources)), Counter(map(_schema, unlisted))
    return deferred | {name for name in sources if counts[_schema(name)] == found[_schema(name)]}


def last(name: str) -> str:
    """Return the last part of a name in lower case."""
    return name.rpartition(".")[2].lower()


def _schema(name: str) -> str:
    return name.rpartition(".")[0].lower()
