"""The answer of `diff` as text: what changed of each node, then what failed in between."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from throughline.cli.render import MARKS, new_console, print_runs

_Told = dict[str, list[tuple[str, str]]]


def print_diff(answer: dict[str, Any]) -> None:
    """A node a line, + new, - gone, ~ other, and below it what of it is."""
    console = new_console()
    nodes = answer["nodes"]
    told = _told(answer)
    marks = dict.fromkeys(answer["added"], "+") | dict.fromkeys(answer["removed"], "-")
    shown = sorted({*told, *marks}, key=lambda each: (nodes[each]["type"], nodes[each]["name"]))
    for each in shown:
        mark, node = marks.get(each, "~"), nodes[each]
        line = Text.assemble((f"{mark} ", MARKS[mark]), (node["name"], "bold"))
        console.print(line.append(f"  ({node['namespace']})", "dim"))
        for sign, text in told.get(each, ()):
            console.print(Text(f"    {sign} {text}", MARKS[sign]))
    if not shown:
        console.print("Nothing is different.")
    if answer["failed"]:
        console.print(Text("Failed in between:", "bold"))
        print_runs({"items": answer["failed"]})


def _told(answer: dict[str, Any]) -> _Told:
    """By node what of it is new, gone or other; an edge is told of its job."""
    nodes, told = answer["nodes"], _Told()

    def name(node: str) -> str:
        return str(nodes[node]["name"])

    for sign, edges in (("+", answer["edgesAdded"]), ("-", answer["edgesRemoved"])):
        for start, end in edges:
            reads = nodes[end]["type"] == "job"
            job, text = (end, f"reads {name(start)}") if reads else (start, f"writes {name(end)}")
            told.setdefault(job, []).append((sign, text))
    for change in answer["schemas"]:
        fields = [("+", each) for each in change["added"]]
        fields += [("-", each) for each in change["removed"]]
        told.setdefault(change["node"], []).extend(fields)
    for change in answer["code"]:
        versions = f"{change['from'] or 'unknown'} → {change['to'] or 'unknown'}"
        text = versions if change["from"] != change["to"] else "changed, the commit did not"
        told.setdefault(change["node"], []).append(("~", f"code {text}"))
    return told
