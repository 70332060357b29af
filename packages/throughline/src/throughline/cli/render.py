"""Answers as text for people, colour only on a terminal, or as JSON for programs."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.text import Text

from throughline.printable import escaped, json_of
from throughline.terminal import SafeConsole, SafeFormatter
from throughline.words import duration_of

STYLES = {
    "COMPLETED": "green",
    "FAILED": "red",
    "ABORTED": "red",
    "LOST": "red",
    "RUNNING": "yellow",
}
MARKS = {"+": "green", "-": "red", "~": "yellow"}
_ENDS = {
    "up": "Nothing before it was recorded.",
    "down": "Nothing after it was recorded.",
}
_NO_COLUMNS = {
    "up": "No column lineage reported. `tree` shows upstream datasets and jobs.",
    "down": "No downstream columns reported. `tree --down` shows downstream datasets and jobs.",
}
_NO_COLUMN_BELOW = (
    "No downstream columns reported. `impact` without the column lists all downstream nodes of its"
    " dataset."
)
_OTHER_DEPENDENTS = {
    "indirect": "Filtered, joined, grouped or sorted by it, or computed from such rows",
    "untold": "Possibly affected (no column lineage reported)",
}
_TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_LEAST = 10  # characters of a name; fewer say nothing


def print_json(answer: Any) -> None:
    """An answer as JSON."""
    sys.stdout.write(json_of(answer, indent=2) + "\n")


def print_line(text: str, *, is_error: bool = False) -> None:
    """One plain line."""
    stream = sys.stderr if is_error else sys.stdout
    stream.write(escaped(text, keep="\n\t") + "\n")
    stream.flush()


def log_to_stderr() -> None:
    """Have log lines begin with time and level, also those of a start, a stop and a recovery."""
    handler = logging.StreamHandler()
    handler.setFormatter(SafeFormatter("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(handlers=[handler])
    logging.getLogger("throughline").setLevel(logging.INFO)


def print_columns(answer: dict[str, Any]) -> None:
    """A tree of columns."""
    print_tree(answer, _NO_COLUMNS)
    top = answer[answer["direction"]]
    if top["children"] and not any(c["children"] or c["hasMore"] for c in top["children"]):
        new_console().print(Text(_NO_COLUMNS[answer["direction"]], style="dim"))


def print_tree(answer: dict[str, Any], nothing: Mapping[str, str] = _ENDS) -> None:
    """A tree with branches; both directions one after the other.

    `nothing` says by direction what it means when there are none.
    """
    console = new_console()
    for direction in ("up", "down"):
        if direction not in answer:
            continue
        if answer["direction"] == "both":
            console.print(Text(f"{direction}:", style="bold"))
        if not (answer[direction]["children"] or answer[direction]["hasMore"]):
            console.print(_line(console, "", answer[direction]))
            console.print(Text(nothing[direction], style="dim"))
            continue
        open_ = [(answer[direction], "", "")]
        while open_:
            leaf, lead, below = open_.pop()
            console.print(_line(console, lead, leaf))
            open_ += _branches(leaf["children"], below)


def print_runs(answer: dict[str, Any]) -> None:
    """One run a line, in columns; what can be long comes last, an error on a line of its own."""
    console = new_console()
    runs = answer["items"]
    times = [times_of(run) for run in runs]
    started = max((len(start) for start, _ in times), default=0)
    took = max((len(lasted) for _, lasted in times), default=0)
    for run, (start, lasted) in zip(runs, times, strict=True):
        line = Text.assemble(
            start.rjust(started),
            (f"  {run['state']:9}", STYLES.get(run["state"], "")),
            f"  {lasted:>{took}}",
            (f"  {run['runId']}", "dim"),
            (f"  {run['job']['name']}", "bold"),
            _given(run),
        )
        console.print(line)
        if error := _error(run):
            console.print(Text.assemble(" " * (started + 2), error))
    if not runs:
        console.print("No such run was recorded.")


def print_runtree(answer: dict[str, Any]) -> None:
    """A run a line, below the one that started it."""
    console = new_console()
    open_ = [(answer, "", "")]
    while open_:
        run, lead, below = open_.pop()
        line = Text.assemble((lead, "dim"), (run["job"]["name"], "bold"))
        _append_run(line, run)
        line.append(f"  {run['runId']}", "dim").append_text(_given(run))
        console.print(line.append("  …" if run["hasMore"] else "", "dim"))
        children = run["children"]
        if error := _error(run):
            branch = "│  " if children else "   "
            console.print(Text.assemble((below + branch, "dim"), error))
        open_ += _branches(children, below)


def _branches(children: list[Any], below: str) -> list[tuple[Any, str, str]]:
    """Children with what stands before them and before what is below them, the last first."""
    marks = [("├─ ", "│  ")] * (len(children) - 1) + [("└─ ", "   ")]
    pairs = zip(children, marks, strict=True) if children else ()
    return [(child, below + branch, below + rest) for child, (branch, rest) in pairs][::-1]


def _given(run: dict[str, Any]) -> Text:
    """What the orchestrator calls a run, and its parameters that are not empty."""
    text = Text(f"  {run['ownId']}" if run["ownId"] else "", "dim")
    for name, value in run["parameters"].items():
        if value not in (None, "", [], {}):
            text.append(f"  {name}=", "dim").append(str(value))
    return text


def _error(run: dict[str, Any]) -> Text | None:
    """The first line of its error that says something."""
    lines = [line.strip() for line in (run["error"] or "").splitlines() if line.strip()]
    return Text(lines[0], "red") if lines else None


def print_impact(answer: dict[str, Any]) -> None:
    """A node or column a line, behind how many steps away it is."""
    console = new_console()
    if answer["affected"]:
        console.print(Text("steps  what, its newest run, its owners", "dim"))
    _print_affected(console, answer["affected"])
    if not answer["affected"]:
        console.print(_NO_COLUMN_BELOW if "field" in answer else _ENDS["down"])
    for part, title in _OTHER_DEPENDENTS.items():
        if others := answer.get(part):
            console.print()
            console.print(Text(f"{title}:", "bold"))
            _print_affected(console, others)


def _print_affected(console: Console, affected: list[dict[str, Any]]) -> None:
    for each in affected:
        leaf = _leaf({**each, "latestRun": each.get("run"), "isRepeated": False, "hasMore": False})
        owned = f"  owned by {', '.join(each['owners'])}" if each["owners"] else ""
        console.print(Text.assemble((f"{each['distance']:>5}  ", "dim"), leaf, (owned, "yellow")))


def print_found(answer: dict[str, Any]) -> None:
    """A node a line, and what of it was found."""
    console = new_console()
    found = answer["items"]
    if any(each["isFuzzy"] for each in found):
        console.print(Text("Nothing has that in it; this comes near:", style="dim"))
    for each in found:
        line = Text(each["name"], "bold" if each["type"] == "job" else "cyan")
        line.append(f"  ({each['namespace']})", "dim")
        if each["matched"] != "name":
            line.append(f"  {each['matched']} {each['text']}", "yellow")
        console.print(line)
    if not found:
        console.print("Nothing was found.")


def print_path(answer: dict[str, Any]) -> None:
    """A node a line, in the direction of the data."""
    console = new_console()
    for nth, node in enumerate(answer["path"]):
        style = "bold" if node["type"] == "job" else "cyan"
        arrow = "→ " if nth else "  "
        namespace = f"  ({node['namespace']})" if node["type"] == "dataset" else ""
        console.print(Text.assemble((arrow, "dim"), (node["name"], style), (namespace, "dim")))


def new_console() -> Console:
    """Return a console without wrapping, with colour only on a terminal and text escaped."""
    return SafeConsole(highlight=False, soft_wrap=True)


def _line(console: Console, lead: str, leaf: dict[str, Any]) -> Text:
    """A leaf behind its branches.

    On a terminal, what a line is too long for is left out: times of the newer run that is not the
    edges', the namespace, a part of the name, the other times; the states of a job stay.
    """

    def line(**changes: Any) -> Text:
        return Text.assemble((lead, "dim"), _leaf({**leaf, **changes}))

    whole = line()
    if not console.file.isatty() or whole.cell_len <= console.width:
        return whole
    short: dict[str, Any] = {"namespace": ""}
    if leaf["type"] == "job" and leaf["latestRun"]:
        short["latestRun"] = _untimed(leaf["latestRun"])
    for _ in range(2):
        room = len(leaf["name"]) - (line(**short).cell_len - console.width)
        found = line(**short, name=_shortened(leaf["name"], room))
        if found.cell_len > console.width and leaf.get("run"):
            short["run"] = _untimed(leaf["run"])
    found.truncate(console.width, overflow="ellipsis")
    return found


def _untimed(run: dict[str, Any]) -> dict[str, Any]:
    return {**run, "startedAt": None, "durationMs": None}


def _shortened(name: str, room: int) -> str:
    """As much of a name as there is room for: a path's end, of another name start and end."""
    room = max(room, _LEAST)
    if len(name) <= room:
        return name
    if "/" in name:
        return f"…{name[len(name) - room + 1 :]}"
    kept = (room - 1) // 2
    return f"{name[: room - 1 - kept]}…{name[-kept:]}"


