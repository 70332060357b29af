"""Nodes by their ids, and by the short names that people type."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Any, NamedTuple

from throughline import deadline
from throughline.errors import AmbiguousError, NotFoundError
from throughline.graph.models import DatasetRef, Name, NodeRef, NodeType, TypedName
from throughline.identity import DatasetName, canonical_name
from throughline.projection import State
from throughline.projection.facets import FacetBook
from throughline.spec import JobRef

_TYPES: tuple[NodeType, ...] = ("dataset", "job")
_FILES = ("file", "s3", "s3a", "gs", "abfss", "wasbs", "hdfs", "dbfs", "http", "https", "ftp")
_KINDS = {"MODEL": "model", "JOB_OUTPUT": "artifact", "FILE": "file", "TOPIC": "stream"}


class Node(NamedTuple):
    """A job or a dataset."""

    type: NodeType
    namespace: str
    name: str

    @classmethod
    def of_job(cls, ref: JobRef) -> Node:
        """Return the node of a job."""
        return cls("job", *ref)

    @classmethod
    def of_dataset(cls, name: DatasetName) -> Node:
        """Return the node of a dataset."""
        return cls("dataset", *name)

    @property
    def job_ref(self) -> JobRef:
        """The job of the node."""
        return JobRef(self.namespace, self.name)

    @property
    def dataset_name(self) -> DatasetName:
        """The dataset of the node."""
        return DatasetName(self.namespace, self.name)


def node_ref(node: Node) -> NodeRef:
    """Return a node as part of an answer."""
    return {"id": node_id(node), **typed_name(node)}


def typed_name(node: Node) -> TypedName:
    """Return the type and the name of a node as part of an answer."""
    return {"type": node.type, "namespace": node.namespace, "name": node.name}


def name_of(item: DatasetName | JobRef) -> Name:
    """Return the name of a dataset or a job as part of an answer."""
    return {"namespace": item.namespace, "name": item.name}


def dataset_ref(name: DatasetName) -> DatasetRef:
    """Return a dataset as part of an answer."""
    return {"id": node_id(Node.of_dataset(name)), **name_of(name)}


def aliases_of(state: State, name: DatasetName) -> list[Name]:
    """Return the other names of a dataset."""
    return [name_of(alias) for alias in state.identity.names(name)[1:]]


def text_or_none(value: Any) -> str | None:
    """Return a value of a facet as text; None for an empty one."""
    return str(value) if value else None


def node_id(node: Node) -> str:
    """A node's id as Marquez writes it: `dataset:NAMESPACE:NAME` or `job:NAMESPACE:NAME`."""
    return f"{node.type}:{node.namespace}:{node.name}"


def facets_of(state: State, node: Node) -> list[FacetBook]:
    """The facets of a job, or those of a dataset under each of its names."""
    if node.type == "job":
        job = state.jobs.get(node.job_ref)
        return [job.facets] if job else []
    names = state.identity.names(node.dataset_name)
    return [record.facets for name in names if (record := state.datasets.get(name))]


def owners_of(state: State, node: Node) -> list[str]:
    """The names in the ownership facets of a node."""
    found: set[str] = set()
    for book in facets_of(state, node):
        listed = book.get("ownership").get("owners")
        for owner in listed if isinstance(listed, list) else ():
            if isinstance(owner, dict) and owner.get("name"):
                found.add(str(owner["name"]))
    return sorted(found)


def kind_of(state: State, node: Node) -> str:
    """What a dataset is, by its datasetType facet, or else by its names: file or table."""
    for book in facets_of(state, node):
        stated = str(book.get("datasetType").get("datasetType") or "").upper()
        if stated:
            return _KINDS.get(stated, "table")
        if book.get("symlinks"):
            return "table"
    if node.namespace.startswith("kafka:"):
        return "stream"
    return "file" if node.namespace.split(":")[0] in _FILES else "table"


