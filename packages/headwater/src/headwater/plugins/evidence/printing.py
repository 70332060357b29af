"""Print the evidence of edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from headwater.console.render import (
    localized,
    new_console,
    print_table,
)
from headwater.runs.printing import run_text
from headwater.text import counted

if TYPE_CHECKING:
    from headwater.lineage.models import EdgeStatement
    from headwater.plugins.evidence.models import WhyAnswer


def print_why(answer: WhyAnswer) -> None:
    """Print the evidence of the edges through each job: a grade, its sources, and the runs."""
    console = new_console()
    for index, job in enumerate(answer["jobs"]):
        if index:
            console.print()
        name = job["job"]["name"] if job["job"] else "derived without a job"
        console.print(Text.assemble((job["grade"], "bold"), f"  {name}"))
        console.print(f"  stated by {', '.join(map(_statement, job['statedBy'])) or 'no run'}")
        if seen := job["seen"]:
            times = f"from {localized(seen['first'])} to {localized(seen['last'])}"
            console.print(f"  seen in {counted(job['runCount'], 'run')}, {times}")
        if job["missedCount"]:
            console.print(f"  not in the {counted(job['missedCount'], 'finished run')} since")
        if replaced := job["replaced"]:
            verb = "were" if replaced == "yes" else "may have been"
            console.print(
                Text(f"  the rows that it wrote {verb} replaced or removed since", "yellow")
            )
        rows = [
            (Text("", "dim"), Text.assemble(run["run"]["runId"], run_text(run["run"])),
             Text(", ".join(map(_statement, run["statedBy"])), "dim"))
            for run in job["runs"]
        ]  # fmt: skip
        print_table(rows, lead=1)


_KINDS = {
    "explicit": "explicit lineage",
    "columns": "column lineage",
    "sql": "the SQL text",
    "rename": "a rename in the SQL text",
    "datasets": "inputs and outputs",
    "declared": "an event without a run",
}


def _statement(statement: EdgeStatement) -> str:
    producer = f" of {statement['producer']}" if statement["producer"] else ""
    return _KINDS[statement["kind"]] + producer