def _leaf(leaf: dict[str, Any]) -> Text:
    text = Text()
    if leaf["type"] == "job":
        text.append(leaf["name"], "bold")
        run, latest = leaf["run"], leaf["latestRun"]
        if run:
            _append_run(text, run)
        if run and latest["runId"] != run["runId"]:
            _append_run(text.append("  then", "dim"), latest)
    elif leaf["type"] == "column":
        text.append(f"{leaf['name']}.").append(leaf["field"] or "(all rows)", "cyan")
        text.append(f"  {leaf['transformation']}" if leaf["transformation"] else "")
        text.append(f"  by {leaf['job']}" if leaf["job"] else "", "dim")
    else:
        text.append(leaf["name"], "cyan")
        text.append(f"  ({leaf['namespace']})" if leaf["namespace"] else "", "dim")
    text.append_text(_tags(leaf))
    text.append("  (see above)" if leaf["isRepeated"] else "", "dim")
    return text.append("  …" if leaf["hasMore"] else "", "dim")


def _tags(leaf: dict[str, Any]) -> Text:
    """Its tags, each once; of a column also where one came from."""
    found = []
    for tag in leaf.get("tags", ()):
        label = f"  #{tag['key']}"
        label += f"={tag['value']}" if tag["value"] not in ("", "true") else ""
        origin = tag["from"]
        came = [origin["name"], *([origin["field"]] if origin["field"] else ())]
        if leaf["type"] == "column" and came != [leaf["name"], leaf["field"]]:
            label += f" from {'.'.join(came)}"
        found.append(label)
    return Text("".join(dict.fromkeys(found)), "yellow")


def _append_run(text: Text, run: dict[str, Any]) -> None:
    text.append(f"  {run['state']}", STYLES.get(run["state"], ""))
    text.append("".join(f"  {each}" for each in times_of(run) if each))


def times_of(run: dict[str, Any]) -> tuple[str, str]:
    """When a run started and how long it took; empty where that is not known."""
    took = run["durationMs"]
    started = moment_of(run["startedAt"]) if run["startedAt"] else ""
    return started, "" if took is None else duration_of(took)


def localized(text: str) -> str:
    """A text with the times in it as those of people."""
    return _TIME.sub(lambda found: moment_of(found[0]), text)


def moment_of(text: str) -> str:
    """The local time; with its date when that is not today's."""
    moment = datetime.fromisoformat(text).astimezone()
    is_today = moment.date() == datetime.now().astimezone().date()
    return f"{moment:%H:%M:%S}" if is_today else f"{moment:%Y-%m-%d %H:%M:%S}"
