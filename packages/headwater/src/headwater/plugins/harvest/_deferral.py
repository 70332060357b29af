"""Tables that dbt read in another schema: those of models that it deferred (`--defer`).

The manifest has the names of the present target for all models, also for those that were not built
there. The compiled queries have the names of the tables that were read.
"""

from __future__ import annotations

import re
from typing import Any

_PART = re.compile(r"[\"`\[]?([^\"`\[\].]+)[\"`\]]?")
_QUOTED = r"[\"`\[]?{}[\"`\]]?"
_ABOVE = _QUOTED.format(r"([\w-]+)") + r"\."
"""A database or schema, before the name of a table."""


def defer_tables(manifest: Any, results: Any) -> None:
    """Give deferred models, seeds and snapshots in a manifest the schemas of the tables read.

    `results` are those of the invocation. A table counts as deferred if a compiled query does not
    name it, but one of the same name in another schema. The manifest is changed.
    """
    if not (results.get("args") or {}).get("defer"):
        return
    for result in results["results"]:
        text = result.get("compiled_code") or ""
        for node in _above(manifest, result["unique_id"]):
            table = manifest["nodes"].get(node, {})
            if found := _deferred_schema(table, text):
                table.update(found, is_deferred=True)


def _above(manifest: Any, node: str) -> set[str]:
    """Return the nodes upstream whose names the query of a node contains: the nearest tables."""
    found: set[str] = set()
    open_ = list(manifest["parent_map"].get(node, ()))
    while open_:
        parent = open_.pop()
        if parent not in found:
            found.add(parent)
            config = manifest["nodes"].get(parent, {}).get("config") or {}
            is_ephemeral = config.get("materialized") == "ephemeral"
            open_ += manifest["parent_map"].get(parent, ()) if is_ephemeral else ()
    return found


def _deferred_schema(table: Any, text: str) -> dict[str, str]:
    """Return the database and schema in which a query reads a table; empty if its node has them."""
    relation = table.get("relation_name") or ""
    if not relation or relation in text:
        return {}
    *above, name = _PART.findall(relation)
    pattern = _ABOVE * len(above) + _QUOTED.format(re.escape(name))
    match = re.search(rf"(?<![\w.]){pattern}(?!\w)", text, re.IGNORECASE)
    if match is None:
        return {}
    keys = ("database", "schema")[-len(above) :] if above else ()
    return dict(zip(keys, match.groups(), strict=True))
