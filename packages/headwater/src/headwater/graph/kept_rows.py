"""Determine the rows of earlier writes that a generation kept in its outputs.

Without further reports, a write replaces its output, unless dbt wrote it incrementally, or the SQL
text of the run only adds or changes rows. An Iceberg commit report shows whether rows were kept,
and the facet `subset` which partitions a run wrote. Such a run replaces these partitions and keeps
all others, so that each partition has the rows of the newest generation that wrote it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from headwater.events import EventType, Facets
from headwater.events.facets import (
    CommitReport,
    LifecycleStateChange,
    PartitionSources,
    SourcePart,
    Sql,
    Subset,
)
from headwater.identity import DatasetName
from headwater.projection import MOST_VERSIONS, Run, RunKey, State, start_of, unpack
from headwater.projection.derived import ancestry_of
from headwater.projection.state import Use
from headwater.sql.row_changes import keeps_rows

Parts = frozenset[str]
"""The partitions of an output."""


class _Commit(NamedTuple):
    """A commit of a run to a table."""

    time: float
    added: float
    total: float
    replaced: Parts
    """The partitions that it replaced; empty if they are unknown."""


@dataclass(slots=True)
class _Writes:
    """The reports of some runs about one output."""

    commits: dict[str | RunKey, _Commit] = field(default_factory=dict)
    parts: Parts = frozenset()
    """Partitions written without a commit report."""
    is_partial: bool = False
    """True if a run wrote only a part."""
    is_replaced: bool = False
    """True if the SQL text of a completed run replaced all rows."""
    is_unknown: bool = False
    """True if a run wrote an unknown part."""
    named: set[RunKey] = field(default_factory=set)
    """The runs that reported partitions."""
    bare: set[RunKey] = field(default_factory=set)
    """The runs that reported neither a commit nor a part."""
    sources: dict[str, set[SourcePart]] = field(default_factory=dict)
    """The only sources of partitions, where a run states them."""


class Kept(NamedTuple):
    """The earlier rows in the outputs of a generation."""

    unknown: frozenset[DatasetName]
    """The outputs that keep unknown earlier rows."""
    partial: frozenset[DatasetName]
    """The outputs that keep all earlier rows but those of the partitions that it wrote."""
    parts: Mapping[DatasetName, Parts]
    """The partitions that it wrote, of outputs for which all are known."""
    sources: Mapping[DatasetName, Mapping[str, set[SourcePart]]]
    """The only sources of partitions of these outputs, where they are stated."""


def kept_rows(state: State, runs: Iterable[Run]) -> Kept:
    """Return which earlier rows the outputs of some runs keep.

    A commit counts once, even if a task and its query both report it. A task need not repeat which
    partitions its queries wrote. The written partitions are known if a run reports them, no run
    wrote an unknown part, and each commit names its own.
    """
    found: dict[DatasetName, _Writes] = defaultdict(_Writes)
    for run in runs:
        for spelled, use in run.outputs.items():
            _add(found[state.identity.primary(spelled)], run, spelled.name, use)
    parts: dict[DatasetName, Parts] = {}
    keeping: set[DatasetName] = set()
    for name, writes in found.items():
        commits = writes.commits.values()
        if _keeps_rows(commits) if commits else writes.is_partial and not writes.is_replaced:
            keeping.add(name)
        is_known = not writes.is_unknown and all(commit.replaced for commit in commits)
        if writes.named and is_known and _are_related(state, writes):
            parts[name] = writes.parts.union(*(commit.replaced for commit in commits))
    partial = frozenset(keeping & parts.keys())
    sources = {name: found[name].sources for name in parts}
    return Kept(frozenset(keeping - partial), partial, parts, sources)


def surviving(parts: Parts | None, covered: Iterable[str]) -> Parts | None:
    """Return the partitions that later writes did not replace; None if they are unknown."""
    return None if parts is None else parts.difference(covered)


def _add(writes: _Writes, run: Run, name: str, use: Use) -> None:
    """Add what a run reports about an output (`use`) to the reports of the other runs.

    A commit report has one commit per version. Two reports of one version are one commit; the one
    with partitions wins. A run with neither a commit nor the facet `subset` is *bare*: a task whose
    queries report the details, or a write that replaces everything, unless its SQL text keeps rows.
    """
    subset = use.io_facets.parsed(Subset)
    commits = _commits(run, use)
    for version, commit in commits.items():
        known = writes.commits.get(version)
        writes.commits[version] = max(commit, known, key=_known_first) if known else commit
    if any(commit.replaced for commit in commits.values()) or subset.parts:
        writes.named.add(run.key)
    if not commits and not subset.is_reported:
        writes.bare.add(run.key)
        keeps = keeps_rows(run.code.get(Sql.KEY).get("query"), name)
        writes.is_partial |= bool(keeps) or _is_incremental(run, use)
        is_complete = run.end is not None and run.end[1] is EventType.COMPLETE
        writes.is_replaced |= keeps is False and is_complete
        writes.is_unknown |= writes.is_partial
    elif not commits:
        writes.is_partial = True
        writes.parts |= subset.parts
        writes.is_unknown |= not subset.parts
    writes.is_unknown |= len(use.versions) >= MOST_VERSIONS  # older ones are forgotten
    for _, _, facets in _reports(run, use) if use.io_facets.get(PartitionSources.KEY) else ():
        stated = PartitionSources.parse(facets.get(PartitionSources.KEY, {})).sources
        for part, sources in stated.items():
            writes.sources.setdefault(part, set()).update(sources)


def _is_incremental(run: Run, use: Use) -> bool:
    """Return True if dbt added rows to a table or replaced some, without rebuilding it."""
    config = use.dataset_facets.get("dbt_model").get("config")
    kind = config.get("materialized") if isinstance(config, dict) else None
    is_rebuilt = run.facets.get("dbt_run").get("full_refresh") is True
    return kind in ("incremental", "snapshot") and not is_rebuilt


def _known_first(commit: _Commit) -> tuple[bool, _Commit]:
    """Return a sort key: a commit with known partitions is the greater one."""
    return bool(commit.replaced), commit


def _are_related(state: State, writes: _Writes) -> bool:
    """Return True if runs without details are above or below those that reported partitions.

    Then these report the writes of the bare runs. An unrelated bare run may have written anything.
    """
    state_runs = state.runs
    above = {key: {up.key for up in ancestry_of(state, state_runs[key])} for key in writes.named}
    return all(
        any(bare in up for up in above.values())
        or not above.keys().isdisjoint(up.key for up in ancestry_of(state, state_runs[bare]))
        for bare in writes.bare
    )


def _keeps_rows(commits: Iterable[_Commit]) -> bool:
    """Return False if a commit replaced all rows, so that all present rows were added since.

    A commit replaced all if the rows that it added (`added`) are all rows of the table after it.
    Without such a commit, the sum proves nothing: one commit may replace rows of another.
    """
    added_since, all_rows = -inf, 0.0
    for _, added, all_rows, _ in sorted(commits, key=lambda commit: commit[:3]):
        added_since = added if added >= all_rows else added_since + added
    return added_since < all_rows


def _commits(run: Run, use: Use) -> dict[str | RunKey, _Commit]:
    """Return the commits of a run to a table, by version.

    A commit report without a version counts as one commit of the run. Only an OVERWRITE replaces
    the partitions that it names; another commit adds rows to them.
    """
    if not use.io_facets.parsed(CommitReport).is_reported:
        return {}
    change = use.dataset_facets.parsed(LifecycleStateChange).lifecycleStateChange
    return {
        version: _Commit(time, report.added, report.total, parts)
        for version, time, facets in _reports(run, use)
        if (report := CommitReport.parse(facets.get(CommitReport.KEY, {}))).is_reported
        for subset in (Subset.parse(facets.get(Subset.KEY, {})),)
        for parts in (subset.parts if change == "OVERWRITE" else frozenset(),)
    }


def _reports(run: Run, use: Use) -> Iterator[tuple[str | RunKey, int, Facets]]:
    """Yield the version, the time and the facets of each report of a run about an output."""
    for version in use.versions[:-1]:
        yield version.name, version.stamp.time, unpack(version.io_facets)
    at = use.versions[-1].stamp.time if use.versions else start_of(run) or 0
    yield use.version or run.key, at, use.io_facets.plain()
