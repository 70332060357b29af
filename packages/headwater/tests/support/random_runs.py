"""Random runs of tasks for property tests, with all kinds of edges, table changes and SQL texts."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from packages.headwater.tests.support.graphs import state_partition_sources

NAMES = ("db|a", "db|b", "db|c", "db|d", "s3://b|a", "s3://b|a/p", "s3://b|a/q")
_SETS = st.lists(st.sampled_from(NAMES), max_size=2, unique=True)
_KINDS = (
    "plain", "columns", "explicit", "keeps rows", "version", "STREAMING", "DROP", "TRUNCATE",
    "RENAME", "CREATE", "OVERWRITE", "SQL drop", "SQL alter", "alias", "exposure", "coarse",
    "text", "view", "part", "commits part", "parts by source", "commits parts by source",
    "script", "script swap", "script keeps former", "script replaces rows", "script replaces some",
    "dataset renamed", "dataset linked",
)  # fmt: skip
_RUN = st.fixed_dictionaries(
    {
        "job": st.sampled_from("pqrs"),
        "parent": st.sampled_from((None, None, "d0", "d1")),
        "start": st.integers(0, 9),
        "hours": st.integers(0, 4),
        "end": st.sampled_from(("COMPLETE", "COMPLETE", "COMPLETE", "FAIL", None)),
        "reads": _SETS,
        "writes": _SETS,
        "kind": st.sampled_from(_KINDS),
    }
)
RUNS = st.lists(_RUN, min_size=1, max_size=9)


def events_of(build: Any, runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a START event without datasets and an end event with inputs and outputs for each run.

    Some runs are followed by a DatasetEvent.
    """
    found = []
    for number, run in enumerate(runs):
        parent = (run["parent"], f"dag_{run['parent']}") if run["parent"] else None
        about = {"parent": parent, "reads": tuple(run["reads"]), "writes": tuple(run["writes"])}
        name = f"r{number}"
        end = run["end"] or "RUNNING"
        time = f"{run['start'] + run['hours']:02}:00:{number:02}"
        body = build.run(end, name, run["job"], time, **about)
        _ADD.get(run["kind"], _nothing)(body, run["kind"])
        start = build.run("START", name, run["job"], f"{run['start']:02}:00:00", parent=parent)
        start["job"]["facets"] = body["job"]["facets"]
        found += [start, body]
        if run["kind"].startswith("dataset "):
            found.append(_dataset_event(build, run, body["eventTime"]))
    return found


def _dataset_event(build: Any, run: dict[str, Any], time: str) -> dict[str, Any]:
    """Return a DatasetEvent that renames `d`, or that changes the symlinks of a folder."""
    if run["kind"] == "dataset renamed":
        name = next((name for name in run["writes"] if name.startswith("db|")), "db|c")
        dataset = build.dataset(name)
        _add_change({"outputs": [dataset]}, "RENAME")
    else:
        name = next((name for name in run["writes"] if name.startswith("s3:")), "s3://b|a")
        table = ("db", "ab"[len(run["reads"]) % 2], "TABLE")
        dataset = build.dataset(name, symlinks=[table])
    return {"eventTime": time, "producer": "https://example.org/tests", "dataset": dataset}


