"""The gate: check the provenance of datasets against a policy.

Only data edges count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf

from throughline.console.text import counted
from throughline.datasets.quality import Check, checks_of
from throughline.events import JobRef, shown_time
from throughline.graph.column_graph import Column
from throughline.graph.generations import Generation, Generations, Walked
from throughline.graph.nodes import Node, facets_of, name_of, node_id
from throughline.graph.run_edges import derived_by, only_datasets
from throughline.identity import DatasetName
from throughline.lineage.provenance import origin, sources_of
from throughline.lineage.tags import Tags
from throughline.projection import Run, RunState, State, outcome
from throughline.projection.derived import began_at, is_lost, parent_of
from throughline.query.models import Name
from throughline.trust.completeness import measure_units, units_of
from throughline.trust.freshness import late
from throughline.trust.health import is_failed, is_retried
from throughline.trust.models import GateAnswer, GatedDataset, Violation
from throughline.trust.policy import Policy

_NAMED = 3  # jobs in a message


def gate(known: Generations, nodes: Iterable[Node], policy: Policy) -> GateAnswer:
    """Check the provenance of datasets against a policy."""
    datasets: list[GatedDataset] = []
    for node in nodes:
        found = list(_violations(known, node, policy))
        datasets.append({"id": node_id(node), "violations": found, "passed": not found})
    return {
        "at": shown_time(known.state.now),
        "passed": all(dataset["passed"] for dataset in datasets),
        "datasets": datasets,
        "policy": policy.info(),
    }


def _violations(known: Generations, root: Node, policy: Policy) -> Iterator[Violation]:
    generations = origin(known, root)
    if policy.sources is not None:
        yield from _unknown_sources(known.state, generations, root, policy)
    if policy.no_failed_runs:
        yield from _failed_runs(known, generations, root)
    if policy.fresh:
        yield from _late(known, generations)
    if policy.quality_passed:
        yield from _failed_checks(known.state, generations, root)
    yield from _incomplete(known, generations, policy)
    if policy.no_pii:
        yield from _pii(known, generations, root)


def _unknown_sources(
    state: State, generations: Walked, root: Node, policy: Policy
) -> Iterator[Violation]:
    for source in sorted(sources_of(generations, root)):
        names = [f"{name.namespace}:{name.name}" for name in state.identity.names(source)]
        if not any(policy.allows_source(name) for name in names):
            yield _violation("sources", f"source {names[0]} is not allowed", dataset=source)


def _failed_runs(known: Generations, generations: Walked, root: Node) -> Iterator[Violation]:
    state = known.state
    runs = [unit.run for unit in units_of(known, _runs(generations))]
    runs += _newest_runs(known, generations, root)
    for run in {run.key: run for run in runs}.values():
        if is_failed(state, run) and not is_retried(state, run):
            condition = outcome(state, run).state
        elif is_lost(state, run):
            condition = RunState.LOST
        else:
            continue
        error = " ".join(str(run.facets.get("errorMessage").get("message") or "").split())
        message = f"{run.key.job.name} {condition}" + (f": {error[:200]}" if error else "")
        yield _violation("no_failed_runs", message, run=run)


def _newest_runs(known: Generations, generations: Walked, root: Node) -> Iterator[Run]:
    """Yield the newest run of each upstream job, with its siblings, even without data.

    A run that failed before it read or wrote anything is in no generation. A run that began after
    the last reader of its job's outputs is ignored, because it cannot have affected that reader.
    """
    state = known.state
    until: dict[JobRef, float] = {}
    for generation in generations:
        for source in known.sources(generation):
            if source not in generations or derived_by(source.job) is not None:
                continue
            until[source.job] = max(generation.started, until.get(source.job, 0))
    writing = known.writing(root.dataset_name)
    until |= {writer.job: inf for writer in writing if derived_by(writer.job) is None}
    for ref, last in until.items():
        runs = [state.runs[key] for key in state.jobs[ref].runs]
        begun = [run for run in runs if run.has_events and (began_at(state, run) or 0) <= last]
        newest = max(begun, key=lambda run: (began_at(state, run) or 0, run.key), default=None)
        above = parent_of(state, newest) if newest else None
        yield from (
            run for run in begun if run is newest or (above and parent_of(state, run) is above)
        )


def _late(known: Generations, generations: Walked) -> Iterator[Violation]:
    roots = {known.levels.lineage(run)[-1].key.job for run in _runs(generations)}
    for job in late(known.state, sorted(roots)):
        condition = "has stopped" if job["isStopped"] else "is late"
        message = f"{job['job']['name']} {condition}: it was due at {job['dueAt']}"
        yield _violation("fresh", message, job=job["job"])


def _failed_checks(state: State, generations: Walked, root: Node) -> Iterator[Violation]:
    for name, versions in sorted(_upstream_versions(state, generations, root).items()):
        newest: dict[str | None, Check] = {}
        for check in checks_of(state, name):
            if check.assertions and (check.version is None or check.version in versions):
                newest[check.version] = check
        for version, check in newest.items():
            for assertion in check.failed:
                column = str(assertion.get("column") or "") or None
                title = assertion.get("name") or assertion.get("assertion")
                suffix = f" of version {version}" if version else ""
                message = f"{name.name}{suffix}: {title} failed at {shown_time(check.time)}"
                yield _violation(
                    "quality_passed", message, dataset=name, column=column, run=check.run
                )


def _upstream_versions(
    state: State, generations: Walked, root: Node
) -> dict[DatasetName, set[str]]:
    """Return the upstream datasets with the versions that producers reported."""
    found: dict[DatasetName, set[str]] = {root.dataset_name: set()}
    for run in _runs(generations):
        for uses in (run.inputs, run.outputs):
            for name, use in uses.items():
                versions = found.setdefault(state.identity.primary(name), set())
                versions |= {use.version[1]} if use.version else set()
    return found


def _incomplete(known: Generations, generations: Walked, policy: Policy) -> Iterator[Violation]:
    if not policy.completeness:
        return
    results = measure_units(known, units_of(known, _runs(generations)))
    for measure, minimum in policy.completeness.items():
        share = results[measure]["share"]
        if share is not None and share < minimum:
            names = [job["job"]["name"] for job in results[measure]["lost"]]
            more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            runs = counted(results[measure]["runs"], "run")
            message = (
                f"{measure}: {share:.0%} of {runs} are complete, the policy requires {minimum:.0%};"
                f" incomplete: {', '.join(names[:_NAMED])}{more}"
            )
            yield _violation("completeness", message, job=results[measure]["lost"][0]["job"])


def _pii(known: Generations, generations: Walked, root: Node) -> Iterator[Violation]:
    """Yield PII columns of the dataset itself and of the inputs of upstream models."""
    tags = Tags(known, generations)
    checked = {root.dataset_name}
    for edges in generations.values():
        if any(_is_model(known.state, name) for name in edges.writes):
            checked |= only_datasets(edges.reads)
    for tagged in (tagged for name in sorted(checked) for tagged in tags.of(name)):
        if tagged.tag.is_pii:
            column, origin = tagged.column, tagged.origin
            message = f"{_title(column)} contains PII"
            message += f" from {_title(origin)}" if origin != column else ""
            yield _violation("no_pii", message, dataset=column.dataset, column=column.field or None)


def _title(column: Column) -> str:
    return ".".join(filter(None, (column.dataset.name, column.field)))


def _is_model(state: State, name: DatasetName) -> bool:
    books = facets_of(state, Node.of_dataset(name))
    return any(str(book.get("datasetType").get("datasetType")).upper() == "MODEL" for book in books)


def _runs(generations: Iterable[Generation]) -> list[Run]:
    return [run for generation in generations for run in generation.runs]


def _violation(
    rule: str,
    message: str,
    *,
    dataset: DatasetName | None = None,
    column: str | None = None,
    run: Run | None = None,
    job: Name | None = None,
) -> Violation:
    return {
        "rule": rule,
        "dataset": node_id(Node.of_dataset(dataset)) if dataset else None,
        "column": column,
        "job": name_of(run.key.job) if run else job,
        "runId": run.key.run_id if run else None,
        "message": message,
    }
