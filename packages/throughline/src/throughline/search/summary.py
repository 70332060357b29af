"""Summaries of nodes: kind, newest run or version, tags and owners."""

from __future__ import annotations

from throughline.datasets.quality import checks_of
from throughline.datasets.writes import writes_of
from throughline.events import JobRef, shown_time
from throughline.events.facets import Documentation, JobType, SourceCode, Sql
from throughline.graph.generations import Generations
from throughline.graph.nodes import (
    Node,
    aliases_of,
    facets_of,
    fields_of,
    kind_of,
    node_ref,
    owners_of,
    tags_of,
)
from throughline.projection import State
from throughline.query.models import Link
from throughline.runs.links import links_of_job
from throughline.runs.summary import code_of, newest_run, run_line
from throughline.search.models import NodeAnswer, NodeSummary


class Summaries:
    """Summaries of the nodes of one state."""

    def __init__(self, generations: Generations) -> None:
        self._generations = generations
        self._state = generations.state

    def of(self, node: Node) -> NodeSummary:
        """Return a node in one line; what does not apply to its type is null or empty."""
        return self._of_job(node) if node.type == "job" else self._of_dataset(node)

    def in_full(self, node: Node) -> NodeAnswer:
        """Return a node with everything that was last reported about it."""
        facets = {
            name: facet
            for book in facets_of(self._state, node)
            for name, facet in book.plain().items()
        }
        code = SourceCode.parse(facets.get(SourceCode.KEY, {}))
        run, links = None, list[Link]()
        if node.type == "job":
            ref = node.job_ref
            run, links = newest_run(self._state, ref), links_of_job(self._state, ref)
        return {
            **self.of(node),
            "description": Documentation.parse(facets.get(Documentation.KEY, {})).description,
            "sql": Sql.parse(facets.get(Sql.KEY, {})).query,
            "source": code.sourceCode,
            "language": code.language,
            "code": code_of(run) if run else {},
            "links": links,
            "fields": [
                {"name": name, "type": field.type, "description": field.description}
                for name, field in fields_of(self._state, node).items()
            ],
            "facets": facets,
        }

    def _of_job(self, node: Node) -> NodeSummary:
        ref = node.job_ref
        run = newest_run(self._state, ref)
        return {
            **node_ref(node),
            "owners": owners_of(self._state, node),
            "tags": sorted(tags_of(self._state, node)),
            "kind": self._generations.levels.of(ref).name.lower(),
            "integration": _integration(self._state, ref),
            "run": run_line(self._state, run) if run else None,
            "aliases": [],
            "version": None,
            "writtenAt": None,
            "rows": None,
            "failedChecks": None,
        }

    def _of_dataset(self, node: Node) -> NodeSummary:
        name = node.dataset_name
        writes = writes_of(self._generations, name)
        written = max(
            writes, key=lambda write: (write.at, write.run.key, write.version), default=None
        )
        asserted = [check for check in checks_of(self._state, name) if check.assertions]
        return {
            **node_ref(node),
            "owners": owners_of(self._state, node),
            "tags": sorted(tags_of(self._state, node)),
            "kind": kind_of(self._state, node),
            "integration": None,
            "run": None,
            "aliases": aliases_of(self._state, name),
            "version": written.version if written else None,
            "writtenAt": shown_time(written.at) if written else None,
            "rows": written.statistics["rows"] if written else None,
            "failedChecks": len(asserted[-1].failed) if asserted else None,
        }


def _integration(state: State, ref: JobRef) -> str | None:
    job = state.jobs.get(ref)
    return job.facets.parsed(JobType).integration if job else None
