"""Changes of whole tables, such as DROP TABLE, in SQL texts.

openlineage-sql reports the tables of CREATE TABLE, DROP, TRUNCATE and ALTER TABLE as outputs, as if
rows were written to them. A text changes a table as a whole if each of its statements that names
the table is one of these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

_CHANGES = re.compile(r"\b(?:create|drop|truncate|alter)\b", re.IGNORECASE)
_MOST = 50  # outputs; the text is searched for each of them
_PART = r"""(?:[\w$]+|"[^"]+"|`[^`]+`|\[[^]]+])"""
_NAME = rf"{_PART}(?:\s*\.\s*{_PART})*"
_NOISE = re.compile(r"--[^\n]*|/\*.*?\*/|\bgenerated\s+(?:always|by\s+default)\s+as\b", re.I | re.S)
_QUOTED = re.compile(r"'(?:[^']|'')*'")
_STATEMENT = re.compile(
    rf"""\s*(?:
    create\s+(?P<replaces>or\s+replace\s+)?(?:transient\s+|unlogged\s+)?table
      \s+(?:if\s+not\s+exists\s+)?(?P<created>{_NAME})
    |drop\s+table\s+(?:if\s+exists\s+)?(?P<dropped>{_NAME}(?:\s*,\s*{_NAME})*)
    |truncate\s+(?:table\s+)?(?:only\s+)?(?P<emptied>{_NAME}(?:\s*,\s*{_NAME})*)
    |alter\s+table\s+(?:if\s+exists\s+)?(?:only\s+)?(?P<altered>{_NAME})
      (?:\s+rename\s+to\s+(?P<renamed>{_NAME})\s*$)?
    )(?=\W|$)(?P<rest>.*)""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
_WITH_ROWS = re.compile(
    r"\b(?:as|select|clone|copy|from|location|options|values|append|exchange|swap|switch|attach)\b",
    re.I,
)
"""Clauses by which a CREATE or ALTER TABLE may fill a table."""


def changes_in(
    text: str, targets: Mapping[str, str], sources: Iterable[str]
) -> dict[str, dict[str, Any]]:
    """Return the facets of the changes that a text makes of tables, with their namespaces."""
    if len(targets) > _MOST or "$$" in text or not _CHANGES.search(text):
        return {}
    statements = _QUOTED.sub("''", _NOISE.sub(" ", text)).split(";")
    former = {_last(name): name for name in sources}
    found: dict[str, dict[str, Any]] = {}
    for name, namespace in targets.items():
        if change := _change_of(_last(name), statements, former):
            kind, _, old_name = change.partition(" ")
            facet: dict[str, Any] = {"lifecycleStateChange": kind}
            if old_name:
                facet["previousIdentifier"] = {"namespace": namespace, "name": old_name}
            found[name] = {"lifecycleStateChange": facet}
    return found


def _change_of(name: str, statements: list[str], former: dict[str, str]) -> str:
    """Return the change of a table: CREATE, ALTER, DROP, TRUNCATE, or RENAME and the former name.

    Empty unless all statements that name it are known changes.
    """
    word = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])", re.IGNORECASE)
    kinds = [_change_in(name, statement) for statement in statements if word.search(statement)]
    if len(kinds) == 1 and kinds[0] in former:
        return f"RENAME {former[kinds[0]]}"
    if not kinds or not {*kinds} <= {"CREATE", "REPLACE", "DROP", "TRUNCATE", "ALTER"}:
        return ""
    if kinds[-1] == "DROP":
        return "DROP"
    return "TRUNCATE" if {"REPLACE", "DROP", "TRUNCATE"} & {*kinds} else kinds[0]


def _change_in(name: str, statement: str) -> str:
    """Return how a statement changes a table, the former name for a rename; empty if unknown."""
    found = _STATEMENT.match(statement)
    if found is None:
        return ""
    if found["renamed"]:
        return _last(found["altered"]) if _last(found["renamed"]) == name else ""
    for kind, group in (("DROP", "dropped"), ("TRUNCATE", "emptied")):
        if found[group]:
            return kind if name in map(_last, found[group].split(",")) else ""
    target = found["created"] or found["altered"]
    if _last(target) != name or _WITH_ROWS.search(found["rest"]):
        return ""
    return "ALTER" if found["altered"] else "REPLACE" if found["replaces"] else "CREATE"


def _last(name: str) -> str:
    return name.rpartition(".")[2].strip(' "`[]\n\t').lower()
