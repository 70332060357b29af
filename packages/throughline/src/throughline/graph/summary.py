"""What is known of a node in a few words: its kind, its newest run or version, tags, owners."""

from __future__ import annotations

from typing import Any

from throughline.graph.generations import Generations
from throughline.graph.links import links_of_job
from throughline.graph.nodes import Node, facets_of, kind_of, node_id, owners_of
from throughline.graph.provenance import code_of
from throughline.graph.quality import checks_of
from throughline.graph.schemas import fields_of
from throughline.graph.walk import newest_run, run_line
from throughline.graph.writes import writes_of
from throughline.identity import DatasetName
from throughline.projection import State
from throughline.spec import JobRef, shown_time


class Summaries:
    """Summaries of the nodes of one state."""

    def __init__(self, known: Generations) -> None:
        self._known = known
        self._state = known.state

    def of(self, node: Node) -> dict[str, Any]:
        """A node as JSON; what is meant for the other type of node is null or empty."""
        told = self._of_job(node) if node.type == "job" else self._of_dataset(node)
        return {
            "id": node_id(node),
            **node._asdict(),
            "owners": owners_of(self._state, node),
            "tags": sorted(tags_of(self._state, node)),
            **told,
        }

    def in_full(self, node: Node) -> dict[str, Any]:
        """The same, with everything that was said of the node last."""
        books = facets_of(self._state, node)
        facets = {name: facet for book in books for name, facet in book.plain().items()}
        run, links = None, []
        if node.type == "job":
            ref = JobRef(node.namespace, node.name)
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

    def _of_job(self, node: Node) -> dict[str, Any]:
        ref = JobRef(node.namespace, node.name)
        facet = self._state.jobs[ref].facets.get("jobType") if ref in self._state.jobs else {}
        run = newest_run(self._state, ref)
        return {
            "kind": self._known.levels.of(ref).name.lower(),
            "integration": str(facet.get("integration") or "") or None,
            "run": run_line(self._state, run) if run else None,
            "aliases": [],
            "version": None,
            "writtenAt": None,
            "rows": None,
            "failedChecks": None,
        }

    def _of_dataset(self, node: Node) -> dict[str, Any]:
        name = DatasetName(node.namespace, node.name)
        writes = writes_of(self._known, name)
        written = max(writes, key=lambda each: (each.at, each.run.key, each.version), default=None)
        asserted = [check for check in checks_of(self._state, name) if check.assertions]
        told = written.statistics["rows"] if written else None
        return {
            "kind": kind_of(self._state, node),
            "integration": None,
            "run": None,
            "aliases": [each._asdict() for each in self._state.identity.names(name)[1:]],
            "version": written.version if written else None,
            "writtenAt": shown_time(written.at) if written else None,
            "rows": told if isinstance(told, int) else None,
            "failedChecks": len(asserted[-1].failed) if asserted else None,
        }


def tags_of(state: State, node: Node) -> set[str]:
    """The tags of a node, and as `key (field)` those of its columns."""
    found = set()
    for book in facets_of(state, node):
        for each in _objects(book.get("tags").get("tags")):
            key, value, field = (str(each.get(k) or "") for k in ("key", "value", "field"))
            plain = key if value.lower() in ("", "true") else f"{key}:{value}"
            found.add(f"{plain} ({field})" if field else plain)
    return found - {""}


def _fields(state: State, node: Node) -> list[dict[str, Any]]:
    """The fields of a dataset with what is said of each."""
    found: dict[str, dict[str, Any]] = {}
    for book in facets_of(state, node) if node.type == "dataset" else ():
        schema = book.get("schema")
        about = {str(f.get("name")): f.get("description") for f in _objects(schema.get("fields"))}
        for path, type_ in fields_of(schema).items():
            name = ".".join(path)
            found[name] = {"name": name, "type": type_, "description": about.get(name)}
    return list(found.values())


def _objects(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _text(facets: dict[str, Any], facet: str, key: str) -> str | None:
    value = facets.get(facet, {}).get(key)
    return str(value) if value else None
