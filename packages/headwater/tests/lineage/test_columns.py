"""Column lineage of the effective runs."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from headwater.errors import NotFoundError
from headwater.graph.column_graph import Column
from headwater.graph.current import column_graph_of
from headwater.identity import DatasetName
from headwater.lineage.queries import columns_answer
from headwater.projection.live import Batch, Live
from packages.headwater.tests.support.columns import (
    FILTER,
    IDENTITY,
    SUM,
    derive,
    filtered,
)


def _tree(leaf: dict[str, Any]) -> Any:
    mark = "*" if leaf["isRepeated"] else "…" if leaf["hasMore"] else ""
    how = f" {leaf['transformation']}" if leaf["transformation"] else ""
    below = [_tree(child) for child in leaf["children"]]
    return {f"{leaf['name']}.{leaf['field']}{how}{mark}": below}


@pytest.fixture
def events(build: Any) -> list[Any]:
    return [
        derive(build, "1", "08", "load", raw__id=[("file.ID", IDENTITY)],
               raw__fare=[("file.fare", IDENTITY), ("file.kind", FILTER)]),
        derive(build, "2", "09", "sum", day__fare=[("raw.fare", SUM), ("raw.id", FILTER)],
               day__rides=[("raw.id", SUM)]),
    ]  # fmt: skip


def test_column_tree_ends_at_the_source_columns(events: list[Any], build: Any) -> None:
    state = build.state(*events)
    top = columns_answer(state, "day")["up"]
    assert top["name"] == "day"
    assert [_tree(child) for child in top["children"]] == [
        {"day.fare": [{"raw.fare AGGREGATION": [{"file.fare IDENTITY": []}]}]},
        {"day.rides": [{"raw.id AGGREGATION": [{"file.ID IDENTITY": []}]}]},
    ]
    (step,) = top["children"][0]["children"]
    assert step["job"] == "sum"
    (one,) = columns_answer(state, "day", "fare", depth=1)["up"]["children"]
    assert _tree(one) == {"day.fare": [{"raw.fare AGGREGATION…": []}]}


def test_indirect_columns_are_optional(events: list[Any], build: Any) -> None:
    (fare,) = columns_answer(build.state(*events), "day", "fare", indirect=True)["up"]["children"]
    assert _tree(fare) == {
        "day.fare": [
            {"raw.fare AGGREGATION": [{"file.fare IDENTITY": []}, {"file.kind FILTER": []}]},
            {"raw.id FILTER": [{"file.ID IDENTITY": []}]},
        ]
    }


def test_columns_downstream(events: list[Any], build: Any) -> None:
    (column,) = columns_answer(build.state(*events), "file", "ID", "down")["down"]["children"]
    assert _tree(column) == {"file.ID": [{"raw.id IDENTITY": [{"day.rides AGGREGATION": []}]}]}


def test_inputs_only_in_column_lineage_have_outputs(events: list[Any], build: Any) -> None:
    for event in events:
        event["inputs"] = []
    graph = column_graph_of(build.state(*events))
    (edge,) = graph.outputs(Column(DatasetName("db", "file"), "kind"), indirect=True)
    assert edge.target == Column(DatasetName("db", "raw"), "fare")


def test_filter_column_is_indirect_input_of_every_column(build: Any) -> None:
    state = build.state(filtered(build))
    top = columns_answer(state, "day", indirect=True)["up"]
    assert [_tree(child) for child in top["children"]] == [
        {"day.fare": [{"raw.fare AGGREGATION": []}, {"raw.zone GROUP_BY": []}]},
        {"day.note": [{"raw.zone GROUP_BY": []}]},
    ]
    assert [step["isDirect"] for step in top["children"][0]["children"]] == [True, False]
    direct = columns_answer(state, "day")["up"]["children"]
    assert [_tree(child) for child in direct] == [{"day.fare": [{"raw.fare AGGREGATION": []}]}]


def test_filter_column_has_every_column_downstream(build: Any) -> None:
    (zone,) = columns_answer(build.state(filtered(build)), "raw", "zone", "down", indirect=True)[
        "down"
    ]["children"]
    assert _tree(zone) == {"raw.zone": [{"day.fare GROUP_BY": []}, {"day.note GROUP_BY": []}]}


def test_entries_for_all_rows_are_indirect_even_if_reported_direct(build: Any) -> None:
    event = filtered(build)
    (whole,) = event["outputs"][0]["facets"]["columnLineage"]["dataset"]
    whole["transformations"] = [IDENTITY]
    state = build.state(event)
    assert columns_answer(state, "raw", "zone", "down")["down"]["children"][0]["children"] == []
    (indirect,) = columns_answer(state, "day", "note", indirect=True)["up"]["children"][0][
        "children"
    ]
    assert (indirect["field"], indirect["isDirect"]) == ("zone", False)


def test_repeated_columns_are_marked(build: Any) -> None:
    state = build.state(
        derive(build, "1", "08", "load", raw__id=[("file.ID",)]),
        derive(build, "2", "09", "both", out__a=[("raw.id",)], out__b=[("raw.id",)]),
        derive(build, "3", "10", "self", raw__more=[("raw.id",)]),
    )
    top = columns_answer(state, "out")["up"]
    assert [_tree(child) for child in top["children"]] == [
        {"out.a": [{"raw.id": [{"file.ID": []}]}]},
        {"out.b": [{"raw.id*": []}]},
    ]


def test_newest_run_replaces_column_inputs(
    build: Any,
) -> None:
    first = derive(build, "1", "08", "load", t__x=[("a.x", IDENTITY)])
    second = derive(build, "2", "09", "load", t__x=[("b.x", IDENTITY)])
    for events in ((first, second), (second, first)):
        (x,) = columns_answer(build.state(*events), "t", "x")["up"]["children"]
        assert _tree(x) == {"t.x": [{"b.x IDENTITY": []}]}


_NO_COLUMN = "neither a schema nor column lineage of"


@pytest.mark.parametrize(
    ("node", "field", "message"),
    [
        ("day", "fair", f"{_NO_COLUMN} day has a column 'fair'; reported: fare, rides"),
        ("file", "id", f"{_NO_COLUMN} file has a column 'id'; reported: ID, fare, kind"),
        (
            "job:demo:sum",
            None,
            "'job:demo:sum' is a job; expected a dataset. Use a dataset that it writes: day",
        ),
    ],
)  # fmt: skip
def test_unknown_column_error_lists_the_columns(
    node: str, field: str | None, message: str, events: list[Any], build: Any
) -> None:
    with pytest.raises(NotFoundError) as caught:
        columns_answer(build.state(*events), node, field)
    assert str(caught.value) == message


def test_removed_column_error_refers_to_the_newest_schema(build: Any) -> None:
    def write_event(run: str, hour: str, *columns: str) -> dict[str, Any]:
        event: dict[str, Any] = build.run("COMPLETE", run, "j", f"{hour}:00:00")
        schema = {"fields": [{"name": column} for column in columns]}
        return event | {"outputs": [build.dataset("db|t", schema=schema)]}

    state = build.state(write_event("1", "08", "id", "old"), write_event("2", "09", "id"))
    message = "the newest schema of t no longer has column 'old'; reported: id"
    with pytest.raises(NotFoundError, match=message):
        columns_answer(state, "t", "old")


def test_misspelled_column_error_suggests_similar_names(events: list[Any], build: Any) -> None:
    written = build.run("COMPLETE", "9", "other", "12:00:00")
    schema = {"fields": [{"name": "note", "type": "string"}, {"name": "Rides", "type": "long"}]}
    written["outputs"] = [build.dataset("db|plain", schema=schema)]
    state = build.state(*events, written)
    for node, field in (("plain", "note"), ("file", "ID")):
        (leaf,) = columns_answer(state, node, field)["up"]["children"]
        assert (leaf["field"], leaf["children"]) == (field, [])
    with pytest.raises(NotFoundError, match="a column 'rides'; reported: Rides") as caught:
        columns_answer(state, "plain", "rides")
    assert caught.value.nearest == ("Rides",)
    unreported = build.state(build.run("COMPLETE", "1", "j", "08:00:00", reads=("db|t",)))
    with pytest.raises(NotFoundError, match="a column 'x'; reported: no column"):
        columns_answer(unreported, "t", "x")


@pytest.mark.parametrize(
    "facet",
    [
        {"fields": []},
        {"fields": {"x": None, "y": {"inputFields": "no"}, "z": {"inputFields": [7, {}]}}},
        {"fields": {"x": {"inputFields": [{"namespace": "db", "name": 1, "field": "x"}]}}},
        {"fields": {"x": {"inputFields": [{"namespace": "db", "name": "a", "field": "x",
                                           "transformations": [3]}]}}},
    ],
)  # fmt: skip
def test_invalid_column_lineage_is_ignored(facet: Any, live: Live, build: Any) -> None:
    event = build.run("COMPLETE", "1", "j", "08:00:00", reads=("db|a",))
    event["outputs"] = [build.dataset("db|t", columnLineage=facet)]
    live.ingest(Batch([build.entry(orjson.loads(orjson.dumps(event)))]))
    with live.reading() as state:
        assert columns_answer(state, "t")["up"]["name"] == "t"


def test_edges_of_only_failed_runs_are_marked(build: Any) -> None:
    failed = derive(build, "1", "08", "sum", day__fare=[("raw.fare", SUM)], day__x=[("raw.x", SUM)])
    failed["eventType"] = "FAIL"
    other = derive(build, "2", "07", "sum", day__fare=[("raw.fare", SUM)])
    columns = columns_answer(build.state(failed, other), "day")["up"]["children"]
    marks = {child["field"]: child["isFailed"] for c in columns for child in c["children"]}
    assert marks == {"fare": False, "x": True}
