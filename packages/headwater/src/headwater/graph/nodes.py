"""Nodes: jobs and datasets as the ends of edges, and as parts of answers."""

from __future__ import annotations

from typing import NamedTuple

from headwater.events import JobRef
from headwater.events.facets import Schema, SchemaField
from headwater.identity import DatasetName
from headwater.projection import State
from headwater.projection.derived import records_of
from headwater.projection.facet_books import FacetBook
from headwater.query.models import DatasetRef, Name, NodeRef, NodeType, TypedName


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
        """Return the job of the node."""
        return JobRef(self.namespace, self.name)

    @property
    def dataset_name(self) -> DatasetName:
        """Return the dataset of the node."""
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


def node_id(node: Node) -> str:
    """Return the id of a node, as in Marquez: `dataset:NAMESPACE:NAME` or `job:NAMESPACE:NAME`."""
    return f"{node.type}:{node.namespace}:{node.name}"


def facets_of(state: State, node: Node) -> list[FacetBook]:
    """Return the facets of a job, or those of a dataset under each of its aliases."""
    if node.type == "job":
        job = state.jobs.get(node.job_ref)
        return [job.facets] if job else []
    return [record.facets for record in records_of(state, node.dataset_name)]


def fields_of(state: State, node: Node) -> dict[str, SchemaField]:
    """Return the fields of a dataset by name; empty for a job."""
    if node.type == "job":
        return {}
    books = facets_of(state, node)
    return {name: field for book in books for name, field in book.parsed(Schema).fields.items()}
