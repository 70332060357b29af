"""Values of nodes, such as owner and tag, by which lists can be filtered.

A *facet book* has the newest facet of each kind, for a job or for one name of a dataset. The
*level* of a job is pipeline, task or query.
"""

from __future__ import annotations

from headwater.events.facets import EXPOSURE, JobType, Sql, Tags
from headwater.graph.current import generations_of, once_an_event
from headwater.graph.nodes import Node, facets_of
from headwater.graph.placeholders import is_job
from headwater.node_facets import kind_of, owners_of, platform_of
from headwater.projection import State
from headwater.query.filters import NO_VALUE, Values


def values_of(state: State, node: Node) -> Values:
    """Return the namespace, platform, type, owners and tags of a node.

    A missing value is NO_VALUE.
    """
    cache = _cached_values(state)
    if node not in cache:
        cache[node] = determine_values(state, node)
    return cache[node]


def determine_values(state: State, node: Node) -> Values:
    """Return the same as `values_of`, without its cache."""
    return {
        "namespace": (node.namespace,),
        "platform": (platform_value(state, node),),
        "type": (type_of(state, node),),
        "owner": _owners(state, node) or (NO_VALUE,),
        "tag": _tags(state, node) or (NO_VALUE,),
    }


@once_an_event
def _cached_values(state: State) -> dict[Node, Values]:
    """Return the cached values by node; empty after each event."""
    del state
    return {}


def type_of(state: State, node: Node) -> str:
    """Return the level of a job, or `exposure`, or `job` if unknown; or the kind of a dataset."""
    if node.type == "dataset":
        return kind_of(state, node)
    if any(book.parsed(JobType).jobType == EXPOSURE for book in facets_of(state, node)):
        return EXPOSURE.lower()
    level = generations_of(state).levels.of(node.job_ref)
    return level.name.lower() if level or _is_query(state, node) else "job"


def is_exposure(state: State, node: Node) -> bool:
    """Return True for an exposure of dbt, such as a dashboard. It is a job without runs."""
    return node.type == "job" and type_of(state, node) == EXPOSURE.lower()


def is_view(state: State, node: Node) -> bool:
    """Return True for a view: a dataset without rows of its own."""
    return node.type == "dataset" and kind_of(state, node) == "view"


def _is_query(state: State, node: Node) -> bool:
    """Return True if a job was reported as a query: by its type, or by its SQL text."""
    books = facets_of(state, node)
    return any(book.parsed(JobType).jobType or book.parsed(Sql).query for book in books)


def platform_value(state: State, node: Node) -> str:
    """Return the reported platform in lower case, or else the scheme of a dataset's namespace."""
    if reported := platform_of(state, node):
        return reported.lower()
    scheme, colon, _ = node.namespace.lower().partition(":")
    if node.type == "job" or not (colon or scheme == "file"):
        return NO_VALUE
    if scheme == "arn":  # arn:aws:glue:REGION:ACCOUNT
        return (node.namespace.lower().split(":") + [NO_VALUE])[2]
    return scheme


def job_owners(state: State, node: Node) -> list[str]:
    """Return the owners of the tasks whose data a dataset has; none for a job.

    A writer whose data was replaced since does not count.
    """
    if node.type == "job":
        return []
    generations, name = generations_of(state), node.dataset_name
    named = (ref for ref in generations.writers(name) if is_job(ref))
    owners = {ref: found for ref in named if (found := owners_of(state, Node.of_job(ref)))}
    writing = {generation.job for generation in generations.writing(name)} if owners else set()
    return sorted({owner for ref in owners if ref in writing for owner in owners[ref]})


def _owners(state: State, node: Node) -> tuple[str, ...]:
    """Return the owners of a node; of a dataset without any, those of its writers."""
    return tuple(owners_of(state, node) or job_owners(state, node))


def _tags(state: State, node: Node) -> tuple[str, ...]:
    """Return the labels of all tags of a node, sorted."""
    books = facets_of(state, node)
    return tuple(sorted({tag.label for book in books for tag in book.parsed(Tags).tags}))
