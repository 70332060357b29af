"""Print runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from headwater.console.render import age_of, job_text, moment_of, print_table, print_tree
from headwater.text import duration_of

if TYPE_CHECKING:
    from headwater.query.models import Page
    from headwater.runs.models import RunInfo, RunSummary, RunTree

STYLES = {
    "COMPLETED": "green",
    "FAILED": "red",
    "ABORTED": "red",
    "LOST": "red",
    "RUNNING": "yellow",
}

_MAX_ERROR = 240  # characters of an error


def print_runs(answer: Page[RunInfo]) -> None:
    """Print one run per line, in columns, and its error on a line of its own."""
    print_run_list(answer["items"], empty="No matching runs.")


def print_run_list(runs: Iterable[RunInfo], *, empty: str = "") -> None:
    """Print one run per line; long values come last."""
    print_table(map(_row, runs), lead=3, empty=empty)


def _row(run: RunInfo) -> Sequence[RenderableType]:
    """Return a run as a row: start, state, duration, and its job with parameters and error."""
    start, duration = times_of(run)
    line = Text.assemble((run["runId"], "dim"), "  ", job_text(run["job"]))
    return (
        Text(start, justify="right"),
        state_text(run),
        Text(duration, justify="right"),
        _with_error(run, line.append_text(_parameters(run))),
    )


def print_runtree(answer: RunTree) -> None:
    """Print one run per line, below its parent."""
    print_tree(answer, lambda run: run["children"], _label)


def _label(run: RunTree) -> RenderableType:
    line = Text.assemble(job_text(run["job"]), run_text(run), (f"  {run['runId']}", "dim"))
    line.append_text(_parameters(run)).append("  …" if run["hasMore"] else "", "dim")
    return _with_error(run, line)


def run_text(run: RunSummary) -> Text:
    """Return the state, start and duration of a run."""
    times = "".join(f"  {time}" for time in times_of(run) if time)
    return Text.assemble("  ", state_text(run), times)


def state_text(run: RunSummary) -> Text:
    """Return the state of a run; for a running stream, also the age of its last event."""
    if last_event_at := run.get("lastEventAt"):
        return Text(f"Streaming, last event {age_of(last_event_at)} ago", "green")
    return Text(run["state"], STYLES.get(run["state"], ""))


def _parameters(run: RunInfo) -> Text:
    """Return the orchestrator's id of a run and its parameters that are not empty."""
    text = Text(f"  {run['ownId']}" if run["ownId"] else "", "dim")
    for name, value in run["parameters"].items():
        if value not in (None, "", [], {}):
            text.append(f"  {name}=", "dim").append(str(value))
    return text


def _with_error(run: RunInfo, line: Text) -> RenderableType:
    """Return a line, and below it the first line of the run's error that is not blank.

    The middle of a long line is left out, because the reason is often at its end.

    The result is the line alone if the run has no error.
    """
    lines = [text.strip() for text in (run["error"] or "").splitlines() if text.strip()]
    if not lines:
        return line
    half = _MAX_ERROR // 2
    first = lines[0] if len(lines[0]) <= _MAX_ERROR else f"{lines[0][:half]} … {lines[0][-half:]}"
    return Group(line, Text(f"  {first}", "red"))


def times_of(run: RunSummary) -> tuple[str, str]:
    """Return the start and the duration of a run; empty if unknown."""
    started = moment_of(run["startedAt"]) if run["startedAt"] else ""
    duration = run["durationMs"]
    return started, "" if duration is None else duration_of(duration)
