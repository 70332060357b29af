"""Print trees, columns, impact, paths, provenance and tags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from rich.console import Console
from rich.text import Text

from throughline.console.render import dataset_text, new_console, walk
from throughline.runs.printing import run_text

if TYPE_CHECKING:
    from throughline.lineage.models import (
        AffectedNode,
        ColumnNode,
        ColumnsAnswer,
        DatasetVersions,
        ImpactAnswer,
        PathAnswer,
        ProvenanceAnswer,
        TreeAnswer,
        TreeNode,
    )
    from throughline.query.models import DatasetTag, FieldRef, Page, TagInfo

    Leaf = TypeVar("Leaf", TreeNode, ColumnNode)
    LeafIn = TypeVar("LeafIn", TreeNode, ColumnNode, contravariant=True)

    class Describe(Protocol[LeafIn]):
        """Return the text of a node, on request with less detail."""

        def __call__(
            self, node: LeafIn, /, name: str, *, is_short: bool = False, has_times: bool = True
        ) -> Text: ...


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


def print_path(answer: PathAnswer) -> None:
    """Print one node per line, in the direction of the data."""
    console = new_console()
    for index, node in enumerate(answer["path"]):
        arrow = "→ " if index else "  "
        is_job = node["type"] == "job"
        text = Text(node["name"], "bold") if is_job else dataset_text(node["name"], node)
        console.print(Text.assemble((arrow, "dim"), text))


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


def print_provenance(answer: ProvenanceAnswer) -> None:
    """Print each run with its code, inputs and outputs; then the sources."""
    console = new_console()
    for index, part in enumerate(answer["runs"]):
        if index:
            console.print()
        line = Text(part["job"]["name"], "bold")
        if run := part["run"]:
            line.append_text(run_text(run)).append(f"  {run['runId']}", "dim")
        console.print(line)
        if code := " ".join(str(value) for value in part["code"].values() if value):
            console.print(Text.assemble(("  code   ", "dim"), (code, "yellow")))
        for label, datasets in (("read ", part["inputs"]), ("wrote", part["outputs"])):
            for dataset in datasets:
                console.print(Text.assemble((f"  {label}  ", "dim"), _versions(dataset)))
    if not answer["runs"]:
        console.print("No run that wrote it is known.")
        return
    console.print()
    console.print(Text("Sources (not written by any known run):", "bold"))
    for dataset in answer["sources"]:
        console.print(Text.assemble("  ", _versions(dataset)))
    if not answer["sources"]:
        console.print("  none")


def _versions(dataset: DatasetVersions) -> Text:
    versions = ", ".join(dataset["versions"])
    text = dataset_text(dataset["name"], dataset)
    return text.append(f"  version {versions}" if versions else "", "dim")


def print_tags(answer: Page[DatasetTag]) -> None:
    """Print one tag per line, with the column it comes from if that is another one."""
    console = new_console()
    for tag in answer["items"]:
        column, origin = _column(tag["name"], tag["field"]), _origin(tag["from"])
        line = column.copy().append(f"  {tag['key']}", "yellow")
        line.append(f"={tag['value']}" if tag["value"] else "", "yellow")
        if origin.plain != column.plain:
            line.append("  from ", "dim").append_text(origin)
        console.print(line)
    if not answer["items"]:
        console.print("No matching tags.")


def _origin(ref: FieldRef) -> Text:
    return _column(ref["name"], ref["field"])


def _column(dataset: str, field: str | None) -> Text:
    return Text(dataset).append(f".{field}" if field else "", "cyan")


def _print_tree(console: Console, root: Leaf, describe: Describe[Leaf], nothing: str) -> None:
    """Print a tree, or its root and the message `nothing` if it has no children."""
    for node, lead, _ in walk(root, lambda node: node["children"]):
        console.print(_fitted(console, lead, node, describe))
    if not (root["children"] or root["hasMore"]):
        console.print(Text(nothing, style="dim"))


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


_SHORTEST_NAME = 10  # characters
