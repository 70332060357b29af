"""Answers as text for people, colour only on a terminal, or as JSON for programs."""

from __future__ import annotations

import json
import sys
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.text import Text

_STYLES = {"COMPLETED": "green", "FAILED": "red", "ABORTED": "red", "RUNNING": "yellow"}
_LEAST = 10  # a shorter name says nothing: then the line is left to the terminal


def print_json(answer: Any) -> None:
    """An answer as JSON."""
    json.dump(answer, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


def print_line(text: str, *, is_error: bool = False) -> None:
    """One plain line."""
    stream = sys.stderr if is_error else sys.stdout
    stream.write(text + "\n")
    stream.flush()


def print_tree(answer: dict[str, Any]) -> None:
    """A tree with branches; both directions one after the other."""
    console = _console()
    for direction in ("up", "down"):
        if direction not in answer:
            continue
        if answer["direction"] == "both":
            console.print(Text(f"{direction}:", style="bold"))
        open_ = [(answer[direction], "", "")]
        while open_:
            leaf, lead, below = open_.pop()
            console.print(_line(console, lead, leaf))
            children = leaf["children"]
            for index, child in reversed(list(enumerate(children))):
                is_last = index == len(children) - 1
                branch, rest = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
                open_.append((child, below + branch, below + rest))


def print_runs(answer: list[dict[str, Any]]) -> None:
    """One run a line."""
    console = _console()
    for run in answer:
        line = Text(run["job"]["name"], style="bold") + _run(run)
        console.print(line + Text(f"  {run['runId']}", style="dim"))


def _console() -> Console:
    return Console(highlight=False, soft_wrap=True)


def _line(console: Console, lead: str, leaf: dict[str, Any]) -> Text:
    """A leaf behind its branches; on a terminal its name gives way where the line is too long."""
    line = Text(lead, style="dim") + _leaf(leaf)
    too_much = line.cell_len - console.width
    if not console.file.isatty() or too_much <= 0:
        return line
    name = _shortened(leaf["name"], len(leaf["name"]) - too_much)
    return Text(lead, style="dim") + _leaf({**leaf, "name": name})


def _shortened(name: str, room: int) -> str:
    """A name without its middle: its start, and as much of its last part as there is room for."""
    if room < _LEAST:
        return name
    last = len(name) - max(name.rfind("/" if "/" in name else "."), 0)
    kept = min(last, room - 5)
    return f"{name[: room - 1 - kept]}…{name[-kept:]}"


def _leaf(leaf: dict[str, Any]) -> Text:
    if leaf["type"] == "job":
        text = Text(leaf["name"], style="bold")
        run, latest = leaf["run"], leaf["latestRun"]
        text += _run(run) if run else Text("")
        if run and latest["runId"] != run["runId"]:
            text += Text("  then", style="dim") + _run(latest)
    else:
        text = Text(leaf["name"], style="cyan") + Text(f"  ({leaf['namespace']})", style="dim")
    if leaf["isRepeated"]:
        text += Text("  (see above)", style="dim")
    if leaf["hasMore"]:
        text += Text("  …", style="dim")
    return text


def _run(run: dict[str, Any]) -> Text:
    text = Text(f"  {run['state']}", style=_STYLES.get(run["state"], ""))
    if run["startedAt"]:
        text += Text(f"  {_moment(run['startedAt'])}")
    if run["durationMs"] is not None:
        text += Text(f"  {_duration(run['durationMs'])}")
    return text


def _moment(text: str) -> str:
    """The local time; with its date when that is not today's."""
    moment = datetime.fromisoformat(text).astimezone()
    is_today = moment.date() == datetime.now().astimezone().date()
    return f"{moment:%H:%M:%S}" if is_today else f"{moment:%Y-%m-%d %H:%M:%S}"


def _duration(milliseconds: int) -> str:
    seconds = milliseconds / 1_000
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"
