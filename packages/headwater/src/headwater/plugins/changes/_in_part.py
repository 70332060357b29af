"""Differences between two moments from the parts that may differ.

The result equals that of the comparison of the whole states. The state of a past moment may be a
PartialState; it then loads only the events of these parts.
"""

from __future__ import annotations

from math import inf

from headwater import deadline
from headwater.events import JobRef
from headwater.events.facets import SourceCode, SourceCodeLocation
from headwater.graph.current import graph_of, level_of
from headwater.graph.folders import derivations_writing
from headwater.graph.levels import Level
from headwater.graph.nodes import Node
from headwater.graph.placeholders import derivation
from headwater.partial import PartialState, WholeStateError
from headwater.plugins.changes._candidates import Candidates
from headwater.plugins.changes._compared import (
    Compared,
    Edge,
    code_difference,
    edges_of,
    existing,
    failed_between,
    newest_schema,
    nodes_of,
    schema_difference,
)
from headwater.plugins.changes._schemas import schemas_of
from headwater.plugins.changes.models import CodeDifference, DiffAnswer
from headwater.projection import State
from headwater.projection.facet_books import FacetBook, Stamp
from headwater.query.parameters import LevelName
from headwater.runs.models import RunInfo


def difference_in_part(present: State, before: State, after: State, level: LevelName) -> DiffAnswer:
    """Return the differences at a level between a past moment and the present or another one.

    Raises:
        WholeStateError: the whole states must be compared.
    """
    has_rules = any(relation == "rule" for _, relation in present.aliases.values())
    if has_rules or not isinstance(before, PartialState):  # a rule may join any names
        raise WholeStateError
    begin = before.now
    end = inf if after is present else after.now
    if begin > end:
        raise WholeStateError
    found = Candidates(present, begin, end)
    found.add_renamed(before.names_stated(begin, end))
    found.add_removed()
    part = _Part(found, before, after, level_of(level))
    schemas = part.schemas()
    found.names.update(node.dataset_name for node in schemas)
    found.add_edges()
    compared = part.compared()
    in_both = compared.old_nodes & compared.new_nodes
    for node in in_both:  # if it had other aliases, the schemas of present ones do not count
        if node.type == "dataset" and node.dataset_name in found.names:
            schemas[node] = newest_schema(before, node), newest_schema(after, node)
    code: list[CodeDifference] = []
    for node in sorted(map(Node.of_job, found.coded())):
        difference = part.code(node) if node in in_both or part.is_steady(node) else None
        if difference:
            code.append(difference)
            compared.old_nodes.add(node)
            compared.new_nodes.add(node)
    return compared.answer(
        level,
        [
            change
            for node, (old, new) in sorted(schemas.items())
            if node in in_both and (change := schema_difference(node, old, new))
        ],
        code,
        part.failed(),
    )


class _Part:
    """The parts of two states that may differ."""

    def __init__(self, found: Candidates, before: State, after: State, level: Level) -> None:
        self._found, self._before, self._after, self._level = found, before, after, level

    def schemas(self) -> dict[Node, tuple[bytes, bytes]]:
        """Return the packed schemas of datasets that differ, by their present names."""
        found, schemas = self._found, schemas_of(self._found.state)
        primary = found.state.identity.primary
        nodes = {Node.of_dataset(primary(name)) for name in schemas.differing(found.begin)}
        changed: dict[Node, tuple[bytes, bytes]] = {}
        for node in deadline.watched(nodes):
            name = node.dataset_name
            old, new = schemas.at(name, found.begin), schemas.at(name, found.end)
            if old is None:
                old = newest_schema(self._before, node)
            if new is None or found.end == inf:
                new = newest_schema(self._after, node)
            if old != new:
                changed[node] = old, new
        return changed

    def compared(self) -> Compared:
        """Return the candidates in both states, with the nodes that other edges end at, too."""
        old_edges, new_edges = self._edges(self._before), self._edges(self._after)
        old_ends, new_ends = nodes_of(old_edges), nodes_of(new_edges)
        steady = {node for node in old_ends ^ new_ends if self.is_steady(node)}
        old_nodes, new_nodes = (
            existing(state, (node for node in ends | steady if self._may_be_gone(node)))
            | {node for node in ends | steady if not self._may_be_gone(node)}
            for state, ends in ((self._before, old_ends), (self._after, new_ends))
        )
        return Compared(self._before, self._after, old_nodes, new_nodes, old_edges, new_edges)

    def _may_be_gone(self, node: Node) -> bool:
        return node.type == "dataset" and node.dataset_name in self._found.names

    def _edges(self, state: State) -> set[Edge]:
        """Return the edges of the candidates in a state."""
        graph = graph_of(state, self._level)
        jobs = [ref for ref in sorted(self._found.jobs) if ref in state.jobs]
        derived = [
            derivation(name)
            for name in self._found.derived
            if name in state.identity and derivations_writing(state, name)
        ]
        parts = {
            id(part): part
            for ref in deadline.watched([*jobs, *derived])
            for part in (graph.part_of(ref),)
        }
        return {edge for part in parts.values() for edge in edges_of(part)}

    def is_steady(self, node: Node) -> bool:
        """Return True if edges that are equal at both moments end at a node."""
        graph = graph_of(self._found.state, self._level)
        if node.type == "job":
            return node.job_ref not in self._found.jobs and graph.has_job(node.job_ref)
        users = self._found.steady_users(node.dataset_name)
        return any(node in nodes_of(edges_of(graph.part_of(ref))) for ref in users)

    def code(self, node: Node) -> CodeDifference | None:
        """Return the change of the code of a job that both states have."""
        ref = node.job_ref
        old, new = (self._code_at(ref, time) for time in (self._found.begin, self._found.end))
        if old is None or new is None:
            old, new = self._before.jobs[ref].facets, self._after.jobs[ref].facets
        return code_difference(node, old, new)

    def _code_at(self, ref: JobRef, time: float) -> FacetBook | None:
        """Return the code of a job at a moment; None if only the events show it."""
        state = self._found.state
        job = state.jobs[ref]
        stamped, key = job.facets.stamped(), SourceCodeLocation.KEY
        source, newest = stamped.get(SourceCode.KEY), stamped.get(key)
        if job.declared or (source and source[0].time > self._found.begin):
            return None
        found: dict[str, tuple[Stamp, bytes]] = {SourceCode.KEY: source} if source else {}
        if newest and newest[0].time > time:
            newest = None
            for run in map(state.runs.__getitem__, job.runs):
                reported = run.code.stamped().get(key)
                if reported is None or run.first is None or run.last is None or run.first > time:
                    continue
                if run.last > time:
                    return None
                if newest is None or reported[0] > newest[0]:
                    newest = reported
        if newest:
            found[key] = newest
        return FacetBook(tuple(part for name, value in found.items() for part in (name, *value)))

    def failed(self) -> list[RunInfo]:
        """Return the runs that failed in between."""
        runs = (self._after.runs.get(run.key) for run in self._found.ended())
        return failed_between(self._before, self._after, [run for run in runs if run])
