"""Lists of datasets, of jobs, and of the owners and tags that they have."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from headwater import deadline
from headwater.datasets.removal import removal_of
from headwater.datasets.writes import newest_write
from headwater.events import JobRef, shown_time
from headwater.filter_values import job_owners, type_of, values_of
from headwater.graph.current import generations_of, once_an_event
from headwater.graph.nodes import Node, node_ref, owners_of, platform_of, tags_of
from headwater.health.states import health_of, state_of
from headwater.projection import State
from headwater.query.filters import Values
from headwater.query.pages import Place
from headwater.runs.summary import condition_of, newest_run, place_of_run, run_line
from headwater.search.models import ListedDataset, ListedJob, NodeGroup, NodeRow
from headwater.search.selection import parse, selectable, selects

Grouping = Literal["owner", "tag"]
_FILE = re.compile(r"\.(parquet|csv|json|jsonl|gz|txt|avro|orc)$")


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


def place_by_name(state: State, node: Node) -> Place:
    """Return the sort key of a node by its name, ignoring case; of a dataset first by its title.

    The title is the last part of the name, as the page shows it: a file keeps its dots.
    """
    del state
    name, title = node.name.casefold(), ""
    if node.type == "dataset":
        bare = name.rstrip("/")
        title = bare[max(map(bare.rfind, "/" if _FILE.search(bare) else "./")) + 1 :]
    return title, name, node.namespace, node.name


def place_by_activity(state: State, node: Node) -> Place:
    """Return the sort key of a node by its last write, or by the start of its newest run."""
    if node.type == "dataset":
        return max(written_at(state, node) or 0, 0), *place_by_name(state, node)
    run = newest_run(state, node.job_ref)
    return (*(place_of_run(state, run) if run else (0, "")), *place_by_name(state, node))


def written_at(state: State, node: Node) -> int | None:
    """Return the time of the last write of a dataset in microseconds; None if it has none."""
    times = _write_times(state)
    if node not in times:
        newest = newest_write(generations_of(state), node.dataset_name)
        times[node] = newest[0].at if newest else None
    return times[node]


@once_an_event
def _write_times(state: State) -> dict[Node, int | None]:
    del state
    return {}


def values_with_state(state: State, node: Node) -> Values:
    """Return the facet values of a node, including its state."""
    return {**values_of(state, node), "state": (state_of(state, node),)}


def active_at(state: State, node: Node) -> str | None:
    """Return the time of the last write of a dataset, or of the start of a job's newest run."""
    if node.type == "dataset":
        return shown_time(written_at(state, node))
    run = newest_run(state, node.job_ref)
    return run_line(state, run)["startedAt"] if run else None


def node_row(state: State, node: Node) -> NodeRow:
    """Return the common part of a listed dataset, a listed job and a search result."""
    return {
        **node_ref(node),
        "kind": type_of(state, node),
        "platform": platform_of(state, node),
        "owners": owners_of(state, node),
        "tags": sorted(tags_of(state, node)),
        "health": health_of(state, node),
        "removal": removal_of(state, node.dataset_name) if node.type == "dataset" else None,
    }


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
