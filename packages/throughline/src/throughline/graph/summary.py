"""Summaries of nodes: kind, newest run or version, tags and owners."""

from __future__ import annotations

from typing import Any

from throughline.graph.generations import Generations
from throughline.graph.links import links_of_job
from throughline.graph.models import DescribedField, Link, NodeAnswer, NodeSummary
from throughline.graph.nodes import (
    Node,
    aliases_of,
    facets_of,
    kind_of,
    node_ref,
    owners_of,
    platform_of,
    text_or_none,
)
from throughline.graph.provenance import code_of
from throughline.graph.quality import checks_of
from throughline.graph.schemas import fields_of
from throughline.graph.walk import newest_run, run_line
from throughline.graph.writes import writes_of
from throughline.projection import State
from throughline.spec import shown_time


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
        books = facets_of(self._state, node)
        facets = {name: facet for book in books for name, facet in book.plain().items()}
        run, links = None, list[Link]()
        if node.type == "job":
            ref = node.job_ref
            run, links = newest_run(self._state, ref), links_of_job(self._state, ref)
        return {
            **self.of(node),
            "description": _text(facets, "documentation", "description"),
            "sql": _text(facets, "sql", "query"),
            "source": _text(facets, "sourceCode", "sourceCode"),
            "language": _text(facets, "sourceCode", "language"),
            "code": code_of(run) if run else {},
            "links": links,
            "fields": _fields(self._state, node),
            "facets": facets,
        }

    def _of_job(self, node: Node) -> NodeSummary:
        ref = node.job_ref
        facet = self._state.jobs[ref].facets.get("jobType") if ref in self._state.jobs else {}
        run = newest_run(self._state, ref)
        return {
            **node_ref(node),
            "owners": owners_of(self._state, node),
            "tags": sorted(tags_of(self._state, node)),
            "kind": self._generations.levels.of(ref).name.lower(),
            "platform": platform_of(self._state, node),
            "integration": str(facet.get("integration") or "") or None,
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
            "platform": platform_of(self._state, node),
            "integration": None,
            "run": None,
            "aliases": aliases_of(self._state, name),
            "version": written.version if written else None,
            "writtenAt": shown_time(written.at) if written else None,
            "rows": written.statistics["rows"] if written else None,
            "failedChecks": len(asserted[-1].failed) if asserted else None,
        }


def tags_of(state: State, node: Node) -> set[str]:
    """Return the tags of a node; those of its columns as `key (field)`."""
    found = set()
    for book in facets_of(state, node):
        for tag in _objects(book.get("tags").get("tags")):
            key, value, field = (str(tag.get(k) or "") for k in ("key", "value", "field"))
            plain = key if value.lower() in ("", "true") else f"{key}:{value}"
            found.add(f"{plain} ({field})" if field else plain)
    return found - {""}


def _fields(state: State, node: Node) -> list[DescribedField]:
    found: dict[str, DescribedField] = {}
    for book in facets_of(state, node) if node.type == "dataset" else ():
        schema = book.get("schema")
        about = {str(f.get("name")): f.get("description") for f in _objects(schema.get("fields"))}
        for path, type_ in fields_of(schema).items():
            name = ".".join(path)
            found[name] = {
                "name": name,
                "type": type_,
                "description": text_or_none(about.get(name)),
            }
    return list(found.values())


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _text(facets: dict[str, Any], facet: str, key: str) -> str | None:
    return text_or_none(facets.get(facet, {}).get(key))
