"""Answers about trust as text for people: where data comes from and what became of it."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from throughline.cli.render import STYLES, new_console, times_of


def print_provenance(answer: dict[str, Any]) -> None:
    """Each run with its code, what it read and what it wrote; then where it all began."""
    console = new_console()
    for each in answer["runs"]:
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
    console.print(Text("Sources, which no run is known to have written:", "bold"))
    for dataset in answer["sources"]:
        console.print(Text.assemble("  ", _dataset(dataset)))
    if not answer["sources"]:
        console.print("  none")


def _dataset(told: dict[str, Any]) -> Text:
    text = Text(told["name"], "cyan").append(f"  ({told['namespace']})", "dim")
    versions = ", ".join(told["versions"])
    return text.append(f"  version {versions}" if versions else "", "dim")
