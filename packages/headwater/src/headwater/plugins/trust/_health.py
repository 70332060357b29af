"""Health: current failures, late jobs and failed checks.

- root run: a run without a parent, such as a DAG run; child runs are its tasks and their queries
- stale run: one without an end event that sent nothing for the time LOST_AFTER (kind `lost`)
- superseded failure: its pipeline has run as a whole since, with or without the failed task
- blocked node: a dataset or job downstream of a failure that was due and is therefore old
- late: the next start is overdue; stopped: so long overdue that the job seems to be switched off
- overdue nodes: candidates for late nodes, found without checking every node
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache, partial
from typing import get_args

from headwater.datasets.replaced_writes import all_writes_of
from headwater.datasets.singular_tests import only_repeats_singular_tests
from headwater.errors import ConfigError
from headwater.events import JobRef, parse_time, shown_time, to_micros
from headwater.filter_values import is_exposure, is_view
from headwater.graph.current import generations_of
from headwater.graph.levels import Level
from headwater.graph.nodes import Node
from headwater.health.blocked import blocked_nodes
from headwater.health.branches import mixed_jobs
from headwater.health.caching import jobs_with_open_runs
from headwater.health.failing import (
    checked_nodes,
    decided_root,
    failed_part,
    failing_run,
    is_superseded,
    is_void,
    possibly_failing,
    recent_roots,
)
from headwater.health.findings import (
    doubted_run,
    failed_checks,
    failed_run,
    lost_run,
    several_branches,
)
from headwater.health.late import late_findings
from headwater.health.models import Finding
from headwater.health.overdue import Overdue, overdue_nodes
from headwater.health.project import removed_model
from headwater.health.recovery import is_recovered
from headwater.health.rules import failures_of
from headwater.plugin import load_named
from headwater.plugins.trust._causes import open_causes
from headwater.plugins.trust._reported_runs import number_of_reported_runs
from headwater.plugins.trust.finding_states import ALL_OPEN, FindingStates
from headwater.plugins.trust.models import HealthAnswer, ProblemKind
from headwater.projection import Run, RunKey, State
from headwater.projection.derived import ancestry_of, is_lost
from headwater.query.pages import Place
from headwater.runs.completion import doubt_of_completion
from headwater.runs.failures import causes_of, is_failed
from headwater.runs.summary import newest_run
from headwater.text import counted

_KINDS = get_args(ProblemKind)
_LATEST = 2**62  # microseconds
LEFT_OUT = "; its pipeline ran again without it"
"""End of the message about a failed task for which `is_left_out` is True."""
Blocked = dict[RunKey, list[tuple[Node, bool]]]
"""The nodes that each failed run blocks; True for one that shows data that failed a check."""


def health_answer(state: State, stored: FindingStates = ALL_OPEN) -> HealthAnswer:
    """Return the size of the graph and the number of open findings; `findings` lists them.

    Muted and acknowledged findings do not count. Stopped jobs do not affect `isHealthy`. After the
    start of a server with a large store, `uncounted` nodes are not checked for lateness yet.
    """
    overdue = overdue_nodes(state, in_part=True)
    findings = [stored.of(found, state.now) for found in findings_of(state, overdue)]
    count = Counter(found["severity"] for found in findings if found["state"] == "open")
    errors, warnings = count["error"], count["warning"]
    return {
        "at": shown_time(state.now),
        "isHealthy": None if overdue.uncounted and not errors else not errors,
        "counts": {
            "jobs": len(state.jobs),
            "runs": number_of_reported_runs(state),
            "datasets": len(state.identity),
            "errors": errors,
            "warnings": warnings,
            "problems": open_causes(state, findings),
        },
        "uncounted": overdue.uncounted,
    }


def place_of_finding(found: Finding) -> Place:
    """Return the sort key of a finding: its kind, the newest first or the longest late first."""
    time = to_micros(parse_time(found["at"])) if found["at"] else 0
    is_late = found["kind"] in ("late", "stopped")
    rank = time if is_late else _LATEST - time
    return _KINDS.index(found["kind"]), rank, found["subject"], found["runId"] or ""


def findings_of(state: State, overdue: Overdue | None = None) -> Iterator[Finding]:
    """Yield failed and stale runs, late, stopped and mixed jobs, and failed checks.

    Of root runs, the newest of a job that ended or is stale counts, even while a newer one runs.
    A failed child run is a finding unless an ancestor run is one. If its pipeline has run as a
    whole since, it is only a warning, or no finding if another job took over its data.

    They are in no order; `place_of_finding` is their sort key. Plugins may add warnings. Only nodes
    in `overdue` are late or have stopped; by default, all overdue nodes.
    """
    overdue = overdue or overdue_nodes(state)
    blocked = blocked_nodes(state)
    failing = possibly_failing(state)
    for ref in sorted(failing | jobs_with_open_runs(state)):
        run = decided_root(state, ref)  # the newest root run that ended or is stale
        if run is not None:
            is_decided = run is recent_roots(state, ref)[-1]  # else a newer one is still open
            yield from _failed_or_lost(state, run, blocked, has_retry=not is_decided)
    for ref in sorted(failing):
        part = failed_part(state, ref)
        if part is None or is_void(state, part):  # void: a test that was not run
            continue
        if not only_repeats_singular_tests(state, part):
            yield from _findings_of_task(state, part, blocked)
    yield from _doubted_runs(state)
    yield from late_findings(state, overdue)
    for node in checked_nodes(state):
        if failures := failures_of(state, node):
            yield failed_checks(node, failures)
    for ref, mixes in mixed_jobs(state):
        yield several_branches(state, ref, mixes)
    for plugin, find in _added_findings():
        yield from _checked(plugin, find(state))


_added_findings = cache(partial(load_named, "findings"))


def _checked(plugin: str, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the findings of a plugin; an error would contradict the states of nodes."""
    for found in findings:
        if found["severity"] != "warning" or found["kind"] not in _KINDS:
            raise ConfigError(
                f"plugin {plugin}: finding: received {found['severity']!r} of the kind "
                f"{found['kind']!r}, expected a warning of a kind of {', '.join(_KINDS)}"
            )
        yield found


