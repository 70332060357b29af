"""Print health, gates, contracts and findings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, get_args

from rich.console import Console
from rich.text import Text

from throughline.changes.printing import _failed_checks
from throughline.console.render import MARKS, localized, moment_of, new_console
from throughline.console.text import counted, duration_of
from throughline.runs.printing import times_of

if TYPE_CHECKING:
    from throughline.runs.models import RunSummary
    from throughline.trust.check_command import CheckAnswer
    from throughline.trust.models import CompletenessAnswer, GateAnswer, HealthAnswer


_Measure = Literal["inputs", "outputs", "columns", "code", "ends"]


_MEASURES: tuple[_Measure, ...] = get_args(_Measure)


_MESSAGE = 200  # characters of an error


_SHOWN = 5  # names in a line


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
