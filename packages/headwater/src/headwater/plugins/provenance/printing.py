"""Print provenance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console, RenderableType
from rich.text import Text

from headwater.console.render import dataset_text, job_text, new_console, print_table
from headwater.datasets.printing import removal_mark
from headwater.runs.printing import run_text
from headwater.text import counted

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
    personal = answer["personalData"]
    columns = f": {', '.join(personal['columns'])}" if personal["columns"] else ""
    style = {"contained": "red", "possible": "red", "untagged": "dim"}.get(
        personal["state"], "yellow"
    )
    console.print(f"Personal data: {personal['message']}{columns}", style=style, soft_wrap=True)
    for sentence in answer["unknown"]:
        console.print(f"Unknown: {sentence}", style="yellow", soft_wrap=True)


def print_bundle(statement: models.Statement, bundle: Path) -> None:
    """Print which file was written and what is unknown."""
    console = new_console()
    console.print(f"Wrote {bundle}: {_summary(statement)}", soft_wrap=True)
    _print_unknown(console, statement)


def print_verified(
    statement: models.Statement, key_id: str, files: Mapping[str, str | None]
) -> None:
    """Print what a valid signature covers, and the subject of each file."""
    console = new_console()
    details = statement["predicate"]["runDetails"]["metadata"]
    rows = [("signature", Text(f"valid, by key {key_id[:16]}", "green"))]
    for subject in statement["subject"]:
        digest = ", ".join(f"{kind} {value}" for kind, value in subject["digest"].items())
        rows.append(("about", Text(subject["name"]).append(f"  {digest}", "dim")))
    ended = Text(details["invocationId"]).append(f"  {details['finishedOn'] or 'no end'}", "dim")
    rows += [("written by run", ended), ("upstream", Text(_summary(statement)))]
    for file, name in files.items():
        text = Text(f"is {name}", "green") if name else Text("is not in the statement", "red")
        rows.append(("file", Text(f"{file} ").append_text(text)))
    print_table((Text(label, "dim"), cell) for label, cell in rows)
    _print_unknown(console, statement)


def _summary(statement: models.Statement) -> str:
    """Return the numbers of runs, versions and checks in a statement."""
    definition = statement["predicate"]["buildDefinition"]
    lineage = definition["internalParameters"]
    failed = sum(len(check["failed"]) for check in lineage["checks"])
    passed = sum(len(check["passed"]) for check in lineage["checks"])
    return (
        f"{counted(len(lineage['runs']), 'run')}, "
        f"{counted(len(definition['resolvedDependencies']), 'version')} of inputs and code, "
        f"{counted(passed, 'passed check')}, {counted(failed, 'failed check')}"
    )


def _print_unknown(console: Console, statement: models.Statement) -> None:
    """Print what the producers did not report."""
    unknown = statement["predicate"]["buildDefinition"]["internalParameters"]["unknown"]
    for sentence in unknown:
        console.print(f"Unknown: {sentence}", style="yellow", soft_wrap=True)


def _print_indented(rows: Iterable[tuple[str, RenderableType]]) -> None:
    """Print rows below a heading; a label is the first column unless it is empty."""
    print_table(("", Text(label, "dim"), cell) if label else ("", cell) for label, cell in rows)


def _versions(dataset: models.DatasetVersions) -> Text:
    """Return a dataset with its versions."""
    versions = ", ".join(dataset["versions"])
    return dataset_text(dataset).append(f"  version {versions}" if versions else "", "dim")


def _with_sources(output: models.ProvenanceOutput) -> Text:
    """Return an output with its versions and, unless all inputs feed it, those that do."""
    sources = output["sources"]
    names = ", ".join(source["name"] for source in sources or ()) or "no input"
    return _versions(output).append("" if sources is None else f"  from {names}", "dim")
