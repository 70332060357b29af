"""Print runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from throughline.console.render import moment_of, new_console, print_line, walk
from throughline.console.words import duration_of

if TYPE_CHECKING:
    from throughline.query.models import Page
    from throughline.runs.models import RunInfo, RunSummary, RunTree


def print_runs(answer: Page[RunInfo]) -> None:
    """Print one run per line, in columns, and its error on a line of its own."""
    print_run_list(answer["items"])
    if not answer["items"]:
        print_line("No matching runs.")


def print_run_list(runs: Sequence[RunInfo]) -> None:
    """Print one run per line; long values come last."""
    console = new_console()
    times = [times_of(run) for run in runs]
    start_width = max((len(start) for start, _ in times), default=0)
    duration_width = max((len(duration) for _, duration in times), default=0)
    for run, (start, duration) in zip(runs, times, strict=True):
        line = Text.assemble(
            start.rjust(start_width),
            (f"  {run['state']:9}", STYLES.get(run["state"], "")),
            f"  {duration:>{duration_width}}",
            (f"  {run['runId']}", "dim"),
            (f"  {run['job']['name']}", "bold"),
            _parameters(run),
        )
        console.print(line)
        if error := _error(run):
            console.print(Text.assemble(" " * (start_width + 2), error))


def print_runtree(answer: RunTree) -> None:
    """Print one run per line, below its parent."""
    console = new_console()
    for run, lead, below in walk(answer, lambda run: run["children"]):
        line = Text.assemble((lead, "dim"), (run["job"]["name"], "bold"), run_text(run))
        line.append(f"  {run['runId']}", "dim").append_text(_parameters(run))
        console.print(line.append("  …" if run["hasMore"] else "", "dim"))
        if error := _error(run):
            branch = "│  " if run["children"] else "   "
            console.print(Text.assemble((below + branch, "dim"), error))


def run_text(run: RunSummary, *, has_times: bool = True) -> Text:
    """Return the state, start and duration of a run."""
    times = "".join(f"  {time}" for time in times_of(run) if time) if has_times else ""
    return Text.assemble((f"  {run['state']}", STYLES.get(run["state"], "")), times)


def _parameters(run: RunInfo) -> Text:
    """Return the orchestrator's id of a run and its parameters that are not empty."""
    text = Text(f"  {run['ownId']}" if run["ownId"] else "", "dim")
    for name, value in run["parameters"].items():
        if value not in (None, "", [], {}):
            text.append(f"  {name}=", "dim").append(str(value))
    return text


def _error(run: RunInfo) -> Text | None:
    """Return the first line of the error of a run that is not blank."""
    lines = [line.strip() for line in (run["error"] or "").splitlines() if line.strip()]
    return Text(lines[0], "red") if lines else None


def times_of(run: RunSummary) -> tuple[str, str]:
    """Return the start and the duration of a run; empty if unknown."""
    started = moment_of(run["startedAt"]) if run["startedAt"] else ""
    duration = run["durationMs"]
    return started, "" if duration is None else duration_of(duration)


STYLES = {
    "COMPLETED": "green",
    "FAILED": "red",
    "ABORTED": "red",
    "LOST": "red",
    "RUNNING": "yellow",
}
