"""Local names: aliases of one location that never join two, whatever the order of events."""

from __future__ import annotations

from itertools import permutations
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import AmbiguousError
from headwater.events import Dataset
from headwater.graph.nodes import node_id
from headwater.identity import DatasetName, Identity
from headwater.lineage.queries import tree_answer
from headwater.lookup import find_node
from headwater.plugins.impact.queries import impact_answer
from headwater.projection import State, project

_DAY1, _DAY2 = (f"hive://ip-10-0-{part}.ec2.internal:9083" for part in ("131-77", "9-12"))


def _copy(build: Any, job: str, reads: str, writes: str, *links: str, time: str = "08:00") -> Any:
    """Return a run that copies a dataset; `links` are symlinks of what it writes."""
    event = build.run("COMPLETE", job, job, f"{time}:00", reads=(reads,))
    symlinks = [(*link.split("|"), "TABLE") for link in links]
    event["outputs"] = [build.dataset(writes, **({"symlinks": symlinks} if links else {}))]
    return event


def _upstream(state: State, name: str) -> set[str]:
    """Return the names of the sources of a dataset."""
    return {node["name"] for node in _walked(tree_answer(state, name)["up"])} - {name}


def _walked(node: Any) -> list[Any]:
    return [node, *(below for child in node["children"] for below in _walked(child))]


def _ids(state: State) -> set[str]:
    return {":".join(name) for name in state.identity}


def _in_any_order(build: Any, bodies: list[Any]) -> State:
    """Return the state of events, after a check that each order gives the same datasets."""
    events = [build.entry(body).event for body in bodies]
    names = {
        tuple(sorted(tuple(state.identity.names(name)) for name in state.identity))
        for order in list(permutations(events))[:24]
        for state in [project(order)]
    }
    assert len(names) == 1
    return project(events)


def test_fixed_namespace_of_flink_joins_no_topics(build: Any) -> None:
    bodies = []
    for job, topic in (("rollup", "payments"), ("filter", "clicks")):
        event = build.run("RUNNING", job, job, "08:00:00")
        for side in ("input", "output"):
            link = ("flink://", f"default_database.{side}_table", "TABLE")
            event[f"{side}s"] = [build.dataset(f"kafka://b:9092|{topic}.{side}", symlinks=[link])]
        bodies.append(event)
    state = _in_any_order(build, bodies)
    assert len(state.identity) == 4
    for job, topic in (("rollup", "payments"), ("filter", "clicks")):
        assert _upstream(state, f"{topic}.output") == {job, f"{topic}.input"}
    with pytest.raises(AmbiguousError, match="a local name of 2 datasets"):
        find_node(state, "dataset:flink://:default_database.input_table")
    shown = state.identity.names(DatasetName("kafka://b:9092", "clicks.input"))
    assert [name.namespace for name in shown] == ["kafka://b:9092", "flink://"]


@pytest.mark.parametrize("namespace", ["unity-catalog", "spark_catalog", "hive://localhost:9083"])
def test_fixed_namespace_joins_no_locations(namespace: str, build: Any) -> None:
    table = f"{namespace}|main.orders"
    state = _in_any_order(
        build,
        [
            _copy(build, "load_a", "s3://in-a|raw", "s3://emea|t/1", table),
            _copy(build, "load_b", "s3://in-b|raw", "s3://apac|t/2", table),
        ],
    )
    assert _upstream(state, "t/1") == {"load_a", "raw"}
    assert "s3://emea:t/1" in _ids(state)


@pytest.mark.parametrize("is_own", [False, True], ids=["symlink", "own name"])
def test_metastores_of_clusters_join_only_their_location(is_own: bool, build: Any) -> None:
    def write(job: str, source: str, place: str, metastore: str) -> Any:
        names = (place, f"{metastore}|hr.att")
        return _copy(build, job, source, *(names[::-1] if is_own else names))

    state = _in_any_order(
        build,
        [
            write("day1", "x|f1", "s3://lake|w/att", _DAY1),
            write("day2", "x|f2", "s3://lake|w/att", _DAY2),
            write("teamB", "x|f3", "s3://other|tmp/att", _DAY2),
        ],
    )
    assert {"s3://lake:w/att", "s3://other:tmp/att"} <= _ids(state)
    assert _upstream(state, "w/att") == {"day1", "f1", "day2", "f2"}
    assert _upstream(state, "tmp/att") == {"teamB", "f3"}
    below = {item["id"] for item in impact_answer(state, "f3")["affected"]}
    assert below == {"job:demo:teamB", "dataset:s3://other:tmp/att"}


def test_reader_of_a_local_name_connects_to_its_only_location(build: Any) -> None:
    write = _copy(build, "w", "x|in", "s3://lake|t", "spark_catalog|db.t")
    read = _copy(build, "r", "spark_catalog|db.t", "x|out", time="09:00")
    state = _in_any_order(build, [write, read])
    assert _upstream(state, "out") == {"r", "t", "w", "in"}
    other = _copy(build, "o", "x|in2", "s3://other|t2", "spark_catalog|db.t", time="10:00")
    state = _in_any_order(build, [write, read, other])
    assert _upstream(state, "out") == {"r", "db.t"}
    assert node_id(find_node(state, "dataset:spark_catalog:db.t")) == "dataset:spark_catalog:db.t"


