"""Lists of datasets, jobs, runs, owners and tags: filters, counts, order and pages."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.nodes.queries import node_answer
from headwater.plugins.search.queries import (
    datasets_answer,
    groups_answer,
    jobs_answer,
    search_answer,
)
from headwater.projection import State
from headwater.projection.live import Batch, Live
from headwater.runs.queries import runs_answer

_LAKE, _BUCKET, _GLUE = "hive://lake", "s3://bucket", "arn:aws:glue:eu-west-1:1"


def _owned(event: Any, *owners: str) -> Any:
    event["job"]["facets"]["ownership"] = {"owners": [{"name": name} for name in owners]}
    return event


@pytest.fixture
def state(build: Any) -> State:
    """Return a state of two teams: one loads two tables, the other reports on one of them."""
    file, report = f"{_BUCKET}|in/trips.csv", f"{_GLUE}|table/reports/Trips"
    tables = f"{_LAKE}|raw.trips", f"{_LAKE}|raw.zones"
    load = _owned(
        build.run("COMPLETE", "1", "load", "08:05:00", kind="AIRFLOW/TASK", reads=(file,)), "ingest"
    )
    tags = {"tags": [{"key": "tier", "value": "gold"}, {"key": "pii", "field": "mail"}]}
    iceberg = {"storageLayer": "iceberg"}
    own = {"owners": [{"name": "masterdata"}]}
    load["outputs"] = [
        build.dataset(tables[0], tags=tags, storage=iceberg),
        build.dataset(tables[1], ownership=own, storage={"storageLayer": "Unknown"}),
    ]
    begin = build.run("START", "2", "report", "09:00:00", kind="SPARK/TASK")
    make = build.run(
        "FAIL", "2", "report", "09:30:00", kind="SPARK/TASK", reads=tables[:1], writes=(report,)
    )
    return build.state(load, _owned(begin, "analytics"), _owned(make, "analytics"))


def _names(answer: Any) -> list[str]:
    return [item["name"] for item in answer["items"]]


def _counts(answer: Any, facet: str) -> dict[str, int]:
    return {count["value"]: count["count"] for count in answer["facets"][facet]}


def test_datasets_are_listed_with_owners_and_last_write(state: State) -> None:
    answer = datasets_answer(state)
    assert (answer["total"], answer["next"]) == (4, None)
    trips, _, file, zones = answer["items"]
    assert (file["writtenAt"], file["kind"], file["jobOwners"]) == (None, "file", [])
    assert (trips["owners"], trips["jobOwners"]) == ([], ["ingest"])
    assert (zones["owners"], zones["jobOwners"]) == (["masterdata"], ["ingest"])
    for item in answer["items"]:
        assert item["writtenAt"] == node_answer(state, item["id"])["writtenAt"]


def test_dataset_facets_count_every_value(state: State) -> None:
    answer = datasets_answer(state)
    assert _counts(answer, "platform") == {"iceberg": 1, "hive": 1, "s3": 1, "glue": 1}
    assert _counts(answer, "type") == {"table": 3, "file": 1}
    assert _counts(answer, "namespace") == {_LAKE: 2, _BUCKET: 1, _GLUE: 1}
    assert _counts(answer, "owner") == {"": 1, "ingest": 1, "masterdata": 1, "analytics": 1}
    assert _counts(answer, "tag") == {"": 3, "tier:gold": 1, "pii": 1}
    assert _counts(answer, "state") == {"healthy": 2, "failed": 1, "unknown": 1}


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        ({"owner": "ingest"}, ["raw.trips"]),
        ({"owner": "masterdata"}, ["raw.zones"]),
        ({"owner": ""}, ["in/trips.csv"]),
        ({"tag": "pii"}, ["raw.trips"]),
        ({"platform": "glue"}, ["table/reports/Trips"]),
        ({"type_": "table", "namespace": _LAKE}, ["raw.trips", "raw.zones"]),
        ({"text": "TRIPS", "type_": "table"}, ["raw.trips", "table/reports/Trips"]),
        ({"owner": "nobody"}, []),
    ],
)
def test_datasets_are_filtered(wanted: dict[str, str], names: list[str], state: State) -> None:
    answer = datasets_answer(state, **wanted)
    assert (_names(answer), answer["total"]) == (names, len(names))


def test_facet_ignores_its_own_filter_but_not_the_others(state: State) -> None:
    answer = datasets_answer(state, type_="table", owner="ingest")
    assert _counts(answer, "owner") == {"ingest": 1, "masterdata": 1, "analytics": 1}
    assert _counts(answer, "type") == {"table": 1}
    answer = datasets_answer(state, owner="nobody")
    assert _counts(answer, "owner")["nobody"] == 0
    assert answer["facets"]["type"] == []


def test_datasets_are_sorted_by_title_and_paged_in_both_directions(state: State) -> None:
    names = ["raw.trips", "table/reports/Trips", "in/trips.csv", "raw.zones"]
    for reverse, expected in ((False, names), (True, names[::-1])):
        found, cursor = [], None
        for _ in expected:
            page = datasets_answer(state, limit=1, cursor=cursor, reverse=reverse)
            found += _names(page)
            cursor = page["next"]
        assert (found, cursor) == (expected, None)


def test_datasets_are_sorted_by_last_write_and_paged_in_both_directions(state: State) -> None:
    newest = ["raw.zones", "raw.trips", "in/trips.csv", "table/reports/Trips"]  # the last failed
    for reverse, expected in ((False, newest), (True, newest[::-1])):
        names, cursor = [], None
        for _ in expected:
            page = datasets_answer(state, sort="written", limit=1, cursor=cursor, reverse=reverse)
            names += _names(page)
            cursor = page["next"]
        assert (names, cursor, page["total"]) == (expected, None, 4)


def test_jobs_are_listed_with_their_newest_run_and_their_state(state: State) -> None:
    answer = jobs_answer(state, sort="started")
    assert _names(answer) == ["report", "load"]
    assert _counts(answer, "state") == {"failed": 1, "healthy": 1}
    assert _counts(answer, "platform") == {"airflow": 1, "spark": 1}
    assert _counts(answer, "type") == {"task": 2}
    (failed,) = jobs_answer(state, condition="FAILED")["items"]
    assert (failed["name"], failed["run"]["runId"], failed["owners"]) == (
        "report",
        "2",
        ["analytics"],
    )
    assert _names(jobs_answer(state, "LO", owner="ingest")) == ["load"]


def test_job_without_runs_has_the_state_unknown(build: Any) -> None:
    declared = build.run("COMPLETE", "1", "declared", "08:00:00")
    for key in ("eventType", "run"):
        del declared[key]
    state = build.state(declared)
    for answer in (jobs_answer(state), jobs_answer(state, condition="")):
        assert (answer["items"][0]["run"], _counts(answer, "state")) == (None, {"unknown": 1})
    assert jobs_answer(state, condition="COMPLETED")["items"] == []


def test_runs_are_filtered_by_their_job_and_counted_on_request(state: State) -> None:
    assert (runs_answer(state)["total"], runs_answer(state)["facets"]) == (None, None)
    answer = runs_answer(state, facets=True, owner="analytics")
    assert ([run["runId"] for run in answer["items"]], answer["total"]) == (["2"], 1)
    assert _counts(answer, "state") == {"FAILED": 1}
    assert _counts(answer, "owner") == {"analytics": 1, "ingest": 1}
    assert [run["runId"] for run in runs_answer(state, platform="airflow")["items"]] == ["1"]


def test_runs_are_filtered_by_the_name_of_their_job(state: State) -> None:
    answer = runs_answer(state, text=" REPO", facets=True)
    assert ([run["runId"] for run in answer["items"]], answer["total"]) == (["2"], 1)
    assert _counts(answer, "owner") == {"analytics": 1}
    for filters in ({"job": "load"}, {"condition": "COMPLETED"}, {"own_id": "x"}):
        assert runs_answer(state, text="repo", **filters)["items"] == []
    assert [run["runId"] for run in runs_answer(state, "load", text="load")["items"]] == ["1"]


@pytest.mark.parametrize("facets", [False, True])
def test_runs_of_jobs_with_other_names_are_not_read(facets: bool, state: State) -> None:
    state.runs = {key: run for key, run in state.runs.items() if key.job.name == "report"}
    (run,) = runs_answer(state, text="report", facets=facets)["items"]
    assert run["runId"] == "2"


def test_runs_are_sorted_by_duration(state: State) -> None:
    def ids(**order: Any) -> list[str]:
        return [run["runId"] for run in runs_answer(state, **order)["items"]]

    assert ids(sort="duration") == ["2", "1"]
    assert ids(sort="duration", reverse=True) == ["1", "2"]
    assert ids(reverse=True) == ["1", "2"]


def test_groups_count_the_datasets_and_jobs_of_owners_and_tags(state: State) -> None:
    def groups(**asked: Any) -> list[tuple[str, int, int]]:
        items = groups_answer(state, **asked)["items"]
        return [(item["value"], item["datasets"], item["jobs"]) for item in items]

    owners = [("", 1, 0), ("analytics", 1, 1), ("ingest", 1, 1), ("masterdata", 1, 0)]
    assert groups() == owners
    assert groups(sort="jobs", limit=2) == [("ingest", 1, 1), ("analytics", 1, 1)]
    assert groups(by="tag") == [("", 3, 2), ("pii", 1, 0), ("tier:gold", 1, 0)]
    assert groups(text="MASTER") == owners[-1:]


def test_tag_of_airflow_is_listed_by_its_key(build: Any) -> None:
    event = build.run("COMPLETE", "1", "load", "08:00:00")
    event["job"]["facets"] = {"tags": {"tags": [{"key": "taxi", "value": "taxi"}]}}
    state = build.state(event)
    assert [group["value"] for group in groups_answer(state, "tag")["items"]] == ["taxi"]
    assert [job["tags"] for job in jobs_answer(state, tag="taxi")["items"]] == [["taxi"]]


def test_group_counts_match_the_lists_that_they_lead_to(state: State) -> None:
    for by in ("owner", "tag"):
        for group in groups_answer(state, by)["items"]:
            selected = {by: group["value"]}
            assert datasets_answer(state, **selected)["total"] == group["datasets"]
            assert jobs_answer(state, **selected)["total"] == group["jobs"]


def test_lists_follow_new_events(build: Any, live: Live) -> None:
    def written() -> dict[str, str]:
        with live.reading() as state:
            items = datasets_answer(state, owner="")["items"]
            return {item["name"]: item["writtenAt"][11:16] for item in items}

    first = build.run("COMPLETE", "1", "load", "08:00:00", writes=("db|trips",))
    live.ingest(Batch([build.entry(first)]))
    assert written() == {"trips": "08:00"}
    later = build.run("COMPLETE", "2", "load", "09:00:00", writes=("db|trips", "db|zones"))
    live.ingest(Batch([build.entry(later)]))
    assert written() == {"trips": "09:00", "zones": "09:00"}


def test_search_results_are_filtered_and_counted(state: State) -> None:
    answer = search_answer(state, "trips", facets=True)
    assert (answer["total"], _counts(answer, "type")) == (3, {"table": 2, "file": 1})
    answer = search_answer(state, "trips", type_="table", platform="iceberg", facets=True)
    assert (_names(answer), answer["counts"]["name"]) == (["raw.trips"], 1)
    assert _counts(answer, "platform") == {"iceberg": 1, "glue": 1}
    assert search_answer(state, "trips")["facets"] is None


def test_search_results_are_filtered_by_what_matched(state: State) -> None:
    answer = search_answer(state, "ingest", matched="owner", facets=True)
    assert (_names(answer), answer["total"], answer["counts"]["owner"]) == (["load"], 1, 1)
    assert search_answer(state, "ingest", matched="tag")["items"] == []


def test_search_results_have_the_time_of_the_last_activity(state: State) -> None:
    hits = {hit["name"]: hit["activeAt"] for hit in search_answer(state, "r")["items"]}
    assert hits["raw.trips"] == "2025-11-21T08:05:00Z"
    assert hits["report"] == "2025-11-21T09:00:00Z"
    assert hits["in/trips.csv"] is None
