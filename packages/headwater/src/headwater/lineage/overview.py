"""Print a node with its last run and its neighborhood on one screen."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from rich.text import Text

from headwater.console.render import (
    dataset_text,
    job_text,
    job_title,
    moment_of,
    new_console,
    print_table,
)
from headwater.datasets.printing import removal_mark, removal_text
from headwater.health.printing import health_line
from headwater.runs.printing import state_text, times_of
from headwater.text import counted

if TYPE_CHECKING:
    from headwater.lineage.models import OverviewAnswer, TreeNode

_TREE_LINES = 14
"""Lines for upstream and downstream nodes together; the rest of the screen is the header."""
_LEAST_LINES = 4
_ARROWS = {"up": "←", "down": "→"}


class _Row(NamedTuple):
    """A node in a tree, together with the jobs between it and the next datasets."""

    node: TreeNode
    jobs: list[TreeNode]
    depth: int


def print_overview(answer: OverviewAnswer) -> None:
    """Print a node, its last run, and the nearest upstream and downstream nodes.

    Upstream and downstream share the lines of the screen. The side with fewer nodes leaves its
    lines to the other one.
    """
    console = new_console()
    console.print(job_text(answer) if answer["type"] == "job" else dataset_text(answer))
    print_table(_header(answer), lead=1)
    up, down = _rows(answer["up"]), _rows(answer["down"])
    up_lines = max(_LEAST_LINES, _TREE_LINES - len(down))
    down_lines = max(_LEAST_LINES, _TREE_LINES - min(len(up), up_lines))
    for way, rows, lines in (("up", up, up_lines), ("down", down, down_lines)):
        _print_way(answer, way, rows, lines)


def _header(answer: OverviewAnswer) -> Iterator[tuple[Text, Text]]:
    """Yield the rows above the trees: each has a label and a value."""
    run = answer["lastRun"]
    owners = [", ".join(answer["owners"])] if answer["owners"] else []
    if answer["type"] == "dataset" and answer["jobOwners"]:
        owners.append(f"{', '.join(answer['jobOwners'])} (of the job)")
    yield Text("State", "dim"), health_line(answer["health"])
    removal = answer["removal"]
    if removal and removal["kind"] == "emptied":  # otherwise, it is the state
        line = Text(removal_text(removal), "yellow")
        yield Text("Contents", "dim"), line.append(f"  {moment_of(removal['at'])}", "dim")
    yield Text("Owner", "dim"), Text("  ".join(owners) or "not reported", "yellow")
    if run is None:
        yield Text("Last run", "dim"), Text("not reported")
        return
    line = Text.assemble(state_text(run), "  ", job_text(run["job"]))
    yield Text("Last run", "dim"), line.append(f"  {run['runId']}", "dim")
    started, duration = times_of(run)
    ended = moment_of(run["endedAt"]) if run["endedAt"] else ""
    times = (("Started", started), ("Finished", ended), ("Duration", duration))
    for label, value in times:
        yield Text(label, "dim"), Text(value or "not reported")


def _rows(root: TreeNode) -> list[_Row]:
    """Return the rows below a root, in the order of the tree; the root's row has the depth 0.

    A job between two datasets gets no row of its own. It stands at the end of the row of the
    dataset.
    """
    rows: list[_Row] = []
    open_ = [(root, 0)]
    while open_:
        node, depth = open_.pop()
        children = node["children"]
        jobs = [child for child in children if child["type"] == "job" != node["type"]]
        rows.append(_Row(node, jobs, depth))
        below = chain.from_iterable(
            child["children"] if child in jobs else [child] for child in children
        )
        open_ += reversed([(child, depth + 1) for child in below])
    return rows


def _print_way(answer: OverviewAnswer, way: str, rows: list[_Row], lines: int) -> None:
    """Print the rows nearest to the node, and the number of omitted nodes.

    `way` is `up` or `down`. At most `lines` rows are printed. The hint for the rest repeats the
    name of the program that the user called.
    """
    console = new_console()
    title = "Upstream" if way == "up" else "Downstream"
    total = _count(rows)
    if not total:
        console.print(Text.assemble((f"{title}: ", "bold"), "not reported"))
        return
    console.print(Text(f"{title} ({counted(total, 'node')})", "bold"))
    nearest = {id(row) for row in sorted(rows, key=lambda row: row.depth)[:lines]}
    shown = [row for row in rows if id(row) in nearest]
    for row in shown:
        console.print(_row_text(row, way), no_wrap=True, overflow="ellipsis")
    if hidden := total - _count(shown):
        program = os.environ.get("HEADWATER_PROGRAM") or "headwater"
        command = f"{program} tree {shlex.quote(answer['id'])} --{way}"
        console.print(Text(f"  … {hidden:,} more: {command}", "dim"), soft_wrap=True)


def _count(rows: list[_Row]) -> int:
    """Return the number of different nodes in rows, without the root."""
    ids = {node["id"] for row in rows for node in (row.node, *row.jobs)}
    return len(ids - {row.node["id"] for row in rows[:1]})


def _row_text(row: _Row, way: str) -> Text:
    """Return the line of a row: its node and the jobs between, with states unless completed.

    `way` is `up` or `down`, and decides the direction of the arrow before the jobs.
    """
    is_job, name = row.node["type"] == "job", row.node["name"]
    text = Text("  " * (row.depth + 1)).append_text(
        job_text(row.node) if is_job else Text(name, "cyan")
    )
    for index, job in enumerate(row.jobs):
        text.append(", " if index else f"  {_ARROWS[way]} ", "dim").append(job_title(job["name"]))
        if (run := job["latestRun"]) and run["state"] != "COMPLETED":
            text.append(" ").append_text(state_text(run))
    if row.depth:  # the header shows that of the node itself
        text.append(removal_mark(row.node["removal"]), "yellow")
    return text.append("  (see above)" if row.node["isRepeated"] else "", "dim")
