"""Print trees, columns and provenance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from headwater.console.render import (
    dataset_text,
    job_text,
    new_console,
    print_tree,
)
from headwater.datasets.printing import removal_mark
from headwater.runs.printing import run_text
from headwater.text import tag_label

if TYPE_CHECKING:
    from headwater.lineage import models
    from headwater.query.models import TagInfo

NO_NODES = {
    "up": "No upstream lineage reported.",
    "down": "No downstream lineage reported.",
}
_NO_COLUMNS = {
    "up": "No column lineage reported. `tree` shows upstream datasets and jobs.",
    "down": "No downstream columns with these values reported. `--indirect` adds filters, joins,"
    " groups and sorts; `tree --down` shows downstream datasets and jobs.",
}


def print_columns(answer: models.ColumnsAnswer) -> None:
    """Print a tree of columns."""
    root = answer["up"] if answer["direction"] == "up" else answer["down"]
    print_tree(root, lambda node: node["children"], _column_node)
    columns = root["children"] or [root]
    if not any(column["children"] or column["hasMore"] for column in columns):
        new_console().print(_NO_COLUMNS[answer["direction"]], style="dim")


def print_tree_answer(answer: models.TreeAnswer) -> None:
    """Print a tree; if it has both directions, one after the other."""
    console = new_console()
    for direction, root in (("up", answer.get("up")), ("down", answer.get("down"))):
        if root is None:
            continue
        if answer["direction"] == "both":
            console.print(f"{direction}:", style="bold")
        print_tree(root, lambda node: node["children"], _tree_node)
        if not (root["children"] or root["hasMore"]):
            console.print(NO_NODES[direction], style="dim")


def _tree_node(node: models.TreeNode) -> Text:
    """Return the line of a node in a tree; for a job with its runs.

    If the newest run of a job lacks the edge, that run stands behind the run that has it.
    """
    if node["type"] != "job":
        text = dataset_text(node).append(removal_mark(node["removal"]), "yellow")
        return text.append_text(_tree_marks(node))
    text = job_text(node)
    run, latest = node["run"], node["latestRun"]
    if run:
        text.append_text(run_text(run))
    if run and latest and latest["runId"] != run["runId"]:
        text.append("  then", "dim").append_text(run_text(latest))
    return text.append_text(_tree_marks(node))


def _column_node(node: models.ColumnNode) -> Text:
    text = column_text(node) if node["type"] == "column" else dataset_text(node)
    failed = ("  FAILED", "red") if node["isFailed"] else ""
    return Text.assemble(text, column_source(node), failed, tags_text(node), _tree_marks(node))


def _tree_marks(node: models.TreeNode | models.ColumnNode) -> Text:
    """Return the marks behind a node: its evidence, and how the tree goes on there."""
    marks = _EVIDENCE.get(node["evidence"], "") if node["type"] in ("job", "dataset") else ""
    marks += "  possible" if node["grade"] == "possible" else ""
    marks += "  control" if node.get("isControl") else ""
    marks += "  (see above)" if node["isRepeated"] else ""
    return Text(marks + ("  …" if node["hasMore"] else ""), "dim")


def column_text(node: models.ColumnNode | models.AffectedNode) -> Text:
    """Return the name of a column after that of its dataset."""
    return Text.assemble(f"{node['name']}.", (node["field"] or "(all rows)", "cyan"))


def column_source(node: models.ColumnNode | models.AffectedNode) -> Text:
    """Return the transformation that computes a column, and its job."""
    text = Text(f"  {node['transformation']}" if node["transformation"] else "")
    text.append(f"  by {node['job']}" if node["job"] else "", "dim")
    return text.append(_EVIDENCE.get(node.get("evidence"), ""), "dim")


_EVIDENCE: dict[object, str] = {"sql": ", read from SQL", "verified": ", verified by SQL"}


def tags_text(node: models.ColumnNode | models.AffectedNode) -> Text:
    """Return the distinct tags of a node; those of a column with their origins.

    A tag that the column itself has is shown without an origin.
    """
    origins: dict[str, list[str]] = {}
    for tag in node["tags"]:
        label = f"  #{tag_label(tag['key'], tag['value'])}"
        origins.setdefault(label, []).append(_tag_origin(tag, node))
    labels = (label + _origins_label(found) for label, found in origins.items())
    return Text("".join(labels), "yellow")


def _tag_origin(tag: TagInfo, node: models.ColumnNode | models.AffectedNode) -> str:
    """Return the column or dataset that has a tag; empty if it is the node itself."""
    origin = tag["from"]
    is_own = origin["name"] == node["name"] and origin["field"] in (None, node["field"])
    if node["type"] != "column" or is_own:
        return ""
    return ".".join(filter(None, (origin["name"], origin["field"])))


def _origins_label(origins: list[str]) -> str:
    """Return where a tag comes from; empty if the node itself has it."""
    if "" in origins:
        return ""
    others = len(set(origins)) - 1
    return f" from {origins[0]}" + (f" and {others} more" if others else "")
