"""An index of the texts of all nodes, so that the cost of a search depends on its matches.

The index returns candidates: nodes that contain all trigrams of a text. The search then compares
their texts itself, so that the index does not change answers. The index also contains SQL texts; a
search without SQL ignores them in the comparison.

The present state of a server has one index. Each search first adds the changes since the previous
one. Past states have no index. Nor is there one if Python's SQLite lacks full-text search.

In a large store, the first searches of a query with a deadline index only some nodes each. The
other nodes are found by their names; `unindexed` is their number.

A trigram is three characters in a row: `fare` has far and are. A row of SQLite's table has all
texts of a node, without the node: `_rows` and `_nodes` map one to the other.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from headwater import deadline
from headwater.graph.nodes import Node
from headwater.identity import DatasetName
from headwater.kept import LastUpdate, everything, kept
from headwater.plugins.search._columns import NamedColumns
from headwater.plugins.search._texts import names_of, texts_of, words_of
from headwater.projection import State

_LENGTH = 3  # of SQLite's trigrams
_MOST_PARTS = 50  # of a text; more do not reduce the candidates
_SECONDS, _LEAST = 0.4, 500
"""Seconds that a search spends on each part of the index, and the items that it always adds."""
_Limit = Callable[[Iterable[Any]], Iterator[Any]]
_FORMER = 10_000  # rows of former texts that are always kept
_LAST = "\U0010ffff" * _LENGTH
_END = "\n" * (_LENGTH - 1)  # so that every character of a text starts a trigram
_TABLES = """
create virtual table texts using fts5
    (text, content='', detail='none', tokenize='trigram case_sensitive 1');
