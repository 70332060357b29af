"""Edges between folders and files are updated after every event as in a new projection."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.events import Logged
from headwater.graph.nodes import Node
from headwater.health.states import state_of
from headwater.identity import DatasetName
from headwater.lineage.queries import tree_answer
from headwater.log import entry_of
from headwater.plugins.aliases._entry import make_alias
from headwater.plugins.impact.queries import impact_answer
from headwater.projection import State, project
from headwater.projection._apply import apply
from packages.headwater.tests.graph.test_effective_graph import _assert_same_graphs
from packages.headwater.tests.health.test_kept_states import _at, _check
from packages.headwater.tests.support.budgets import examples
from packages.headwater.tests.truth.test_consistency import _datasets

pytestmark = pytest.mark.replay

_PLACES = (
    "s3://b|a", "s3://b|a/p", "s3://b|a/p/q", "s3://b|a/p/r", "s3://b|a/s/t", "s3://b|/",
    "s3://c|x", "s3://c|x/y", "file|/a", "file|/a/p",
)  # fmt: skip
_TABLES = (
    "db|t",
    "hive://h:1|db.t",
    "hive://h:1|db.u",
    "arn:aws:glue:eu-west-1:123456789012|table/d/t",
)
_NAME = st.sampled_from((*_PLACES, *_PLACES, *_TABLES))
_NAMES = st.lists(_NAME, max_size=2, unique=True)
_LINKS = st.lists(st.tuples(_NAME, st.sampled_from(("TABLE", "LOCATION", "X"))), max_size=2)
_CHANGES = st.sampled_from((None, None, None, "DROP", "TRUNCATE", "RENAME", "OVERWRITE", "CREATE"))
_RUN = st.fixed_dictionaries(
    {
        "kind": st.just("run"),
        "run": st.integers(0, 4),
        "type": st.sampled_from(("START", "RUNNING", "COMPLETE", "COMPLETE", "FAIL")),
        "second": st.integers(0, 9),
        "reads": _NAMES,
        "writes": _NAMES,
        "links": st.one_of(st.just([]), st.just([]), _LINKS),
        "change": _CHANGES,
        "former": _NAME,
    }
)
_OTHER = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(("alias", "alias", "dataset", "derivation", "job", "rule")),
        "second": st.integers(0, 9),
        "one": _NAME,
        "other": _NAME,
        "relation": st.sampled_from(("same", "same", "different", "reported")),
        "links": _LINKS,
        "change": _CHANGES,
    }
)
EVENTS = st.lists(st.one_of(_RUN, _RUN, _OTHER), min_size=1, max_size=12)
_READ = st.lists(st.booleans(), min_size=12, max_size=12)


def _item(name: str) -> dict[str, Any]:
    namespace, own = name.split("|")
    return {"namespace": namespace, "name": own, "facets": {}}


def _with_links(items: list[dict[str, Any]], links: list[tuple[str, str]]) -> None:
    for item, (name, type_) in zip(items, links, strict=False):
        link = {**_item(name), "type": type_}
        del link["facets"]
        item["facets"]["symlinks"] = {"identifiers": [link]}


def _change(item: dict[str, Any], kind: str, former: str) -> None:
    facet = {"lifecycleStateChange": kind}
    if kind == "RENAME":
        namespace, name = former.split("|")
        facet["previousIdentifier"] = {"namespace": namespace, "name": name}  # type: ignore[assignment]
    item["facets"]["lifecycleStateChange"] = facet


def _run(about: dict[str, Any], build: Any) -> dict[str, Any]:
    body: dict[str, Any] = build.run(
        about["type"], f"r{about['run']}", f"j{about['run'] % 3}", f"00:00:0{about['second']}",
        reads=tuple(about["reads"]), writes=tuple(about["writes"]),
    )  # fmt: skip
    _with_links([*body["outputs"], *body["inputs"]], about["links"])
    for item in body["outputs"][:1] if about["change"] else ():
        _change(item, about["change"], about["former"])
    return body


def event_of(about: dict[str, Any], number: int, build: Any) -> Logged:
    if about["kind"] == "run":
        return entry_of(orjson.dumps(_run(about, build))).event
    if about["kind"] == "rule":
        relation: Any = "rule" if about["relation"] == "same" else "reported"
        return make_alias(("s3://b", "a/%s"), ("s3://c", "x/%s"), number, relation).event
    if about["kind"] == "alias":
        one, other = (tuple(about[key].split("|")) for key in ("one", "other"))
        return make_alias(one, other, number, about["relation"]).event
    item, time = _item(about["one"]), f"2025-11-21T00:00:0{about['second']}Z"
    _with_links([item], about["links"])
    if about["kind"] == "job":
        job = {"namespace": "demo", "name": f"j{number % 4}"}
        body = {"job": job, "inputs": [_item(about["other"])], "outputs": [item]}
    else:
        if about["kind"] == "derivation":
            entry = {"type": "DATASET", **_item(about["other"])}
            item["facets"]["lineage"] = {"inputs": [entry]}
        if about["change"]:
            _change(item, about["change"], about["other"])
        body = {"dataset": item}
    return entry_of(orjson.dumps({"eventTime": time, **body})).event


def _impacts(state: State) -> dict[str, Any]:
    return {name: impact_answer(state, name) for name in _datasets(state)}


@settings(max_examples=examples(100))
@given(abouts=EVENTS, is_read=_READ)
def test_edges_of_folders_follow_every_event(
    abouts: list[dict[str, Any]], is_read: list[bool], build: Any
) -> None:
    state, events = State(), list[Logged]()
    for number, about in enumerate(abouts):
        events.append(event_of(about, number, build))
        apply(state, events[-1])
        if is_read[number] or number == len(abouts) - 1:
            fresh = project(events)
            _assert_same_graphs(state, fresh)
            assert _impacts(state) == _impacts(fresh)


@settings(max_examples=examples(100))
@given(abouts=EVENTS, is_read=_READ)
def test_states_of_folders_and_files_follow_every_event(
    abouts: list[dict[str, Any]], is_read: list[bool], build: Any
) -> None:
    state, events, now = State(), list[Logged](), 1_763_683_300_000_000
    for number, about in enumerate(abouts):
        events.append(event_of(about, number, build))
        apply(state, events[-1])
        _at(state, now)
        if is_read[number] or number == len(abouts) - 1:
            _check(state, events)


def _follow(build: Any, *bodies: dict[str, Any]) -> State:
    """Compare the graphs and the states of nodes after every event; return the state."""
    state, events, now = State(), list[Logged](), 1_763_683_300_000_000
    for body in bodies:
        events.append(build.entry(body).event)
        apply(state, events[-1])
        _assert_same_graphs(state, project(events))
        _check(_at(state, now), events)
    return state


def _sources(state: State, name: str) -> set[str]:
    links = tree_answer(state, name, "up")["up"]["children"]
    return {child["id"] for child in links}


def test_earlier_start_of_a_write_adds_a_file_to_what_a_reader_read(build: Any) -> None:
    write = {"reads": ("db|x",), "writes": ("s3://b|a/p",)}
    state = _follow(
        build,
        build.run("COMPLETE", "w1", "first", "01:00:00", writes=("s3://b|a/q",)),
        build.run("COMPLETE", "r", "reader", "03:00:00", reads=("s3://b|a",), writes=("db|y",)),
        build.run("COMPLETE", "w2", "writer", "05:00:00", **write),
        build.run("START", "w2", "writer", "02:00:00", **write),
    )
    affected = {item["id"] for item in impact_answer(state, "dataset:db:x")["affected"]}
    assert "dataset:db:y" in affected


def test_table_of_two_places_that_becomes_a_dataset_connects_these(build: Any) -> None:
    """Tables of a catalog are not connected; here the name of the table says nothing any more."""
    table = [("db", "t", "TABLE")]  # of a session, so that it joins no places
    folder = build.run("COMPLETE", "w", "writer", "01:00:00")
    folder["outputs"] = [build.dataset("s3://b|a", symlinks=table)]
    file = build.run("COMPLETE", "r", "reader", "02:00:00", writes=("db|y",))
    file["inputs"] = [build.dataset("s3://b|a/p", symlinks=table)]
    own = build.run("COMPLETE", "o", "other", "03:00:00", reads=("db|t",))
    before = _follow(build, folder, file)
    assert _sources(before, "dataset:s3://b:a/p") == set()
    after = _follow(build, folder, file, own)
    assert _sources(after, "dataset:s3://b:a/p") == {"dataset:s3://b:a"}


def test_folder_of_a_job_on_request_is_not_on_request_once_others_write_files(build: Any) -> None:
    folder = build.run("COMPLETE", "w", "writer", "01:00:00", writes=("s3://b|a",))
    folder["job"]["facets"]["tags"] = {"tags": [{"key": "ad-hoc", "value": "true"}]}
    file = build.run("COMPLETE", "f", "other", "02:00:00", writes=("s3://b|a/p",))
    before, after = _follow(build, folder), _follow(build, folder, file)
    node = Node.of_dataset(DatasetName("s3://b", "a"))
    assert (state_of(before, node), state_of(after, node)) == ("ad_hoc", "healthy")
