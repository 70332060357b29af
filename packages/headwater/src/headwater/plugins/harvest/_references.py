"""Columns that other parts of a dbt project than models name, with what names them.

These are semantic models, time spines, unit tests and the hooks `on-run-start` and `on-run-end`. No
run reports that they read the tables.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from headwater.text import strings_in

Options = Mapping[str, list[str]]
"""Texts that may name columns, by what contains them."""

_QUOTED = re.compile(r"""['"]([^'"]+)['"]""")


def referring_options(
    manifest: Mapping[str, Any], tables: Mapping[str, Mapping[str, Any]]
) -> dict[str, Options]:
    """Return the texts that name columns of each table, by the unique id of the table."""
    found: dict[str, dict[str, list[str]]] = defaultdict(dict)
    for table, definition in tables.items():
        if texts := list(strings_in(definition.get("time_spine"))):
            found[table]["time_spine"] = texts
    for model in manifest.get("semantic_models", {}).values():
        for table in _parents(manifest, model) & tables.keys():
            found[table][f"semantic model {model['name']}"] = list(_expressions(model))
    for node, definition in manifest.get("nodes", {}).items():
        if definition["resource_type"] == "operation":
            for table in set(manifest["parent_map"].get(node, ())) & tables.keys():
                text = definition.get("compiled_code") or definition.get("raw_code") or ""
                found[table][f"hook {definition['name']}"] = [text]
    for test in manifest.get("unit_tests", {}).values():
        for table, columns in _fixtures(manifest, tables, test):
            found[table].setdefault(f"unit test {test['name']}", []).extend(columns)
    return dict(found)


def _parents(manifest: Mapping[str, Any], item: Mapping[str, Any]) -> set[str]:
    return set(manifest["parent_map"].get(item["unique_id"], ()))


def _expressions(model: Mapping[str, Any]) -> Iterator[str]:
    """Yield the expressions of a semantic model; without one, the name is that of a column."""
    for kind in ("entities", "dimensions", "measures"):
        for item in model.get(kind) or ():
            yield str(item.get("expr") or item["name"])
            yield from strings_in(item.get("non_additive_dimension"))
            if (item.get("type_params") or {}).get("validity_params"):
                yield str(item["name"])
    yield from strings_in(model.get("defaults"))
    yield from strings_in(model.get("primary_entity"))


def _fixtures(
    manifest: Mapping[str, Any], tables: Mapping[str, Mapping[str, Any]], test: Mapping[str, Any]
) -> Iterator[tuple[str, list[str]]]:
    """Yield the tables of a unit test, each with the columns that its rows name."""
    models = _parents(manifest, test)
    inputs = {parent for model in models for parent in manifest["parent_map"].get(model, ())}
    for model in models & tables.keys():
        yield model, list(_columns((test.get("expect") or {}).get("rows")))
    for given in test.get("given") or ():
        names = _QUOTED.findall(str(given.get("input")))
        is_own = str(given.get("input")) == "this"
        for table in (models if is_own else inputs) & tables.keys():
            if is_own or tables[table].get("name") in names:
                yield table, list(_columns(given.get("rows")))


def _columns(rows: object) -> Iterator[str]:
    """Yield the columns of the rows of a fixture: objects, or a text such as CSV or SQL."""
    if isinstance(rows, str):
        yield rows
    elif isinstance(rows, Iterable):
        for row in rows:
            yield from row if isinstance(row, dict) else ()
