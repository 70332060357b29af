"""Print changes over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from rich.text import Text

from headwater.console.render import MARKS, moment_of, new_console, print_table
from headwater.datasets.printing import removal_text
from headwater.runs.printing import print_run_list, state_text, times_of
from headwater.text import counted

if TYPE_CHECKING:
    from headwater.datasets.models import SchemaChange
    from headwater.plugins.changes import models
    from headwater.query.models import Page
    from headwater.runs.models import RunSummary


_State = Literal["completed", "failed", "lost", "running"]
_STATES: dict[_State, str] = {
    "completed": "completed", "failed": "failed", "lost": "without end event", "running": "running"
}  # fmt: skip


def print_diff(answer: models.DiffAnswer) -> None:
    """Print one node per line (+ added, - removed, ~ changed) with its changes below it."""
    console = new_console()
    nodes = answer["nodes"]
    details = _details(answer)
    marks = dict.fromkeys(answer["added"], "+") | dict.fromkeys(answer["removed"], "-")
    changed = sorted({*details, *marks}, key=lambda id_: (nodes[id_]["type"], nodes[id_]["name"]))
    for id_ in changed:
        mark, node = marks.get(id_, "~"), nodes[id_]
        line = Text.assemble((f"{mark} ", MARKS[mark]), (node["name"], "bold"))
        console.print(line.append(f"  ({node['namespace']})", "dim"))
        for sign, text in details.get(id_, ()):
            console.print(Text(f"    {sign} {text}", MARKS[sign]))
    if not changed:
        console.print("No differences.")
    if answer["failed"]:
        console.print(Text("Failed in between:", "bold"))
        print_run_list(answer["failed"])


def _details(answer: models.DiffAnswer) -> dict[str, list[tuple[str, str]]]:
    """Return by node the marks and texts of its changes; edges belong to their job."""
    nodes = answer["nodes"]
    details: dict[str, list[tuple[str, str]]] = {}
    for sign, edges in (("+", answer["edgesAdded"]), ("-", answer["edgesRemoved"])):
        for start, end in edges:
            if nodes[end]["type"] == "job":
                job, text = end, f"reads {nodes[start]['name']}"
            else:
                job, text = start, f"writes {nodes[end]['name']}"
            details.setdefault(job, []).append((sign, text))
    for schema in answer["schemas"]:
        fields = [("+", field) for field in schema["added"]]
        fields += [("-", field) for field in schema["removed"]]
        details.setdefault(schema["node"], []).extend(fields)
    for code in answer["code"]:
        versions = f"{code['from'] or 'unknown'} → {code['to'] or 'unknown'}"
        text = versions if code["from"] != code["to"] else "changed without a new commit"
        details.setdefault(code["node"], []).append(("~", f"code {text}"))
    return details


def print_timeline(answer: models.TimelineAnswer) -> None:
    """Print one change per line, newest first, then the number of runs."""
    console = new_console()
    rows = (_change_row(answer, change) for change in answer["changes"])
    print_table(rows, lead=2, empty="No changes.")
    if answer["isMore"]:
        console.print(Text("More results: raise --limit, or pass an earlier --until", "dim"))
    sums = {label: sum(part[state] for part in answer["runs"]) for state, label in _STATES.items()}
    states = ", ".join(f"{count:,} {label}" for label, count in sums.items() if count)
    console.print(f"{counted(sum(sums.values()), 'run')}{': ' + states if states else ''}")


def _change_row(answer: models.TimelineAnswer, change: models.GraphChange) -> Sequence[Text]:
    """Return a change as a row: time, mark and text."""
    mark, text = _change(answer, change)
    style = MARKS.get(mark, "red")
    return _time(change["at"]), Text(mark, style), Text(text, style)


def _change(answer: models.TimelineAnswer, change: models.GraphChange) -> tuple[str, str]:
    """Return the mark (+ added, - removed, ~ changed, ! failed) and the text of a change."""
    nodes = answer["nodes"]
    name = nodes[change["node"]]["name"]
    other = nodes[change["other"]]["name"] if change["other"] else ""
    detail = ", ".join(change["detail"]).split("\n", 1)[0]
    match change["kind"]:
        case "input" | "output" as kind:
            verb = "is no longer" if change["isGone"] else "became"
            return "-" if change["isGone"] else "+", f"{other} {verb} an {kind} of {name}"
        case "node":
            return "+", f"{name} is new" + (f", first used by {other}" if other else "")
        case "schema":
            return "~", f"{name}: {detail}"
        case "code":
            return "~", f"{name}: code {' → '.join(change['detail'])}"
        case _:
            return "!", f"{name} failed" + (f": {detail}" if detail else "")


def print_drift(answer: Page[SchemaChange]) -> None:
    """Print one schema change per line: + added, - removed, ~ another type."""
    rows = (
        (_time(change["at"]), Text(change["name"], "cyan"), _fields(change))
        for change in answer["items"]
    )
    print_table(rows, lead=1, empty="No schema changes reported.")


def print_history(answer: models.HistoryAnswer) -> None:
    """Print one entry per line, newest first."""
    rows = [(_time(entry["at"]), _entry(entry)) for entry in answer["items"]]
    print_table(rows, lead=1, empty="No history reported.")


def _entry(entry: models.HistoryEntry) -> Text:
    """Return an entry of a history as one line."""
    if entry["done"] == "wrote":
        return _written(entry)
    if entry["done"] == "failed":
        return Text("failed to write it", "red").append_text(_by(entry["run"]))
    if entry["done"] == "checked":
        return _checked(entry)
    if entry["done"] == "schema":
        return Text("schema  ").append_text(_fields(entry))
    if entry["done"] == "removed":
        text = Text(removal_text(entry), "yellow")
        return text.append(f"  {entry['runId']}" if entry["runId"] else "", "dim")
    return _ran(entry)


def _written(entry: models.WrittenEntry) -> Text:
    """Return a written version with its number of rows, if reported."""
    text = Text(f"version {entry['version']}", "cyan")
    text.append(f"  {counted(entry['rows'], 'row')}" if entry["rows"] is not None else "")
    return text.append_text(_by(entry["run"]))


def _checked(entry: models.CheckedEntry) -> Text:
    """Return a run of checks: the failed ones by name, and the number of the others."""
    from headwater.datasets.assertions import assertion_of
    from headwater.datasets.not_run import NOT_RUN  # loads what other commands do not need

    checks = [assertion_of(reported) for reported in entry["assertions"]]
    text = Text("checked")
    for check in checks:
        if check.failed:
            text.append(f"  {check.title} failed", "red")
        elif check.passed is False:
            text.append(f"  {check.title} failed (warning)", "yellow")
    passed = sum(check.passed is True for check in checks)
    text.append(f"  {passed} passed" if passed else "", "green")
    not_run = sum(check.reported.get("status") == NOT_RUN for check in checks)
    text.append(f"  {not_run} not run" if not_run else "", "dim")
    rows = entry["metrics"].get("rowCount")
    text.append(f"  {counted(rows, 'row')}" if rows is not None else "")
    return text.append_text(_by(entry["run"]))


def _ran(entry: models.RanEntry) -> Text:
    """Return a run with its duration and what changed since the run before it."""
    run = entry["run"]
    text = Text.assemble(state_text(run), f"  {times_of(run)[1]}", (f"  {run['runId']}", "dim"))
    changed = ", ".join(entry["changed"])
    return text.append(f"  changed: {changed}" if changed else "", "yellow")


def _fields(change: SchemaChange) -> Text:
    """Return the fields that a schema change added, removed or gave another type."""
    parts = [
        Text(f"{mark}{field['name']}", MARKS[mark])
        for mark, fields in (("+", change["added"]), ("-", change["removed"]))
        for field in fields
    ]
    for field in change["changed"]:
        parts.append(Text(f"~{field['name']} {field['from']} → {field['to']}", MARKS["~"]))
    if change["job"]:
        parts.append(Text(f"by {change['job']['name']}", "dim"))
    return Text("  ").join(parts)


def _time(at: str | None) -> Text:
    """Return a time for people, aligned right; "unknown" for None."""
    return Text(moment_of(at) if at else "unknown", "dim", justify="right")


def _by(run: RunSummary | None) -> Text:
    """Return a text with the run that did it; empty for None."""
    return Text(f"  by {run['job']['name']} {run['runId']}" if run else "", "dim")
