"""Print answers as text, in colour on a terminal, or as JSON."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, TypeVar

from rich.console import Console
from rich.text import Text

from throughline.console.printable import escaped, json_of
from throughline.console.terminal import SafeConsole, SafeFormatter
from throughline.console.words import duration_of

if TYPE_CHECKING:
    from throughline.lineage.models import (
        AffectedNode,
        ColumnNode,
        ColumnsAnswer,
        ImpactAnswer,
        PathAnswer,
        TreeAnswer,
        TreeNode,
    )
    from throughline.query.models import Name, Page, TagInfo
    from throughline.runs.models import RunInfo, RunSummary, RunTree
    from throughline.search.models import SearchAnswer

    Node = TypeVar("Node", TreeNode, ColumnNode, RunTree)
    Leaf = TypeVar("Leaf", TreeNode, ColumnNode)
    LeafIn = TypeVar("LeafIn", TreeNode, ColumnNode, contravariant=True)

    class Describe(Protocol[LeafIn]):
        """Return the text of a node, on request with less detail."""

        def __call__(
            self, node: LeafIn, /, name: str, *, is_short: bool = False, has_times: bool = True
        ) -> Text: ...


STYLES = {
    "COMPLETED": "green",
    "FAILED": "red",
    "ABORTED": "red",
    "LOST": "red",
    "RUNNING": "yellow",
}
MARKS = {"+": "green", "-": "red", "~": "yellow"}
_NO_NODES = {
    "up": "No upstream lineage reported.",
    "down": "No downstream lineage reported.",
}
_NO_COLUMNS = {
    "up": "No column lineage reported. `tree` shows upstream datasets and jobs.",
    "down": "No downstream columns reported. `tree --down` shows downstream datasets and jobs.",
}
_NO_COLUMN_IMPACT = (
    "No downstream columns reported. `impact` without the column lists all downstream nodes of its"
    " dataset."
)
_TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_SHORTEST_NAME = 10  # characters


def print_json(answer: object) -> None:
    """Print an answer as JSON."""
    sys.stdout.write(json_of(answer, indent=2) + "\n")


def print_line(text: str, *, is_error: bool = False) -> None:
    """Print text without style, to stderr if `is_error`."""
    stream = sys.stderr if is_error else sys.stdout
    stream.write(escaped(text, keep="\n\t") + "\n")
    stream.flush()


def log_to_stderr() -> None:
    """Log to stderr with time and level, from the level INFO on."""
    handler = logging.StreamHandler()
    handler.setFormatter(SafeFormatter("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(handlers=[handler])
    logging.getLogger("throughline").setLevel(logging.INFO)


def print_columns(answer: ColumnsAnswer) -> None:
    """Print a tree of columns."""
    console = new_console()
    nothing = _NO_COLUMNS[answer["direction"]]
    root = answer["up"] if answer["direction"] == "up" else answer["down"]
    _print_tree(console, root, _column_node, nothing)
    fields = root["children"]
    if fields and not any(field["children"] or field["hasMore"] for field in fields):
        console.print(Text(nothing, style="dim"))


def print_tree(answer: TreeAnswer) -> None:
    """Print a tree; if it has both directions, one after the other."""
    console = new_console()
    for direction, root in (("up", answer.get("up")), ("down", answer.get("down"))):
        if root is None:
            continue
        if answer["direction"] == "both":
            console.print(Text(f"{direction}:", style="bold"))
        _print_tree(console, root, _tree_node, _NO_NODES[direction])


def print_runs(answer: Page[RunInfo]) -> None:
    """Print one run per line, in columns, and its error on a line of its own."""
    print_run_list(answer["items"])
    if not answer["items"]:
        print_line("No matching runs.")


def print_run_list(runs: Sequence[RunInfo]) -> None:
    """Print one run per line; long values come last."""
    console = new_console()
    times = [times_of(run) for run in runs]
    start_width = max((len(start) for start, _ in times), default=0)
    duration_width = max((len(duration) for _, duration in times), default=0)
    for run, (start, duration) in zip(runs, times, strict=True):
        line = Text.assemble(
            start.rjust(start_width),
            (f"  {run['state']:9}", STYLES.get(run["state"], "")),
            f"  {duration:>{duration_width}}",
            (f"  {run['runId']}", "dim"),
            (f"  {run['job']['name']}", "bold"),
            _parameters(run),
        )
        console.print(line)
        if error := _error(run):
            console.print(Text.assemble(" " * (start_width + 2), error))


def print_runtree(answer: RunTree) -> None:
    """Print one run per line, below its parent."""
    console = new_console()
    for run, lead, below in _walk(answer):
        line = Text.assemble((lead, "dim"), (run["job"]["name"], "bold"), run_text(run))
        line.append(f"  {run['runId']}", "dim").append_text(_parameters(run))
        console.print(line.append("  …" if run["hasMore"] else "", "dim"))
        if error := _error(run):
            branch = "│  " if run["children"] else "   "
            console.print(Text.assemble((below + branch, "dim"), error))


def print_impact(answer: ImpactAnswer) -> None:
    """Print one affected node or column per line, after its distance."""
    console = new_console()
    if answer["affected"]:
        console.print(Text("steps  node, latest run, owners", "dim"))
    _print_affected(console, answer["affected"])
    if not answer["affected"]:
        console.print(_NO_COLUMN_IMPACT if "field" in answer else _NO_NODES["down"])
    for title, nodes in (
        (
            "Filtered, joined, grouped or sorted by it, or computed from such rows",
            answer.get("indirect"),
        ),
        ("Possibly affected (no column lineage reported)", answer.get("untold")),
    ):
        if nodes:
            console.print()
            console.print(Text(f"{title}:", "bold"))
            _print_affected(console, nodes)


def print_search(answer: SearchAnswer) -> None:
    """Print one matching node per line, and what matched unless it is the name."""
    console = new_console()
    hits = answer["items"]
    if any(hit["isFuzzy"] for hit in hits):
        console.print(Text("No exact match. Similar:", style="dim"))
    for hit in hits:
        line = Text(hit["name"], "bold" if hit["type"] == "job" else "cyan")
        line.append(f"  ({hit['namespace']})", "dim")
        if hit["matched"] != "name":
            line.append(f"  {hit['matched']} {hit['text']}", "yellow")
        console.print(line)
    if not hits:
        console.print("No matches.")


def print_path(answer: PathAnswer) -> None:
    """Print one node per line, in the direction of the data."""
    console = new_console()
    for index, node in enumerate(answer["path"]):
        arrow = "→ " if index else "  "
        is_job = node["type"] == "job"
        text = Text(node["name"], "bold") if is_job else dataset_text(node["name"], node)
        console.print(Text.assemble((arrow, "dim"), text))


def new_console() -> Console:
    """Return a console without wrapping, with colour only on a terminal and text escaped."""
    return SafeConsole(highlight=False, soft_wrap=True)


def _print_tree(console: Console, root: Leaf, describe: Describe[Leaf], nothing: str) -> None:
    """Print a tree, or its root and the message `nothing` if it has no children."""
    for node, lead, _ in _walk(root):
        console.print(_fitted(console, lead, node, describe))
    if not (root["children"] or root["hasMore"]):
        console.print(Text(nothing, style="dim"))


def _walk(root: Node) -> Iterator[tuple[Node, str, str]]:
    """Yield the nodes of a tree from top to bottom, with the guides before and below each."""
    stack = [(root, "", "")]
    while stack:
        node, lead, below = stack.pop()
        yield node, lead, below
        mark, rest = "└─ ", "   "
        for child in reversed(node["children"]):
            stack.append((child, below + mark, below + rest))
            mark, rest = "├─ ", "│  "


def _fitted(console: Console, lead: str, node: Leaf, describe: Describe[Leaf]) -> Text:
    """Return the line of a node, shortened to the width of a terminal.

    Leaves out, until it fits: the namespace and the times of a newer run, a part of the name, the
    times of the run. The states stay.
    """
    name = node["name"]
    line = Text.assemble((lead, "dim"), describe(node, name))
    if not console.file.isatty() or line.cell_len <= console.width:
        return line
    for has_times in (True, False):
        short = describe(node, name, is_short=True, has_times=has_times)
        room = len(name) - (len(lead) + short.cell_len - console.width)
        short = describe(node, _shortened(name, room), is_short=True, has_times=has_times)
        line = Text.assemble((lead, "dim"), short)
        if line.cell_len <= console.width:
            return line
    line.truncate(console.width, overflow="ellipsis")
    return line


def _shortened(name: str, room: int) -> str:
    """Shorten a name to `room` characters: a path to its end, others to their start and end."""
    room = max(room, _SHORTEST_NAME)
    if len(name) <= room:
        return name
    if "/" in name:
        return f"…{name[len(name) - room + 1 :]}"
    end = (room - 1) // 2
    return f"{name[: room - 1 - end]}…{name[-end:]}"


def _tree_node(
    node: TreeNode, /, name: str, *, is_short: bool = False, has_times: bool = True
) -> Text:
    if node["type"] == "job":
        text = Text(name, "bold")
        run, latest = node["run"], node["latestRun"]
        if run:
            text.append_text(run_text(run, has_times=has_times))
        if run and latest and latest["runId"] != run["runId"]:
            text.append("  then", "dim").append_text(run_text(latest, has_times=not is_short))
    else:
        text = dataset_text(name, None if is_short else node)
    return text.append_text(_tree_marks(node))


def _column_node(
    node: ColumnNode, /, name: str, *, is_short: bool = False, has_times: bool = True
) -> Text:
    is_column = node["type"] == "column"
    text = _column_text(name, node) if is_column else dataset_text(name, None if is_short else node)
    return text.append_text(_tags_text(node)).append_text(_tree_marks(node))


def _tree_marks(node: TreeNode | ColumnNode) -> Text:
    marks = "  (see above)" if node["isRepeated"] else ""
    return Text(marks + ("  …" if node["hasMore"] else ""), "dim")


def _print_affected(console: Console, nodes: Sequence[AffectedNode]) -> None:
    for node in nodes:
        if node["type"] == "column":
            text = _column_text(node["name"], node)
        elif node["type"] == "dataset":
            text = dataset_text(node["name"], node)
        else:
            text = Text(node["name"], "bold")
            text.append_text(run_text(node["run"]) if node["run"] else Text())
        text.append_text(_tags_text(node))
        text.append(f"  owned by {', '.join(node['owners'])}" if node["owners"] else "", "yellow")
        console.print(Text.assemble((f"{node['distance']:>5}  ", "dim"), text))


def dataset_text(name: str, dataset: Name | None) -> Text:
    """Return the name of a dataset, with its namespace if `dataset` is given."""
    text = Text(name, "cyan")
    return text.append(f"  ({dataset['namespace']})" if dataset else "", "dim")


def _column_text(name: str, node: ColumnNode | AffectedNode) -> Text:
    text = Text.assemble(f"{name}.", (node["field"] or "(all rows)", "cyan"))
    text.append(f"  {node['transformation']}" if node["transformation"] else "")
    return text.append(f"  by {node['job']}" if node["job"] else "", "dim")


def _tags_text(node: ColumnNode | AffectedNode) -> Text:
    """Return the distinct tags of a node, those of a column with the column they come from."""
    return Text("".join(dict.fromkeys(_tag_label(tag, node) for tag in node["tags"])), "yellow")


def _tag_label(tag: TagInfo, node: ColumnNode | AffectedNode) -> str:
    value = f"={tag['value']}" if tag["value"] not in ("", "true") else ""
    origin = tag["from"]
    is_own = (origin["name"], origin["field"]) == (node["name"], node["field"])
    if node["type"] != "column" or is_own:
        return f"  #{tag['key']}{value}"
    path = ".".join(filter(None, (origin["name"], origin["field"])))
    return f"  #{tag['key']}{value} from {path}"


def run_text(run: RunSummary, *, has_times: bool = True) -> Text:
    """Return the state, start and duration of a run."""
    times = "".join(f"  {time}" for time in times_of(run) if time) if has_times else ""
    return Text.assemble((f"  {run['state']}", STYLES.get(run["state"], "")), times)


def _parameters(run: RunInfo) -> Text:
    """Return the orchestrator's id of a run and its parameters that are not empty."""
    text = Text(f"  {run['ownId']}" if run["ownId"] else "", "dim")
    for name, value in run["parameters"].items():
        if value not in (None, "", [], {}):
            text.append(f"  {name}=", "dim").append(str(value))
    return text


def _error(run: RunInfo) -> Text | None:
    """Return the first line of the error of a run that is not blank."""
    lines = [line.strip() for line in (run["error"] or "").splitlines() if line.strip()]
    return Text(lines[0], "red") if lines else None


def times_of(run: RunSummary) -> tuple[str, str]:
    """Return the start and the duration of a run; empty if unknown."""
    started = moment_of(run["startedAt"]) if run["startedAt"] else ""
    duration = run["durationMs"]
    return started, "" if duration is None else duration_of(duration)


def localized(text: str) -> str:
    """Replace the UTC times in a text by local ones."""
    return _TIME.sub(lambda match: moment_of(match[0]), text)


def moment_of(text: str) -> str:
    """Return the local time of an ISO 8601 text, with the date unless it is today."""
    moment = datetime.fromisoformat(text).astimezone()
    is_today = moment.date() == datetime.now().astimezone().date()
    return f"{moment:%H:%M:%S}" if is_today else f"{moment:%Y-%m-%d %H:%M:%S}"
