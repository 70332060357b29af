"""Lists of datasets, of jobs, and of the owners and tags that they have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

from headwater import deadline
from headwater.events import JobRef
from headwater.filter_values import job_owners, values_of
from headwater.graph.current import once_an_event
from headwater.graph.nodes import Node
from headwater.health.models import HealthState
from headwater.health.states import state_of
from headwater.nodes.rows import active_at, node_row
from headwater.plugins.search.models import ListedDataset, ListedJob, NodeGroup
from headwater.plugins.search.selection import parse, selectable, selects
from headwater.projection import State
from headwater.query.filters import Values
from headwater.runs.summary import condition_of, newest_run, run_line

Grouping = Literal["owner", "tag"]
InState = Annotated[HealthState | None, "Only nodes whose `health` has this state."]


def datasets_named(state: State, text: str | None) -> list[Node]:
    """Return the datasets that a text selects (see `selection`); all without a text."""
    selected = _selected(state, text)
    if selected is None:
        return list(map(Node.of_dataset, set(state.identity)))
    return [node for node in selected if node.type == "dataset"]


def jobs_named(state: State, text: str | None, condition: str | None = None) -> list[Node]:
    """Return the jobs that a text selects and whose newest run is in a state; by default all.

    The condition "" selects the jobs without runs.
    """
    selected = _selected(state, text)
    return [
        node
        for node in (map(Node.of_job, state.jobs) if selected is None else selected)
        if node.type == "job"
        and (condition is None or condition == _state_of_newest_run(state, node.job_ref))
    ]


def _selected(state: State, text: str | None) -> Iterable[Node] | None:
    """Return the nodes that a text selects; None without a text."""
    if not (text and text.strip()):
        return None
    selection = parse(state, text)
    nodes = selectable(state, selection, is_for_names=True)
    return (node for node in nodes if selects(state, selection, node))


def _state_of_newest_run(state: State, ref: JobRef) -> str:
    run = newest_run(state, ref)
    return condition_of(state, run) if run else ""


def values_with_state(state: State, node: Node) -> Values:
    """Return the facet values of a node, including its state."""
    return {**values_of(state, node), "state": (state_of(state, node),)}


def listed_dataset(state: State, node: Node) -> ListedDataset:
    """Return a dataset as part of a list."""
    return {
        **node_row(state, node),
        "jobOwners": job_owners(state, node),
        "writtenAt": active_at(state, node),
    }


def listed_job(state: State, node: Node) -> ListedJob:
    """Return a job as part of a list."""
    run = newest_run(state, node.job_ref)
    return {**node_row(state, node), "run": run_line(state, run) if run else None}


def groups_of(state: State, by: Grouping, text: str | None) -> Iterable[NodeGroup]:
    """Return the owners or tags of nodes with a text in their name, with the number of nodes."""
    wanted = (text or "").strip().casefold()
    return [group for group in _groups(state)[by] if wanted in group["value"].casefold()]


@once_an_event
def _groups(state: State) -> dict[Grouping, list[NodeGroup]]:
    found: dict[Grouping, dict[str, NodeGroup]] = {"owner": {}, "tag": {}}
    nodes = (*datasets_named(state, None), *jobs_named(state, None))
    for node in deadline.watched(nodes):
        values = values_of(state, node)
        for by, groups in found.items():
            for value in values[by]:
                new: NodeGroup = {"value": value, "datasets": 0, "jobs": 0}
                group = groups.setdefault(value, new)
                group["datasets" if node.type == "dataset" else "jobs"] += 1
    return {by: list(groups.values()) for by, groups in found.items()}
