"""Answers about trust as text for people: where data comes from and what became of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.text import Text

from throughline.cli.render import MARKS, STYLES, moment_of, new_console, times_of


def print_provenance(answer: dict[str, Any]) -> None:
    """Each run with its code, what it read and what it wrote; then where it all began."""
    console = new_console()
    for each in answer["runs"]:
        line = Text(each["job"]["name"], "bold")
        if run := each["run"]:
            line.append(f"  {run['state']}", STYLES.get(run["state"], ""))
            line.append("".join(f"  {text}" for text in times_of(run) if text))
            line.append(f"  {run['runId']}", "dim")
        console.print(line)
        if code := " ".join(str(text) for text in each["code"].values() if text):
            console.print(Text.assemble(("  code   ", "dim"), (code, "yellow")))
        for label, datasets in (("read ", each["inputs"]), ("wrote", each["outputs"])):
            for dataset in datasets:
                console.print(Text.assemble((f"  {label}  ", "dim"), _dataset(dataset)))
    if not answer["runs"]:
        console.print("No run is known to have written it.")
        return
    console.print(Text("Sources, which no run is known to have written:", "bold"))
    for dataset in answer["sources"]:
        console.print(Text.assemble("  ", _dataset(dataset)))
    if not answer["sources"]:
        console.print("  none")


def print_drift(answer: list[dict[str, Any]]) -> None:
    """A change a line: + added, - removed, ~ another type."""
    console = new_console()
    for change in answer:
        console.print(Text.assemble(_at(change), (change["name"], "cyan"), _fields(change)))
    if not answer:
        console.print("No schema has changed.")


def print_history(answer: dict[str, Any]) -> None:
    """An entry a line, the newest first."""
    console = new_console()
    for each in answer["history"]:
        console.print(Text.assemble(_at(each), _ENTRIES[each["done"]](each)))
    if not answer["history"]:
        console.print("Nothing was recorded of it but its name.")


def _wrote(entry: dict[str, Any]) -> Text:
    text = Text(f"version {entry['version']}", "cyan")
    text.append(f"  {entry['rows']} rows" if entry["rows"] is not None else "")
    return text.append_text(_by(entry))


def _checked(entry: dict[str, Any]) -> Text:
    text = Text("checked")
    failed = [each for each in entry["assertions"] if each.get("success") is False]
    for each in failed:
        column = f" of {each['column']}" if each.get("column") else ""
        text.append(f"  {each.get('name') or each.get('assertion')}{column} failed", "red")
    passed = len(entry["assertions"]) - len(failed)
    text.append(f"  {passed} passed" if passed else "", "green")
    rows = entry["metrics"].get("rowCount")
    text.append(f"  {rows} rows" if rows is not None else "")
    return text.append_text(_by(entry))


def _ran(entry: dict[str, Any]) -> Text:
    run = entry["run"]
    text = Text(f"{run['state']:9}", STYLES.get(run["state"], ""))
    text.append(f"  {times_of(run)[1]}").append(f"  {run['runId']}", "dim")
    changed = ", ".join(entry["changed"])
    return text.append(f"  other {changed} than before" if changed else "", "yellow")


def _fields(change: dict[str, Any]) -> Text:
    text = Text()
    for mark, key in (("+", "added"), ("-", "removed")):
        text.append("".join(f"  {mark}{each['name']}" for each in change[key]), MARKS[mark])
    for each in change["changed"]:
        text.append(f"  ~{each['name']} {each['from']} → {each['to']}", MARKS["~"])
    return text.append(f"  by {change['job']['name']}" if change["job"] else "", "dim")


_ENTRIES: dict[str, Callable[[dict[str, Any]], Text]] = {
    "wrote": _wrote,
    "checked": _checked,
    "schema": lambda entry: Text("schema").append_text(_fields(entry)),
    "ran": _ran,
}


def _at(entry: dict[str, Any]) -> Text:
    return Text(f"{moment_of(entry['at'])}  ", "dim")


def _by(entry: dict[str, Any]) -> Text:
    run = entry["run"]
    return Text(f"  by {run['job']['name']} {run['runId']}" if run else "", "dim")


def _dataset(told: dict[str, Any]) -> Text:
    text = Text(told["name"], "cyan").append(f"  ({told['namespace']})", "dim")
    versions = ", ".join(told["versions"])
    return text.append(f"  version {versions}" if versions else "", "dim")