create virtual table parts using fts5vocab(texts, instance);
"""


class Index:
    """The texts of all nodes of a state, as of the revision of the last update.

    `index_of` returns the one of a state, with the newest changes.
    """

    def __init__(self, state: State) -> None:
        """Create an empty index; the first update adds all nodes."""
        self._state = state
        self.columns = kept(state, NamedColumns)
        self._last = LastUpdate(state)
        self._waiting: dict[Node, None] = {}  # nodes whose texts may have changed
        self._rows: dict[Node, tuple[int, int]] = {}  # the row of a node, and the hash of its text
        self._nodes: dict[int, Node] = {}
        self._words: dict[str, None] = {}  # includes former ones
        self._without_words: dict[Node, None] = {}
        self._clear()

    def _clear(self) -> None:
        """Start with an empty table of texts; rows are numbered from 1."""
        self._rows.clear()
        self._nodes.clear()
        self._last_row = 0
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        self._database.executescript(_TABLES)

    @property
    def is_complete(self) -> bool:
        """Return True unless the last update was interrupted or there was none."""
        return self._last.is_done and not self._waiting and self.columns.is_complete

    @property
    def unindexed(self) -> int:
        """The number of nodes that are found only by their names, or by their former texts."""
        return len(self._waiting)

    def update(self, *, reads_sql: bool = True, limit: _Limit = deadline.watched) -> None:
        """Add the changes since the last update; if a deadline ends it, the next one continues.

        `limit` may end a loop early; then the next update continues too.
        """
        state = self._state
        if self._last.is_needed:
            changes = self._last.changes()
            names, jobs = changes or everything(state)
            self.columns.update(names, jobs)
            former = [] if changes else [n for n in self._rows if n.type == "dataset"]
            for name in (*names, *(node.dataset_name for node in former)):
                self._wait_for(name)
            self._waiting |= dict.fromkeys(map(Node.of_job, jobs))
            self._last.finish()
        self.columns.count(limit)
        if reads_sql and self.columns.is_counted:
            self.columns.read()
        for name in self.columns.changed:
            self._wait_for(name)
        self.columns.changed.clear()
        for node in limit(list(self._waiting)) if self.columns.is_counted else ():
            self._put(node)
            del self._waiting[node]
        if self._last_row > 2 * len(self._rows) + _FORMER:  # most rows are of former texts
            self._waiting = dict.fromkeys(self._rows)
            self._clear()
            self.update(reads_sql=False, limit=limit)

    def _wait_for(self, name: DatasetName) -> None:
        """Queue the datasets with a name to be indexed, and remove the one that had it before."""
        datasets = self._state.identity.datasets(name)
        if name not in datasets:
            node = Node.of_dataset(name)
            row, _ = self._rows.pop(node, (0, 0))
            self._nodes.pop(row, None)
            self._waiting.pop(node, None)
        self._waiting |= dict.fromkeys(map(Node.of_dataset, datasets))

    def _put(self, node: Node) -> None:
        """Index the text of a node again if it changed.

        The table cannot delete: a former row stays, but belongs to no node any more.
        """
        row, digest = self._rows.pop(node, (0, 0))
        text = "\n".join(text for _, text in texts_of(self._state, node, with_sql=True))
        text = _stored(text) + _END
        if not row or hash(text) != digest:
            self._nodes.pop(row, None)
            self._last_row += 1
            row, digest = self._last_row, hash(text)
            self._database.execute("insert into texts (rowid, text) values (?, ?)", (row, text))
            self._without_words[node] = None
        self._rows[node], self._nodes[row] = (row, digest), node

    def candidates(self, words: Sequence[str]) -> list[Node]:
        """Return a superset of the nodes that contain the words, in no particular order.

        Of the nodes that are not indexed, only those whose names contain them.

        The words may contain spaces. Without words, all nodes are returned.
        """
        rows: set[int] | None = None
        for found in map(self._rows_with, map(_stored, words)):
            rows = found if rows is None else rows & found
        nodes = self._nodes
        indexed = nodes.values() if rows is None else [nodes[row] for row in rows & nodes.keys()]
        return list(dict.fromkeys((*indexed, *self._unindexed_with(words))))

    def _unindexed_with(self, words: Sequence[str]) -> Iterator[Node]:
        """Yield the nodes that wait to be indexed and whose names contain all words."""
        folded = [word.casefold() for word in words]
        for node in deadline.watched(self._waiting):
            names = [name.casefold() for name in names_of(self._state, node)]
            if all(any(word in name for name in names) for word in folded):
                yield node

    def _rows_with(self, word: str) -> set[int]:
        """Return the rows with all trigrams of a word.

        Of a word shorter than a trigram, these are the rows with a trigram that begins with it.
        """
        if not word:
            return set(self._nodes)
        if len(word) < _LENGTH:
            query = "select doc from parts where term >= ? and term <= ?"
            return {row for (row,) in self._database.execute(query, (word, word + _LAST))}
        parts = dict.fromkeys(word[i : i + _LENGTH] for i in range(len(word) - _LENGTH + 1))
        quoted = ('"{}"'.format(part.replace('"', '""')) for part in list(parts)[:_MOST_PARTS])
        query = "select rowid from texts where texts match ?"
        return {row for (row,) in self._database.execute(query, (" AND ".join(quoted),))}

    @property
    def wordless(self) -> int:
        """The number of nodes whose words are missing in `words`."""
        return len(self._without_words)

    def words(self, *, limit: _Limit = deadline.watched) -> Iterable[str]:
        """Return the words of names and columns; some may no longer belong to a node.

        `limit` may end the loop early; then words are missing, and the next call continues.
        """
        for node in limit(list(self._without_words)):
            if node in self._rows:
                self._words |= dict.fromkeys(words_of(self._state, node))
            del self._without_words[node]
        return self._words


def current_index(state: State) -> Index | None:
    """Return the index of a state as of its last update; None if it has none."""
    return None if state.is_past or not _has_full_text_search() else kept(state, Index)


def index_of(state: State, *, is_for_names: bool = False) -> Index | None:
    """Return the updated index of a state, or None if it has none; before a deadline only a part.

    If only names are searched, a scan is cheaper than the first update with SQL texts.
    """
    index = current_index(state)
    if index is None or (is_for_names and not index.is_complete):
        return None
    index.update(reads_sql=not is_for_names, limit=for_some)
    return index


def for_some(items: Iterable[Any]) -> Iterator[Any]:
    """Yield the items that a query with a deadline adds to a part of the index."""
    return deadline.within(_SECONDS, items, least=_LEAST)


def unread_texts(state: State) -> int:
    """Return the number of jobs whose SQL text the searches of a state did not read yet."""
    index = current_index(state)
    return len(index.columns.unread) if index is not None else 0


def unindexed(state: State, *, is_similar: bool = False) -> int:
    """Return the number of nodes that the last search of a state found only by their names.

    If it was a search for similar words (`is_similar`), also that of the nodes without words.
    """
    index = current_index(state)
    if index is None:
        return 0
    return index.unindexed or (index.wordless if is_similar else 0)


def candidates_of(
    state: State, words: Sequence[str], *, is_for_names: bool = False, is_updated: bool = False
) -> Iterator[Node]:
    """Yield a superset of the nodes that contain the words; without an index, all nodes.

    The index is updated first, unless it was updated (`is_updated`) for the same query.
    """
    index = current_index(state) if is_updated else index_of(state, is_for_names=is_for_names)
    if index is not None:
        yield from index.candidates(words)
        return
    yield from map(Node.of_job, state.jobs)
    yield from map(Node.of_dataset, state.identity)


def _stored(text: str) -> str:
    """Return a text as it is indexed: in one case, and valid for SQLite."""
    return text.casefold().replace("\0", " ").encode(errors="replace").decode()


def _has_full_text_search() -> bool:
    """Return True if SQLite has an index of trigrams."""
    return sqlite3.sqlite_version_info >= (3, 35)
