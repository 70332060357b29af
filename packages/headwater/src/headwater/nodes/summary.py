"""Summaries of nodes: kind, newest run or version, tags and owners.

`Generations` has the runs of each task, merged by parent run, and through them the writes of a
dataset.
"""

from __future__ import annotations

from collections.abc import Iterable

from headwater.datasets.quality import checks_of, current_failures
from headwater.datasets.writes import newest_write, writes_of
from headwater.events import JobRef, shown_time
from headwater.events.facets import Documentation, JobType, SourceCode, Sql, Tags
from headwater.graph.generations import Generations
from headwater.graph.nodes import Node, aliases_of, facets_of, fields_of, node_ref
from headwater.node_facets import owners_of
from headwater.nodes.descriptions import inherited_descriptions, inherited_owners
from headwater.nodes.models import InferredOwners, NodeAnswer, NodeSummary
from headwater.nodes.rows import node_row
from headwater.projection import Run
from headwater.projection.derived import ancestry_of
from headwater.runs.links import links_of_job
from headwater.runs.summary import code_of, newest_run, run_line


def node_summary(generations: Generations, node: Node) -> NodeSummary:
    """Return a node in one line; fields that do not apply to its type are null or empty.

    `rows` are those of all commits of the run that wrote the newest version.
    """
    state = generations.state
    answer: NodeSummary = {
        **node_row(state, node),
        "integration": None,
        "run": None,
        "aliases": [],
        "version": None,
        "writtenAt": None,
        "rows": None,
        "failedChecks": None,
    }
    if node.type == "job":
        ref = node.job_ref
        run, job = newest_run(state, ref), state.jobs.get(ref)
        answer["integration"] = job.facets.parsed(JobType).integration if job else None
        answer["run"] = run_line(state, run) if run else None
        return answer
    name = node.dataset_name
    answer["aliases"] = aliases_of(state, name)
    if newest := newest_write(generations, name):
        written, answer["rows"] = newest
        answer["version"], answer["writtenAt"] = written.version, shown_time(written.at)
    if asserted := [check for check in checks_of(state, name) if check.assertions]:
        answer["failedChecks"] = len(current_failures(state, asserted))
    return answer


def node_in_full(generations: Generations, node: Node) -> NodeAnswer:
    """Return a node with everything that was last reported about it.

    Facets with one name under several names of a dataset are not merged: one of them is shown.
    """
    state = generations.state
    books = facets_of(state, node)
    facets = {name: facet for book in books for name, facet in book.plain().items()}
    tags = [tag for book in books for tag in book.parsed(Tags).tags]
    code = SourceCode.parse(facets.get(SourceCode.KEY, {}))
    run = newest_run(state, node.job_ref) if node.type == "job" else None
    fields = fields_of(state, node)
    undescribed = [name for name, field in fields.items() if not field.description]
    inherited = (
        inherited_descriptions(generations, node.dataset_name, undescribed) if undescribed else {}
    )
    return {
        **node_summary(generations, node),
        "description": Documentation.parse(facets.get(Documentation.KEY, {})).description,
        "inferredOwners": None
        if owners_of(state, node)
        else _inferred_owners(generations, node, fields),
        "sql": Sql.parse(facets.get(Sql.KEY, {})).query,
        "source": code.sourceCode,
        "language": code.language,
        "code": code_of(run) if run else {},
        "links": links_of_job(state, state.jobs[node.job_ref], run) if node.type == "job" else [],
        "fields": [
            {
                "name": name,
                "type": field.type,
                "description": field.description,
                "inheritedDescription": inherited.get(name),
                "tags": sorted({t.label for t in tags if t.field == name}),
            }
            for name, field in fields.items()
        ],
        "facets": facets,
    }


def _inferred_owners(
    generations: Generations, node: Node, fields: Iterable[str]
) -> InferredOwners | None:
    """Return the owners of the nearest job that has some: a writer or an ancestor, newest first.

    The writers of a dataset are tried from the newest on, each with its ancestors up to the
    pipeline. A dataset without such a job inherits the owners of those whose columns it passes on.

    `fields` are the names of the columns of a dataset. Return None if there are none.
    """
    state = generations.state
    if node.type == "job":
        newest = newest_run(state, node.job_ref)
        runs = [newest] if newest else []
    else:
        writes = writes_of(generations, node.dataset_name)
        newest_of_job: dict[JobRef, Run] = {}
        for write in sorted(writes, key=lambda w: (w.at, w.run.key), reverse=True):
            newest_of_job.setdefault(write.run.key.job, write.run)
        runs = list(newest_of_job.values())
    for run in runs:
        for ancestor in ancestry_of(state, run):
            job = Node.of_job(ancestor.key.job)
            if owners := owners_of(state, job):
                return {"owners": owners, "node": node_ref(job)}
    return None if node.type == "job" else inherited_owners(generations, node.dataset_name, fields)
