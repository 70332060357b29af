"""Steps along control edges, for trees and paths that follow them besides data edges.

A job above the level, such as a DAG at the level of tasks, has two ends. Dependencies of the DAG
lead into its start and out of its end. Its first tasks follow its start, and its end follows its
last tasks.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import Literal, NamedTuple

from headwater import deadline
from headwater.events import JobRef
from headwater.graph.generations import Generations
from headwater.graph.levels import Level
from headwater.graph.nodes import Node
from headwater.lineage.control import control_edges
from headwater.projection.derived import children_of, newest_of
from headwater.runs.summary import newest_run

Way = Literal["up", "down"]
End = Literal["start", "end"]
_FAR: dict[Way, End] = {"up": "end", "down": "start"}
"""The end at which a walk in a direction enters a job, with all of its parts still ahead."""


class Stop(NamedTuple):
    """A node on a walk along control edges; `end` is set for a job above the level."""

    node: Node
    end: End | None = None


def _place(stop: Stop) -> tuple[Node, str]:
    return stop.node, stop.end or ""


class ControlSteps:
    """The control edges of a state at a level.

    The edges are determined once per object, so a query should use only one.
    """

    def __init__(self, generations: Generations, level: Level) -> None:
        self._generations, self._level = generations, level

    @cached_property
    def _edges(self) -> dict[Way, dict[JobRef, set[JobRef]]]:
        """The jobs that a job depends on ("up"), and those that depend on it ("down")."""
        found: dict[Way, dict[JobRef, set[JobRef]]] = {
            "up": defaultdict(set),
            "down": defaultdict(set),
        }
        for above, below in control_edges(self._generations, self._level):
            found["up"][below].add(above)
            found["down"][above].add(below)
        return found

    def first(self, node: Node, way: Way) -> Stop:
        """Return the end at which a walk enters a node, so that it passes all parts of the node.

        For a job above the level, that is its far end: its start if the walk goes downstream, and
        its end if it goes upstream.
        """
        return self._entered(node.job_ref, way) if node.type == "job" else Stop(node)

    def next(self, stop: Stop, way: Way) -> list[Stop]:
        """Return the jobs one control edge upstream or downstream of a node, sorted.

        A job inside of a pipeline whose pipeline has control edges also leads to the near end of
        that pipeline, so that a walk leaves the pipeline there; unless an edge leads on to another
        job inside.
        """
        deadline.check()
        if stop.node.type != "job":
            return []
        ref, edges = stop.node.job_ref, self._edges[way]
        if stop.end == _FAR[way] and (parts := self._parts(ref, way)):
            return sorted((self._entered(part, way) for part in parts), key=_place)
        found = {self._entered(other, way) for other in edges.get(ref, ())}
        above = next((job for job in self._above(ref) if edges.get(job)), None)
        if above and not any(above in self._above(other) for other in edges.get(ref, ())):
            found.add(Stop(Node.of_job(above), "start" if way == "up" else "end"))
        return sorted(found, key=_place)

    def _entered(self, ref: JobRef, way: Way) -> Stop:
        """Return the stop at which a walk enters a job: at its far end if it is above the level."""
        is_above = self._generations.levels.of(ref) > self._level
        return Stop(Node.of_job(ref), _FAR[way] if is_above else None)

    def _above(self, ref: JobRef) -> list[JobRef]:
        """Return the jobs that the newest run of a job is part of, nearest first."""
        run = newest_run(self._generations.state, ref)
        lineage = self._generations.levels.lineage(run)[1:] if run else ()
        return [above.key.job for above in lineage if above.key.job != ref]

    def _parts(self, ref: JobRef, way: Way) -> set[JobRef]:
        """Return the last (`up`) or first (`down`) parts of a job above the level.

        These are the parts that no other part follows (`up`) or precedes; all, if they form a
        circle.
        """
        parts = self._below(ref) - {ref}
        back = self._edges["down" if way == "up" else "up"]
        return {part for part in parts if parts.isdisjoint(back.get(part, ()))} or parts

    def _below(self, ref: JobRef) -> set[JobRef]:
        """Return the jobs of the level, and pipelines, below the newest run that has child runs.

        A pipeline may be below the task that runs it.
        """
        state, levels = self._generations.state, self._generations.levels
        job = state.jobs.get(ref)
        runs = [state.runs[key] for key in job.runs] if job else []
        newest = newest_of(run for run in runs if children_of(state, run))
        found: set[JobRef] = set()
        open_ = [(newest, True)] if newest else []
        for run, is_above in deadline.popped(open_):
            for child in children_of(state, run):
                level = levels.of(child.key.job)
                if level > self._level or (level == self._level and is_above):
                    found.add(child.key.job)
                if level <= self._level:
                    open_.append((child, is_above and level < self._level))
        return found
