"""Print versions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.text import Text

from headwater.console.render import dataset_text, job_text, new_console, print_table
from headwater.runs.printing import run_text
from headwater.text import counted

if TYPE_CHECKING:
    from headwater.incidents import models
    from headwater.query.models import Name

_BY = {"version": "", "time": "  by time"}
_MOST_NAMES = 5


def print_version(answer: models.VersionAnswer) -> None:
    """Print the writers, readers and affected nodes of a version, and what is unknown."""
    console = new_console()
    console.print(Text.assemble(dataset_text(answer), f"  version {answer['version']}"))
    for writer in answer["writers"]:
        run = writer["run"]
        line = (
            Text("written by ", "dim").append_text(job_text(run["job"])).append_text(run_text(run))
        )
        console.print(line.append(f"  {run['runId']}", "dim"))
        code = " ".join(str(value) for value in writer["code"].values() if value)
        rows = [(Text(""), Text("code", "dim"), Text(code, "yellow"))] if code else []
        rows += [(Text(""), Text("read", "dim"), _used(used)) for used in writer["inputs"]]
        print_table(rows)
    _print_readers(answer)
    _print_affected(answer)
    print_unknown(answer["unknown"])


def _print_readers(answer: models.VersionAnswer) -> None:
    console = new_console()
    console.print()
    if not answer["readers"]:
        console.print(Text.assemble(("Read by: ", "bold"), "unknown; no run is known"))
        return
    console.print(f"Read by {counted(answer['readerCount'], 'run')}:", style="bold")
    rows = []
    for reader in answer["readers"]:
        line = job_text(reader["run"]["job"]).append_text(run_text(reader["run"]))
        line.append(f"  {reader['run']['runId']}{_BY[reader['by']]}", "dim")
        wrote = ", ".join(f"{o['name']}@{' '.join(o['versions'])}" for o in reader["outputs"])
        rows.append((Text(""), line, Text(f"wrote {wrote}" if wrote else "", "dim")))
    print_table(rows)
    _print_more(answer["readerCount"] - len(rows))


def _print_affected(answer: models.VersionAnswer) -> None:
    if not answer["affected"]:
        return
    console = new_console()
    console.print()
    title = f"Contained in or used by {counted(answer['affectedCount'], 'node')}:"
    console.print(title, style="bold")
    rows = [(Text(""), *_affected(node)) for node in answer["affected"]]
    print_table(rows)
    _print_more(answer["affectedCount"] - len(rows))


def _affected(node: models.AffectedNode) -> tuple[Text, Text]:
    text = job_text(node) if node["type"] == "job" else dataset_text(node)
    newest = node["versions"][:1] + [run["runId"] for run in node["runs"][:1]]
    parts = [
        counted(node["versionCount"], "version") if node["versionCount"] else "",
        f"newest {newest[0]}" if newest else "",
        _BY[node["by"]].strip(),
    ]
    details = Text("  ".join(part for part in parts if part), "dim")
    owners = f"  owned by {', '.join(node['owners'])}" if node["owners"] else ""
    return text, details.append(owners, "yellow")


def print_unknown(gaps: Iterable[models.VersionGap]) -> None:
    """Print why an answer may be incomplete, with the jobs that did not report."""
    rows = [(Text(""), Text(gap["message"]), Text(_names(gap["jobs"]), "dim")) for gap in gaps]
    if rows:
        console = new_console()
        console.print()
        console.print("Unknown:", style="bold")
        print_table(rows)


def _names(jobs: list[Name]) -> str:
    names = ", ".join(job["name"] for job in jobs[:_MOST_NAMES])
    return names + (f" and {len(jobs) - _MOST_NAMES} more" if len(jobs) > _MOST_NAMES else "")


def _used(used: models.UsedVersions) -> Text:
    versions = ", ".join(used["versions"]) or "unknown"
    return dataset_text(used).append(f"  version {versions}{_BY[used['by']]}", "dim")


def _print_more(count: int) -> None:
    if count > 0:
        new_console().print(Text(f"  and {count:,} more: raise --limit", "dim"))
