"""The language of search fields and filters, which select jobs and datasets.

    yellow raw              both words, in any place
    "yellow raw"            this text
    owner:growth            an owner that begins with this; a dataset has the owners of its writers
    column:email tag:pii    a column, or a tag of the dataset or a column: KEY, or KEY:VALUE
    state:late              a state; also platform:, type:, namespace: and name:
    +revenue                revenue and everything upstream
    revenue+2               revenue and two steps downstream: the jobs and datasets that these write

Parts are joined by AND. A value with spaces is quoted: owner:"data team".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NamedTuple, get_args

from headwater import deadline
from headwater.errors import ConfigError, NotFoundError
from headwater.filter_values import values_of
from headwater.graph.current import graph_of
from headwater.graph.levels import Level
from headwater.graph.nodes import Node
from headwater.graph.walk import reach
from headwater.health.models import HealthState
from headwater.health.states import state_of
from headwater.lookup import find_node
from headwater.plugins.search._index import candidates_of
from headwater.plugins.search._texts import Kind, last_part, names_of, texts_of
from headwater.projection import State

_KEYS = ("column", "tag", "owner", "state", "platform", "type", "namespace", "name")
_PART = re.compile(
    rf'(?P<key>{"|".join(_KEYS)}):(?:"(?P<quoted>[^"]*)"|(?P<value>\S+))'
    r'|"(?P<phrase>[^"]+)"|(?P<word>\S+)',
    re.IGNORECASE,
)
_LIKE_FILTER = re.compile(r"(?P<key>[a-z_]+):(?!/)\S", re.IGNORECASE)
"""The beginning of a word that looks like a filter, unlike a URL."""
_ID_KEYS = ("job", "dataset", "run")
"""Words before a colon with which ids begin."""
_WALK = re.compile(r"(?:(?P<up>\d*)\+)?(?P<name>[^+]*[^+\d][^+]*)(?:\+(?P<down>\d*))?")
_STATES = get_args(HealthState)
_EDGES = 2  # of a step: from a dataset to a job, and on to the next dataset
_KIND_OF_KEY = {"column": Kind.COLUMN, "tag": Kind.TAG, "owner": Kind.OWNER}


class Selection(NamedTuple):
    """The parts of a text; a node must match all of them.

    `parse` makes it, `selectable` gives candidates, and `selects` decides for each.
    """

    words: tuple[str, ...]
    filters: tuple[tuple[str, str], ...]
    """Keys and the beginnings of their values, in lower case."""
    walks: tuple[frozenset[Node], ...]
    """The nodes that each part with a plus selects."""
    like_filters: tuple[str, ...] = ()
    """The words that look like filters with an unknown key."""

    @property
    def is_plain(self) -> bool:
        """True if there are only words."""
        return not (self.filters or self.walks)

    @property
    def shown(self) -> tuple[Kind, str]:
        """The kind of text of the first filter, and its value; a hit without words shows them."""
        key, value = self.filters[0] if self.filters else ("name", "")
        return _KIND_OF_KEY.get(key, Kind.NAME), value


def parse(state: State, text: str) -> Selection:
    """Return the parts of a text; a part with a plus that names no node is a word.

    Raises:
        ConfigError: no state begins with the value of `state:`. `check_keys` rejects unknown keys.
    """
    words: list[str] = []
    filters: list[tuple[str, str]] = []
    walks: list[frozenset[Node]] = []
    like_filters: list[str] = []
    for part in _PART.finditer(text):
        if key := part["key"]:
            value = (part["quoted"] or part["value"] or "").casefold()
            if key.lower() == "state" and not any(map(_is_state(value), _STATES)):
                expected = ", ".join(_STATES)
                raise ConfigError(f"state: received {value!r}, expected one of {expected}")
            filters.append((key.lower(), value))
        elif part["phrase"]:
            words.append(part["phrase"])
        elif nodes := _walked(state, part["word"]):
            walks.append(nodes)
        else:
            words.append(part["word"])
            if _looks_like_filter(state, part["word"]):
                like_filters.append(part["word"])
    return Selection(tuple(words), tuple(filters), tuple(walks), tuple(like_filters))


def _looks_like_filter(state: State, word: str) -> bool:
    """Return True if a word is like a filter with an unknown key, such as `colum:email`.

    Ids and names with a namespace are no filters.
    """
    key = match["key"].casefold() if (match := _LIKE_FILTER.match(word)) else ""
    if not key or key in (*_KEYS, *_ID_KEYS):
        return False
    namespaces = {ref.namespace for ref in state.jobs} | {name.namespace for name in state.identity}
    return all(name.casefold().partition(":")[0] != key for name in namespaces)


def check_keys(selection: Selection) -> None:
    """Reject filters with an unknown key. Call it if nothing matches: the word may be in a text.

    Raises:
        ConfigError: a word looks like a filter with an unknown key.
    """
    for word in selection.like_filters:
        key = word.partition(":")[0]
        expected = ", ".join(_KEYS)
        raise ConfigError(
            f"{key}: unknown filter, expected one of {expected}; quote the text to search for it:"
            f' "{word}"'
        )


def selectable(state: State, selection: Selection, *, is_for_names: bool = False) -> Iterable[Node]:
    """Return a superset of the nodes that a selection selects.

    `is_for_names`: words match only names, as in lists.
    """
    if selection.walks:
        return selection.walks[0]
    values = (value for key, value in selection.filters if key in ("column", "name"))
    is_for_names = is_for_names and all(key != "column" for key, _ in selection.filters)
    return candidates_of(state, [*selection.words, *values], is_for_names=is_for_names)


def names_columns(text: str | None) -> bool:
    """Return True if a text has a part such as column:NAME."""
    return any((part["key"] or "").lower() == "column" for part in _PART.finditer(text or ""))


def selects(state: State, selection: Selection, node: Node) -> bool:
    """Return True if a node matches all parts; words may be in its names only."""
    names = [text.casefold() for text in names_of(state, node)]
    return (
        all(node in walk for walk in selection.walks)
        and all(any(word.casefold() in name for name in names) for word in selection.words)
        and all(_has(state, node, key, value) for key, value in selection.filters)
    )


def _is_state(value: str) -> Callable[[str], bool]:
    """Return a function that is True for the states that begin with a value.

    The value is in lower case and may have spaces for underscores.
    """
    return lambda name: name.startswith(value.replace(" ", "_"))


def _has(state: State, node: Node, key: str, value: str) -> bool:
    """Return True if a node matches one filter; `value` is in lower case."""
    deadline.check()
    if key == "state":
        return _is_state(value)(state_of(state, node))
    if key == "name":
        return any(value in name.casefold() for name in names_of(state, node))
    if key == "column":
        texts = texts_of(state, node, with_sql=False)
        return any(
            value in (folded, last_part(folded)) or folded.startswith(value)
            for kind, text in texts
            if kind is Kind.COLUMN
            for folded in (text.casefold(),)
        )
    return any(found.casefold().startswith(value) for found in values_of(state, node)[key])


def _called(state: State, text: str) -> list[Node]:
    """Return the nodes whose id or name is a text, or else those whose name ends with it.

    A name ends with it only after one of `./:`, so that whole parts of names match.
    """
    if ":" in text:
        with suppress(NotFoundError):
            return [find_node(state, text)]
    wanted = text.casefold()
    whole, part = [], []
    for node in candidates_of(state, [wanted], is_for_names=True):
        names = [name.casefold() for name in names_of(state, node)]
        if wanted in names:
            whole.append(node)
        elif any(name.endswith(wanted) and name[-len(wanted) - 1] in "./:" for name in names):
            part.append(node)
    if all(node.type == "job" for node in whole):  # a job does not hide a table with the same name
        return whole + [node for node in part if not whole or node.type == "dataset"]
    return whole


def _walked(state: State, word: str) -> frozenset[Node]:
    """Return the nodes of a part such as +name or name+2; none if it is only a word.

    Without a number after or before the plus, all steps are walked.
    """
    walk = _WALK.fullmatch(word)
    if walk is None or (walk["up"] is None and walk["down"] is None):
        return frozenset()
    roots = _called(state, walk["name"])
    graph = graph_of(state, Level.TASK)
    found: set[Node] = set(roots)
    for root in roots:
        for direction in ("up", "down"):
            if (steps := walk[direction]) is not None:
                depth = _EDGES * int(steps) if steps else -1
                found.update(reach(graph, root, direction, depth))
    return frozenset(found)
