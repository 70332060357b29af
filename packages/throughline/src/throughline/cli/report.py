"""Print answers about trust: provenance, history, tags, gate, contract, health and aliases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, get_args

from rich.console import Console
from rich.text import Text

from throughline.console.render import (
    MARKS,
    STYLES,
    dataset_text,
    localized,
    moment_of,
    new_console,
    run_text,
    times_of,
)
from throughline.console.words import counted, duration_of

if TYPE_CHECKING:
    from throughline.aliases.models import AliasPair
    from throughline.changes.models import (
        CheckedEntry,
        HistoryAnswer,
        HistoryEntry,
        RanEntry,
        WrittenEntry,
    )
    from throughline.datasets.models import SchemaChange
    from throughline.lineage.models import DatasetVersions, ProvenanceAnswer
    from throughline.query.models import DatasetTag, FieldRef, Json, Page
    from throughline.runs.models import RunSummary
    from throughline.trust.check_command import CheckAnswer
    from throughline.trust.models import CompletenessAnswer, GateAnswer, HealthAnswer

_MESSAGE = 200  # characters of an error
_SHOWN = 5  # names in a line
_Measure = Literal["inputs", "outputs", "columns", "code", "ends"]
_MEASURES: tuple[_Measure, ...] = get_args(_Measure)


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


def print_drift(answer: Page[SchemaChange]) -> None:
    """Print one schema change per line: + added, - removed, ~ another type."""
    console = new_console()
    for change in answer["items"]:
        console.print(_time(change["at"]) + Text(change["name"], "cyan") + _fields(change))
    if not answer["items"]:
        console.print("No schema changes.")


def print_history(answer: HistoryAnswer) -> None:
    """Print one entry per line, newest first."""
    console = new_console()
    for entry in answer["items"]:
        console.print(_time(entry["at"]) + _entry(entry))
    if not answer["items"]:
        console.print("No history reported.")


def _entry(entry: HistoryEntry) -> Text:
    if entry["done"] == "wrote":
        return _written(entry)
    if entry["done"] == "checked":
        return _checked(entry)
    if entry["done"] == "schema":
        return Text("schema").append_text(_fields(entry))
    return _ran(entry)


def _written(entry: WrittenEntry) -> Text:
    text = Text(f"version {entry['version']}", "cyan")
    text.append(f"  {counted(entry['rows'], 'row')}" if entry["rows"] is not None else "")
    return text.append_text(_by(entry["run"]))


def _checked(entry: CheckedEntry) -> Text:
    failed = [check for check in entry["assertions"] if check.get("success") is False]
    text = Text("checked").append_text(_failed_checks(failed))
    passed = len(entry["assertions"]) - len(failed)
    text.append(f"  {passed} passed" if passed else "", "green")
    rows = entry["metrics"].get("rowCount")
    text.append(f"  {counted(rows, 'row')}" if rows is not None else "")
    return text.append_text(_by(entry["run"]))


def _ran(entry: RanEntry) -> Text:
    run = entry["run"]
    text = Text(f"{run['state']:9}", STYLES.get(run["state"], ""))
    text.append(f"  {times_of(run)[1]}").append(f"  {run['runId']}", "dim")
    changed = ", ".join(entry["changed"])
    return text.append(f"  changed: {changed}" if changed else "", "yellow")


def _fields(change: SchemaChange) -> Text:
    text = Text()
    for mark, fields in (("+", change["added"]), ("-", change["removed"])):
        text.append("".join(f"  {mark}{field['name']}" for field in fields), MARKS[mark])
    for field in change["changed"]:
        text.append(f"  ~{field['name']} {field['from']} → {field['to']}", MARKS["~"])
    return text.append(f"  by {change['job']['name']}" if change["job"] else "", "dim")


def _failed_checks(assertions: Sequence[Json]) -> Text:
    text = Text(style="red")
    for check in assertions:
        column = f" of {check['column']}" if check.get("column") else ""
        text.append(f"  {check.get('name') or check.get('assertion')}{column} failed")
    return text


def _time(at: str | None) -> Text:
    return Text(f"{moment_of(at) if at else 'unknown'}  ", "dim")


def _by(run: RunSummary | None) -> Text:
    return Text(f"  by {run['job']['name']} {run['runId']}" if run else "", "dim")


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


def print_gate(answer: GateAnswer) -> None:
    """Print whether each dataset passed, and the rules that it violates with their places."""
    console = new_console()
    for dataset in answer["datasets"]:
        result, style = ("PASSED", "green") if dataset["passed"] else ("FAILED", "red")
        console.print(Text.assemble((result, style), f"  {dataset['id'].removeprefix('dataset:')}"))
        for violation in dataset["violations"]:
            run = f"  {violation['runId']}" if violation["runId"] else ""
            rule = (f"  {violation['rule']:14}  ", "yellow")
            console.print(Text.assemble(rule, localized(violation["message"]), (run, "dim")))


def print_check(answer: CheckAnswer) -> None:
    """Print one difference per line: + captured but not declared, - declared but not captured."""
    console = new_console()
    for difference in answer["differences"]:
        mark = "+" if difference["kind"] == "unexpected" else "-"
        job = "" if difference["what"] == "job" else f"{difference['job']}  "
        text = f"{mark} {difference['kind']:10}  {difference['what']:6}  {job}{difference['name']}"
        console.print(Text(text, MARKS[mark]))
    if answer["passed"]:
        console.print("Lineage matches the contract.")


def print_health(answer: HealthAnswer) -> None:
    """Print one problem per line, then the gaps of the lineage."""
    console = new_console()
    counts = answer["counts"]
    size = f"{counted(counts['jobs'], 'job')}, {counted(counts['runs'], 'run')}"
    size += f", {counted(counts['datasets'], 'dataset')}"
    result, style = ("No problems", "green") if answer["isHealthy"] else ("Problems found", "red")
    console.print(Text.assemble((result, style), f" in {size}."))
    for run in answer["failed"]:
        console.print(Text.assemble((f"{run['state']:9}", "red"), _run(run)))
        for cause in run["causes"]:
            line = Text(f"{'':9}by {cause['job']['name']}")
            message = " ".join((cause["message"] or "").split())[:_MESSAGE]
            console.print(line.append(f"  {message}" if message else "", "red"))
    for lost in answer["lost"]:
        console.print(Text.assemble(("LOST     ", "red"), _run(lost)))
    for late in answer["late"] + answer["stopped"]:
        mark = ("stopped  ", "dim") if late["isStopped"] else ("LATE     ", "red")
        due = f"  due {moment_of(late['dueAt'])}, {_seconds(late['lateSeconds'])} ago"
        every = f", runs every {_seconds(late['everySeconds'])}"
        console.print(Text.assemble(mark, (late["job"]["name"], "bold"), due, every))
    for check in answer["quality"]:
        name = (check["dataset"].removeprefix("dataset:"), "cyan")
        checks = _failed_checks(check["assertions"])
        console.print(Text.assemble(("CHECK    ", "red"), name, checks))
    _print_gaps(console, answer["completeness"])


def _print_gaps(console: Console, completeness: CompletenessAnswer) -> None:
    for key in _MEASURES:
        measure = completeness[key]
        if measure["lost"]:
            runs = counted(measure["runs"], "run")
            line = Text(f"{key:9}{measure['share'] or 0:.0%} of {runs}; missing: ")
            names = [job["job"]["name"] for job in measure["lost"]]
            console.print(line.append(_shortened(names), "yellow"))
    orphans = completeness["orphans"]
    for text, names in (
        ("Jobs without datasets: ", [job["name"] for job in orphans["jobs"]]),
        ("Datasets without jobs: ", [id_.split(":", 1)[1] for id_ in orphans["datasets"]]),
        ("Parent runs that sent no events: ", [run["job"]["name"] for run in orphans["runs"]]),
    ):
        if names:
            console.print(Text(text).append(_shortened(names), "yellow"))


def _run(run: RunSummary) -> Text:
    times = "".join(f"  {time}" for time in times_of(run) if time)
    return Text.assemble((run["job"]["name"], "bold"), times, (f"  {run['runId']}", "dim"))


def _seconds(seconds: int) -> str:
    return duration_of(seconds * 1_000)


def _shortened(names: Sequence[str]) -> str:
    names = list(dict.fromkeys(names))
    rest = f" and {len(names) - _SHOWN} more (--json)" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + rest


def print_aliases(answer: Page[AliasPair]) -> None:
    """Print one pair of joined names per line, with the day on which they were joined."""
    console = new_console()
    for pair in answer["items"]:
        names = (dataset_text(name["name"], name) for name in (pair["one"], pair["other"]))
        since = (pair["since"] or "unknown")[:10]
        console.print(Text(" = ").join(names).append(f"  since {since}", "dim"))
    if not answer["items"]:
        console.print("No manual aliases.")


def _versions(dataset: DatasetVersions) -> Text:
    versions = ", ".join(dataset["versions"])
    text = dataset_text(dataset["name"], dataset)
    return text.append(f"  version {versions}" if versions else "", "dim")
