"""Search over names, columns, tags, owners, descriptions and queries.

A hit is a node with the text of it that matches best. Candidates (`_index`) may match; their texts
are compared here. A fuzzy hit matches a word that is only similar to the text.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, cast

from headwater import deadline
from headwater.events import run_id_of
from headwater.graph.nodes import Node
from headwater.node_facets import is_file
from headwater.nodes.rows import active_at, node_row
from headwater.nodes.versions import datasets_with_version
from headwater.plugins.search._index import candidates_of, current_index, for_some, unindexed
from headwater.plugins.search._texts import Kind, last_part, texts_of, words_of
from headwater.plugins.search.models import SearchCounts, SearchHit
from headwater.plugins.search.selection import check_keys, parse, selectable, selects
from headwater.projection import State

_LIKENESS = 0.75  # of two words, as difflib counts it, so that one may be a slip of the other
_FUZZY = 3  # similar words
_SHOWN = 120  # characters of a long text
_ID = re.compile(r"[\w.:-]{6,}")


class Hit(NamedTuple):
    """A node that matches a search, with its best match.

    Hits are compared by their first fields, so their order is the order of the fields.
    """

    is_fuzzy: bool
    fit: int
    """0 for the whole text, 1 for the beginning of a word, 2 for any part; 1 more if it is no name.
    Of a fuzzy hit, the rank of the similar word."""
    kind: Kind
    is_file: bool  # ranked last: a table may have many files
    is_unread: bool  # of columns: a table that no run reads ranks after those in use
    node: Node
    text: str

    @property
    def place(self) -> tuple[int | str, ...]:
        """Return the sort key among all hits."""
        return (*self[:5], *self.node)


def search(state: State, text: str, *, with_sql: bool = True) -> list[Hit]:
    """Return the nodes that a text selects (see `headwater.plugins.search.selection`).

    A word may be in a name, column, tag, owner, description, query or error, or be the id of a run
    or a version. A node must match all words; nodes with the whole text in one place rank first.
    Without SQL, queries and errors are not searched.
    Whole texts rank first, then beginnings of words, then other parts; a word of a name ranks like
    a whole text elsewhere. Without a match, similar names, columns and words count (`isFuzzy`),
    once all nodes are indexed.
    """
    selection = parse(state, text)
    if selection.is_plain:
        found = _matches(state, candidates_of(state, [text]), [text], with_sql=with_sql)
        if len(selection.words) > 1:
            having = candidates_of(state, selection.words, is_updated=True)
            words = _matches(state, having, selection.words, with_sql=with_sql)
            known = {hit.node for hit in found}
            found += [hit for hit in words if hit.node not in known]
        found = found or _with_id(state, text)
        if found or unindexed(state):  # another node may have the text itself
            return found
        check_keys(selection)
        return _similar(state, text, with_sql=with_sql)
    nodes = [
        node
        for node in selectable(state, selection)
        if selects(state, selection._replace(words=()), node)
    ]
    if selection.words:
        found = _matches(state, nodes, selection.words, with_sql=with_sql)
        if not found and not unindexed(state):
            check_keys(selection)
        return found
    kind, value = selection.shown
    return [_filtered_hit(state, node, kind, value) for node in nodes]


def _filtered_hit(state: State, node: Node, kind: Kind, value: str) -> Hit:
    """Return the hit of a node that filters select, with the text that the first one matched."""
    texts = (text for of, text in texts_of(state, node, with_sql=False) if of == kind)
    text = next((text for text in texts if value in text.casefold()), node.name)
    shown = kind if text != node.name else Kind.NAME
    return Hit(False, 0, shown, is_file(state, node), False, node, _excerpt(text, 0))


def _similar(state: State, text: str, *, with_sql: bool) -> list[Hit]:
    """Return the nodes that contain words with a similar spelling, each with its best match.

    These hits have `is_fuzzy`.
    """
    wanted = "_".join(text.casefold().split())
    hits: dict[Node, Hit] = {}
    for rank, word in reversed([*enumerate(_words_like(state, wanted))]):
        having = candidates_of(state, [word], is_updated=True)
        for hit in _matches(state, having, [word], with_sql=with_sql):
            hits[hit.node] = hit._replace(is_fuzzy=True, fit=rank)
    return list(hits.values())


def _words_like(state: State, wanted: str) -> list[str]:
    """Return the three words of names and columns most similar to a text, best first.

    The index was updated before. While it lacks words of some nodes, there are none.
    """
    index = current_index(state)
    if index is None:
        words = {word for node in _nodes(state) for word in words_of(state, node)}
        possible = deadline.watched(sorted(words))
        return difflib.get_close_matches(wanted, possible, n=_FUZZY, cutoff=_LIKENESS)
    known = index.words(limit=for_some)
    if index.wordless:
        return []
    alike = list(_possibly_like(known, wanted))
    like = difflib.get_close_matches(wanted, alike, n=len(alike) or 1, cutoff=_LIKENESS)
    current = (
        word
        for word in like
        if any(word in words_of(state, node) for node in index.candidates([word]))
    )
    return list(islice(current, _FUZZY))


def _possibly_like(words: Iterable[str], wanted: str) -> Iterator[str]:
    """Yield the words whose length and characters allow them to be similar to another word."""
    characters, length = set(wanted), len(wanted)
    for word in deadline.watched(words):
        most = (len(word) + length) * (1 - _LIKENESS)  # characters of both without a match
        if abs(len(word) - length) <= most and len(characters.symmetric_difference(word)) <= most:
            yield word


def _with_id(state: State, text: str) -> list[Hit]:
    """Return the jobs of the run with an id, and the datasets with that version or snapshot.

    Short texts and texts with spaces are no ids.
    """
    if not _ID.fullmatch(text):
        return []
    keys = state.runs_by_id.get(run_id_of(text)) or ()
    jobs = {Node.of_job(key.job) for key in keys}
    datasets = [Node.of_dataset(name) for name in datasets_with_version(state, text)]
    found = [(Kind.RUN, job) for job in jobs]
    found += [(Kind.VERSION, dataset) for dataset in datasets]
    return [Hit(False, 0, kind, False, False, node, text) for kind, node in found]


def _matches(
    state: State, nodes: Iterable[Node], words: Sequence[str], *, with_sql: bool
) -> list[Hit]:
    """Return the nodes that match all words, each with the best match of its worst word."""
    found: list[Hit] = []
    patterns = [
        (word, re.compile(rf"(?<![^\W_]){re.escape(word)}")) for word in map(str.casefold, words)
    ]
    for node in nodes:
        texts = [(kind, text, text.casefold()) for kind, text in
                 texts_of(state, node, with_sql=with_sql)]  # fmt: skip
        hits = [_best(state, node, texts, word, begins) for word, begins in patterns]
        matching = [hit for hit in hits if hit is not None]
        if len(matching) == len(patterns):
            worst = max(matching)
            # after the nodes that have the whole text in one place, whose fit is at most 3
            found.append(worst._replace(fit=worst.fit + 4 * (len(patterns) > 1)))
    return found


def _best(
    state: State,
    node: Node,
    texts: list[tuple[Kind, str, str]],
    wanted: str,
    begins: re.Pattern[str],
) -> Hit | None:
    """Return the best match of a word in the texts of a node; None if no text contains it.

    `texts` has kind, text and text in lower case. `wanted` is the word in lower case, and `begins`
    matches it at the beginning of a word.
    """
    best: Hit | None = None
    for kind, value, folded in texts:
        if wanted not in folded:
            continue
        is_whole = wanted in (folded, last_part(folded))
        fit = (0 if is_whole else 1 if begins.search(folded) else 2) + (kind is not Kind.NAME)
        is_path = is_file(state, node)
        is_unread = kind is Kind.COLUMN and node.type == "dataset" and not _is_read(state, node)
        hit = Hit(False, fit, kind, is_path, is_unread, node, _excerpt(value, folded.find(wanted)))
        best = min(hit, best or hit)
    return best


def _is_read(state: State, node: Node) -> bool:
    """Return True if a run read the dataset under any of its names."""
    names = state.identity.names(node.dataset_name)
    return any((record := state.datasets.get(name)) and record.readers for name in names)


def _nodes(state: State) -> Iterator[Node]:
    """Yield all nodes of a state."""
    yield from map(Node.of_job, state.jobs)
    yield from map(Node.of_dataset, state.identity)


def _excerpt(text: str, at: int) -> str:
    """Return a line of a text around a match; `at` is the place of the match."""
    begin = max(0, at - _SHOWN // 3)
    part = " ".join(text[begin : begin + _SHOWN].split())
    return f"{'…' if begin else ''}{part}{'…' if len(text) > begin + _SHOWN else ''}"


def counts_of(hits: Iterable[Hit]) -> SearchCounts:
    """Count the hits by what matched."""
    found = Counter(hit.kind for hit in hits)
    return cast("SearchCounts", {kind.name.lower(): found[kind] for kind in Kind})


def search_hit(state: State, hit: Hit) -> SearchHit:
    """Return a hit as part of the answer."""
    return {
        **node_row(state, hit.node),
        "activeAt": active_at(state, hit.node),
        "matched": hit.kind.name.lower(),
        "text": hit.text,
        "isFuzzy": hit.is_fuzzy,
    }


def hits_in(hits: Iterable[Hit], kind: str | None) -> list[Hit]:
    """Return the hits of a kind of text; without a kind, all hits.

    `kind` is the name of a `Kind` in lower case, as in answers.
    """
    return [hit for hit in hits if kind in (None, hit.kind.name.lower())]
