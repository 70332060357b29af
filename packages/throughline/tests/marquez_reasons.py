"""Why an answer of ours differs from Marquez's: every reason, and which differences it explains."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .marquez import ABSENT, Difference

DEFECT, CHOICE, MORE = "Defects of Marquez", "Our own choices", "Additions"
SIDES = {
    DEFECT: "What Marquez does is wrong or loses something; throughline does what is written here.",
    CHOICE: "Both ways can be defended.",
    MORE: "What throughline tells besides; a client of Marquez does not look at it.",
}


@dataclass(frozen=True)
class Reason:
    """One reason: whose it is, what it is, and the differences that it explains."""

    side: str
    text: str
    explains: Callable[[Difference], bool]


def reason_of(difference: Difference) -> Reason | None:
    """The first reason that explains a difference."""
    return next((each for each in REASONS if each.explains(difference)), None)


def _field(pattern: str) -> Callable[[Difference], bool]:
    whole = re.compile(rf"(.*\.|.*\[\]\.)?({pattern})")
    return lambda d: whole.fullmatch(d.field) is not None


def _added(d: Difference) -> bool:
    return d.theirs is ABSENT and d.field.rpartition(".")[2] in ("datasetVersion", "totalCount")


def _status(kind: str, theirs: int, ours: int, path: str = "") -> Callable[[Difference], bool]:
    return lambda d: (
        d.field == "status"
        and re.fullmatch(kind, d.kind) is not None
        and (d.theirs, d.ours) == (theirs, ours)
        and path in d.path
    )


def _less(d: Difference) -> bool:
    """Marquez tells nothing where we tell something."""
    return d.theirs in (ABSENT, None, "")


def _is_earlier(d: Difference) -> bool:
    return isinstance(d.theirs, str) and isinstance(d.ours, str) and d.ours < d.theirs


def _any(*checks: Callable[[Difference], bool]) -> Callable[[Difference], bool]:
    return lambda d: any(check(d) for check in checks)


def _all(*checks: Callable[[Difference], bool]) -> Callable[[Difference], bool]:
    return lambda d: all(check(d) for check in checks)


def _in(*scenarios: str) -> Callable[[Difference], bool]:
    return lambda d: d.scenario[:2] in scenarios


def _kind(pattern: str) -> Callable[[Difference], bool]:
    return lambda d: re.fullmatch(pattern, d.kind) is not None


def _theirs(*values: Any) -> Callable[[Difference], bool]:
    return lambda d: d.theirs in values


REASONS = (
    Reason(
        MORE,
        "`datasetVersion` tells what the version facet calls a version, and lists of versions "
        "have a `totalCount`",
        _added,
    ),
    Reason(
        MORE,
        "a run without facets answers with none, not with an empty body",
        _all(_kind("run facets"), lambda d: d.field == "" and d.theirs is None),
    ),
    Reason(
        DEFECT,
        "the nominal times of a run are shown",
        _all(_field("nominal(Start|End)Time"), _theirs(None)),
    ),
    Reason(CHOICE, "facets are shown as they were sent", _field(r"facets\.nominalTime")),
    Reason(
        CHOICE,
        "`args` has times in the form of all other times",
        _field(r"args\.nominal_(start|end)_time"),
    ),
    Reason(
        DEFECT,
        "the runs in job versions have their own facets, not those of the job",
        _all(_kind("job versions?"), _field(r"(versions\[\]\.)?latestRun\.facets\..*")),
    ),
    Reason(
        DEFECT,
        "the runs in job versions have the facets of their inputs and outputs",
        _all(
            _kind("job versions?"),
            _field(r"(versions\[\]\.)?latestRun\.(in|out)putDatasetVersions\[\]\.facets\..*"),
        ),
    ),
    Reason(
        DEFECT,
        "in the graph a job shows its own newest run, not its parent's",
        _all(_kind("lineage"), _field("currentRunUuid|latestRun.id")),
    ),
    Reason(
        DEFECT,
        "a run starts with its first event, not with the RUNNING event that came last",
        _all(_field("startedAt|durationMs|run.start"), lambda d: d.theirs is not None),
    ),
    Reason(
        CHOICE,
        "tags come from tags facets: there is none that nobody set",
        _all(_kind("tags"), lambda d: d.theirs is not ABSENT),
    ),
    Reason(DEFECT, "tags facets reach `tags`", _all(_field(r"tags\[\]"), _theirs(ABSENT))),
    Reason(
        DEFECT,
        "`#VERSION` after a dataset does not break its graph",
        _status("lineage", 500, 200, "%23"),
    ),
    Reason(DEFECT, "a namespace with any colon is found", _status("lineage", 404, 200)),
    Reason(DEFECT, "sources are listed though a dataset has none", _status("sources", 500, 200)),
    Reason(
        DEFECT,
        "runs upstream are listed though nobody is known to have made an input",
        _status("runlineage upstream", 500, 200),
    ),
    Reason(
        DEFECT,
        "the versions of a dataset with symlinks are shown",
        _status("dataset version", 500, 200),
    ),
    Reason(
        DEFECT, "a refused event leaves nothing behind that breaks lists", _status("jobs", 500, 200)
    ),
    Reason(
        CHOICE,
        "the namespace `default` is there once an event names it",
        _any(
            _status("namespace|datasets", 200, 404, "/namespaces/default"),
            _all(_field(r"namespaces\[\]"), lambda d: d.ours is ABSENT),
        ),
    ),
    Reason(
        DEFECT,
        "an event without a facet takes nothing away: schema, description and column lineage stay",
        _all(
            _kind("dataset.*|lineage|job|jobs"),
            _field(
                r"facets\..*|fields\[\]|description|columnLineage|columnLineage\[\]|location|columnLineage\[\]\.inputFields\[\]"
            ),
            _less,
        ),
    ),
    Reason(
        DEFECT,
        "the facets of a JobEvent are kept, and what it declares is shown in lists",
        _all(
            _in("08"),
            _field(r"facets\..*|labels\[\]|location|description|inputs\[\]|outputs\[\]|latestRuns"),
            _less,
        ),
    ),
    Reason(
        DEFECT,
        "labels come from the newest jobType facet, whichever event brought it",
        _all(_field(r"labels\[\]"), _less),
    ),
    Reason(
        DEFECT,
        "what only open, failed or aborted runs wrote has a version and fields",
        _all(_field("currentVersion|lastLifecycleState"), _theirs(None)),
    ),
    Reason(
        DEFECT,
        "`lastLifecycleState` stays until the next change",
        _all(_field("lastLifecycleState"), _theirs("")),
    ),
    Reason(
        CHOICE,
        "times are those of events, whichever came first: `createdAt` is the earliest",
        _all(_field("createdAt"), _is_earlier),
    ),
    Reason(
        CHOICE,
        "`updatedAt` of a namespace is that of its newest event",
        _all(_kind("namespaces?"), _field("updatedAt")),
    ),
    Reason(
        CHOICE,
        "a namespace is known from the events that name it alone",
        _all(_kind("namespaces?"), _field("createdAt|description")),
    ),
    Reason(
        CHOICE,
        "nanoseconds are cut, not rounded",
        _all(_in("12"), _field(".*At"), lambda d: ".123457" in str(d.theirs)),
    ),
    Reason(
        DEFECT,
        "OTHER alone makes no run RUNNING",
        _all(_field("state"), lambda d: (d.theirs, d.ours) == ("RUNNING", "NEW")),
    ),
    Reason(
        DEFECT,
        "an event that comes late does not reopen a run that is over",
        _all(_in("11"), _field("state|updatedAt|endedAt|createdAt|status")),
    ),
    Reason(
        CHOICE,
        "a run without an end has that of its parent, or of its children if it is silent",
        _any(
            _all(
                _field("state"),
                lambda d: d.theirs == "RUNNING" and d.ours in ("COMPLETED", "FAILED"),
            ),
            _all(_field("endedAt|durationMs|jobVersion|currentVersion"), _theirs(None)),
        ),
    ),
    Reason(
        CHOICE,
        "a run id that two jobs use is two runs",
        _all(
            _in("17"),
            lambda d: (
                "my-job" in d.path
                or "my-job" in str(d.theirs)
                or "0190e00b" in d.path
                or d.field.endswith(("state", "endedAt", "jobVersion"))
            ),
        ),
    ),
    Reason(
        CHOICE,
        "a run known only from its parts has nominal times only if it tells them",
        _all(_field("nominal(Start|End)Time"), lambda d: d.ours is None),
    ),
    Reason(
        CHOICE,
        "a run known only from its parts is as old and as new as they are",
        _all(
            _in("02", "16", "17", "21"),
            _field("createdAt|updatedAt"),
            lambda d: d.kind in ("run", "job", "jobs", "job runs", "search", "lineage"),
        ),
    ),
    Reason(
        CHOICE,
        "what a facet says is taken though it lacks what the specification requires",
        _all(
            _in("19"),
            _field(
                r"args\.name(space)?|facets\..*|parentJob(Name|Uuid)|(in|out)puts\[\]|simpleName|inEdges\[\]|outEdges\[\]"
            ),
        ),
    ),
    Reason(
        CHOICE,
        "one dataset is shown once, under one of its names, with all that is said under any",
        _all(
            _in("07", "14", "16", "17", "18"),
            _any(
                _kind(
                    "(column-)?lineage|datasets?|dataset versions?|namespaces?|runlineage.*|search"
                ),
                _field(r"(in|out)puts\[\]|physicalName"),
            ),
            lambda d: d.field != "status",
        ),
    ),
    Reason(
        CHOICE,
        "a job keeps the name that its producer gave it; asked by Marquez's name it is found, too",
        _any(
            _field("simpleName|jobVersion.name|job.name"),
            _all(_kind("search"), _in("02")),
            _all(_in("17"), _status(".*", 200, 404)),
        ),
    ),
    Reason(
        DEFECT,
        "the parent of a job is in the namespace that the parent facet names, and there is one "
        "of it",
        _all(
            _in("02", "16", "17", "19", "20", "21"),
            _any(
                _field(
                    r"parentJob(Name|Uuid)|latestRun\.id|latestRuns\[\]|jobs\[\]|runs\[\]|results\[\]|versions\[\]"
                ),
                _status("run.*", 200, 404),
                lambda d: d.field == "totalCount",
            ),
        ),
    ),
    Reason(
        CHOICE,
        "facets of inputs and outputs are shown with the run that used them",
        _all(
            _field(
                r"facets\.(inputStatistics|outputStatistics|subset|dataQualityMetrics|dataQualityAssertions)"
            ),
            lambda d: d.ours is ABSENT or d.theirs is ABSENT,
        ),
    ),
    Reason(
        CHOICE,
        "what the newest event says counts, whichever came last",
        _field(r"facets\.schema|facets\.dataQualityMetrics|fields\[\]|(.*\.)?description"),
    ),
    Reason(
        CHOICE,
        "the facets of a job are those of now, also with an older run",
        _all(_kind("run facets"), _field(r"facets\.sql")),
    ),
    Reason(
        CHOICE,
        "a version of a dataset is what the version facet names, or else what one run wrote",
        _all(
            _kind("dataset versions?"),
            _any(
                _field(r"versions\[\]|createdAt"),
                lambda d: d.field in ("totalCount", "versions order"),
            ),
        ),
    ),
    Reason(
        CHOICE,
        "a version of a job is what its ended runs did, and its newest declaration",
        _all(
            _kind("job versions?"),
            _any(
                _field(r"versions\[\]|createdAt|inputs\[\]|outputs\[\]|status"),
                lambda d: d.field == "versions order",
            ),
        ),
    ),
    Reason(
        DEFECT,
        "a run has a place in lists though it has no START: runs are listed by their first event",
        _all(_kind("job runs"), _any(_field(r"runs\[\]"), lambda d: d.field == "runs order")),
    ),
    Reason(
        CHOICE,
        "jobs are listed by their newest event, whenever it came",
        _all(
            _kind("jobs"),
            _any(_field(r"jobs\[\]"), lambda d: d.field == "jobs order"),
            lambda d: "offset" in d.path or d.field == "jobs order",
        ),
    ),
    Reason(
        DEFECT,
        "`totalCount` of jobs respects `lastRunStates`",
        _all(_kind("jobs"), lambda d: d.field == "totalCount" and "lastRunStates" in d.path),
    ),
    Reason(
        DEFECT,
        "a backfill that is reported late does not become what the job does now",
        _all(_in("11"), _field(r"(in|out)puts\[\]|(in|out)Edges\[\]")),
    ),
    Reason(
        CHOICE,
        "what cannot be placed is refused, all else is taken",
        _all(
            _in("12", "16", "19", "22"),
            _any(
                _kind("events lineage|search|jobs|job.*|run.*"),
                _field(r"graph\[\]|(in|out)Edges\[\]|fields\[\]|createdAt"),
            ),
        ),
    ),
    Reason(CHOICE, "the same event twice is one event", _all(_kind("events lineage"), _in("11"))),
    Reason(
        CHOICE,
        "events are shown as they were sent, those of one time by arrival",
        _kind("events lineage"),
    ),
    Reason(
        DEFECT,
        "depth 0 of a dataset shows all of its jobs, and depth counts from each of them",
        _all(
            _kind("lineage"),
            _field(r"graph\[\]|(in|out)Edges\[\]"),
            _theirs(ABSENT),
            lambda d: "nodeId=dataset" in d.path,
        ),
    ),
    Reason(
        CHOICE,
        "the graph shows what open runs use, from their first event on",
        _all(
            _kind("lineage"),
            _field(r"graph\[\]|(in|out)Edges\[\]|(in|out)puts\[\]"),
            _theirs(ABSENT),
        ),
    ),
    Reason(
        DEFECT,
        "columns downstream are found from columns that are made of none, and no siblings with "
        "them",
        _all(_kind("column-lineage"), lambda d: "withDownstream=true" in d.path),
    ),
    Reason(
        MORE,
        "a column has its type though it is made of none",
        _all(_kind("column-lineage"), _field("fieldType"), _theirs("")),
    ),
    Reason(
        DEFECT,
        "columns are shown though the event has no schema",
        _all(_kind("column-lineage"), _theirs(ABSENT)),
    ),
    Reason(
        CHOICE,
        "a dataset without column lineage has an empty graph of columns",
        _status("column-lineage", 404, 200),
    ),
    Reason(
        CHOICE, "a source's type is the scheme of its URL", _all(_kind("sources"), _field("type"))
    ),
    Reason(
        CHOICE,
        "what is asked wrongly is a 400",
        _any(
            _status("lineage", 200, 400, "depth=-1"),
            _status("lineage", 404, 400, "depth=x"),
            _status("run facets", 200, 400, "type=dataset"),
        ),
    ),
    Reason(
        CHOICE,
        "s3a, s3n and s3 are one scheme, so are all spellings of a file",
        _any(_status("namespace|datasets", 200, 404), _kind("namespaces?")),
    ),
    Reason(
        CHOICE,
        "a run is as old as its own first event, not as the first that names it as parent",
        _all(_in("15"), _field("createdAt")),
    ),
    Reason(
        CHOICE,
        "`#VERSION` after a dataset asks for its columns of today",
        _all(_kind("column-lineage"), lambda d: "%23" in d.path),
    ),
    Reason(
        MORE,
        "a column has its type though it is made of none",
        _all(_kind("column-lineage"), _field("fieldType"), lambda d: d.theirs is None),
    ),
    Reason(
        CHOICE,
        "a job is listed by the state of its newest run alone",
        _all(_kind("jobs"), _field(r"jobs\[\]"), lambda d: "lastRunStates" in d.path),
    ),
    Reason(
        DEFECT,
        "a backfill that is reported late does not become what the job does now",
        _all(_in("11"), _kind("lineage"), _field(r"graph\[\]")),
    ),
    Reason(
        CHOICE,
        "a run id that two jobs use is two runs",
        _all(_in("17"), _kind("jobs"), lambda d: d.ours is ABSENT),
    ),
    Reason(
        CHOICE,
        "the parent of a job counts as a job from the first event that names it",
        _all(_in("18"), _kind("jobs"), lambda d: d.field in ("totalCount", "jobs[]")),
    ),
)
