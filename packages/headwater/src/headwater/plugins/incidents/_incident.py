"""The query for the cause of a failed check or a bad version, its users, and what to run again.

- subject: what the user named (a check, a run or a version), with the bad versions found for it
- spread: the nodes that contain or use data of the bad versions (`_version.spread_of`)
- current: of such a node, its present contents have the data; others were written again since
- write: a run that wrote a version; several runs may write one version
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Annotated

from headwater.datasets.writes import Write, writes_of
from headwater.events import JobRef
from headwater.graph.current import generations_of
from headwater.graph.generation import Generation
from headwater.graph.generations import Generations
from headwater.graph.nodes import dataset_ref, name_of, node_id
from headwater.identity import DatasetName
from headwater.plugins.incidents import models
from headwater.plugins.incidents._clean import clean_datasets
from headwater.plugins.incidents._gaps import gaps_of
from headwater.plugins.incidents._named import Version, version_of
from headwater.plugins.incidents._readers import readers_of
from headwater.plugins.incidents._rerun import jobs_that_keep_rows, reruns
from headwater.plugins.incidents._subject import Bad, Subject, find_subject
from headwater.plugins.incidents._version import (
    Spread,
    deleted_before,
    jobs_by_time,
    reader_answer,
    spread_of,
    writers_of,
)
from headwater.projection import State
from headwater.query.parameters import Limit
from headwater.query.registry import Times, query
from headwater.runs.summary import code_of, run_line
from headwater.text import counted

_NAMED = 5  # nodes per owner in a message


@query("incident", Times.THEN, load=deleted_before)
def incident_answer(
    state: State,
    subject: Annotated[
        str,
        "A version (DATASET@VERSION), the id of a run, or a dataset or job whose check fails.",
    ],
    limit: Limit = 100,
    stored: int = 0,
) -> models.IncidentAnswer:
    """Return the cause of a failed check or bad version, who used it, and what to run again.

    For a run, these are the versions whose checks failed in it or, if none failed, the versions
    that it wrote. `limit` applies to the readers, the affected nodes and the clean datasets.
    """
    generations, found = generations_of(state), find_subject(state, subject)
    versions = [bad.version for bad in found.bad]
    spread = spread_of(generations, *versions)
    readers = [
        reader_answer(generations, named, reader)
        for named in versions
        for reader in readers_of(generations, named).found
    ]
    readers.sort(key=lambda reader: reader["run"]["startedAt"] or "", reverse=True)
    changes = [change for bad in found.bad if (change := _change(generations, bad.version))]
    clean = clean_datasets(generations, versions, spread)
    owners = _owners(state, spread)
    writes = list(writes_to_repeat(generations, versions, spread))
    again = reruns(generations, writes)
    keeping = jobs_that_keep_rows(generations, writes)
    return {
        "subject": found.id,
        "kind": found.kind,
        "message": message_of(state, found, spread, len(readers)),
        "versions": [_bad(generations, bad) for bad in found.bad],
        "changes": changes,
        "readerCount": len(readers),
        "readers": readers[:limit],
        "affectedCount": len(spread.nodes),
        "affected": [node.answer(state) for node in spread.nodes[:limit]],
        "cleanCount": len(clean),
        "clean": clean[:limit],
        "owners": [{"owner": owner, "nodes": nodes} for owner, nodes in owners.items() if owner],
        "reruns": again,
        "unknown": [
            *_gaps(generations, found, spread, stored),
            *_own_gaps(found, changes, owners.get("", []), again, keeping),
        ],
    }


def message_of(state: State, subject: Subject, spread: Spread, readers: int) -> str:
    """Return a message to owners about an incident.

    Its lines are the bad versions, the counts, and one line per owner with the affected nodes.
    `readers` is the number of runs that read the versions.
    """
    failed = list(dict.fromkeys(check for bad in subject.bad for check in bad.checks))
    names = ", ".join(f"{bad.version.name.name}@{bad.version.version}" for bad in subject.bad[:3])
    more = f" and {len(subject.bad) - 3} more" if len(subject.bad) > 3 else ""
    cause = f" failed {', '.join(failed[:3])}" if failed else " is bad"
    lines = [f"{names}{more}{cause}."]
    read = f"Read by {counted(readers, 'run')}" if readers else "No run is known to have read it"
    current = [node for node in spread.nodes if node.is_current]
    used = f"{counted(len(current), 'node')} contain or use its data now, or may do so"
    lines.append(f"{read}; {used}.")
    for owner, nodes in _owners(state, spread).items():
        shown = ", ".join(node.rpartition(":")[2] for node in nodes[:_NAMED])
        rest = f" and {len(nodes) - _NAMED} more" if len(nodes) > _NAMED else ""
        lines.append(f"{owner or 'No owner'}: {shown}{rest}")
    return "\n".join(lines)


def _bad(generations: Generations, bad: Bad) -> models.BadVersion:
    """Return a bad version as part of an answer, with its writers."""
    return {
        **dataset_ref(bad.version.name),
        "version": bad.version.version,
        "by": bad.by,
        "checks": bad.checks,
        "writers": list(writers_of(generations, bad.version)),
    }


def _change(generations: Generations, named: Version) -> models.VersionChange | None:
    """Return what differs from the previous write; None if one of the two runs is unknown.

    The previous write is the newest one of another run at or before it. Its answer has the commits
    and the versions of inputs that differ; what neither write reported is left out.
    """
    writes = sorted(writes_of(generations, named.name), key=lambda write: (write.at, write.version))
    # the first write of the version: what changed before it may be the cause
    own = next((write for write in writes if write.version == named.version), None)
    before = [write for write in writes if own and write.run is not own.run and write.at <= own.at]
    if own is None or not before:
        return None
    previous = before[-1]
    codes = {write.version: _commit(generations, write) for write in (previous, own)}
    code: models.CodeChange = {
        "before": codes[previous.version],
        "after": codes[own.version],
    }
    inputs = {write.version: _inputs(generations, named.name, write) for write in (previous, own)}
    earlier, later = inputs[previous.version], inputs[own.version]
    return {
        **dataset_ref(named.name),
        "version": named.version,
        "previous": previous.version,
        "run": run_line(generations.state, own.run),
        "previousRun": run_line(generations.state, previous.run),
        "code": None if code["before"] == code["after"] else code,
        "inputs": [
            {**dataset_ref(name), "before": earlier.get(name, []), "after": later.get(name, [])}
            for name in sorted({*earlier, *later})
            if earlier.get(name, []) != later.get(name, [])
        ],
    }


def _commit(generations: Generations, write: Write) -> str | None:
    """Return the commit of the run of a write, or of the nearest run above it with a commit."""
    lineage = generations.levels.lineage(write.run)
    return next((code.get("version") for run in lineage if (code := code_of(run))), None)


def _inputs(
    generations: Generations, name: DatasetName, write: Write
) -> dict[DatasetName, list[str]]:
    """Return the versions of the inputs of the run of a write.

    Other runs may have written the version, too; they are left out.
    """
    named = version_of(generations.state, name, write.version)
    return {
        DatasetName(used["namespace"], used["name"]): used["versions"]
        for writer in writers_of(generations, named)
        if writer["run"]["runId"] == write.run.key.run_id
        for used in writer["inputs"]
    }


def _owners(state: State, spread: Spread) -> dict[str, list[str]]:
    """Return the ids of the affected nodes by owner; "" for those without an owner.

    Owners are sorted by name; "" comes last.
    """
    found: dict[str, list[str]] = defaultdict(list)
    for node in spread.nodes:
        for owner in node.owners(state) or [""]:
            found[owner].append(node_id(node.node))
    return dict(sorted(found.items(), key=lambda item: (not item[0], item[0])))


def writes_to_repeat(
    generations: Generations, versions: Sequence[Version], spread: Spread
) -> Iterator[tuple[Generation, DatasetName]]:
    """Yield the writes of the datasets that contain the bad versions or their data now.

    A dataset that was written again without the data is left out. So are views, unless they are bad
    themselves: they show other rows once the tables upstream are written again.
    """
    for named in versions:
        # the writers of what the dataset contains now
        present = {generation.writer for generation in generations.writing(named.name)}
        yield from ((writer, named.name) for writer in named.writers if writer in present)
    for node in spread.nodes:
        if node.node.type == "dataset" and node.is_current:
            name = node.node.dataset_name
            writing = (g for g in generations.writing(name) if g in spread.walk)
            yield from ((g, name) for g in writing if name not in g.views)


def _gaps(
    generations: Generations, subject: Subject, spread: Spread, stored: int
) -> Iterator[models.VersionGap]:
    """Yield what is unknown about each version, with the jobs of all of them.

    A gap of several versions is yielded once. `stored` is as `deleted_before` of `gaps_of`.
    """
    found: dict[tuple[str, str], models.VersionGap] = {}
    for bad in subject.bad:
        gaps = gaps_of(
            generations,
            bad.version,
            readers_of(generations, bad.version),
            writers=jobs_by_time(writers_of(generations, bad.version)),
            downstream=spread.by_time,
            deleted_before=stored,
        )
        for gap in gaps:
            found.setdefault((gap["kind"], gap["message"]), gap)
    yield from found.values()


def _own_gaps(
    subject: Subject,
    changes: Sequence[models.VersionChange],
    without_owner: Sequence[str],
    again: Sequence[models.Rerun],
    keeping: Sequence[JobRef],
) -> Iterator[models.VersionGap]:
    """Yield the gaps of the incident itself: about checks, earlier writes, owners and commands.

    `without_owner` has ids of affected nodes, `again` the pipelines to run again, and `keeping` the
    jobs that may keep bad rows.
    """
    if any(bad.by == "time" for bad in subject.bad):
        message = "The check did not report the version that it checked; it is derived from times"
        yield {"kind": "checked_by_time", "message": message, "jobs": []}
    if len(changes) < len(subject.bad):
        message = "No earlier write is known to compare the run with"
        yield {"kind": "no_previous", "message": message, "jobs": []}
    silent = [
        change["run"]["job"]
        for change in changes
        if change["code"] and None in (change["code"]["before"], change["code"]["after"])
    ]
    if silent:
        message = "The commits of the runs were not reported"
        yield {"kind": "no_code", "message": message, "jobs": silent}
    if without_owner:
        message = f"{counted(len(without_owner), 'affected node')} without an owner"
        yield {"kind": "no_owner", "message": message, "jobs": []}
    if jobs := [rerun["job"] for rerun in again if rerun["command"] is None]:
        message = "The command that runs these pipelines again is unknown"
        yield {"kind": "no_command", "message": message, "jobs": jobs}
    if keeping:
        message = "These jobs keep earlier rows, so a new run may not remove the bad rows"
        yield {"kind": "keeps_rows", "message": message, "jobs": [name_of(ref) for ref in keeping]}
