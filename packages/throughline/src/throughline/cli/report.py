"""Answers about trust as text for people: where data comes from and what became of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.text import Text

from throughline.cli.render import MARKS, STYLES, localized, moment_of, new_console, times_of
from throughline.words import counted, duration_of

_MESSAGE = 200  # characters of an error
_SHOWN = 5  # names in a line


def print_provenance(answer: dict[str, Any]) -> None:
    """Each run with its code, what it read and what it wrote; then where it all began."""
    console = new_console()
    for each in answer["runs"]:
        if each is not answer["runs"][0]:
            console.print()
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
    console.print()
    console.print(Text("Sources, which no run is known to have written:", "bold"))
    for dataset in answer["sources"]:
        console.print(Text.assemble("  ", _dataset(dataset)))
    if not answer["sources"]:
        console.print("  none")


def print_drift(answer: dict[str, Any]) -> None:
    """A change a line: + added, - removed, ~ another type."""
    console = new_console()
    for change in answer["items"]:
        console.print(Text.assemble(_at(change), (change["name"], "cyan"), _fields(change)))
    if not answer["items"]:
        console.print("No schema has changed.")


def print_history(answer: dict[str, Any]) -> None:
    """An entry a line, the newest first."""
    console = new_console()
    for each in answer["items"]:
        console.print(Text.assemble(_at(each), _ENTRIES[each["done"]](each)))
    if not answer["items"]:
        console.print("Nothing was recorded of it but its name.")


def _wrote(entry: dict[str, Any]) -> Text:
    text = Text(f"version {entry['version']}", "cyan")
    text.append(f"  {counted(entry['rows'], 'row')}" if entry["rows"] is not None else "")
    return text.append_text(_by(entry))


def _checked(entry: dict[str, Any]) -> Text:
    failed = [each for each in entry["assertions"] if each.get("success") is False]
    text = Text("checked").append_text(_broken(failed))
    passed = len(entry["assertions"]) - len(failed)
    text.append(f"  {passed} passed" if passed else "", "green")
    rows = entry["metrics"].get("rowCount")
    text.append(f"  {counted(rows, 'row')}" if rows is not None else "")
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


def _broken(assertions: list[dict[str, Any]]) -> Text:
    text = Text(style="red")
    for each in assertions:
        column = f" of {each['column']}" if each.get("column") else ""
        text.append(f"  {each.get('name') or each.get('assertion')}{column} failed")
    return text


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


def print_tags(answer: dict[str, Any]) -> None:
    """A tag a line, and the column that it came from, if that is another one."""
    console = new_console()
    for each in answer["items"]:
        line = _column(each).append(f"  {each['key']}", "yellow")
        line.append(f"={each['value']}" if each["value"] else "", "yellow")
        if _column(each["from"]).plain != _column(each).plain:
            line.append("  from ", "dim").append_text(_column(each["from"]))
        console.print(line)
    if not answer["items"]:
        console.print("No such tag was recorded.")


def _column(told: dict[str, Any]) -> Text:
    field = f".{told['field']}" if told["field"] else ""
    return Text(told["name"]).append(field, "cyan")


def print_gate(answer: dict[str, Any]) -> None:
    """Of each dataset whether it passed, and what it violates: the rule, then the place."""
    console = new_console()
    for each in answer["datasets"]:
        said, style = ("PASSED ", "green") if each["passed"] else ("REFUSED", "red")
        console.print(Text.assemble((said, style), f"  {each['id'].removeprefix('dataset:')}"))
        for violation in each["violations"]:
            run = f"  {violation['runId']}" if violation["runId"] else ""
            rule = (f"  {violation['rule']:14}  ", "yellow")
            console.print(Text.assemble(rule, localized(violation["message"]), (run, "dim")))


def print_check(answer: dict[str, Any]) -> None:
    """A difference a line: + there but not declared, - declared but not there."""
    console = new_console()
    for each in answer["differences"]:
        mark = "+" if each["kind"] == "unexpected" else "-"
        where = "" if each["what"] == "job" else f"{each['job']}  "
        text = f"{mark} {each['kind']:10}  {each['what']:6}  {where}{each['name']}"
        console.print(Text(text, MARKS[mark]))
    if answer["passed"]:
        console.print("All is as declared.")


def print_health(answer: dict[str, Any]) -> None:
    """What is wrong, a line each; then what nobody told."""
    console = new_console()
    counts = ", ".join(counted(n, what.removesuffix("s")) for what, n in answer["counts"].items())
    is_well = answer["isHealthy"]
    said = "Nothing is wrong" if is_well else "Something is wrong"
    console.print(Text.assemble((said, "green" if is_well else "red"), f". Looked at {counts}."))
    for run in answer["failed"]:
        console.print(Text.assemble((f"{run['state']:9}", "red"), _run(run)))
        for cause in run["causes"]:
            line = Text(f"{'':9}by {cause['job']['name']}")
            message = " ".join((cause["message"] or "").split())[:_MESSAGE]
            console.print(line.append(f"  {message}" if message else "", "red"))
    for run in answer["lost"]:
        console.print(Text.assemble(("LOST     ", "red"), _run(run)))
    for each in answer["late"] + answer["stopped"]:
        mark = ("stopped  ", "dim") if each["isStopped"] else ("LATE     ", "red")
        due = f"  due {moment_of(each['dueAt'])}, {_seconds(each['lateSeconds'])} ago"
        every = f", runs every {_seconds(each['everySeconds'])}"
        console.print(Text.assemble(mark, (each["job"]["name"], "bold"), due, every))
    for check in answer["quality"]:
        told = (check["dataset"].removeprefix("dataset:"), "cyan")
        console.print(Text.assemble(("CHECK    ", "red"), told, _broken(check["assertions"])))
    _print_losses(console, answer["completeness"])


def _print_losses(console: Console, told: dict[str, Any]) -> None:
    for measure in (key for key in told if key != "orphans"):
        share, lost = told[measure]["share"], told[measure]["lost"]
        if lost:
            runs = counted(told[measure]["runs"], "run")
            line = Text(f"{measure:9}{share:.0%} of {runs}; without: ")
            console.print(line.append(_some([each["job"]["name"] for each in lost]), "yellow"))
    orphans = told["orphans"]
    for text, names in (
        ("jobs without any dataset: ", [job["name"] for job in orphans["jobs"]]),
        ("datasets without any job: ", [id_.split(":", 1)[1] for id_ in orphans["datasets"]]),
        ("parents that never spoke: ", [run["job"]["name"] for run in orphans["runs"]]),
    ):
        if names:
            console.print(Text(text).append(_some(names), "yellow"))


def _run(run: dict[str, Any]) -> Text:
    times = "".join(f"  {text}" for text in times_of(run) if text)
    return Text.assemble((run["job"]["name"], "bold"), times, (f"  {run['runId']}", "dim"))


def _seconds(seconds: int) -> str:
    return duration_of(seconds * 1_000)


def _some(names: list[str]) -> str:
    names = list(dict.fromkeys(names))
    rest = f" and {len(names) - _SHOWN} more (--json)" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + rest


def print_aliases(answer: dict[str, Any]) -> None:
    """One pair of names a line, with the day since when they are joined by hand."""
    console = new_console()
    for each in answer["items"]:
        pair = Text(" = ").join(_dataset({**each[key], "versions": ()}) for key in ("one", "other"))
        console.print(pair.append(f"  since {each['since'][:10]}", "dim"))
    if not answer["items"]:
        console.print("No names are joined by hand.")


def _dataset(told: dict[str, Any]) -> Text:
    text = Text(told["name"], "cyan").append(f"  ({told['namespace']})", "dim")
    versions = ", ".join(told["versions"])
    return text.append(f"  version {versions}" if versions else "", "dim")
