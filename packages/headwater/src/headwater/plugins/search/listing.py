"""Lists of datasets, of jobs, and of the owners and tags that they have.

A group has the owner or tag of some nodes. A row stands for nodes with equal values.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

from headwater.events import JobRef
from headwater.filter_values import job_owners
from headwater.graph.nodes import Node
from headwater.health.models import HealthState
from headwater.nodes.listed import rows_of
from headwater.nodes.rows import active_at, node_row
from headwater.plugins.search.models import ListedDataset, ListedJob, NodeGroup
from headwater.plugins.search.selection import check_keys, parse, selectable, selects
from headwater.projection import State
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
    """Return the nodes that a text selects; None without a text.

    Words must be in names, unlike in a search.

    Raises:
        ConfigError: nothing matches, and a word looks like a filter with an unknown key.
    """
    if not (text and text.strip()):
        return None
    selection = parse(state, text)
    nodes = selectable(state, selection, is_for_names=True)
    selected = (node for node in nodes if selects(state, selection, node))
    if not selection.like_filters:
        return selected
    found = list(selected)
    if not found:
        check_keys(selection)
    return found


def _state_of_newest_run(state: State, ref: JobRef) -> str:
    """Return the state of a job's newest run; "" if it has no runs."""
    run = newest_run(state, ref)
    return condition_of(state, run) if run else ""


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


def groups_of(state: State, by: Grouping, text: str | None) -> tuple[list[NodeGroup], int]:
    """Return the owners or tags with a text in their name, and how many nodes are not counted.

    Without `text`, all are returned. A node without an owner or tag is counted under "".
    """
    found: dict[str, NodeGroup] = {}
    rows, wanted, uncounted = rows_of(state), (text or "").strip().casefold(), 0
    for type_ in ("dataset", "job"):
        for row in rows.groups(type_, in_part=True):
            for value in row.values[by]:
                new: NodeGroup = {"value": value, "datasets": 0, "jobs": 0}
                group = found.setdefault(value, new)
                group["datasets" if type_ == "dataset" else "jobs"] += len(row.nodes)
        uncounted += len(rows.uncounted(type_))
    return [group for group in found.values() if wanted in group["value"].casefold()], uncounted
