"""Nodes as rows of lists, and the keys by which lists sort them."""

from __future__ import annotations

from headwater.datasets.removal import removal_of
from headwater.datasets.writes import newest_write
from headwater.events import shown_time
from headwater.filter_values import type_of
from headwater.graph.current import generations_of
from headwater.graph.nodes import Node, node_ref
from headwater.health.states import health_of
from headwater.node_facets import owners_of, platform_of, tags_of
from headwater.nodes.models import NodeRow
from headwater.projection import State
from headwater.query.pages import Place
from headwater.runs.summary import newest_run, place_of_run, run_line
from headwater.text import title_of_dataset


def place_by_name(state: State, node: Node) -> Place:
    """Return the sort key of a node by its name, ignoring case; of a dataset first by its title.

    Keys are unique, because they end with the namespace and the name. `state` is not used: all
    functions that return sort keys have the same parameters.
    """
    del state
    name = node.name.casefold()
    title = title_of_dataset(name) if node.type == "dataset" else ""
    return title, name, node.namespace, node.name


def place_by_activity(state: State, node: Node) -> Place:
    """Return the sort key of a node by its last write, or by the start of its newest run."""
    if node.type == "dataset":
        return max(written_at(state, node) or 0, 0), *place_by_name(state, node)
    run = newest_run(state, node.job_ref)
    return (*(place_of_run(state, run) if run else (0, "")), *place_by_name(state, node))


def written_at(state: State, node: Node) -> int | None:
    """Return the time of the last write of a dataset in microseconds; None if it has none."""
    newest = newest_write(generations_of(state), node.dataset_name)
    return newest[0].at if newest else None


def active_at(state: State, node: Node) -> str | None:
    """Return the time of the last write of a dataset, or of the start of a job's newest run."""
    if node.type == "dataset":
        return shown_time(written_at(state, node))
    run = newest_run(state, node.job_ref)
    return run_line(state, run)["startedAt"] if run else None


def node_row(state: State, node: Node) -> NodeRow:
    """Return the common part of a listed dataset, a listed job and a search result.

    The keys are those of the answers of the API.
    """
    return {
        **node_ref(node),
        "kind": type_of(state, node),
        "platform": platform_of(state, node),
        "owners": owners_of(state, node),
        "tags": sorted(tags_of(state, node)),
        "health": health_of(state, node),
        "removal": removal_of(state, node.dataset_name) if node.type == "dataset" else None,
    }
