"""Dropped, emptied and renamed datasets are treated as what they are."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from headwater.datasets.removal import removal_of
from headwater.lineage.queries import tree_answer
from headwater.lookup import find_dataset
from headwater.plugins.impact.queries import impact_answer
from headwater.plugins.provenance.queries import provenance_answer
from headwater.projection import State
from headwater.projection._apply import apply


def _names(node: dict[str, Any]) -> set[str]:
    return {name for child in node["children"] for name in {child["name"], *_names(child)}}


def _tree(state: State, name: str) -> set[str]:
    return _names(tree_answer(state, name)["up"])


def _change(build: Any, run: str, job: str, time: str, name: str, kind: str, **more: Any) -> Any:
    facet = {"lifecycleStateChange": kind, **more}
    event = build.run("COMPLETE", run, job, time)
    return event | {"outputs": [build.dataset(f"db|{name}", lifecycleStateChange=facet)]}


def _copy(build: Any, run: str, job: str, time: str, source: str, target: str) -> Any:
    reads, writes = (f"db|{source}",), (f"db|{target}",)
    return build.run("COMPLETE", run, job, time, reads=reads, writes=writes)


def _renamed(build: Any, run: str, job: str, time: str, old: str, new: str) -> Any:
    former = {"namespace": "db", "name": old}
    return _change(build, run, job, time, new, "RENAME", previousIdentifier=former)


@pytest.mark.parametrize("event", ["START", "input"])
def test_removal_counts_at_the_end_of_a_run_that_completed(event: str, build: Any) -> None:
    """It may be reported only when the run starts, or as a facet of an input."""
    begin = _change(build, "3", "cleanup", "10:10:00", "t", "DROP") | {"eventType": "START"}
    end = build.run("COMPLETE", "3", "cleanup", "10:30:00")
    if event == "input":
        begin, end = end, end | {"inputs": begin["outputs"]}
    load = _copy(build, "1", "load", "10:00:00", "a", "t")
    report = _copy(build, "2", "report", "10:20:00", "t", "r")
    for order in permutations([begin, end, load, report]):
        state = build.state(*order)
        assert _tree(state, "r") == {"report", "t", "load", "a"}
        removal = removal_of(state, find_dataset(state, "t").dataset_name)
        assert removal is not None
        assert removal["at"].endswith("10:30:00Z")
    if event == "input":
        begin = begin | {"eventType": "START"}
    failed = build.state(load, report, begin, end | {"eventType": "FAIL"})
    assert removal_of(failed, find_dataset(failed, "t").dataset_name) is None


@pytest.mark.parametrize("kind", ["DROP", "TRUNCATE", "drop"])
def test_job_that_removes_data_is_no_producer(kind: str, build: Any) -> None:
    events = [
        _copy(build, "1", "fill", "10:00:00", "orders", "tmp"),
        _copy(build, "2", "publish", "10:05:00", "tmp", "daily"),
        _change(build, "3", "cleanup", "10:10:00", "tmp", kind),
    ]
    for order in permutations(events):
        state = build.state(*order)
        assert _tree(state, "daily") == {"publish", "tmp", "fill", "orders"}
        runs = provenance_answer(state, "daily")["runs"]
        assert {run["job"]["name"] for run in runs} == {"publish", "fill"}


@pytest.mark.parametrize("kind", ["DROP", "TRUNCATE"])
def test_reader_depends_only_on_rows_written_after_a_removal(kind: str, build: Any) -> None:
    state = build.state(
        _copy(build, "1", "old_load", "09:00:00", "a", "t"),
        _copy(build, "2", "early", "09:30:00", "t", "early_report"),
        _change(build, "3", "empty", "10:00:00", "t", kind),
        _copy(build, "4", "load", "10:05:00", "b", "t"),
        _copy(build, "5", "report", "10:10:00", "t", "r"),
    )
    assert _tree(state, "r") == {"report", "t", "load", "b"}
    assert _tree(state, "early_report") == {"early", "t", "old_load", "a"}


def test_renamed_table_keeps_its_lineage(build: Any) -> None:
    events = [
        _copy(build, "1", "build", "10:00:00", "orders", "daily_new"),
        _renamed(build, "2", "swap", "10:05:00", "daily_new", "daily"),
        _copy(build, "3", "report", "10:10:00", "daily", "final"),
    ]
    for order in permutations(events):
        state = build.state(*order)
        assert _tree(state, "final") == {"report", "daily", "swap", "daily_new", "build", "orders"}
        affected = {node["name"] for node in impact_answer(state, "orders")["affected"]}
        assert {"final", "daily"} <= affected


@pytest.mark.parametrize("end", ["COMPLETE", "FAIL", None])
def test_rename_reported_only_at_the_start_counts_if_the_run_completed(
    end: str | None, build: Any
) -> None:
    """A producer may list the outputs of a run only in its first event."""
    begin = _renamed(build, "2", "swap", "10:10:00", "new", "t") | {"eventType": "START"}
    events = [
        _copy(build, "0", "before", "09:00:00", "old", "t"),
        _copy(build, "1", "load", "10:00:00", "a", "new"),
        begin,
        *([build.run(end, "2", "swap", "10:20:00")] if end else []),
        _copy(build, "3", "report", "10:30:00", "t", "out"),
        _copy(build, "4", "load", "10:40:00", "late", "new"),
    ]
    is_renamed = end == "COMPLETE"
    for order in list(permutations(events))[::11]:
        state = build.state(*order)
        assert {"a", "old", "late"} & _tree(state, "out") == ({"a"} if is_renamed else {"old"})
        assert ("load" in _tree(state, "t")) is is_renamed
    affected = {node["name"] for node in impact_answer(state, "a")["affected"]}
    assert ("out" in affected) is is_renamed


def test_rename_replaces_the_earlier_rows_of_the_new_name(build: Any) -> None:
    state = build.state(
        _copy(build, "0", "old_build", "09:00:00", "old_orders", "daily"),
        _copy(build, "1", "build", "10:00:00", "orders", "daily_new"),
        _renamed(build, "2", "park", "10:04:00", "daily", "daily_old"),
        _renamed(build, "3", "swap", "10:05:00", "daily_new", "daily"),
        _copy(build, "4", "report", "10:10:00", "daily", "final"),
        _copy(build, "5", "archive", "10:20:00", "daily_old", "archived"),
        _copy(build, "6", "rebuild", "11:00:00", "orders", "daily_new"),
    )
    assert _tree(state, "final") == {"report", "daily", "swap", "daily_new", "build", "orders"}
    assert _tree(state, "archived") == {
        "archive", "daily_old", "park", "daily", "old_build", "old_orders"
    }  # fmt: skip


def test_failed_drop_removes_nothing(build: Any) -> None:
    drop = _change(build, "2", "cleanup", "10:10:00", "t", "DROP") | {"eventType": "FAIL"}
    state = build.state(
        _copy(build, "1", "fill", "10:00:00", "orders", "t"),
        drop,
        _copy(build, "3", "report", "10:20:00", "t", "r"),
    )
    assert _tree(state, "r") == {"report", "t", "fill", "orders"}


def test_rename_without_a_run_keeps_the_lineage(build: Any) -> None:
    former = {"namespace": "db", "name": "daily_new"}
    facet = {"lifecycleStateChange": "RENAME", "previousIdentifier": former}
    renamed = {
        "eventTime": "2025-11-21T10:05:00Z",
        "producer": "https://example.org/tests",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/DatasetEvent",
        "dataset": build.dataset("db|daily", lifecycleStateChange=facet),
    }
    state = build.state(
        _copy(build, "1", "build", "10:00:00", "orders", "daily_new"),
        renamed,
        _copy(build, "3", "report", "10:10:00", "daily", "final"),
    )
    assert _tree(state, "final") == {"report", "daily", "daily_new", "build", "orders"}


def test_table_rewritten_after_a_drop_has_only_new_producers(build: Any) -> None:
    state = build.state(
        _copy(build, "1", "old_load", "09:00:00", "a", "t"),
        _change(build, "2", "cleanup", "10:00:00", "t", "DROP"),
        _copy(build, "3", "load", "10:05:00", "b", "t"),
        _change(build, "4", "cleanup", "11:00:00", "t", "DROP"),
    )
    assert _tree(state, "t") == {"load", "b"}


def test_swapped_tables_exchange_their_lineage(build: Any) -> None:
    events = [
        _copy(build, "1", "fill_a", "10:00:00", "x", "a"),
        _copy(build, "2", "fill_b", "10:00:00", "y", "b"),
        _renamed(build, "3", "swap", "11:00:00", "b", "a"),
        _copy(build, "4", "read_a", "12:00:00", "a", "from_a"),
        _copy(build, "5", "read_b", "12:00:00", "b", "from_b"),
    ]
    events[2]["outputs"] += _renamed(build, "3", "swap", "11:00:00", "a", "b")["outputs"]
    state = build.state(*events)
    assert _tree(state, "from_a") == {"read_a", "a", "swap", "b", "fill_b", "y"}
    assert _tree(state, "from_b") == {"read_b", "b", "swap", "a", "fill_a", "x"}


def _created(build: Any, time: str, kind: str, **facets: Any) -> Any:
    event = _change(build, "c", "create", time, "t", kind)
    event["outputs"][0]["facets"] |= facets
    return event


@pytest.mark.parametrize("kind", ["CREATE", "ALTER"])
@pytest.mark.parametrize("time", ["08:00:00", "09:30:00"])
def test_change_without_rows_of_a_written_table_is_no_write(
    time: str, kind: str, build: Any
) -> None:
    rows = [
        _copy(build, "1", "load", "09:00:00", "a", "t"),
        _copy(build, "2", "report", "10:00:00", "t", "r"),
    ]
    assert _tree(build.state(*rows, _created(build, time, kind)), "r") == {
        "report",
        "t",
        "load",
        "a",
    }
    assert _tree(build.state(rows[1], _created(build, time, kind)), "r") == {
        "report",
        "t",
        "create",
    }
    made_of: dict[str, Any] = {"fields": {"x": {"inputFields": []}}}
    with_rows = _created(build, time, kind, columnLineage=made_of)
    assert "create" in _tree(build.state(*rows, with_rows), "r")


def test_removal_by_another_name_updates_earlier_answers(build: Any) -> None:
    table = build.dataset("db|t", symlinks=[("hive://m", "t", "TABLE")])
    load = _copy(build, "1", "load", "09:00:00", "a", "t") | {"outputs": [table]}
    state = build.state(load, _copy(build, "2", "report", "10:00:00", "t", "r"))
    assert "load" in _tree(state, "r")
    drop = _change(build, "3", "empty", "09:30:00", "t", "TRUNCATE")
    drop["outputs"][0]["namespace"] = "hive://m"
    assert "r" in {node["name"] for node in impact_answer(state, "a")["affected"]}
    apply(state, build.entry(drop).event)
    assert "r" not in {node["name"] for node in impact_answer(state, "a")["affected"]}
    assert _tree(state, "r") == {"report", "t"}


def test_run_that_empties_a_table_before_it_fills_it_is_a_producer(build: Any) -> None:
    reload = _change(build, "1", "reload", "09:00:00", "t", "TRUNCATE")
    reload["inputs"] = [build.dataset("db|a")]
    reload["outputs"][0]["outputFacets"] = {"outputStatistics": {"rowCount": 3}}
    state = build.state(reload, _copy(build, "2", "report", "10:00:00", "t", "r"))
    assert _tree(state, "r") == {"report", "t", "reload", "a"}


def test_job_that_empties_and_refills_a_table_keeps_its_sources(build: Any) -> None:
    refill = _change(build, "1", "swap", "10:00:00", "t", "TRUNCATE")
    refill["inputs"] = [build.dataset("db|a")]
    assert _tree(build.state(refill), "t") == {"swap", "a"}


def test_creating_an_existing_table_again_keeps_its_lineage(build: Any) -> None:
    state = build.state(
        build.run("COMPLETE", "1", "load", "08:00:00", reads=("db|a",), writes=("db|b",)),
        _change(build, "2", "load", "09:00:00", "b", "CREATE"),
    )
    assert _tree(state, "b") == {"load", "a"}
    affected = impact_answer(state, "dataset:db:a")["affected"]
    assert [item["name"] for item in affected] == ["load", "b"]


def _silent(build: Any, run: str, time: str, sql: str, end: str = "COMPLETE") -> Any:
    """Return a run that names its table only in the SQL text, as Trino and Spark do."""
    event = build.run(end, run, f"query {run}", time)
    event["job"]["facets"] = {"sql": {"query": sql}}
    return event


def _removal(state: State, name: str) -> Any:
    found = removal_of(state, find_dataset(state, f"dataset:trino://t:{name}").dataset_name)
    if found is None:
        return None
    new = found["renamedTo"]
    return found["kind"], new["name"] if new else None, found["evidence"]


_LOADS = (
    ("1", "load", "09:00:00", "c.s.a", "c.s.t"),
    ("2", "report", "10:00:00", "c.s.t", "c.s.r"),
)


def _loads(build: Any, *more: tuple[str, str, str, str, str]) -> list[Any]:
    return [
        build.run("COMPLETE", run, job, time, reads=(f"trino://t|{a}",), writes=(f"trino://t|{b}",))
        for run, job, time, a, b in (*_LOADS, *more)
    ]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("drop table t", ("dropped", None, "sql")),
        ("DROP TABLE IF EXISTS S.T", ("dropped", None, "sql")),
        ("drop table x, cat.s.t", None),
        ("drop table x, c.s.t;", ("dropped", None, "sql")),
        ("-- clean up\ntruncate table c.s.t", ("emptied", None, "sql")),
        ("delete from t", ("emptied", None, "sql")),
        ("alter table t rename to t_old", ("renamed", "c.s.t_old", "sql")),
        ("drop table other.t", None),
        ("delete from t where a = 1", None),
        ("truncate table t partition (day = 1)", None),
        ("drop table t; create table t (a int)", None),
    ],
)
def test_text_without_datasets_drops_empties_or_renames_its_table(
    sql: str, expected: Any, build: Any
) -> None:
    events = [*_loads(build), _silent(build, "3", "11:00:00", sql)]
    for order in permutations(events):
        state = build.state(*order)
        assert _removal(state, "c.s.t") == expected
        assert _tree(state, "c.s.r") == {"report", "c.s.t", "load", "c.s.a"}
    failed = _silent(build, "3", "11:00:00", sql, end="FAIL")
    assert _removal(build.state(*_loads(build), failed), "c.s.t") is None


def test_change_in_a_text_is_ignored_if_several_schemas_fit(build: Any) -> None:
    other = ("4", "other", "08:00:00", "c.s2.b", "c.s2.u")
    drop = [_silent(build, "3", "11:00:00", "drop table t"), *_loads(build, other)]
    for order in permutations(drop):
        assert _removal(build.state(*order), "c.s.t") is None
    drop[0]["job"]["facets"]["sql"]["query"] = "drop table s.t"
    assert _removal(build.state(*drop), "c.s.t") == ("dropped", None, "sql")


@pytest.mark.parametrize("reads", [(), ("trino://t|c.s.t",)])
def test_table_renamed_by_a_text_keeps_its_lineage(reads: tuple[str, ...], build: Any) -> None:
    rename = _silent(build, "3", "11:00:00", "alter table t rename to t2")
    rename["inputs"] = [build.dataset(name) for name in reads]
    events = [*_loads(build, ("4", "late", "12:00:00", "c.s.t2", "c.s.r2")), rename]
    for order in permutations(events):
        state = build.state(*order)
        assert _tree(state, "c.s.r2") == {
            "late", "c.s.t2", "query 3", "c.s.t", "load", "c.s.a"
        }  # fmt: skip
        affected = {
            node["name"] for node in impact_answer(state, "dataset:trino://t:c.s.a")["affected"]
        }
        assert {"c.s.r2", "c.s.t2"} <= affected
    state = build.state(*events[:2], events[3])
    assert _tree(state, "c.s.r") == {"report", "c.s.t", "load", "c.s.a"}
    apply(state, build.entry(events[2]).event)
    assert "load" in _tree(state, "c.s.r2")


def test_truncate_in_spark_is_read_from_the_sql_text(build: Any) -> None:
    def change(sql: str) -> State:
        event = build.run("COMPLETE", "2", "app.delete", "11:00:00")
        event["job"]["facets"] = {"sql": {"query": sql, "_producer": "x/integration/spark"}}
        event["outputs"] = [table]
        return build.state(load, event)

    table = build.dataset("s3://w|shop/t", symlinks=[("hive://m", "shop.t", "TABLE")])
    load = build.run("COMPLETE", "1", "load", "09:00:00", reads=("s3://w|a",))
    load["outputs"] = [table]
    removed = [
        removal_of(state, find_dataset(state, "shop.t").dataset_name)
        for state in map(change, ("truncate table lake.shop.t", "delete from lake.shop.t where a"))
    ]
    assert [removal and removal["kind"] for removal in removed] == ["emptied", None]


@pytest.mark.parametrize("kind", ["CREATE", "OVERWRITE"])
def test_change_of_an_input_that_removes_nothing_is_ignored(kind: str, build: Any) -> None:
    read = _copy(build, "2", "report", "10:20:00", "t", "r")
    read["inputs"][0]["facets"] = {"lifecycleStateChange": {"lifecycleStateChange": kind}}
    state = build.state(_copy(build, "1", "load", "10:00:00", "a", "t"), read)
    assert not state.datasets[find_dataset(state, "t").dataset_name].lifecycle
    assert _tree(state, "r") == {"report", "t", "load", "a"}
