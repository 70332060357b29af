"""What changed, as text: between two moments, or over time."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from throughline.cli.render import MARKS, moment_of, new_console, print_runs
from throughline.words import counted

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


def print_timeline(answer: dict[str, Any]) -> None:
    """A change a line, the newest first, then how many runs there were."""
    console = new_console()
    for change in answer["changes"]:
        mark, text = _happened(answer["nodes"], change)
        at = Text(f"{moment_of(change['at']):>19}  ", "dim")
        console.print(at + Text(f"{mark} {text}", MARKS.get(mark, "red")))
    if not answer["changes"]:
        console.print("Nothing came, went or changed.")
    if answer["isMore"]:
        console.print(Text("There are more: --limit, or --until an earlier time", "dim"))
    groups = ("completed", "failed", "lost", "running")
    sums = {group: sum(part[group] for part in answer["runs"]) for group in groups}
    told = ", ".join(f"{count:,} {group}" for group, count in sums.items() if count)
    console.print(f"{counted(sum(sums.values()), 'run')}{': ' + told if told else ''}")


def _happened(nodes: dict[str, Any], change: dict[str, Any]) -> tuple[str, str]:
    """A change in words, and whether it is + new, - gone, ~ other or ! failed."""
    name = str(nodes[change["node"]]["name"])
    other = str(nodes[change["other"]]["name"]) if change["other"] else ""
    detail = ", ".join(change["detail"]).split("\n", 1)[0]
    match change["kind"]:
        case "input" | "output" as kind:
            verb = "is no longer" if change["isGone"] else "became"
            return "-" if change["isGone"] else "+", f"{other} {verb} an {kind} of {name}"
        case "node":
            return "+", f"{name} is new" + (f", by {other}" if other else "")
        case "schema":
            return "~", f"{name}: {detail}"
        case "code":
            return "~", f"{name}: code {' → '.join(change['detail']) or 'changed, not the commit'}"
        case _:
            return "!", f"{name} failed" + (f": {detail}" if detail else "")
