"""The reasons why an answer about a version may be incomplete.

A version is the contents of a dataset after one write. If a run did not report which version it
read, the version is derived from the times of writes and reads. It may be wrong, which is such a
reason (a gap).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headwater.events import JobRef, shown_time
from headwater.graph.generations import Generations
from headwater.graph.nodes import name_of
from headwater.plugins.incidents._named import Version
from headwater.plugins.incidents._readers import Readers
from headwater.plugins.incidents.models import GapKind, VersionGap
from headwater.text import counted


def gaps_of(
    generations: Generations,
    named: Version,
    readers: Readers,
    *,
    writers: Sequence[JobRef],
    downstream: Sequence[JobRef],
    deleted_before: int,
) -> Iterator[VersionGap]:
    """Yield what is unknown about a version.

    `writers` and `downstream` are jobs that did not report the versions of their inputs. `writers`
    wrote the version; `downstream` are connected with it only by times. `deleted_before` is the
    time (microseconds) before which events were deleted, and 0 if none were. The message of a kind
    is the same for each version of a dataset, so that callers can merge gaps.
    """
    name = named.name.name
    if not named.writers:
        yield _gap("no_writer", f"No run is known to have written this version of {name}")
    elif not named.is_reported:
        message = f"The run that wrote {name} reported no version; its id is used instead"
        yield _gap("no_version", message, [generation.job for generation in named.writers])
    if writers:
        message = "The versions of its inputs were not reported; they are derived from times"
        yield _gap("inputs", message, writers)
    if readers.silent:
        jobs = counted(len(readers.silent), "job")
        message = f"{jobs} read {name} without reporting a version; it is derived from times"
        yield _gap("by_time", message, readers.silent)
    if not readers.found:
        message = f"No run is known to have read this version of {name}; a reader may not report"
        yield _gap("no_reader", message)
    if downstream:
        message = (
            "Some jobs did not report the versions that they read; they are derived from times"
        )
        yield _gap("by_time_downstream", message, downstream)
    if deleted_before:
        wrote = [generations.times.of_writes(g, named.name).start for g in named.writers]
        if not wrote or min(wrote) < deleted_before:
            before = shown_time(deleted_before)
            yield _gap("deleted", f"Events before {before} were deleted; runs may be missing")


def _gap(kind: GapKind, message: str, jobs: Sequence[JobRef] = ()) -> VersionGap:
    """Return a gap with the names of the jobs that did not report, sorted and each once."""
    names = [name_of(job) for job in sorted(set(jobs))]
    return {"kind": kind, "message": message, "jobs": names}
