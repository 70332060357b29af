"""Print unused datasets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from headwater.console.render import age_of, job_title, print_line, print_table
from headwater.text import counted, duration_of

if TYPE_CHECKING:
    from headwater.plugins.unused.models import UnknownReason, UnusedAnswer, UnusedDataset

_NAMED = 3  # jobs of a reason


def print_unused(answer: UnusedAnswer) -> None:
    """Print one dataset per line: verdict, run time, last read and owners, then the reasons."""
    counts = answer["counts"]
    since = (answer["since"] or "")[:10]
    print_line(
        f"Not read since {since}: unused {counts['unused']:,}, unknown {counts['unknown']:,};"
        f" run time {duration_of(answer['runTimeMs'])}"
    )
    rows = []
    for item in answer["items"]:
        owners = ", ".join(item["owners"] or item["jobOwners"])
        rows.append(
            (
                Text(item["verdict"], "red" if item["verdict"] == "unused" else "yellow"),
                Text(item["name"], "cyan"),
                Text(f"{duration_of(item['runTimeMs'])} in {counted(item['runCount'], 'run')}"),
                Text(_last_read(item), "dim"),
                Text(owners or "no owner", "yellow" if owners else "dim"),
                Text("; ".join(map(reason_text, item["reasons"])), "dim"),
            )
        )
    print_table(rows, empty="No datasets.")


def _last_read(item: UnusedDataset) -> str:
    read = item["lastRead"]
    if read is None:
        return "never read"
    return f"read {age_of(read['at'])} ago by {job_title(read['job']['name'])}"


def reason_text(reason: UnknownReason) -> str:
    """Return a reason with the first jobs that it is about."""
    names = [job["name"] for job in reason["jobs"]]
    listed = ", ".join(names[:_NAMED]) + (" and more" if len(names) > _NAMED else "")
    return f"{reason['message']}: {listed}" if listed else reason["message"]
