"""The gate: check the provenance of datasets against a policy.

The gate follows data edges, and to failed runs also control edges. `examples/policy.yaml` documents
every key of a policy.

The provenance of a dataset is the generations (the runs of a task under one parent run) that its
present contents come from, each with its edges on the way; see `lineage.provenance`. A flow is data
that a generation gets from another through a dataset. `root` is the dataset of the gate.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator
from fnmatch import fnmatchcase
from functools import partial
from math import inf
from typing import Annotated

from annotated_types import Ge, Le

from headwater.datasets.models import Removal
from headwater.datasets.printing import removal_text
from headwater.datasets.quality import Check, checks_of, current_failures
from headwater.datasets.removal import removal_of
from headwater.documents import Document, Text, decoded, validated
from headwater.events import JobRef, shown_time
from headwater.graph.column_graph import Column
from headwater.graph.current import generations_of
from headwater.graph.frontier import Walked
from headwater.graph.generation import Generation
from headwater.graph.generations import Generations
from headwater.graph.levels import Level
from headwater.graph.nodes import Node, facets_of, node_id
from headwater.graph.placeholders import is_job, only_datasets
from headwater.health.blocked import blockers_of
from headwater.health.failing import decisive_run, failing_run
from headwater.health.findings import (
    doubted_run,
    failed_checks,
    failed_run,
    finding,
    lost_run,
    names_of,
)
from headwater.health.late import overdue_job, overdue_jobs
from headwater.health.models import Finding, Measure
from headwater.health.recovery import is_recovered, unrepeated_write
from headwater.health.states import health_of
from headwater.identity import DatasetName
from headwater.lineage.provenance import (
    deleted_sources,
    flows_from_others,
    last_use,
    origin,
    sources_of,
)
from headwater.lineage.tags import Tags
from headwater.lineage.taints import taints_in
from headwater.lookup import find_dataset
from headwater.plugins.trust._control import control_upstream
from headwater.plugins.trust.completeness import measure_units, units_of
from headwater.plugins.trust.finding_states import ALL_OPEN, FindingStates, stored_states
from headwater.plugins.trust.models import GateAnswer, GatedDataset, Violation
from headwater.projection import Run, State, outcome
from headwater.projection.derived import ancestry_of, began_at, is_lost, parent_of
from headwater.query.registry import Times, query
from headwater.runs.completion import doubt_of_completion
from headwater.runs.failures import is_failed, outputs_of_other_elements, was_repeated
from headwater.runs.summary import place_of_run
from headwater.text import counted

_HEALTH_KINDS = {
    "no_failed_runs": ("failed", "lost"),
    "fresh": ("late", "stopped"),
    "quality_passed": ("quality",),
}
"""The kinds of findings of health that violate a rule."""


class Policy(Document):
    """The rules of a gate; by default those that need no parameters."""

    no_failed_runs: bool = True
    follow_control: bool = True
    """Also check the runs that had to end before upstream runs, and those that triggered them."""
    quality_passed: bool = True
    no_pii: bool = True
    no_tainted: bool = True
    """No version in the provenance was recalled (`headwater taint`)."""
    exists: bool = True
    fresh: bool = False
    allow_deleted_sources: bool = False
    """Pass even if older sources were deleted (`headwater prune --horizon`)."""
    allow_muted: bool = False
    """Pass despite violations whose findings of health are muted."""
    sources: list[Text] | None = None
    """Patterns of `NAMESPACE:NAME`."""
    completeness: dict[Measure, Annotated[float, Ge(0), Le(1)]] = {}


@query("gate", Times.THEN, load=stored_states)
def gate_answer(
    state: State,
    dataset: Annotated[list[str], "A dataset: an id or a short name; any number of them."],
    policy: Annotated[str | None, "The policy as JSON; without it the default one."] = None,
    stored: FindingStates = ALL_OPEN,
) -> GateAnswer:
    """Check the provenance of datasets against a policy."""
    body = decoded(policy or "null", "policy")
    rules = validated(Policy, {} if body is None else body, "policy")
    muted = stored.muted(state.now)
    datasets: list[GatedDataset] = []
    for node in [find_dataset(state, text) for text in dataset]:
        violations = list(_violations(generations_of(state), node, rules))
        for violation in violations:
            violation["isMuted"] = _is_muted(violation, muted)
        passed = all(rules.allow_muted and violation["isMuted"] for violation in violations)
        datasets.append({"id": node_id(node), "violations": violations, "passed": passed})
    return {
        "at": shown_time(state.now),
        "passed": all(gated["passed"] for gated in datasets),
        "datasets": datasets,
        "policy": rules.model_dump(mode="json"),
    }


def _is_muted(violation: Violation, muted: Container[tuple[str, str]]) -> bool:
    """Return True if the health finding about a violation or its pipeline is muted."""
    kinds = _HEALTH_KINDS.get(violation["kind"], ())
    subjects = (violation["subject"], violation["pipeline"])
    return any((kind, about) in muted for kind in kinds for about in subjects)


def _violations(generations: Generations, root: Node, policy: Policy) -> Iterator[Violation]:
    """Yield the violations of the rules of a policy by the provenance of a dataset.

    An emptied dataset still exists, but is not fresh; a dropped or renamed one does not exist.
    """
    state, provenance = generations.state, origin(generations, root)
    if policy.sources is not None:
        yield from _of_rule("sources", _unknown_sources(state, provenance, root, policy.sources))
    removal = removal_of(state, root.dataset_name)
    if policy.exists and removal is not None and removal["kind"] != "emptied":
        yield from _of_rule("exists", [_removal_finding(root, removal)])
    if policy.no_failed_runs:
        yield from _of_rule("no_failed_runs", _failed_runs(generations, provenance, root, policy))
    if policy.fresh:
        yield from _of_rule("fresh", _late(generations, provenance, root))
        if removal is not None and removal["kind"] == "emptied":
            yield from _of_rule("fresh", [_removal_finding(root, removal)])
    if policy.no_tainted:
        yield from _of_rule("no_tainted", _tainted(generations, root))
    if policy.quality_passed:
        yield from _of_rule("quality_passed", _failed_checks(generations, provenance, root))
    if not policy.allow_deleted_sources:
        yield from _of_rule("deleted_sources", _deleted_sources(generations, provenance, root))
    yield from _of_rule("completeness", _incomplete(generations, provenance, policy))
    if policy.no_pii:
        yield from _of_rule("no_pii", _pii(generations, provenance, root))


def _of_rule(rule: str, findings: Iterable[Finding | tuple[Finding, str]]) -> Iterator[Violation]:
    """Yield findings, some with the id of their pipeline, as violations of a rule."""
    for item in findings:
        found, pipeline = item if isinstance(item, tuple) else (item, None)
        yield {**found, "kind": rule, "pipeline": pipeline, "isMuted": False}


def _tainted(generations: Generations, root: Node) -> Iterator[Finding]:
    for name, taint in taints_in(generations, root.dataset_name):
        message = f"has, or may have, data of the recalled version {taint.version}: {taint.reason}"
        remedy = "write it again without this version, or clear it with `headwater taint --clear`"
        yield finding("tainted", name, message, remedy, at=taint.at)


def _deleted_sources(generations: Generations, provenance: Walked, root: Node) -> Iterator[Finding]:
    if deleted := deleted_sources(generations, provenance):
        message = f"has older sources that were deleted on {deleted['deletedAt']}"
        remedy = "reload it completely, or set `allow_deleted_sources` in the policy"
        yield finding("deleted_sources", root, message, remedy)


def _unknown_sources(
    state: State, provenance: Walked, root: Node, patterns: Iterable[str]
) -> Iterator[Finding]:
    """Yield findings about sources of a provenance whose names match no pattern.

    Sources are the datasets that no known run wrote, and the dataset itself if none wrote it.
    """
    for source in sorted(sources_of(provenance, root)):
        names = [f"{name.namespace}:{name.name}" for name in state.identity.names(source)]
        if not any(fnmatchcase(name, pattern) for name in names for pattern in patterns):
            remedy = "read an allowed source, or add it to the `sources` of the policy"
            yield finding("source", source, "is not an allowed source", remedy)


def _failed_runs(
    generations: Generations, provenance: Walked, root: Node, policy: Policy
) -> Iterator[tuple[Finding, str]]:
    """Yield the findings about failed and stale runs, each with the id of its pipeline.

    These are runs of the provenance, newest runs upstream that may not have written anything, and
    runs that had to end before (control dependencies). Recovered and repeated runs do not count.
    """
    state, until = generations.state, _until(generations, provenance, root)
    runs = [unit.run for unit in units_of(generations, _runs(provenance))]
    runs += _newest_runs(state, until)
    if policy.follow_control:
        runs += control_upstream(state, _runs(provenance))
    # The failed loads that the state of the dataset names, even if they wrote nothing: distance 1
    # is a job that writes the dataset itself.
    runs += [b.run for b in blockers_of(state, root) if b.distance == 1 and b.run is not None]
    left = unrepeated_write(state, root.dataset_name)
    runs += [left] if left is not None else []
    for run in {run.key: run for run in runs}.values():
        *_, top = ancestry_of(state, run)
        pipeline = node_id(Node.of_job(top.key.job))
        doubt = doubt_of_completion(run)
        if not (is_failed(state, run) or is_lost(state, run) or doubt):
            continue
        used = until.get(generations.levels.owner(run, Level.TASK).key.job, {})
        # A failed element of a mapped task does not count if others wrote all that was used.
        others = outputs_of_other_elements(state, run) if used else ()
        if used and all(n in others or is_recovered(state, run, n, t) for n, t in used.items()):
            continue
        # a failed write of the dataset counts even if repeated, as its rows may still be there
        if run is left or (is_failed(state, run) and not was_repeated(state, run)):
            yield failed_run(state, run), pipeline
        elif is_lost(state, run):
            yield lost_run(state, run), pipeline
        elif doubt and not was_repeated(state, run):
            found = doubted_run(state, run, doubt)
            yield {**found, "severity": "error", "remedy": "run the job again"}, pipeline


def _until(
    generations: Generations, provenance: Walked, root: Node
) -> dict[JobRef, dict[DatasetName, float]]:
    """Return, by upstream job and dataset, the end of the last run that read what the job wrote.

    For the writers of the dataset itself, it is infinity. Times are in microseconds.
    """
    found: dict[JobRef, dict[DatasetName, float]] = defaultdict(dict)
    for generation in provenance:
        for flow in flows_from_others(generations, generation):
            job, name = flow.source.job, flow.dataset
            if flow.source in provenance and is_job(job):
                end = last_use(generations, flow, generation)
                found[job][name] = max(end, found[job].get(name, 0))
    for writer in generations.writing(root.dataset_name):
        if is_job(writer.job):
            found[writer.job][root.dataset_name] = inf
    return found


def _newest_runs(state: State, until: dict[JobRef, dict[DatasetName, float]]) -> Iterator[Run]:
    """Yield the newest run of each upstream job, with its siblings, even without data.

    If it has not ended yet, also the newest that did, and the one by which the job fails now. A run
    that failed before it read or wrote anything has no generation. A run that began after the last
    reader of its job's outputs ended is ignored, because it cannot have affected that reader.
    """
    for ref, used in until.items():
        last = max(used.values())
        runs = [state.runs[key] for key in state.jobs[ref].runs]
        begun = [run for run in runs if run.has_events and (began_at(state, run) or 0) <= last]
        ended = [run for run in begun if outcome(state, run).ended is not None]
        by_then = [run for run in ended if (outcome(state, run).ended or 0) <= last]
        decided = decisive_run(state, by_then)  # a run of a backfill may fail last
        for newest in filter(None, (_newest(state, begun), _newest(state, ended), decided)):
            above = parent_of(state, newest)
            yield from (
                run for run in begun if run is newest or (above and parent_of(state, run) is above)
            )
        if last == inf and (failing := failing_run(state, ref)) is not None:
            yield failing


def _newest(state: State, runs: Iterable[Run]) -> Run | None:
    return max(runs, key=partial(place_of_run, state), default=None)


def _late(generations: Generations, provenance: Walked, root: Node) -> Iterator[Finding]:
    """Yield findings about late pipelines upstream, and the dataset if it is late or blocked.

    If it is not blocked, also yield the blocked datasets upstream, because it contains old data.
    The pipelines are those of the runs of the provenance.
    """
    state = generations.state
    roots = {generations.levels.lineage(run)[-1].key.job for run in _runs(provenance)}
    found = [overdue_job(state, job) for job in overdue_jobs(state, sorted(roots))]
    yield from found
    health = health_of(state, root)
    remedy = "write it again once the cause is corrected; `headwater health` names it"
    if health["state"] == "blocked" or (health["state"] == "late" and not found):
        yield finding("late", root, f"is {health['state']}: {health['message']}", remedy)
    if health["state"] != "blocked":
        for name in sorted(only_datasets({n for e in provenance.values() for n in e.reads})):
            health = health_of(generations.state, node := Node.of_dataset(name))
            if health["state"] == "blocked":
                yield finding("late", node, f"is blocked: {health['message']}", remedy)


def _removal_finding(root: Node, removal: Removal) -> Finding:
    """Return the finding about a dataset that was dropped, renamed or emptied."""
    remedy = "write it again"
    if removal["renamedTo"]:
        remedy = f"use {removal['renamedTo']['name']} instead"
    found = finding("removed", root, f"was {removal_text(removal)}", remedy)
    return {**found, "at": removal["at"]}


def _failed_checks(generations: Generations, provenance: Walked, root: Node) -> Iterator[Finding]:
    """Yield findings about failed checks of the dataset and of all datasets upstream.

    A check of another version of a dataset does not count. Without reported versions, times decide.
    """
    state = generations.state
    for name, versions in sorted(_upstream_versions(state, provenance, root).items()):
        by_version: dict[str | None, list[Check]] = defaultdict(list)
        for check in checks_of(state, name):
            if check.version in versions:
                by_version[check.version].append(check)
            elif not (check.version and versions) and _is_about(
                generations, check, name, provenance
            ):
                by_version[None].append(check)
        for checks in by_version.values():
            for failure in current_failures(state, checks):
                yield failed_checks(Node.of_dataset(name), [failure])


def _is_about(
    generations: Generations, check: Check, name: DatasetName, provenance: Walked
) -> bool:
    """Return True unless a check examined only data that was written after that of a provenance.

    It examined what each job wrote last before it, and what was written meanwhile. The result for
    older data counts until newer data is checked.

    `provenance` has the generations whose data the gate is about.
    """
    times = generations.times
    used = {times.of_writes(g, name).start for g in provenance if name in g.edges.writes}
    examined: list[float] = []  # the starts of the writes whose data the check may have examined
    for ref in generations.writers(name):
        before: list[float] = []  # of this job, up to the check
        for generation in generations.history_of_writes(ref, name):
            if name in generation.only_created:
                continue
            began, ended = times.of_writes(generation, name)
            if began <= check.time:
                is_replaced = generation.is_complete and ended <= check.time
                before = [began] if is_replaced else [*before, began]
        examined += before
    return not (used and examined) or min(examined) <= max(used)


def _upstream_versions(state: State, provenance: Walked, root: Node) -> dict[DatasetName, set[str]]:
    """Return the upstream datasets with the versions that producers reported."""
    found: dict[DatasetName, set[str]] = {root.dataset_name: set()}
    for run in _runs(provenance):
        for uses in (run.inputs, run.outputs):
            for name, use in uses.items():
                versions = found.setdefault(state.identity.primary(name), set())
                versions |= use.version_names
    return found


def _incomplete(generations: Generations, provenance: Walked, policy: Policy) -> Iterator[Finding]:
    """Yield a finding per measure of completeness in which a provenance is below the policy.

    An unknown share violates it, too.
    """
    if not policy.completeness:
        return
    results = measure_units(generations, units_of(generations, _runs(provenance)))
    for measure, minimum in policy.completeness.items():
        share, findings = results[measure]["share"], results[measure]["findings"]
        is_unknown = share is None and bool(findings)
        if is_unknown or (share is not None and share < minimum):
            runs = counted(results[measure]["runs"], "run")
            stated = "an unknown share" if share is None else f"{share:.0%}"
            message = (
                f"{measure}: {stated} of {runs} are complete, the policy requires {minimum:.0%};"
                f" incomplete: {names_of(findings)}"
            )
            yield {**findings[0], "severity": "error", "message": message}


def _pii(generations: Generations, provenance: Walked, root: Node) -> Iterator[Finding]:
    """Yield findings about PII columns of the dataset and of the inputs of upstream models."""
    tags = Tags(generations, provenance.keys())
    checked = {root.dataset_name}
    for edges in provenance.values():
        if any(_is_model(generations.state, name) for name in edges.writes):
            checked |= only_datasets(edges.reads)
    for tagged in (tagged for name in sorted(checked) for tagged in tags.of(name)):
        if tagged.tag.is_pii:
            column, origin = tagged.column, tagged.origin
            # A dataset without column lineage may contain everything that its run read.
            message = "contains PII" if column.field or origin == column else "may contain PII"
            message += f" in {column.field}" if column.field else ""
            message += f" from {_title(origin)}" if origin != column else ""
            remedy = "mask it by a transformation with `masking: true`, or leave it out"
            yield finding("pii", column.dataset, message, remedy, column=column.field or None)


def _title(column: Column) -> str:
    return ".".join(filter(None, (column.dataset.name, column.field)))


def _is_model(state: State, name: DatasetName) -> bool:
    books = facets_of(state, Node.of_dataset(name))
    return any(str(book.get("datasetType").get("datasetType")).upper() == "MODEL" for book in books)


def _runs(provenance: Iterable[Generation]) -> list[Run]:
    return [run for generation in provenance for run in generation.runs]
