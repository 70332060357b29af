"""Reasons why headwater's responses differ from Marquez's, and the differences they explain."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .marquez import ABSENT, Difference

DEFECT, CHOICE, MORE = "Defects of Marquez", "Our own choices", "Additions"
SIDES = {
    DEFECT: "Marquez returns wrong or incomplete data. headwater behaves as described here.",
    CHOICE: "Both behaviors are reasonable.",
    MORE: "headwater returns additional fields, which clients of Marquez ignore.",
}


@dataclass(frozen=True)
class Reason:
    """A reason: its side, its text, and a predicate for the differences that it explains."""

    side: str
    text: str
    explains: Callable[[Difference], bool]


def reason_of(difference: Difference) -> Reason | None:
    """Return the first reason that explains a difference."""
    return next((reason for reason in REASONS if reason.explains(difference)), None)


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
    """Return True if Marquez has no value."""
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


_ONLY_IN_COLUMNS = {
    "dbt_test.main.raw_orders",
    "output/field1.parquet",
    "output/field2.parquet",
    "/demo-warehouse/documentstage",
}

REASONS = (
    Reason(
        MORE,
        "`datasetVersion` is that of the version facet, and version lists have a `totalCount`",
        _added,
    ),
    Reason(
        MORE,
        "a run without facets returns an object without facets, not an empty body",
        _all(_kind("run facets"), lambda d: d.field == "" and d.theirs is None),
    ),
    Reason(
        DEFECT,
        "runs have nominal times",
        _all(_field("nominal(Start|End)Time"), _theirs(None)),
    ),
    Reason(
        MORE,
        "a dataset that only the column lineage of an output names is an input, too",
        _all(
            _less,
            _field(r"inputs\[\]|inputDatasetVersions\[\]"),
            lambda d: (
                isinstance(d.ours, dict)
                and (d.ours.get("datasetVersionId") or d.ours)["name"] in _ONLY_IN_COLUMNS
            ),
        ),
    ),
    Reason(
        CHOICE,
        "a job that only drops or empties a dataset has no edge to it",
        _all(
            _in("09"),
            lambda d: d.ours is ABSENT,
            _field(r"graph\[\]|inEdges\[\]|outEdges\[\]|outputs\[\]"),
            lambda d: (
                any(
                    text in f"{d.path} {d.theirs}"
                    for text in ("life%3Adrop", "life%3Atruncate", "life:drop", "life:truncate")
                )
                or str(d.field).endswith("outputs[]")
            ),
        ),
    ),
    Reason(CHOICE, "facets are returned as sent", _field(r"facets\.nominalTime")),
    Reason(
        CHOICE,
        "times in `args` have the same format as all other times",
        _field(r"args\.nominal_(start|end)_time"),
    ),
    Reason(
        DEFECT,
        "runs in job versions have their own facets, not those of the job",
        _all(_kind("job versions?"), _field(r"(versions\[\]\.)?latestRun\.facets\..*")),
    ),
    Reason(
        DEFECT,
        "runs in job versions have the facets of their inputs and outputs",
        _all(
            _kind("job versions?"),
            _field(r"(versions\[\]\.)?latestRun\.(in|out)putDatasetVersions\[\]\.facets\..*"),
        ),
    ),
    Reason(
        DEFECT,
        "a job in the graph has its own newest run, not its parent's",
        _all(_kind("lineage"), _field("currentRunUuid|latestRun.id")),
    ),
    Reason(
        DEFECT,
        "a run starts at its first event, not at the last received RUNNING event",
        _all(_field("startedAt|durationMs|run.start"), lambda d: d.theirs is not None),
    ),
    Reason(
        CHOICE,
        "tags come from tags facets only; there are no predefined tags",
        _all(_kind("tags"), lambda d: d.theirs is not ABSENT),
    ),
    Reason(
        DEFECT,
        "`tags` includes the tags of tags facets",
        _all(_field(r"tags\[\]"), _theirs(ABSENT)),
    ),
    Reason(
        DEFECT,
        "`#VERSION` after a dataset id returns a graph instead of an error",
        _status("lineage", 500, 200, "%23"),
    ),
    Reason(DEFECT, "namespaces that contain colons are found", _status("lineage", 404, 200)),
    Reason(
        DEFECT, "sources are listed even if a dataset has no source", _status("sources", 500, 200)
    ),
    Reason(
        DEFECT,
        "upstream runs are listed even if an input has no known producer",
        _status("runlineage upstream", 500, 200),
    ),
    Reason(
        DEFECT,
        "versions of datasets with symlinks are returned",
        _status("dataset version", 500, 200),
    ),
    Reason(DEFECT, "a rejected event does not break lists", _status("jobs", 500, 200)),
    Reason(
        CHOICE,
        "the namespace `default` exists after an event uses it",
        _any(
            _status("namespace|datasets", 200, 404, "/namespaces/default"),
            _all(_field(r"namespaces\[\]"), lambda d: d.ours is ABSENT),
        ),
    ),
    Reason(
        DEFECT,
        "an event without a facet does not remove the schema, description or column lineage",
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
        "facets, inputs and outputs of a JobEvent are kept and returned in lists",
        _all(
            _in("08"),
            _field(r"facets\..*|labels\[\]|location|description|inputs\[\]|outputs\[\]|latestRuns"),
            _less,
        ),
    ),
    Reason(
        DEFECT,
        "labels come from the newest jobType facet of any event",
        _all(_field(r"labels\[\]"), _less),
    ),
    Reason(
        DEFECT,
        "datasets that only open, failed or aborted runs wrote have a version and fields",
        _all(_field("currentVersion|lastLifecycleState"), _theirs(None)),
    ),
    Reason(
        DEFECT,
        "`lastLifecycleState` is kept until the next change",
        _all(_field("lastLifecycleState"), _theirs("")),
    ),
    Reason(
        CHOICE,
        "times are event times: `createdAt` is the earliest, regardless of arrival order",
        _all(_field("createdAt"), _is_earlier),
    ),
    Reason(
        CHOICE,
        "`updatedAt` of a namespace is the time of its newest event",
        _all(_kind("namespaces?"), _field("updatedAt")),
    ),
    Reason(
        CHOICE,
        "namespaces only come from events that use them",
        _all(_kind("namespaces?"), _field("createdAt|description")),
    ),
    Reason(
        CHOICE,
        "times are truncated to microseconds, not rounded",
        _all(_in("12"), _field(".*At"), lambda d: ".123457" in str(d.theirs)),
    ),
    Reason(
        DEFECT,
        "a run with only OTHER events is not RUNNING",
        _all(_field("state"), lambda d: (d.theirs, d.ours) == ("RUNNING", "NEW")),
    ),
    Reason(
        DEFECT,
        "a late event does not reopen a finished run",
        _all(_in("11"), _field("state|updatedAt|endedAt|createdAt|status")),
    ),
    Reason(
        CHOICE,
        "a run without an end event ends with its parent, or else with its children",
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
        "a run id used by two jobs is two runs",
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
        "a parent run without events has no nominal times",
        _all(_field("nominal(Start|End)Time"), lambda d: d.ours is None),
    ),
    Reason(
        CHOICE,
        "a parent run without events has the times of its child runs",
        _all(
            _in("02", "16", "17", "21"),
            _field("createdAt|updatedAt"),
            lambda d: d.kind in ("run", "job", "jobs", "job runs", "search", "lineage"),
        ),
    ),
    Reason(
        CHOICE,
        "facets that lack required fields are still used",
        _all(
            _in("19"),
            _field(
                r"args\.name(space)?|facets\..*|parentJob(Name|Uuid)|(in|out)puts\[\]|simpleName|inEdges\[\]|outEdges\[\]"
            ),
        ),
    ),
    Reason(
        CHOICE,
        "a dataset with aliases is returned once, with everything reported under any alias",
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
        "a job keeps its producer's name and is also found by Marquez's name",
        _any(
            _field("simpleName|jobVersion.name|job.name"),
            _all(_kind("search"), _in("02")),
            _all(_in("17"), _status(".*", 200, 404)),
        ),
    ),
    Reason(
        DEFECT,
        "a parent job exists once, in the namespace of the parent facet",
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
        "input and output facets are returned with the run that used the dataset",
        _all(
            _field(
                r"facets\.(inputStatistics|outputStatistics|subset|dataQualityMetrics|dataQualityAssertions)"
            ),
            lambda d: d.ours is ABSENT or d.theirs is ABSENT,
        ),
    ),
    Reason(
        CHOICE,
        "the newest event by event time determines the values, regardless of arrival order",
        _field(r"facets\.schema|facets\.dataQualityMetrics|fields\[\]|(.*\.)?description"),
    ),
    Reason(
        CHOICE,
        "an older run also has the current facets of its job",
        _all(_kind("run facets"), _field(r"facets\.sql")),
    ),
    Reason(
        CHOICE,
        "a dataset version is that of the version facet, or else the output of one run",
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
        "job versions come from finished runs and the newest declaration",
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
        "runs without START are listed; runs are sorted by their first event",
        _all(_kind("job runs"), _any(_field(r"runs\[\]"), lambda d: d.field == "runs order")),
    ),
    Reason(
        CHOICE,
        "jobs are sorted by their newest event, regardless of arrival order",
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
        "a late backfill does not change the current inputs and outputs of its job",
        _all(_in("11"), _field(r"(in|out)puts\[\]|(in|out)Edges\[\]")),
    ),
    Reason(
        CHOICE,
        "only events without an identity are rejected",
        _all(
            _in("12", "16", "19", "22"),
            _any(
                _kind("events lineage|search|jobs|job.*|run.*"),
                _field(r"graph\[\]|(in|out)Edges\[\]|fields\[\]|createdAt"),
            ),
        ),
    ),
    Reason(
        CHOICE,
        "an event that is sent twice is stored once",
        _all(_kind("events lineage"), _in("11")),
    ),
    Reason(
        CHOICE,
        "events are returned as sent; events of equal time are sorted by arrival",
        _kind("events lineage"),
    ),
    Reason(
        DEFECT,
        "jobs are connected by a dataset only if one read what the other wrote, not rows that were"
        " replaced before or written afterwards",
        _all(
            _in("09"),
            _kind("lineage"),
            _field(r"graph\[\]|(in|out)Edges\[\]"),
            lambda d: d.ours is ABSENT,
        ),
    ),
    Reason(
        DEFECT,
        "depth 0 of a dataset includes all its jobs, and depth counts from each of them",
        _all(
            _kind("lineage"),
            _field(r"graph\[\]|(in|out)Edges\[\]"),
            _theirs(ABSENT),
            lambda d: "nodeId=dataset" in d.path,
        ),
    ),
    Reason(
        CHOICE,
        "the graph includes inputs and outputs of open runs from their first event",
        _all(
            _kind("lineage"),
            _field(r"graph\[\]|(in|out)Edges\[\]|(in|out)puts\[\]"),
            _theirs(ABSENT),
        ),
    ),
    Reason(
        DEFECT,
        "downstream columns of source columns are found, without sibling columns",
        _all(_kind("column-lineage"), lambda d: "withDownstream=true" in d.path),
    ),
    Reason(
        MORE,
        "a column without source columns has its type",
        _all(_kind("column-lineage"), _field("fieldType"), _theirs("")),
    ),
    Reason(
        DEFECT,
        "columns are returned even if the event has no schema",
        _all(_kind("column-lineage"), _theirs(ABSENT)),
    ),
    Reason(
        CHOICE,
        "a dataset without column lineage has an empty column graph instead of a 404",
        _status("column-lineage", 404, 200),
    ),
    Reason(
        CHOICE, "a source's type is the scheme of its URL", _all(_kind("sources"), _field("type"))
    ),
    Reason(
        CHOICE,
        "invalid parameters return 400",
        _any(
            _status("lineage", 200, 400, "depth=-1"),
            _status("lineage", 404, 400, "depth=x"),
            _status("run facets", 200, 400, "type=dataset"),
        ),
    ),
    Reason(
        CHOICE,
        "s3a, s3n and s3 are one scheme, as are all spellings of a file URL",
        _any(_status("namespace|datasets", 200, 404), _kind("namespaces?")),
    ),
    Reason(
        CHOICE,
        "a run is created at its own first event, not at the first event with it as parent",
        _all(_in("15"), _field("createdAt")),
    ),
    Reason(
        CHOICE,
        "`#VERSION` after a dataset id returns its current columns",
        _all(_kind("column-lineage"), lambda d: "%23" in d.path),
    ),
    Reason(
        MORE,
        "a column without source columns has its type",
        _all(_kind("column-lineage"), _field("fieldType"), lambda d: d.theirs is None),
    ),
    Reason(
        CHOICE,
        "jobs are filtered by the state of their newest run only",
        _all(_kind("jobs"), _field(r"jobs\[\]"), lambda d: "lastRunStates" in d.path),
    ),
    Reason(
        DEFECT,
        "a late backfill does not change the current inputs and outputs of its job",
        _all(_in("11"), _kind("lineage"), _field(r"graph\[\]")),
    ),
    Reason(
        CHOICE,
        "a run id used by two jobs is two runs",
        _all(_in("17"), _kind("jobs"), lambda d: d.ours is ABSENT),
    ),
    Reason(
        CHOICE,
        "a parent job is a job from the first event that names it",
        _all(_in("18"), _kind("jobs"), lambda d: d.field in ("totalCount", "jobs[]")),
    ),
)
