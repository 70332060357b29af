"""Facts that the producers did not report about the runs upstream of a dataset."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.lineage.models import DeletedSources
from headwater.plugins.provenance import models
from headwater.projection import RunState
from headwater.text import counted


def unknown_facts(
    entries: Sequence[models.ProvenanceRun], deleted: DeletedSources | None, unread: int
) -> list[str]:
    """Return a sentence for each kind of fact that was not reported; empty if all were.

    `entries` are the runs and declarations upstream. `deleted` is None if no sources were deleted.
    `unread` is the number of inputs whose version the run that read them did not report.
    """
    runs = [run for entry in entries if (run := entry["run"])]
    ids = {run["runId"] for run in runs}
    declared = len(entries) - len(runs)
    no_code = sum(1 for e in entries if e["run"] and not e["code"].get("version"))
    changed = sum(1 for e in entries if str(e["code"].get("version")).endswith("-dirty"))
    by_run = sum(1 for e in entries for item in e["outputs"] if ids.intersection(item["versions"]))
    is_open = sum(1 for run in runs if run["state"] != RunState.COMPLETED)
    sentences = {
        "No known run wrote it, so what it comes from is unknown.": not entries,
        f"{counted(declared, 'job')} declared inputs and outputs, but reported no run.": declared,
        f"The commit of {counted(no_code, 'run')} was not reported.": no_code,
        f"{counted(changed, 'run')} had uncommitted changes of the code.": changed,
        f"The version of {counted(unread, 'input')} was not reported by the run that read it; "
        "if shown, it is the version that was written before.": unread,
        f"The version of {counted(by_run, 'output')} was not reported; it is the id of the run.": (
            by_run
        ),
        f"{counted(is_open, 'run')} did not complete, or the end was not reported.": is_open,
    }
    found = [sentence for sentence, applies in sentences.items() if applies]
    if deleted:
        before, at = deleted["before"], deleted["deletedAt"]
        found.insert(0, f"Older sources were deleted at {at}: runs before {before} may be missing.")
    return found