def test_lineage_of_an_event_uses_its_own_meaning_of_a_name(build: Any) -> None:
    bodies = []
    for job, place in (("a", "s3://a"), ("b", "s3://b")):
        event = build.run("COMPLETE", job, job, "08:00:00")
        link = ("flink://", "db.t", "TABLE")
        event["inputs"] = [build.dataset(f"{place}|in", symlinks=[link])]
        source = {"namespace": "flink://", "name": "db.t", "field": "x"}
        columns = {"fields": {"y": {"inputFields": [source]}}}
        event["outputs"] = [build.dataset(f"{place}|out", columnLineage=columns)]
        bodies.append(event)
    state = _in_any_order(build, bodies)
    root = tree_answer(state, "dataset:s3://a:out")["up"]
    assert {node["id"] for node in _walked(root)} == {
        "dataset:s3://a:out", "job:demo:a", "dataset:s3://a:in"
    }  # fmt: skip


def test_name_in_a_warehouse_of_one_machine_joins_only_its_tables(build: Any) -> None:
    table = "file:/w|d.t"
    outside = _copy(build, "a", "s3://in|a", "s3://lake|a", table)
    state = _in_any_order(build, [outside, _copy(build, "r", table, "s3://lake|r", time="09:00")])
    assert _upstream(state, "dataset:s3://lake:r") >= {"a"}  # its only location
    other = _copy(build, "b", "s3://in|b", "file|/v/b", table)
    state = _in_any_order(build, [outside, other])
    assert _ids(state) == {"s3://in:a", "s3://in:b", "s3://lake:a", "file:/v/b"}
    inside = _copy(build, "c", "s3://in|c", "file|/w/d.db/t", table)
    state = _in_any_order(build, [outside, other, inside])
    assert state.identity.primary(DatasetName("file", "/w/d.db/t")) == ("file:/w", "d.t")
    assert _upstream(state, "d.t") == {"c"}
    assert _upstream(state, "dataset:s3://lake:a") == {"a"}


def test_table_of_a_catalog_that_moved_stays_one(build: Any) -> None:
    state = _in_any_order(
        build,
        [
            _copy(build, "old", "x|a", "s3://lake|t-1", "hive://lake:9083|db.t"),
            _copy(build, "new", "x|b", "s3://lake|t-2", "hive://lake:9083|db.t"),
        ],
    )
    assert state.identity.primary(DatasetName("s3://lake", "t-1")) == ("hive://lake:9083", "db.t")
    assert state.identity.primary(DatasetName("s3://lake", "t-2")) == ("hive://lake:9083", "db.t")


_NAMES = [DatasetName(*name.split("|")) for name in (
    "s3://a|t", "s3://b|t", "hive://lake|t", "flink://|t", "flink://|u", "unity-catalog|t",
    "hive://localhost:9083|t", "kafka://localhost:9092|t", "file:/w|d.t", "file|/w/d/t",
    "file|/v/t",
)]  # fmt: skip
_ADDED = st.lists(
    st.tuples(st.sampled_from(_NAMES), st.lists(st.sampled_from(_NAMES), max_size=2)), max_size=7
)
_PAIRS = st.sets(
    st.tuples(st.sampled_from(_NAMES), st.sampled_from(_NAMES)).map(
        lambda pair: tuple(sorted(pair))
    ),
    max_size=2,
)


def _linked(own: DatasetName, links: list[DatasetName]) -> Dataset:
    identifiers = [{**link._asdict(), "type": "TABLE"} for link in links]
    return Dataset(own.namespace, own.name, {"symlinks": {"identifiers": identifiers}})


def _identity(added: list[Any]) -> Identity:
    identity = Identity()
    for own, links in added:
        identity.add(_linked(own, links))
    return identity


def _classes(identity: Identity) -> dict[DatasetName, Any]:
    assert len(identity) == len(list(identity)) == len(set(identity))
    return {name: (identity.primary(name), identity.names(name)) for name in _NAMES}


@given(added=_ADDED, joined=_PAIRS, separated=_PAIRS, seed=st.integers(0, 99))
def test_order_of_events_and_statements_changes_no_dataset(
    added: list[Any], joined: Any, separated: Any, seed: int
) -> None:
    first = _identity(added)
    first.set_manual(joined, separated)
    shuffled = added * 2
    Random(seed).shuffle(shuffled)
    second = Identity()
    second.set_manual(joined, separated)
    for own, links in shuffled:
        second.add(_linked(own, links))
    assert _classes(first) == _classes(second)


@given(added=_ADDED)
def test_local_names_join_no_two_places(added: list[Any]) -> None:
    with_local = _identity(added)
    without = _identity(
        [(own, [n for n in links if "local" not in n.namespace and n.namespace in _UNIQUE])
         for own, links in added if own.namespace in _UNIQUE]
    )  # fmt: skip
    for one in _NAMES[:3]:
        for other in _NAMES[:3]:
            is_one = with_local.primary(one) == with_local.primary(other)
            assert is_one == (without.primary(one) == without.primary(other))


_UNIQUE = {"s3://a", "s3://b", "hive://lake", "file"}
