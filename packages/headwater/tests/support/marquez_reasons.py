"""Reasons why headwater's responses differ from Marquez's, and the differences they explain."""

from __future__ import annotations

from .marquez import ABSENT, Difference
from .marquez_differences import (
    CHOICE,
    DEFECT,
    MORE,
    Reason,
    all_of,
    any_of,
    has_status,
    in_scenarios,
    is_added,
    is_earlier,
    is_less,
    of_kind,
    on_field,
    with_theirs,
)


def reason_of(difference: Difference) -> Reason | None:
    """Return the first reason that explains a difference."""
    return next((reason for reason in REASONS if reason.explains(difference)), None)


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
        is_added,
    ),
    Reason(
        MORE,
        "a run without facets returns an object without facets, not an empty body",
        all_of(of_kind("run facets"), lambda d: d.field == "" and d.theirs is None),
    ),
    Reason(
        DEFECT,
        "runs have nominal times",
        all_of(on_field("nominal(Start|End)Time"), with_theirs(None)),
    ),
    Reason(
        MORE,
        "a dataset that only the column lineage of an output names is an input, too",
        all_of(
            is_less,
            on_field(r"inputs\[\]|inputDatasetVersions\[\]"),
            lambda d: (
                isinstance(d.ours, dict)
                and (d.ours.get("datasetVersionId") or d.ours)["name"] in _ONLY_IN_COLUMNS
            ),
        ),
    ),
    Reason(
        CHOICE,
        "a job that only drops or empties a dataset has no edge to it",
        all_of(
            in_scenarios("09"),
            lambda d: d.ours is ABSENT,
            on_field(r"graph\[\]|inEdges\[\]|outEdges\[\]|outputs\[\]"),
            lambda d: (
                any(
                    text in f"{d.path} {d.theirs}"
                    for text in ("life%3Adrop", "life%3Atruncate", "life:drop", "life:truncate")
                )
                or str(d.field).endswith("outputs[]")
            ),
        ),
    ),
    Reason(CHOICE, "facets are returned as sent", on_field(r"facets\.nominalTime")),
    Reason(
        CHOICE,
        "times in `args` have the same format as all other times",
        on_field(r"args\.nominal_(start|end)_time"),
    ),
    Reason(
        DEFECT,
        "runs in job versions have their own facets, not those of the job",
        all_of(of_kind("job versions?"), on_field(r"(versions\[\]\.)?latestRun\.facets\..*")),
    ),
    Reason(
        DEFECT,
        "runs in job versions have the facets of their inputs and outputs",
        all_of(
            of_kind("job versions?"),
            on_field(r"(versions\[\]\.)?latestRun\.(in|out)putDatasetVersions\[\]\.facets\..*"),
        ),
    ),
    Reason(
        DEFECT,
        "a job in the graph has its own newest run, not its parent's",
        all_of(of_kind("lineage"), on_field("currentRunUuid|latestRun.id")),
    ),
    Reason(
        DEFECT,
        "a run starts at its first event, not at the last received RUNNING event",
        all_of(on_field("startedAt|durationMs|run.start"), lambda d: d.theirs is not None),
    ),
    Reason(
        CHOICE,
        "tags come from tags facets only; there are no predefined tags",
        all_of(of_kind("tags"), lambda d: d.theirs is not ABSENT),
    ),
    Reason(
        DEFECT,
        "`tags` includes the tags of tags facets",
        all_of(on_field(r"tags\[\]"), with_theirs(ABSENT)),
    ),
    Reason(
        DEFECT,
        "`#VERSION` after a dataset id returns a graph instead of an error",
        has_status("lineage", 500, 200, "%23"),
    ),
    Reason(DEFECT, "namespaces that contain colons are found", has_status("lineage", 404, 200)),
    Reason(
        DEFECT,
        "sources are listed even if a dataset has no source",
        has_status("sources", 500, 200),
    ),
    Reason(
        DEFECT,
        "upstream runs are listed even if an input has no known producer",
        has_status("runlineage upstream", 500, 200),
    ),
    Reason(
        DEFECT,
        "versions of datasets with symlinks are returned",
        has_status("dataset version", 500, 200),
    ),
    Reason(DEFECT, "a rejected event does not break lists", has_status("jobs", 500, 200)),
    Reason(
        CHOICE,
        "the namespace `default` exists after an event uses it",
        any_of(
            has_status("namespace|datasets", 200, 404, "/namespaces/default"),
            all_of(on_field(r"namespaces\[\]"), lambda d: d.ours is ABSENT),
        ),
    ),
    Reason(
        DEFECT,
        "an event without a facet does not remove the schema, description or column lineage",
        all_of(
            of_kind("dataset.*|lineage|job|jobs"),
            on_field(
                r"facets\..*|fields\[\]|description|columnLineage|columnLineage\[\]|location|columnLineage\[\]\.inputFields\[\]"
            ),
            is_less,
        ),
    ),
    Reason(
        DEFECT,
        "facets, inputs and outputs of a JobEvent are kept and returned in lists",
        all_of(
            in_scenarios("08"),
            on_field(
                r"facets\..*|labels\[\]|location|description|inputs\[\]|outputs\[\]|latestRuns"
            ),
            is_less,
        ),
    ),
    Reason(
        DEFECT,
        "labels come from the newest jobType facet of any event",
        all_of(on_field(r"labels\[\]"), is_less),
    ),
    Reason(
        DEFECT,
        "datasets that only open, failed or aborted runs wrote have a version and fields",
        all_of(on_field("currentVersion|lastLifecycleState"), with_theirs(None)),
    ),
    Reason(
        DEFECT,
        "`lastLifecycleState` is kept until the next change",
        all_of(on_field("lastLifecycleState"), with_theirs("")),
    ),
    Reason(
        CHOICE,
        "times are event times: `createdAt` is the earliest, regardless of arrival order",
        all_of(on_field("createdAt"), is_earlier),
    ),
    Reason(
        CHOICE,
        "`updatedAt` of a namespace is the time of its newest event",
        all_of(of_kind("namespaces?"), on_field("updatedAt")),
    ),
    Reason(
        CHOICE,
        "namespaces only come from events that use them",
        all_of(of_kind("namespaces?"), on_field("createdAt|description")),
    ),
    Reason(
        CHOICE,
        "times are truncated to microseconds, not rounded",
        all_of(in_scenarios("12"), on_field(".*At"), lambda d: ".123457" in str(d.theirs)),
    ),
    Reason(
        DEFECT,
        "a run with only OTHER events is not RUNNING",
        all_of(on_field("state"), lambda d: (d.theirs, d.ours) == ("RUNNING", "NEW")),
    ),
    Reason(
        DEFECT,
        "a late event does not reopen a finished run",
        all_of(in_scenarios("11"), on_field("state|updatedAt|endedAt|createdAt|status")),
    ),
    Reason(
        CHOICE,
        "a run without an end event ends with its parent, or else with its children",
        any_of(
            all_of(
                on_field("state"),
                lambda d: d.theirs == "RUNNING" and d.ours in ("COMPLETED", "FAILED"),
            ),
            all_of(on_field("endedAt|durationMs|jobVersion|currentVersion"), with_theirs(None)),
        ),
    ),
    Reason(
        CHOICE,
        "a run id used by two jobs is two runs",
        all_of(
            in_scenarios("17"),
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
        all_of(on_field("nominal(Start|End)Time"), lambda d: d.ours is None),
    ),
    Reason(
        CHOICE,
        "a parent run without events has the times of its child runs",
        all_of(
            in_scenarios("02", "16", "17", "21"),
            on_field("createdAt|updatedAt"),
            lambda d: d.kind in ("run", "job", "jobs", "job runs", "search", "lineage"),
        ),
    ),
    Reason(
        CHOICE,
        "facets that lack required fields are still used",
        all_of(
            in_scenarios("19"),
            on_field(
                r"args\.name(space)?|facets\..*|parentJob(Name|Uuid)|(in|out)puts\[\]|simpleName|inEdges\[\]|outEdges\[\]"
            ),
        ),
    ),
    Reason(
        CHOICE,
        "a dataset with aliases is returned once, with everything reported under any alias",
        all_of(
            in_scenarios("07", "14", "16", "17", "18"),
            any_of(
                of_kind(
                    "(column-)?lineage|datasets?|dataset versions?|namespaces?|runlineage.*|search"
                ),
                on_field(r"(in|out)puts\[\]|physicalName"),
            ),
            lambda d: d.field != "status",
        ),
    ),
    Reason(
        CHOICE,
        "a job keeps its producer's name and is also found by Marquez's name",
        any_of(
            on_field("simpleName|jobVersion.name|job.name"),
            all_of(of_kind("search"), in_scenarios("02")),
            all_of(in_scenarios("17"), has_status(".*", 200, 404)),
        ),
    ),
    Reason(
        DEFECT,
        "a parent job exists once, in the namespace of the parent facet",
        all_of(
            in_scenarios("02", "16", "17", "19", "20", "21"),
            any_of(
                on_field(
                    r"parentJob(Name|Uuid)|latestRun\.id|latestRuns\[\]|jobs\[\]|runs\[\]|results\[\]|versions\[\]"
                ),
                has_status("run.*", 200, 404),
                lambda d: d.field == "totalCount",
            ),
        ),
    ),
    Reason(
        CHOICE,
        "input and output facets are returned with the run that used the dataset",
        all_of(
            on_field(
                r"facets\.(inputStatistics|outputStatistics|subset|dataQualityMetrics|dataQualityAssertions)"
            ),
            lambda d: d.ours is ABSENT or d.theirs is ABSENT,
        ),
    ),
    Reason(
        CHOICE,
        "the newest event by event time determines the values, regardless of arrival order",
        on_field(r"facets\.schema|facets\.dataQualityMetrics|fields\[\]|(.*\.)?description"),
    ),
    Reason(
        CHOICE,
        "an older run also has the current facets of its job",
        all_of(of_kind("run facets"), on_field(r"facets\.sql")),
    ),
    Reason(
        CHOICE,
        "a dataset version is that of the version facet, or else the output of one run",
        all_of(
            of_kind("dataset versions?"),
            any_of(
                on_field(r"versions\[\]|createdAt"),
                lambda d: d.field in ("totalCount", "versions order"),
            ),
        ),
    ),
    Reason(
        CHOICE,
        "job versions come from finished runs and the newest declaration",
        all_of(
            of_kind("job versions?"),
            any_of(
                on_field(r"versions\[\]|createdAt|inputs\[\]|outputs\[\]|status"),
                lambda d: d.field == "versions order",
            ),
        ),
    ),
    Reason(
        DEFECT,
        "runs without START are listed; runs are sorted by their first event",
        all_of(
            of_kind("job runs"), any_of(on_field(r"runs\[\]"), lambda d: d.field == "runs order")
        ),
    ),
    Reason(
        CHOICE,
        "jobs are sorted by their newest event, regardless of arrival order",
        all_of(
            of_kind("jobs"),
            any_of(on_field(r"jobs\[\]"), lambda d: d.field == "jobs order"),
            lambda d: "offset" in d.path or d.field == "jobs order",
        ),
    ),
    Reason(
        DEFECT,
        "`totalCount` of jobs respects `lastRunStates`",
        all_of(of_kind("jobs"), lambda d: d.field == "totalCount" and "lastRunStates" in d.path),
    ),
    Reason(
        DEFECT,
        "a late backfill does not change the current inputs and outputs of its job",
        all_of(in_scenarios("11"), on_field(r"(in|out)puts\[\]|(in|out)Edges\[\]")),
    ),
    Reason(
        CHOICE,
        "only events without an identity are rejected",
        all_of(
            in_scenarios("12", "16", "19", "22"),
            any_of(
                of_kind("events lineage|search|jobs|job.*|run.*"),
                on_field(r"graph\[\]|(in|out)Edges\[\]|fields\[\]|createdAt"),
            ),
        ),
    ),
    Reason(
        CHOICE,
        "an event that is sent twice is stored once",
        all_of(of_kind("events lineage"), in_scenarios("11")),
    ),
    Reason(
        CHOICE,
        "events are returned as sent; events of equal time are sorted by arrival",
        of_kind("events lineage"),
    ),
    Reason(
        DEFECT,
        "jobs are connected by a dataset only if one read what the other wrote, not rows that were"
        " replaced before or written afterwards",
        all_of(
            in_scenarios("09"),
            of_kind("lineage"),
            on_field(r"graph\[\]|(in|out)Edges\[\]"),
            lambda d: d.ours is ABSENT,
        ),
    ),
    Reason(
        DEFECT,
        "depth 0 of a dataset includes all its jobs, and depth counts from each of them",
        all_of(
            of_kind("lineage"),
            on_field(r"graph\[\]|(in|out)Edges\[\]"),
            with_theirs(ABSENT),
            lambda d: "nodeId=dataset" in d.path,
        ),
    ),
    Reason(
        CHOICE,
        "the graph includes inputs and outputs of open runs from their first event",
        all_of(
            of_kind("lineage"),
            on_field(r"graph\[\]|(in|out)Edges\[\]|(in|out)puts\[\]"),
            with_theirs(ABSENT),
        ),
    ),
    Reason(
        DEFECT,
        "downstream columns of source columns are found, without sibling columns",
        all_of(of_kind("column-lineage"), lambda d: "withDownstream=true" in d.path),
    ),
    Reason(
        MORE,
        "a column without source columns has its type",
        all_of(of_kind("column-lineage"), on_field("fieldType"), with_theirs("")),
    ),
    Reason(
        DEFECT,
        "columns are returned even if the event has no schema",
        all_of(of_kind("column-lineage"), with_theirs(ABSENT)),
    ),
    Reason(
        CHOICE,
        "a dataset without column lineage has an empty column graph instead of a 404",
        has_status("column-lineage", 404, 200),
    ),
    Reason(
        CHOICE,
        "a source's type is the scheme of its URL",
        all_of(of_kind("sources"), on_field("type")),
    ),
    Reason(
        CHOICE,
        "invalid parameters return 400",
        any_of(
            has_status("lineage", 200, 400, "depth=-1"),
            has_status("lineage", 404, 400, "depth=x"),
            has_status("run facets", 200, 400, "type=dataset"),
        ),
    ),
    Reason(
        CHOICE,
        "s3a, s3n and s3 are one scheme, as are all spellings of a file URL",
        any_of(has_status("namespace|datasets", 200, 404), of_kind("namespaces?")),
    ),
    Reason(
        CHOICE,
        "a run is created at its own first event, not at the first event with it as parent",
        all_of(in_scenarios("15"), on_field("createdAt")),
    ),
    Reason(
        CHOICE,
        "`#VERSION` after a dataset id returns its current columns",
        all_of(of_kind("column-lineage"), lambda d: "%23" in d.path),
    ),
    Reason(
        MORE,
        "a column without source columns has its type",
        all_of(of_kind("column-lineage"), on_field("fieldType"), lambda d: d.theirs is None),
    ),
    Reason(
        CHOICE,
        "jobs are filtered by the state of their newest run only",
        all_of(of_kind("jobs"), on_field(r"jobs\[\]"), lambda d: "lastRunStates" in d.path),
    ),
    Reason(
        DEFECT,
        "a late backfill does not change the current inputs and outputs of its job",
        all_of(in_scenarios("11"), of_kind("lineage"), on_field(r"graph\[\]")),
    ),
    Reason(
        CHOICE,
        "a run id used by two jobs is two runs",
        all_of(in_scenarios("17"), of_kind("jobs"), lambda d: d.ours is ABSENT),
    ),
    Reason(
        CHOICE,
        "a parent job is a job from the first event that names it",
        all_of(in_scenarios("18"), of_kind("jobs"), lambda d: d.field in ("totalCount", "jobs[]")),
    ),
)
