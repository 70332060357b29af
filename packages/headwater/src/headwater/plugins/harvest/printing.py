"""Print the summary of a harvest."""

from __future__ import annotations

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from headwater.console.render import new_console, print_line
from headwater.events import from_micros
from headwater.plugins.harvest._run import JobSummary, Summary
from headwater.text import counted, escaped

_ROWS, _NAMES = 40, 3
_PIPE_WIDTH = 1_000  # columns


def print_summary(summary: Summary) -> None:
    """Print a table of the jobs, the totals and the reasons of rejected lines.

    At most 40 jobs are listed, those with most new events first.
    """
    jobs = sorted(summary.jobs.items(), key=lambda item: (-item[1].new, -item[1].events, item[0]))
    if jobs:
        table = Table(box=box.SIMPLE, padding=(0, 1, 0, 0), pad_edge=False)
        table.add_column("job", overflow="fold", ratio=2)
        table.add_column("runs", justify="right")
        for side in ("inputs", "outputs"):
            table.add_column(side, overflow="fold", ratio=1)
        table.add_column("when", no_wrap=True)
        for number in ("events", "new"):
            table.add_column(number, justify="right")
        for (_, name), job in jobs[:_ROWS]:
            table.add_row(*(Group(*map(Text, lines)) for lines in _cells(name, job)))
        console = new_console()
        if not console.is_terminal:
            console.width = _PIPE_WIDTH
        console.print(table)
    if len(jobs) > _ROWS:
        print_line(f"and {len(jobs) - _ROWS} more jobs")
    events = sum(job.events for _, job in jobs)
    print_line(f"events {events}, new {summary.new}, rejected {summary.refused}")
    if summary.older:
        print_line(
            f"{counted(summary.older, 'event')} before --since skipped, also in later harvests:"
            " --from-start reads everything"
        )
    for reason in summary.reasons:
        print_line(f"  {escaped(reason)}", is_error=True)


def _cells(name: str, job: JobSummary) -> list[list[str]]:
    """Return the lines of each cell of a job's row."""
    return [
        [name or "(datasets only)"],
        [str(len(job.runs))],
        _names(job.inputs),
        _names(job.outputs),
        [f"{from_micros(at).astimezone():%Y-%m-%d %H:%M}" for at in (job.first, job.last)],
        [str(job.events)],
        [str(job.new)],
    ]


def _names(names: set[str]) -> list[str]:
    """Return the last parts of the first names, and the number of further ones."""
    shown = sorted(name.rstrip("/").rpartition("/")[2] for name in names)
    more = [f"and {len(shown) - _NAMES} more"] if len(shown) > _NAMES else []
    return shown[:_NAMES] + more
