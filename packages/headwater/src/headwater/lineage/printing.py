"""Print trees, columns, impact, paths, provenance and tags."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from headwater.console.render import (
    dataset_text,
    job_text,
    localized,
    new_console,
    print_line,
    print_table,
    print_tree,
)
from headwater.datasets.printing import removal_mark
from headwater.health.printing import health_mark
from headwater.runs.printing import run_text
from headwater.text import counted, tag_label

if TYPE_CHECKING:
    from headwater.lineage import models
    from headwater.lineage.tagged import TaggedAnswer, TaggedDataset
    from headwater.query.models import DatasetTag, FieldRef, Page, TagInfo

_NO_NODES = {
    "up": "No upstream lineage reported.",
    "down": "No downstream lineage reported.",
}
_NO_COLUMNS = {
    "up": "No column lineage reported. `tree` shows upstream datasets and jobs.",
    "down": "No downstream columns reported. `tree --down` shows downstream datasets and jobs.",
}
_VERDICTS = {
    "safe": ("Safe to drop", "bold green"),
    "unsafe": ("Not safe to drop", "bold red"),
    "unknown": ("Unknown if it is safe to drop", "bold yellow"),
}
_DONE = {False: "wrote", True: "failed to write"}
_NO_COLUMN_IMPACT = (
    "No reported column takes values from this column. `impact` without a column lists all"
    " downstream nodes of the dataset."
)


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
            console.print(_NO_NODES[direction], style="dim")


def print_impact(answer: models.ImpactAnswer) -> None:
    """Print one affected node or column per line, after its distance."""
    console = new_console()
    if "drop" in answer:
        _print_verdict(answer["drop"])
    if answer["affected"]:
        head = Text("steps", "dim"), Text("node", "dim"), Text("latest run, tags, owners", "dim")
        print_table([head, *map(_affected_row, answer["affected"])], lead=1)
    else:
        console.print(_NO_COLUMN_IMPACT if "field" in answer else _NO_NODES["down"])
    for title, nodes in (
        (
            "Filtered, joined, grouped or sorted by it, or computed from such rows",
            answer.get("indirect"),
        ),
        ("Possibly affected (no column lineage reported)", answer.get("possible")),
    ):
        if nodes:
            console.print()
            console.print(f"{title}:", style="bold")
            print_table(map(_affected_row, nodes), lead=1)


def _print_verdict(drop: models.DropVerdict) -> None:
    """Print whether a column can be dropped, and one reason per line."""
    console = new_console()
    title, style = _VERDICTS[drop["verdict"]]
    console.print(title, style=style)
    for reason in drop["reasons"]:
        console.print(Text(f"  {reason['message']}"))
    console.print()


def print_path(answer: models.PathAnswer) -> None:
    """Print one node per line, in the direction of the data."""
    if answer["isReversed"]:
        print_line("No path in this direction. The data flows the other way:")
    print_table(
        (
            Text("⇢ control" if node["isControl"] else "→" if index else "", "dim"),
            job_text(node) if node["type"] == "job" else dataset_text(node),
        )
        for index, node in enumerate(answer["path"])
    )


def print_why(answer: models.WhyAnswer) -> None:
    """Print the evidence of the edges through each job: a grade, its sources, and the runs."""
    console = new_console()
    for index, job in enumerate(answer["jobs"]):
        if index:
            console.print()
        name = job["job"]["name"] if job["job"] else "derived without a job"
        console.print(Text.assemble((job["grade"], "bold"), f"  {name}"))
        console.print(f"  stated by {', '.join(map(_statement, job['statedBy'])) or 'no run'}")
        if seen := job["seen"]:
            times = f"from {localized(seen['first'])} to {localized(seen['last'])}"
            console.print(f"  seen in {counted(job['runCount'], 'run')}, {times}")
        if job["missedCount"]:
            console.print(f"  not in the {counted(job['missedCount'], 'finished run')} since")
        rows = [
            (Text("", "dim"), Text.assemble(run["run"]["runId"], run_text(run["run"])),
             Text(", ".join(map(_statement, run["statedBy"])), "dim"))
            for run in job["runs"]
        ]  # fmt: skip
        print_table(rows, lead=1)


_KINDS = {
    "explicit": "explicit lineage",
    "columns": "column lineage",
    "sql": "the SQL text",
    "datasets": "inputs and outputs",
    "declared": "an event without a run",
}


def _statement(statement: models.EdgeStatement) -> str:
    producer = f" of {statement['producer']}" if statement["producer"] else ""
    return _KINDS[statement["kind"]] + producer


def _tree_node(node: models.TreeNode) -> Text:
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
    text = _column_text(node) if node["type"] == "column" else dataset_text(node)
    return Text.assemble(text, _column_source(node), _tags_text(node), _tree_marks(node))


def _tree_marks(node: models.TreeNode | models.ColumnNode) -> Text:
    marks = _EVIDENCE.get(node["evidence"], "") if node["type"] in ("job", "dataset") else ""
    marks += "  possible" if node["grade"] == "possible" else ""
    marks += "  control" if node.get("isControl") else ""
    marks += "  (see above)" if node["isRepeated"] else ""
    return Text(marks + ("  …" if node["hasMore"] else ""), "dim")


def _affected_row(node: models.AffectedNode) -> Sequence[RenderableType]:
    if node["type"] == "column":
        text, details = _column_text(node), _column_source(node)
    elif node["type"] == "dataset":
        text, details = Text(node["name"], "cyan"), Text(f"  ({node['namespace']})", "dim")
    else:
        text, details = job_text(node), run_text(node["run"]) if node["run"] else Text()
    owners = f"  owned by {', '.join(node['owners'])}" if node["owners"] else ""
    details = Text.assemble(
        details,
        health_mark(node["health"]),
        (removal_mark(node["removal"]), "yellow"),
        _tags_text(node),
        (owners, "yellow"),
    )
    return Text(str(node["distance"]), "dim", justify="right"), text, details[2:]


def _column_text(node: models.ColumnNode | models.AffectedNode) -> Text:
    return Text.assemble(f"{node['name']}.", (node["field"] or "(all rows)", "cyan"))


def _column_source(node: models.ColumnNode | models.AffectedNode) -> Text:
    """Return the transformation that computes a column, and its job."""
    text = Text(f"  {node['transformation']}" if node["transformation"] else "")
    text.append(f"  by {node['job']}" if node["job"] else "", "dim")
    return text.append(_EVIDENCE.get(node.get("evidence"), ""), "dim")


_EVIDENCE: dict[object, str] = {"sql": ", read from SQL", "verified": ", verified by SQL"}


def _tags_text(node: models.ColumnNode | models.AffectedNode) -> Text:
    """Return the distinct tags of a node; those of a column with their origins."""
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
    if "" in origins:
        return ""
    others = len(set(origins)) - 1
    return f" from {origins[0]}" + (f" and {others} more" if others else "")


def print_provenance(answer: models.ProvenanceAnswer) -> None:
    """Print the removed datasets, then each run with its code and datasets, then the sources."""
    console = new_console()
    removed = [dataset for dataset in answer["datasets"] if dataset["removal"]]
    if removed:
        console.print("Dropped, emptied or renamed since:", style="bold")
        _print_indented(
            ("", dataset_text(dataset).append(removal_mark(dataset["removal"]), "yellow"))
            for dataset in removed
        )
        console.print()
    for part in answer["runs"]:
        line = job_text(part["job"])
        if run := part["run"]:
            line.append_text(run_text(run)).append(f"  {run['runId']}", "dim")
        print_table([(line,)])
        code = " ".join(str(value) for value in part["code"].values() if value)
        rows = [("code", Text(code, "yellow"))] if code else []
        rows += [("read", _versions(dataset)) for dataset in part["inputs"]]
        rows += [(_DONE[output["hasFailed"]], _with_sources(output)) for output in part["outputs"]]
        _print_indented(rows)
        console.print()
    if not answer["runs"]:
        console.print("No run that wrote it is known.")
        return
    console.print("Sources (not written by any known run):", style="bold")
    _print_indented([("", _versions(dataset)) for dataset in answer["sources"]] or [("", "none")])
    if deleted := answer["deletedSources"]:
        date, before = deleted["deletedAt"], deleted["before"]
        console.print(f"Older sources were deleted on {date}: runs before {before} may be missing.")


def _print_indented(rows: Iterable[tuple[str, RenderableType]]) -> None:
    """Print rows below a heading; a label is the first column unless it is empty."""
    print_table(("", Text(label, "dim"), cell) if label else ("", cell) for label, cell in rows)


def _versions(dataset: models.DatasetVersions) -> Text:
    versions = ", ".join(dataset["versions"])
    return dataset_text(dataset).append(f"  version {versions}" if versions else "", "dim")


def _with_sources(output: models.ProvenanceOutput) -> Text:
    sources = output["sources"]
    names = ", ".join(source["name"] for source in sources or ()) or "no input"
    return _versions(output).append("" if sources is None else f"  from {names}", "dim")


def print_tags(answer: Page[DatasetTag]) -> None:
    """Print one tag per line, with the column it comes from if that is another one."""
    rows = []
    for tag in answer["items"]:
        column = _column(tag["name"], tag["field"])
        origin = _column(tag["from"]["name"], tag["from"]["field"])
        label = Text(tag_label(tag["key"], tag["value"]), "yellow")
        source = Text.assemble(("from ", "dim"), origin) if origin != column else Text()
        rows.append((column, label, source))
    print_table(rows, empty="No matching tags.")


def print_tagged(answer: TaggedAnswer) -> None:
    """Print the counts, then one column per line, with the path of its tag."""
    counts = answer["counts"]
    if not any(counts.values()):
        print_line("No column with this tag.")
        return
    print_line(", ".join(f"{name} {count:,}" for name, count in counts.items()))
    rows = [
        (
            _column(item["name"], column["field"]),
            Text(column["status"], "yellow"),
            Text(_path_text(column["path"][:-1], " → "), "dim"),
        )
        for item in answer["items"]
        for column in item["columns"]
    ]
    print_table(rows, empty="No column with this status.")


def print_tagged_csv(items: Iterable[TaggedDataset]) -> None:
    """Print one column per line as CSV."""
    import csv
    import sys

    rows = csv.writer(sys.stdout)
    rows.writerow(("namespace", "dataset", "column", "status", "owners", "path"))
    for item in items:
        of, owners = (item["namespace"], item["name"]), ", ".join(item["owners"])
        for column in item["columns"]:
            path = _path_text(column["path"], " > ")
            cells = (*of, column["field"] or "", column["status"], owners, path)
            rows.writerow([_plain_cell(cell) for cell in cells])


def _plain_cell(text: str) -> str:
    """Return a cell that no spreadsheet reads as a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def _path_text(path: Iterable[FieldRef], arrow: str) -> str:
    return arrow.join(".".join(filter(None, (step["name"], step["field"]))) for step in path)


def _column(dataset: str, field: str | None) -> Text:
    return Text(dataset).append(f".{field}" if field else "", "cyan")
