"""Group findings by their cause.

A finding of health is about one job or dataset. Its `causes` are the findings about the lowest
failed runs below it. Problems and the count of problems are derived from these groups.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from headwater.graph.current import generations_of
from headwater.graph.levels import Level
from headwater.graph.nodes import Node
from headwater.health.models import Finding
from headwater.lookup import find_node
from headwater.plugins.trust.models import HealthFinding
from headwater.projection import Run, RunKey, State


class Cause(NamedTuple):
    """A cause, with the findings that it explains."""

    node: Node
    """The failed task, also if one of its queries failed; else the subject of the finding."""
    run: Run | None
    """The lowest failed or stale run, which may be that of a query; None for other findings."""
    finding: Finding
    """The finding about the lowest failed run, or the only finding."""
    parts: list[HealthFinding]

    @property
    def is_open(self) -> bool:
        """Return True if a finding with this cause is neither muted nor acknowledged."""
        return any(part["state"] == "open" for part in self.parts)


def causes_of_findings(state: State, findings: Iterable[HealthFinding]) -> list[Cause]:
    """Return the causes of findings.

    A failed pipeline has one cause per failed task, of which several queries may have failed. A
    failed check belongs to the cause of the failed run that reported it, if that is one cause;
    otherwise it is a cause of its own.

    Causes are in the order of the first finding of each, those of checks alone at the end.
    """
    found: dict[tuple[str, Node], Cause] = {}
    checks: list[HealthFinding] = []
    for finding in findings:
        if finding["kind"] == "quality":
            checks.append(finding)
            continue
        for lowest in finding.get("causes") or [finding]:
            cause = _cause_of(state, lowest)
            same = found.setdefault((finding["kind"], cause.node), cause)
            if finding not in same.parts:
                same.parts.append(finding)
    by_run: dict[str, list[Cause]] = {}
    for (kind, _), cause in found.items():
        if kind == "failed" and cause.run:
            by_run.setdefault(cause.run.key.run_id, []).append(cause)
    for check in checks:
        match by_run.get(check["runId"] or ""):
            case [cause]:
                cause.parts.append(check)
            case _:
                node = find_node(state, check["subject"])
                found["quality", node] = Cause(node, None, check, [check])
    return list(found.values())


def open_causes(state: State, findings: Iterable[HealthFinding]) -> int:
    """Return the number of causes with an open finding, of errors and warnings."""
    return sum(cause.is_open for cause in causes_of_findings(state, findings))


def _cause_of(state: State, finding: Finding) -> Cause:
    """Return the cause of a finding, without findings yet: the caller adds them to `parts`.

    The node is the task of a failed or stale query, so that all queries of one task have one cause;
    the run stays that of the query. Without a query, the node is the subject of the finding.
    """
    node, run_id = find_node(state, finding["subject"]), finding["runId"]
    if run_id is None or node.type != "job":
        return Cause(node, None, finding, [])
    run = state.runs[RunKey(run_id, node.job_ref)]
    levels = generations_of(state).levels
    if levels.of(node.job_ref) is Level.QUERY:
        node = Node.of_job(levels.owner(run, Level.TASK).key.job)
    return Cause(node, run, finding, [])
