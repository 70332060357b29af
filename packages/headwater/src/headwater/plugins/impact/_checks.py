"""Checks that use a column: assertions of any producer, such as dbt tests and expectations.

A check whose column is dropped fails. A check of a dataset that names no column may use any, unless
it counts rows, or all uses in the SQL text of its run are known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from headwater.datasets.assertions import Assertion
from headwater.datasets.quality import checks_of, current_results
from headwater.graph.column_graph import Column, is_text_complete
from headwater.graph.nodes import Node, fields_of
from headwater.projection import State
from headwater.text import strings_in

_OF_ROWS = re.compile(r"row_?count", re.IGNORECASE)
_NO_PARAMETERS = {
    "assertion", "name", "success", "actual", "status", "description", "severity", "column",
}  # fmt: skip


def checks_with_column(state: State, column: Column) -> list[str]:
    """Return the current checks that name a column of a dataset, such as `not_null (test_a)`.

    The name in parentheses is that of the job that reported the check.
    """
    return sorted({name for name, item in _current(state, column) if _names(state, item, column)})


def checks_with_unknown_columns(state: State, column: Column) -> list[str]:
    """Return the current checks that may use a column: they name none, or one that contains it."""
    found: set[str] = set()
    for name, item in _current(state, column):
        if _names(state, item, column):
            continue
        is_outer = item.column and column.field.casefold().startswith(f"{item.column.casefold()}.")
        if is_outer or not (item.column or _OF_ROWS.search(item.name)):
            found.add(name)
    return sorted(found)


def _current(state: State, column: Column) -> Iterator[tuple[str, Assertion]]:
    """Yield the current checks of the dataset of a column, with a name for the verdict.

    Those of a run whose SQL text was read completely are left out, unless they name a column.
    """
    for check, assertion in current_results(state, checks_of(state, column.dataset)):
        if check.run is None:
            yield assertion.title, assertion
        elif assertion.column or not is_text_complete(state, check.run):
            yield f"{assertion.title} ({check.run.key.job.name})", assertion


def _names(state: State, item: Assertion, column: Column) -> bool:
    """Return True if a check is about a column or a part of it, or has it in a parameter.

    Case matters only if the dataset has a column that is spelled like that of the check.
    """
    wanted = column.field.casefold()
    if item.column and item.column.casefold().startswith(f"{wanted}."):
        return True
    if item.column and item.column.casefold() == wanted:
        known = fields_of(state, Node.of_dataset(column.dataset))
        return item.column == column.field or item.column not in known
    given = {key: value for key, value in item.reported.items() if key not in _NO_PARAMETERS}
    word = re.compile(rf"(?<![\w.]){re.escape(column.field)}(?!\w)", re.IGNORECASE)
    return any(word.search(text) for text in strings_in(given))
