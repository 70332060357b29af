"""Print versions and incidents."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.text import Text

from headwater.console.render import dataset_text, job_text, new_console, print_table
from headwater.runs.printing import run_text
from headwater.text import counted

if TYPE_CHECKING:
    from headwater.plugins.incidents import models
    from headwater.query.models import Name, Page

_BY = {"version": "", "time": "  by time"}
_CLEAN = {True: "Clean", False: "Possibly clean (not proven by reported versions)"}
_MOST_NAMES = 5


def print_version(answer: models.VersionAnswer) -> None:
    """Print the writers, readers and affected nodes of a version, and what is unknown."""
    console = new_console()
    console.print(Text.assemble(dataset_text(answer), f"  version {answer['version']}"))
    if taint := answer["taint"]:
        console.print(Text(f"recalled since {taint['at']}: {taint['reason']}", "red"))
    _print_writers(answer["writers"])
    _print_readers(answer["readers"], answer["readerCount"])
    title = f"Contained in or used by {counted(answer['affectedCount'], 'node')}:"
    _print_affected(title, answer["affected"], answer["affectedCount"])
    print_unknown(answer["unknown"])


def print_incident(answer: models.IncidentAnswer) -> None:
    """Print the bad versions, what changed, who used them, what is clean, and what to run."""
    console = new_console()
    for bad in answer["versions"]:
        checks = f"  failed {', '.join(bad['checks'])}" if bad["checks"] else ""
        line = Text.assemble(dataset_text(bad), f"  version {bad['version']}", _BY[bad["by"]])
        console.print(line.append(checks, "red"))
        _print_writers(bad["writers"])
    for change in answer["changes"]:
        _print_change(change)
    _print_readers(answer["readers"], answer["readerCount"])
    affected = counted(answer["affectedCount"], "affected node")
    title = f"{affected} (* contains or uses the data now, or may do so):"
    _print_affected(title, answer["affected"], answer["affectedCount"])
    for is_proven, title in _CLEAN.items():
        clean = [item for item in answer["clean"] if item["isProven"] is is_proven]
        _print_list(title, list(map(dataset_text, clean)))
    _print_more(answer["cleanCount"] - len(answer["clean"]))
    owners = [
        Text.assemble((owner["owner"], "yellow"), "  ", ", ".join(map(_name, owner["nodes"])))
        for owner in answer["owners"]
    ]
    _print_list("Owners to notify", owners)
    _print_list("Run again, in this order", [_rerun(rerun) for rerun in answer["reruns"]])
    print_unknown(answer["unknown"])


def _print_list(title: str, rows: list[Text]) -> None:
    """Print rows under a title, or nothing if there are none."""
    if rows:
        console = new_console()
        console.print()
        console.print(f"{title}:", style="bold")
        print_table((Text(""), row) for row in rows)


def _rerun(rerun: models.Rerun) -> Text:
    """Return the command of a pipeline or, if unknown, the name of its job."""
    if rerun["command"]:
        return Text(rerun["command"])
    return job_text(rerun["job"]).append("  command unknown", "dim")


def _name(node: str) -> str:
    """Return the name in the id of a node, without type and most of the namespace."""
    return node.rpartition(":")[2]


def _print_change(change: models.VersionChange) -> None:
    """Print what differs between the run that wrote a bad version and the previous one."""
    console = new_console()
    console.print()
    title = f"Compared with version {change['previous']} of {change['name']}:"
    console.print(title, style="bold")
    rows = []
    if code := change["code"]:
        known = [commit or "not reported" for commit in (code["before"], code["after"])]
        rows.append((Text(""), Text("code", "dim"), Text(" → ".join(known), "yellow")))
    for used in change["inputs"]:
        before, after = (", ".join(used[side]) or "unknown" for side in ("before", "after"))
        text = dataset_text(used).append(f"  {before} → {after}", "dim")
        rows.append((Text(""), Text("input", "dim"), text))
    print_table(rows, empty="  No reported change of code or inputs.")


def _print_writers(writers: list[models.VersionWriter]) -> None:
    """Print the runs that wrote a version, each with its code and inputs."""
    console = new_console()
    for writer in writers:
        run = writer["run"]
        line = (
            Text("written by ", "dim").append_text(job_text(run["job"])).append_text(run_text(run))
        )
        console.print(line.append(f"  {run['runId']}", "dim"))
        code = " ".join(str(value) for value in writer["code"].values() if value)
        rows = [(Text(""), Text("code", "dim"), Text(code, "yellow"))] if code else []
        rows += [(Text(""), Text("read", "dim"), _used(used)) for used in writer["inputs"]]
        if rows:
            print_table(rows)


def _print_readers(readers: list[models.VersionReader], count: int) -> None:
    """Print the runs that read a version; `count` is their number before the limit."""
    console = new_console()
    console.print()
    if not readers:
        console.print(Text.assemble(("Read by: ", "bold"), "unknown; no run is known"))
        return
    console.print(f"Read by {counted(count, 'run')}:", style="bold")
    rows = []
    for reader in readers:
        line = job_text(reader["run"]["job"]).append_text(run_text(reader["run"]))
        line.append(f"  {reader['run']['runId']}{_BY[reader['by']]}", "dim")
        wrote = ", ".join(f"{o['name']}@{' '.join(o['versions'])}" for o in reader["outputs"])
        rows.append((Text(""), line, Text(f"wrote {wrote}" if wrote else "", "dim")))
    print_table(rows)
    _print_more(count - len(rows))


def _print_affected(title: str, nodes: list[models.NodeWithVersion], count: int) -> None:
    """Print the affected nodes under a title; `count` is their number before the limit."""
    if not nodes:
        return
    console = new_console()
    console.print()
    console.print(title, style="bold")
    print_table((Text(" *" if node["isCurrent"] else "  "), *_affected(node)) for node in nodes)
    _print_more(count - len(nodes))


def _affected(node: models.NodeWithVersion) -> tuple[Text, Text]:
    """Return a node and its details. Current nodes get a star from the caller."""
    text = job_text(node) if node["type"] == "job" else dataset_text(node)
    parts = [
        counted(node["versionCount"], "version") if node["versionCount"] else "",
        _newest(node),
        _BY[node["by"]].strip(),
    ]
    details = Text("  ".join(part for part in parts if part), "dim")
    owners = f"  owned by {', '.join(node['owners'])}" if node["owners"] else ""
    return text, details.append(owners, "yellow")


def _newest(node: models.NodeWithVersion) -> str:
    """Return the newest version with the data; without one, the newest run.

    A run that did not complete has its state: it is not known to have written a version.
    """
    if node["versions"]:
        return f"newest {node['versions'][0]}"
    for run in node["runs"][:1]:
        state = "" if run["state"] == "COMPLETED" else f" ({run['state']})"
        return f"newest run {run['runId']}{state}"
    return ""


def print_taints(answer: Page[models.TaintedVersion]) -> None:
    """Print one recalled version per line, with the time and the reason."""
    rows = (
        (
            dataset_text(item).append(f"  version {item['version']}"),
            Text(f"since {(item['at'] or 'unknown')[:19]}", "dim"),
            Text(item["reason"], "red"),
        )
        for item in answer["items"]
    )
    print_table(rows, empty="No version is recalled.")


def print_unknown(gaps: Iterable[models.VersionGap]) -> None:
    """Print why an answer may be incomplete, with the jobs that did not report."""
    rows = [(Text(""), Text(gap["message"]), Text(_names(gap["jobs"]), "dim")) for gap in gaps]
    if rows:
        console = new_console()
        console.print()
        console.print("Unknown:", style="bold")
        print_table(rows)


def _names(jobs: list[Name]) -> str:
    """Return the names of jobs, cut to five."""
    names = ", ".join(job["name"] for job in jobs[:_MOST_NAMES])
    return names + (f" and {len(jobs) - _MOST_NAMES} more" if len(jobs) > _MOST_NAMES else "")


def _used(used: models.UsedVersions) -> Text:
    """Return an input with its versions and, if so, that they are derived from times."""
    versions = ", ".join(used["versions"]) or "unknown"
    return dataset_text(used).append(f"  version {versions}{_BY[used['by']]}", "dim")


def _print_more(count: int) -> None:
    """Print how many rows the limit left out, if any."""
    if count > 0:
        new_console().print(Text(f"  and {count:,} more: raise --limit", "dim"))
