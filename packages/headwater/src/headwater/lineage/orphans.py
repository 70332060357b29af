"""Pairs of names that may be one dataset: one is written and never read, the other only read.

A pair is scored by its columns, its spelling, its location and the times of its runs. Names that
only resemble each other need equal columns. Names with different numbers, such as partitions, and
pairs that users joined or separated are never suggested, nor are a dataset and its sources.

The pairs are suggestions to users, who join or separate the names. A name is gone if the dataset
was dropped or renamed. A *generation* is the runs of a task under one parent run; `Generations`
finds the tasks that read or write a dataset, and their times.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

from headwater import deadline
from headwater.datasets.not_run import is_test
from headwater.datasets.removal import is_gone
from headwater.events import JobRef
from headwater.graph.current import generations_of, once_an_event
from headwater.graph.frontier import upstream_of
from headwater.graph.generations import Generations
from headwater.graph.nodes import Node, fields_of
from headwater.graph.placeholders import is_job
from headwater.identity import DatasetName
from headwater.projection import State
from headwater.text import FILE_ENDING, counted, title_of_dataset

_MIN_SCORE = 50
"""Minimum score of a suggested pair, of 100."""
_MOST_SHARED = 100  # datasets with one word or one set of columns; more identify nothing
_PARTS = re.compile(r"[^/.:]+")
_WORDS = re.compile(r"[a-z]+|\d+")
_NUMBERS = re.compile(r"\d+")
_REDSHIFT = re.compile(
    r"redshift://(?P<cluster>[^.:]+)\.((?P<id>[^.:]+)\.)?(?P<region>[a-z]+-[a-z-]+-\d)"
    r"(?(id)\.redshift(-serverless)?\.amazonaws\.com(\.cn)?)(?P<port>:\d+)"
)
"""dbt reports the endpoint, and Airflow's provider shortens it to `cluster.region`, as the naming
specification asks (airflow/providers/amazon/aws/hooks/redshift_sql.py)."""

EvidenceKind = Literal["schema", "spelling", "location", "time"]


class Evidence(NamedTuple):
    """A reason why two names may be one dataset, with its points."""

    kind: EvidenceKind
    message: str
    points: int


class Pair(NamedTuple):
    """Two names that may be one dataset."""

    written: DatasetName
    read: DatasetName
    evidence: tuple[Evidence, ...]
    others: int
    """Number of other names with the same score."""

    @property
    def score(self) -> int:
        """The sum of the points, at most 100."""
        return min(100, sum(item.points for item in self.evidence))


@dataclass(frozen=True, slots=True)
class _Orphan:
    """A dataset that is only written or only read, with what it is compared by.

    `first` and `last` are the times, in microseconds, at which its runs began and ended to use it;
    0 if only events without a run name it.
    """

    name: DatasetName
    title: str
    """The last part of the name, in lower case and without an extension."""
    parents: tuple[str, ...]
    """The other parts of the name, the last one first."""
    columns: frozenset[str]
    first: float
    last: float

    @property
    def keys(self) -> Iterator[object]:
        """Lookup keys; a partner shares at least one of them."""
        yield from set(_WORDS.findall(self.title))
        if len(self.columns) > 1:
            yield self.columns


def likely_namesakes(state: State) -> Iterator[Pair]:
    """Yield the pairs of `likely_namesake`, in the order of the written names."""
    shared = (names for names in _by_title(state).values() if 1 < len(names) <= _MOST_SHARED)
    for name in deadline.watched(sorted(name for names in shared for name in names)):
        if pair := likely_namesake(state, name):
            yield pair


@once_an_event
def suggested_pairs(state: State) -> list[Pair]:
    """Return the most likely partner of each dataset that is written and never read.

    Pairs are in the order of the written names. Datasets without a likely partner have none.
    """
    generations = generations_of(state)
    found = []
    for name in deadline.watched(sorted(set(state.identity))):
        if not _readers(generations, name) and (pair := likely_partner(state, name)):
            found.append(pair)
    return found


def likely_partner(state: State, name: DatasetName) -> Pair | None:
    """Return a written dataset with the most likely name under which only reads are reported.

    Return None if no job writes the dataset, it is gone, or no name reaches _MIN_SCORE. A name that
    shares a lookup key with more than _MOST_SHARED others is not compared by that key.
    """
    generations = generations_of(state)
    if not (writers := generations.writers(name)) or is_gone(state, name):
        return None
    orphan, by_key = _orphan(generations, name, writers), _only_read(state)
    lists = (by_key.get(key, []) for key in orphan.keys)
    partners = {p.name: p for part in lists if len(part) <= _MOST_SHARED for p in part}
    return _most_likely(generations, orphan, partners.values())


def likely_namesake(state: State, name: DatasetName) -> Pair | None:
    """Return the likely partner of a written dataset, among names with the same last part.

    This is cheaper than `likely_partner`: only these datasets are compared.
    """
    generations = generations_of(state)
    if not (writers := generations.writers(name)) or is_gone(state, name):
        return None
    alike = _by_title(state)[title_of_dataset(name.name.lower())]
    if len(alike) > _MOST_SHARED:
        return None
    partners = [
        _orphan(generations, other, readers)
        for other in alike
        if other != name and (readers := _only_readers(generations, other))
    ]
    return _most_likely(generations, _orphan(generations, name, writers), partners)


def _most_likely(
    generations: Generations, orphan: _Orphan, partners: Collection[_Orphan]
) -> Pair | None:
    """Return the most likely of some partners of a written dataset; None below _MIN_SCORE.

    Pairs that a user joined or separated are left out, and so are sources of the dataset.
    """
    state, name = generations.state, orphan.name
    pairs = [
        Pair(name, partner.name, evidence, 0)
        for partner in deadline.watched(partners)
        if not state.identity.is_stated(name, partner.name)
        for evidence in (tuple(_evidence(orphan, partner)),)
    ]
    likely = [pair for pair in pairs if pair.score >= _MIN_SCORE]
    if likely:  # a source of the dataset cannot be the same dataset
        walked = upstream_of(generations, generations.writing(name), name)
        sources = {source for edges in walked.values() for source in edges.reads}
        likely = [pair for pair in likely if pair.read not in sources]
    best = max(likely, key=lambda pair: (pair.score, pair.read), default=None)
    if best is None:
        return None
    return best._replace(others=sum(pair.score == best.score for pair in likely) - 1)


@once_an_event
def _only_read(state: State) -> dict[object, list[_Orphan]]:
    """Return the datasets that are only read, by lookup key."""
    generations = generations_of(state)
    by_key: dict[object, list[_Orphan]] = defaultdict(list)
    for name in deadline.watched(sorted(set(state.identity))):
        if readers := _only_readers(generations, name):
            orphan = _orphan(generations, name, readers)
            for key in orphan.keys:
                by_key[key].append(orphan)
    return by_key


@once_an_event
def _by_title(state: State) -> dict[str, list[DatasetName]]:
    """Return the primary names of all datasets by the last part of each."""
    found: dict[str, list[DatasetName]] = defaultdict(list)
    for name in deadline.watched(set(state.identity)):
        found[title_of_dataset(name.name.lower())].append(name)
    return found


def _only_readers(generations: Generations, name: DatasetName) -> list[JobRef]:
    """Return the readers of a dataset; empty if a job writes it or it no longer exists."""
    is_written = generations.writers(name) or is_gone(generations.state, name)
    return [] if is_written else _readers(generations, name)


def _readers(generations: Generations, name: DatasetName) -> list[JobRef]:
    """Return the jobs that read a dataset, without tests: a test of a table is no use of it."""
    return [ref for ref in generations.readers(name) if not is_test(generations.state, ref)]


def _orphan(generations: Generations, name: DatasetName, users: list[JobRef]) -> _Orphan:
    """Describe a dataset for comparison: its name, its fields, and the times of its uses.

    `users` are its readers or its writers. The name is divided into the last part (without the
    ending of a file) and the parts above, innermost first. Times are those of the first and last
    use.
    """
    *parents, title = _PARTS.findall(FILE_ENDING.sub("", name.name.lower())) or [name.name.lower()]
    spans = [
        times(generation, name)
        for ref in users
        for generation in generations.history(ref)
        if generation.runs
        for is_read in (name in generation.edges.reads,)
        if is_read or name in generation.edges.writes
        for times in (generations.times.of_reads if is_read else generations.times.of_writes,)
    ]
    return _Orphan(
        name,
        title,
        tuple(reversed(parents)),
        frozenset(field.lower() for field in fields_of(generations.state, Node.of_dataset(name))),
        min((span.start for span in spans), default=0),
        max((span.end for span in spans), default=0),
    )


def _evidence(written: _Orphan, read: _Orphan) -> Iterator[Evidence]:
    """Yield the evidence that two names are one dataset; none if they are not.

    Points are added up to a score of at most 100. Different numbers in the names, different columns
    or reads that all ended before the first write exclude a pair.
    """
    if _NUMBERS.findall(written.title) != _NUMBERS.findall(read.title) or read.last < written.first:
        return
    if written.columns and read.columns:
        common = written.columns & read.columns
        share = len(common) / len(written.columns | read.columns)
        if share < 0.5:
            return
        message = f"{len(common)} of {counted(len(written.columns | read.columns), 'column')} equal"
        yield Evidence("schema", message, round(40 * share))
    ratio = SequenceMatcher(None, written.title, read.title).ratio()
    if written.title == read.title:
        yield Evidence("spelling", f"both are called {written.title}", 40)
    elif ratio >= 0.5 and written.columns and read.columns:  # else the evidence is too weak
        message = f"{written.title} is similar to {read.title}"
        yield Evidence("spelling", message, round(40 * ratio))
    if written.name.namespace == read.name.namespace:
        yield Evidence("location", "in one namespace", 10)
    elif _is_one_cluster(written.name, read.name):
        message = "the endpoint and the identifier of a Redshift cluster or workgroup"
        yield Evidence("location", message, 20)
    elif written.parents and written.parents[:1] == read.parents[:1]:
        yield Evidence("location", f"both in {written.parents[0]}", 10)
    if written.first and read.first >= written.first:
        yield Evidence("time", "all reads follow the first write", 10)


def _is_one_cluster(one: DatasetName, other: DatasetName) -> bool:
    """Return True for the endpoint of a Redshift cluster and its identifier with the region.

    Clusters of two accounts can have one identifier, so that this is only evidence.
    """
    found, partner = (_REDSHIFT.fullmatch(name.namespace) for name in (one, other))
    if found is None or partner is None or (found["id"] is None) == (partner["id"] is None):
        return False
    return found.group("cluster", "region", "port") == partner.group("cluster", "region", "port")


def jobs_of(state: State, names: Iterable[DatasetName], *, is_read: bool) -> list[JobRef]:
    """Return the jobs that read, or write, some datasets."""
    generations = generations_of(state)
    users = generations.readers if is_read else generations.writers
    return sorted({ref for name in names for ref in users(name) if is_job(ref)})
