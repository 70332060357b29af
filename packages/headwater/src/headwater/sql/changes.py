"""Changes of whole tables, such as DROP TABLE, in SQL texts.

openlineage-sql reports the tables of CREATE TABLE, DROP, TRUNCATE, DELETE and ALTER TABLE as
outputs, as if rows were written to them. A text changes a table or view as a whole if each of its
statements that names the table is one of these. A text that first empties a table and then fills it
from other tables replaces its rows.

Some producers report no dataset for such a statement: Trino for DROP and RENAME, and Spark for the
RENAME of an Iceberg table. `table_change` reads the tables of a text that is one such statement.

Within this module, a change is a text: CREATE, ALTER, DROP, TRUNCATE, REPLACE (CREATE OR REPLACE),
REFILL (the same with rows of other tables), AWAY (the table got another name), or for a rename the
other name. Names are compared by their last part, in lower case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import Any, NamedTuple

_CHANGES = re.compile(r"\b(?:create|drop|truncate|delete|alter|rename)\b", re.IGNORECASE)
ROLLBACK = re.compile(r"\brollback\b(?!\s+(?:\w+\s+)?to\b)", re.IGNORECASE)
_MOST = 50  # outputs; the text is searched for each of them
_PART = r"""(?:[\w$]+|"[^"]+"|`[^`]+`|\[[^]]+])"""
_NAME = rf"{_PART}(?:\s*\.\s*{_PART})*"
_KIND = r"(?:table|(?:materialized\s+)?view)"
_NOISE = re.compile(r"--[^\n]*|/\*.*?\*/|\bgenerated\s+(?:always|by\s+default)\s+as\b", re.I | re.S)
_QUOTED = re.compile(r"'(?:[^']|'')*'")
_STATEMENT = re.compile(
    rf"""\s*(?:
    create\s+(?P<replaces>or\s+replace\s+)?(?:transient\s+|unlogged\s+)?{_KIND}
      \s+(?:if\s+not\s+exists\s+)?(?P<created>{_NAME})
    |drop\s+{_KIND}\s+(?:if\s+exists\s+)?(?P<dropped>{_NAME}(?:\s*,\s*{_NAME})*)
    |truncate\s+(?:table\s+)?(?:only\s+)?(?P<emptied>{_NAME}(?:\s*,\s*{_NAME})*)
    |delete\s+from\s+(?:only\s+)?(?P<deleted>{_NAME})(?:\s+where\s+(?:true|1\s*=\s*1))?\s*$
    |alter\s+{_KIND}\s+(?:if\s+exists\s+)?(?:only\s+)?(?P<altered>{_NAME})
      (?:\s+(?:rename\s+to|(?P<swaps>swap\s+with))\s+(?P<renamed>{_NAME})\s*$)?
    )(?=\W|$)(?P<rest>.*)""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
_WITH_ROWS = re.compile(
    r"\b(?:as|select|clone|copy|from|location|options|values|append|exchange|swap|switch|attach)\b",
    re.I,
)
"""Clauses by which a CREATE or ALTER TABLE may fill a table."""
_PARTITION = re.compile(r"\bpartition\b", re.I)
FROM_SQL = "headwater_fromSql"
"""Key that marks a lifecycleStateChange facet as read from SQL, not reported by the producer."""
REFILLED = "refilled"
"""Value of this key if the text also fills the table that it emptied."""
_REMOVING = (("DROP", "dropped"), ("TRUNCATE", "emptied"), ("TRUNCATE", "deleted"))
_RENAME = re.compile(  # of MySQL and Teradata
    rf"^\s*rename\s+(table|view)\s+({_NAME})\s+(?:to|as)\s+({_NAME})\s*$", re.IGNORECASE
)
_RENAMES = re.compile(r"^\s*rename\s+tables?\s+([^;]*)$", re.IGNORECASE)
_RENAMED = re.compile(rf"\s*({_NAME})\s+to\s+({_NAME})\s*", re.IGNORECASE)
_FILLED = re.compile(
    rf"""\s*(?:insert\s+(?:overwrite\s+)?(?:into\s+)?(?:table\s+)?
    |create\s+(?:or\s+replace\s+)?(?:\w+\s+)?{_KIND}\s+(?:if\s+not\s+exists\s+)?)({_NAME})""",
    re.IGNORECASE | re.VERBOSE,
)
_EMPTYING = {"REPLACE", "DROP", "TRUNCATE", "AWAY"}  # no earlier row is left under the name
_KINDS = {"CREATE", "ALTER", *_EMPTYING}


_VIEW = re.compile(
    r"\bcreate\s+(?:or\s+(?:replace|alter)\s+)?(?:(?:force|no\s*force|recursive|secure)\s+)*view\s+"
    rf"(?:if\s+not\s+exists\s+)?({_NAME})",
    re.IGNORECASE,
)
"""The creation of a view that is neither materialized nor temporary."""


class TableChange(NamedTuple):
    """A statement that drops, empties or renames whole tables."""

    kind: str
    """DROP, TRUNCATE or RENAME."""
    tables: tuple[tuple[str, ...], ...]
    """The parts of the names, as spelled; of a RENAME, the former and the new name, in pairs."""


def table_change(text: str) -> TableChange | None:
    """Return the change that a text of one statement makes; None for any other text.

    `DROP TABLE a.b, c` is `("DROP", (("a", "b"), ("c",)))`. Texts with `$$`, which quotes code of
    any language, are left out, and so are swaps and statements about a partition.
    """
    if "$$" in text or not _CHANGES.search(text):
        return None
    statement = _NOISE.sub(" ", text).strip().removesuffix(";")
    if pairs := _renames_in(statement):
        return TableChange("RENAME", tuple(_parts(name) for pair in pairs for name in pair))
    found = _matched(statement)
    if found is None or ";" in found["rest"]:
        return None
    if found["renamed"]:
        names = (_parts(found["altered"]), _parts(found["renamed"]))
        return None if found["swaps"] else TableChange("RENAME", names)
    for kind, group in _REMOVING:
        if found[group] and not _PARTITION.search(found["rest"]):
            return TableChange(kind, tuple(map(_parts, found[group].split(","))))
    return None


def _renames_in(statement: str) -> list[tuple[str, str]]:
    """Return the former and new names of the tables of a RENAME TABLE a TO b, c TO d of MySQL.

    The renames follow each other. The answer is their sum: a name in between is left out.
    """
    found = _RENAMES.match(statement)
    pairs = [_RENAMED.fullmatch(part) for part in found[1].split(",")] if found else []
    contents: dict[str, str] = {}
    for pair in pairs:
        if pair is None or len(pairs) > _MOST:
            return []
        contents[pair[2]] = contents.pop(pair[1], pair[1])
    return [(former, new) for new, former in contents.items() if len(pairs) > 1 and new != former]


def _one_rename_each(statement: str) -> list[str]:
    """Return a statement that renames several tables as one statement per table.

    Two tables that get each other's name are one swap. Other statements are returned unchanged.
    """
    pairs = _renames_in(statement)
    if not pairs:
        return [statement]
    swapped = {pair for pair in pairs if pair[::-1] in pairs}
    return [
        f"alter table {former} {'swap with' if (former, new) in swapped else 'rename to'} {new}"
        for former, new in pairs
        if (former, new) not in swapped or former < new
    ]


def views_in(text: object) -> set[str]:
    """Return the last parts of the names of the views that a text creates, in lower case.

    The set is empty if `text`, a value of an event, is no string.
    """
    if not isinstance(text, str) or not _VIEW.search(text):
        return set()
    return {_last(found[1]) for found in _VIEW.finditer(_NOISE.sub(" ", text))}


def _parts(name: str) -> tuple[str, ...]:
    return tuple(part.strip('"`[]') for part in re.findall(_PART, name))


def changes_in(
    text: str, targets: Mapping[str, str], sources: Iterable[str]
) -> dict[str, dict[str, Any]]:
    """Return the facets of the changes that a text makes of tables, with their namespaces.

    `targets` has the namespace of each output by its name, and `sources` are the names of the
    inputs. The facets are those of events: `lifecycleStateChange`, with FROM_SQL to mark them.
    Nothing is returned for a text that is rolled back or has more than 50 outputs.
    """
    is_undone = ROLLBACK.search(text)
    if len(targets) > _MOST or "$$" in text or is_undone or not _CHANGES.search(text):
        return {}
    listed = _QUOTED.sub("''", _NOISE.sub(" ", text)).split(";")
    statements = [item for statement in listed for item in _one_rename_each(statement)]
    former = {_last(name): name for name in sources}
    swaps = _swaps_in(statements, set(map(_last, targets)))
    found: dict[str, dict[str, Any]] = {}
    for name, namespace in targets.items():
        last = _last(name)
        if change := swaps[last] if last in swaps else _change_of(name, statements, former):
            kind, _, rest = change.partition(" ")
            facet: dict[str, Any] = {"lifecycleStateChange": kind, FROM_SQL: True}
            if kind == "RENAME":
                facet["previousIdentifier"] = {"namespace": namespace, "name": rest}
            elif rest:
                facet[FROM_SQL] = REFILLED
            found[name] = {"lifecycleStateChange": facet}
    return found


def _swaps_in(statements: list[str], targets: set[str]) -> dict[str, str]:
    """Return the changes of swapped tables that are not renames, by the last part of each name.

    If the text filled one of them before the swap, both have other rows now: `TRUNCATE refilled`
    (emptied and filled again). Unless both are among `targets` (last parts of the outputs' names),
    neither has a change (an empty text).
    """
    found: dict[str, str] = {}
    for place, statement in enumerate(statements):
        match = _matched(statement)
        if match is None or not match["swaps"]:
            continue
        names = _last(match["altered"]), _last(match["renamed"])
        kinds = {_change_in(name, item) for name in names for item in statements[:place]}
        if not targets.issuperset(names):
            found |= dict.fromkeys(names, "")
        elif "REFILL" in kinds:
            found |= dict.fromkeys(names, f"TRUNCATE {REFILLED}")
    return found


def _matched(statement: str) -> re.Match[str] | None:
    return _STATEMENT.match(_RENAME.sub(r"alter \1 \2 rename to \3", statement))


def _former_name(full_name: str, statement: str, last: str) -> str:
    """Return the former name of a table in a statement that renames it, with all parts.

    The text may name it without its schema, so the missing parts are those of the new name. `last`
    is the last part of the former name; of two tables that are swapped, it is that of the other.
    """
    found, parts = _matched(statement), full_name.split(".")
    names = [found["altered"], found["renamed"]] if found else []
    former = next((_parts(name) for name in names if _last(name) == last), ())
    if parts[-1].isupper():
        former = tuple(part.upper() for part in former)
    return ".".join((*parts[: -len(former)], *former))


def _change_of(full_name: str, statements: list[str], former: dict[str, str]) -> str:
    """Return the change of a table: CREATE, ALTER, DROP, TRUNCATE, or RENAME and the former name.

    Return "" unless all statements that name the table are known changes, or empty it before it is
    filled from other tables (`TRUNCATE refilled`). A statement that only fills another table does
    not change it. A rename must be the last statement that names the table.

    `former` has the full names of the inputs by their last parts.
    """
    name = _last(full_name)
    word = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])", re.IGNORECASE)
    naming = [s for s in statements if word.search(s) and not _fills_another(name, s)]
    kinds = [_change_in(name, statement) for statement in naming]
    known = list(takewhile(_KINDS.__contains__, kinds))
    # The last kind is another name: that of an input, or a text in lower case, unlike a kind.
    if kinds and len(known) == len(kinds) - 1 and (kinds[-1] in former or kinds[-1].islower()):
        own = former.get(kinds[-1]) or _former_name(full_name, naming[-1], kinds[-1])
        return f"RENAME {own}"
    is_emptied = not _EMPTYING.isdisjoint(known)
    if len(known) < len(kinds):
        is_refilled = is_emptied or kinds[len(known)] == "REFILL"
        return f"TRUNCATE {REFILLED}" if is_refilled and former.keys() - {name} else ""
    if not kinds or kinds[-1] == "AWAY":
        return ""
    if kinds[-1] == "DROP":
        return "DROP"
    return "TRUNCATE" if is_emptied else kinds[0]


def _fills_another(name: str, statement: str) -> bool:
    """Return True if a statement creates or fills another table or view, maybe from this one."""
    found = _FILLED.match(statement)
    return found is not None and _last(found[1]) != name


def _change_in(name: str, statement: str) -> str:
    """Return how a statement changes a table, the former name for a rename; empty if unknown.

    AWAY: the statement gives the table another name. REFILL: it replaces the table by rows of other
    tables.

    `name` is the last part of the table's name, in lower case. The kinds are those of _KINDS.
    """
    found = _matched(statement)
    if found is None:
        return ""
    if found["renamed"]:
        names = _last(found["altered"]), _last(found["renamed"])
        if name not in names:
            return ""
        other = names[1 - names.index(name)]
        return "AWAY" if name == names[0] and not found["swaps"] else other
    for kind, group in _REMOVING:
        if found[group]:
            is_named = name in map(_last, found[group].split(","))
            return kind if is_named and not _PARTITION.search(found["rest"]) else ""
    target = found["created"] or found["altered"]
    if _last(target) != name:
        return ""
    if _WITH_ROWS.search(found["rest"]):
        return "REFILL" if found["replaces"] else ""
    return "ALTER" if found["altered"] else "REPLACE" if found["replaces"] else "CREATE"


def _last(name: str) -> str:
    return name.rpartition(".")[2].strip(' "`[]\n\t').lower()
