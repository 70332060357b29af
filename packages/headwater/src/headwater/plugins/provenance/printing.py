"""Print provenance."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from headwater.console.render import dataset_text, job_text, new_console, print_table
from headwater.datasets.printing import removal_mark
from headwater.runs.printing import run_text

if TYPE_CHECKING:
    from headwater.plugins.provenance import models

_DONE = {False: "wrote", True: "failed to write"}


def print_provenance(answer: models.ProvenanceAnswer) -> None:
    """Print the removed datasets, then each run with its code and datasets, then the sources."""
    console = new_console()
    removed = [dataset for dataset in answer["datasets"] if dataset["removal"]]
    if removed:
        console.print("Dropped, emptied or renamed since:", style="bold")
        _print_indented(
            ("", dataset_text(dataset).append(removal_mark(dataset["removal"]), "yellow"))
            for dataset in removed
        )
        console.print()
    for part in answer["runs"]:
        line = job_text(part["job"])
        if run := part["run"]:
            line.append_text(run_text(run)).append(f"  {run['runId']}", "dim")
        print_table([(line,)])
        code = " ".join(str(value) for value in part["code"].values() if value)
        rows = [("code", Text(code, "yellow"))] if code else []
        rows += [("read", _versions(dataset)) for dataset in part["inputs"]]
        rows += [(_DONE[output["hasFailed"]], _with_sources(output)) for output in part["outputs"]]
        _print_indented(rows)
        console.print()
    if not answer["runs"]:
        console.print("No run that wrote it is known.")
        return
    console.print("Sources (not written by any known run):", style="bold")
    _print_indented([("", _versions(dataset)) for dataset in answer["sources"]] or [("", "none")])
    if deleted := answer["deletedSources"]:
        date, before = deleted["deletedAt"], deleted["before"]
        console.print(f"Older sources were deleted on {date}: runs before {before} may be missing.")


def _print_indented(rows: Iterable[tuple[str, RenderableType]]) -> None:
    """Print rows below a heading; a label is the first column unless it is empty."""
    print_table(("", Text(label, "dim"), cell) if label else ("", cell) for label, cell in rows)


def _versions(dataset: models.DatasetVersions) -> Text:
    versions = ", ".join(dataset["versions"])
    return dataset_text(dataset).append(f"  version {versions}" if versions else "", "dim")


def _with_sources(output: models.ProvenanceOutput) -> Text:
    sources = output["sources"]
    names = ", ".join(source["name"] for source in sources or ()) or "no input"
    return _versions(output).append("" if sources is None else f"  from {names}", "dim")