def find_node(state: State, text: str, type_: str | None = None) -> Node:
    """The node of an id, or of a short name that fits one node only (of a type, if one is given).

    An id may lack its first part: NAMESPACE:NAME is enough where it is not both job and dataset.
    Short names are tried from the most exact: the whole name of a job or of any name of a dataset,
    then what follows a dot, slash or colon in it.
    """
    kind, _, rest = text.partition(":")
    if kind in _TYPES and rest:
        node = _by_id(state, kind, rest)
        if node is not None:
            return node
        then = " at that moment" if state.is_past else ""
        raise NotFoundError(f"no node has the id {text!r}{then}", _nearest(state, text))
    kinds = (type_,) if type_ else _TYPES
    found = [node for each in kinds if (node := _by_id(state, each, text))]
    if len(found) == len(_TYPES):
        raise AmbiguousError(f"{text!r} is a job and a dataset", [node_id(node) for node in found])
    return found[0] if found else _by_short_name(state, text, type_)


def find_dataset(state: State, text: str) -> Node:
    """The dataset of an id or a short name; a job of that name is no answer."""
    found = find_node(state, text, "dataset")
    if found.type != "dataset":
        raise NotFoundError(f"{text!r} is a job; expected a dataset")
    return found


def _by_id(state: State, kind: str, rest: str) -> Node | None:
    """Namespaces hold colons too (`arn:aws:glue:...`, `s3://...`): the known name decides."""
    at = rest.find(":")
    while at >= 0:
        namespace, name = rest[:at], rest[at + 1 :]
        if kind == "job":
            if JobRef(namespace, name) in state.jobs:
                return Node("job", namespace, name)
        else:
            spelled = canonical_name(namespace, name)
            if spelled in state.identity:
                return Node.of_dataset(state.identity.primary(spelled))
        at = rest.find(":", at + 1)
    return None


def find_field(state: State, text: str) -> tuple[Node, str]:
    """The dataset and field of Marquez's id `datasetField:NAMESPACE:NAME:FIELD`."""
    rest = text.removeprefix("datasetField:")
    at = rest.rfind(":")
    while at >= 0:
        if node := _by_id(state, "dataset", rest[:at]):
            return node, rest[at + 1 :]
        at = rest.rfind(":", 0, at)
    raise NotFoundError(f"no dataset has the field {text!r}")


def _by_short_name(state: State, text: str, type_: str | None) -> Node:
    whole: set[Node] = set()
    part: set[Node] = set()
    for name, node in _all_names(state):
        if type_ not in (None, node.type):
            continue
        if text in (name, f"{node.namespace}/{name}"):
            whole.add(node)
        elif name.endswith(text) and name[-len(text) - 1] in "./:":
            part.add(node)
    if all(node.type == "job" for node in whole):  # a job does not hide the table it is named after
        whole |= {node for node in part if whole and node.type == "dataset"}
    found = sorted(whole or part)
    if len(found) == 1:
        return found[0]
    if found:
        ids = [node_id(node) for node in found]
        raise AmbiguousError(f"{text!r} fits {len(ids)} nodes", ids[:10])
    then = " at that moment" if state.is_past else ""
    raise NotFoundError(f"no job or dataset is called {text!r}{then}", _nearest(state, text))


def _all_names(state: State) -> Iterator[tuple[str, Node]]:
    for ref in state.jobs:
        yield ref.name, Node.of_job(ref)
    for primary in state.identity:
        node = Node.of_dataset(primary)
        for alias in state.identity.names(primary):
            yield alias.name, node


def _nearest(state: State, text: str) -> list[str]:
    names: dict[str, str] = {}
    for name, node in _all_names(state):
        for key in (node_id(node), name, *(name.rsplit(mark, 1)[-1] for mark in "./")):
            names.setdefault(key, name)
    close = difflib.get_close_matches(text, deadline.watched(names), n=5, cutoff=0.6)
    return list(dict.fromkeys(names[key] for key in close))[:3]