def without_files(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the runs without the files of folders in their inputs and outputs."""
    sides = ("reads", "writes")
    return [
        run | {side: [name for name in run[side] if "/" not in name[5:]] for side in sides}
        for run in runs
    ]


def _nothing(_body: dict[str, Any], _kind: str) -> None:
    """Leave an event as it is."""


def _add_columns(body: dict[str, Any], _kind: str) -> None:
    sources = [
        {"namespace": item["namespace"], "name": item["name"], "field": "x"}
        for item in body["inputs"]
    ]
    for item in body["outputs"]:
        item["facets"]["columnLineage"] = {"fields": {"x": {"inputFields": sources}}}


def _add_explicit(body: dict[str, Any], _kind: str) -> None:
    inputs = [
        {"type": "DATASET", "namespace": i["namespace"], "name": i["name"]} for i in body["inputs"]
    ]
    entries = [
        {
            "type": "DATASET",
            "namespace": item["namespace"],
            "name": item["name"],
            "inputs": inputs[:1],
        }
        for item in body["outputs"]
    ]
    body["job"]["facets"]["lineage"] = {"entries": entries}


def _add_coarse(body: dict[str, Any], kind: str) -> None:
    """State the source of the first output, and that the other outputs have unknown sources."""
    _add_explicit(body, kind)
    entries = body["job"]["facets"]["lineage"]["entries"]
    for item, entry in zip(body["outputs"][1:], entries[1:], strict=True):
        item["facets"]["headwater_coarseLineage"] = {"isCoarse": True}
        entry["inputs"] = [{"type": "DATASET", **_named(other)} for other in body["inputs"]]


def _named(item: dict[str, Any]) -> dict[str, Any]:
    return {"namespace": item["namespace"], "name": item["name"]}


def _add_text(body: dict[str, Any], kind: str) -> None:
    """Name one input and one output in a SQL text."""
    for source, target in zip(body["inputs"][:1], body["outputs"][:1], strict=False):
        text = _TEXTS[kind].format(f'"{source["name"]}"', f'"{target["name"]}"')
        body["job"]["facets"]["sql"] = {"query": text, "dialect": "duckdb"}


_TEXTS = {
    "text": "insert into {1} (x) select x from {0}",
    "script": "create temp table w as select x, y from {0} where z > 1;"
    " insert into {1} (x) select x from w where y > 1; drop table w",
    "script replaces rows": "delete from {1}; insert into {1} (x) select x from {0}",
    "script replaces some": "delete from {1} where x = 1; insert into {1} (x) select x from {0}",
    "script swap": "create table w as select x from {0}; drop table {1};"
    " alter table w rename to {1}",
    "script keeps former": "alter table {1} rename to d; create table {1} as select x from {0}",
}


def _add_view(body: dict[str, Any], _kind: str) -> None:
    for item in body["outputs"]:
        item["facets"]["datasetType"] = {"datasetType": "VIEW"}


def _add_rows(body: dict[str, Any], _kind: str) -> None:
    for item in body["outputs"]:
        metrics = {"addedRecords": 1, "totalRecords": 2}
        item["outputFacets"] = {"icebergCommitReport": {"commitMetrics": metrics}}


def _add_part(body: dict[str, Any], kind: str) -> None:
    """Replace one partition; with a commit report, as an overwrite."""
    if kind == "commits part":
        _add_rows(body, kind)
        _add_change(body, "OVERWRITE")
    part = body["run"]["runId"][-1] if kind == "commits part" else "0"
    partitions = [{"identifier": str(int(part) % 2), "dimensions": {}}]
    for item in body["outputs"]:
        condition = {"type": "partition", "partitions": partitions}
        item.setdefault("outputFacets", {})["subset"] = {"outputCondition": condition}


def _add_parts_by_source(body: dict[str, Any], kind: str) -> None:
    """Replace two partitions, each from an input of its own, or from a partition of one."""
    if kind == "commits parts by source":
        _add_rows(body, kind)
        _add_change(body, "OVERWRITE")
    state_partition_sources(body)


def _add_version(body: dict[str, Any], _kind: str) -> None:
    for item in (*body["inputs"], *body["outputs"]):
        item["facets"]["version"] = {"datasetVersion": str(len(body["inputs"]))}


def _add_stream(body: dict[str, Any], kind: str) -> None:
    body["job"]["facets"]["jobType"] = {"processingType": kind, "integration": "FLINK"}


def _add_change(body: dict[str, Any], kind: str) -> None:
    for item in body["outputs"]:
        change = {
            "lifecycleStateChange": kind,
            "previousIdentifier": {"namespace": "db", "name": "d"},
        }
        item["facets"]["lifecycleStateChange"] = change


def _leave_only_text(body: dict[str, Any], kind: str) -> None:
    """Remove inputs and outputs; name the dropped or renamed table only in the SQL text."""
    name = next((item["name"] for item in body["outputs"] if item["namespace"] == "db"), "c")
    text = f"drop table {name}" if kind == "SQL drop" else f"alter table d rename to {name}"
    body["job"]["facets"]["sql"] = {"query": text}
    body["inputs"] = body["outputs"] = []


def _add_exposure(body: dict[str, Any], _kind: str) -> None:
    for item in body["outputs"]:
        exposures = [{"unique_id": f"exposure of {body['run']['runId']}"}]
        item["facets"]["dbt_exposures"] = {"exposures": exposures}


def _add_alias(body: dict[str, Any], _kind: str) -> None:
    table = {"namespace": "db", "name": "a", "type": "TABLE"}
    for item in (*body["inputs"], *body["outputs"]):
        if item["namespace"] == "s3://b":
            item["facets"]["symlinks"] = {"identifiers": [table]}


_ADD = {
    "columns": _add_columns,
    "explicit": _add_explicit,
    "keeps rows": _add_rows,
    "part": _add_part,
    "commits part": _add_part,
    "parts by source": _add_parts_by_source,
    "commits parts by source": _add_parts_by_source,
    "version": _add_version,
    "STREAMING": _add_stream,
    **dict.fromkeys(("DROP", "TRUNCATE", "RENAME", "CREATE", "OVERWRITE"), _add_change),
    **dict.fromkeys(("SQL drop", "SQL alter"), _leave_only_text),
    "alias": _add_alias,
    "exposure": _add_exposure,
    "coarse": _add_coarse,
    **dict.fromkeys(_TEXTS, _add_text),
    "view": _add_view,
}


def run_of(
    job: str, kind: str, reads: list[str], writes: list[str], parent: str | None = None
) -> dict[str, Any]:
    """Return a run that starts and completes at midnight."""
    times = {"start": 0, "hours": 0, "end": "COMPLETE"}
    return {"job": job, "parent": parent, "kind": kind, "reads": reads, "writes": writes, **times}