def _failed_or_lost(
    state: State, run: Run, blocked: Blocked, *, has_retry: bool
) -> Iterator[Finding]:
    """Yield the finding about a root run that failed or is stale.

    With `has_retry`, a newer run is open: if it completes, the finding disappears.
    """
    if is_failed(state, run):
        found = _with_blocked(state, failed_run(state, run), run, blocked)
    elif is_lost(state, run):
        found = lost_run(state, run)
    else:
        return
    if has_retry:
        found["remedy"] = f"a newer run has not ended yet; if it fails too, {found['remedy']}"
    yield found


def _with_blocked(state: State, found: Finding, run: Run, blocked: Blocked) -> Finding:
    """Add the numbers of jobs, datasets and exposures that a failed run blocks to its finding.

    Those that its causes, the failed runs below it, block are included. Views and exposures that
    show data that failed its checks are counted apart. The finding is changed.
    """
    runs = {run.key, *(cause.key for cause in causes_of(state, run))}  # `blocked` is by any of them
    nodes = dict.fromkeys(node for key in runs for node in blocked.get(key, ()))
    blocks, shown = (
        _numbers(state, [node for node, is_shown in nodes if is_shown is wanted])
        for wanted in (False, True)
    )
    found["message"] += f"; blocks {blocks}" if blocks else ""
    found["message"] += f"; data that failed its checks is shown by {shown}" if shown else ""
    return found


def _numbers(state: State, nodes: Iterable[Node]) -> str:
    """Return the numbers of jobs, datasets, views and exposures as text; empty for no nodes."""
    counts = Counter(
        "exposure" if is_exposure(state, node) else "view" if is_view(state, node) else node.type
        for node in nodes
    )
    kinds = ("job", "dataset", "view", "exposure")
    *first, last = [counted(counts[kind], kind) for kind in kinds if counts[kind]] or [""]
    return " and ".join([*filter(None, [", ".join(first)]), last])


def _findings_of_task(state: State, run: Run, blocked: Blocked) -> Iterator[Finding]:
    """Yield the finding about a failed task, unless an ancestor of its run is reported as failing.

    If its pipeline has run since, yield only a warning, and only if the task was left out.
    """
    if is_superseded(state, run):
        if is_left_out(state, run):
            yield _left_out_warning(state, run)
    elif not _has_failing_ancestor(state, run):
        yield _with_blocked(state, failed_run(state, run), run, blocked)


def _doubted_runs(state: State) -> Iterator[Finding]:
    """Yield warnings about newest runs that may not have completed, except runs below them."""

    def is_doubted(run: Run) -> bool:
        return doubt_of_completion(run) is not None

    def is_newest_doubted(ref: JobRef) -> bool:
        run = newest_run(state, ref)
        return run is not None and is_doubted(run)

    jobs = generations_of(state).jobs_where("doubted", is_newest_doubted, is_doubted)
    for run in filter(None, (newest_run(state, ref) for ref in sorted(jobs))):
        _, *above = ancestry_of(state, run)
        doubt = doubt_of_completion(run)
        if doubt and not any(map(is_doubted, above)):
            yield doubted_run(state, run, doubt)


def _has_failing_ancestor(state: State, run: Run) -> bool:
    """Return True if an ancestor of a failed run is reported as failing itself."""
    _, *ancestors = ancestry_of(state, run)
    return any(failing_run(state, ancestor.key.job) is ancestor for ancestor in ancestors)


def is_left_out(state: State, run: Run) -> bool:
    """Return True if a failed task was left out when its pipeline ran again, but still counts.

    It counts if it is still in its project, and later runs did not write all of its outputs.
    `run` is the failed run; the result is False for one that is not part of another run.
    """
    ref = run.key.job
    is_query = generations_of(state).levels.of(ref) < Level.TASK
    if is_query or not is_superseded(state, run) or removed_model(state, Node.of_job(ref)):
        return False
    written = all_writes_of(state, ref)
    return not written or not all(is_recovered(state, run, name) for name in written)


def _left_out_warning(state: State, run: Run) -> Finding:
    """Return the warning about a failed task that was not part of a later run of its pipeline.

    It replaces the error about the failed run, because the pipeline of the run ran again since. The
    message ends with LEFT_OUT, which problems show too. `is_left_out` must be True for the run.
    """
    warning = failed_run(state, run)
    warning["severity"] = "warning"
    warning["message"] += LEFT_OUT
    warning["remedy"] = (
        "run the job, or mute the finding if the pipeline no longer contains the job"
    )
    return warning
