"""The search index does not change answers: results equal those of a scan of all nodes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater import deadline
from headwater.errors import DeadlineError
from headwater.events import Logged, Relation, parse_columns
from headwater.identity import canonical_name
from headwater.kept import kept
from headwater.log import entry_of
from headwater.nodes.listed import Rows
from headwater.plugins.aliases._entry import make_alias
from headwater.plugins.search import _columns, _index, background
from headwater.plugins.search._search import search
from headwater.plugins.search.listing import datasets_named, jobs_named
from headwater.plugins.search.queries import search_answer
from headwater.projection import State, project
from headwater.projection._apply import apply
from headwater.projection.facet_books import FacetBook, Stamp
from headwater.projection.live import Batch, Live
from packages.headwater.tests.support.budgets import examples

_TEXTS = (
    *("t", "a", "ta", "l2", "Fa", "fare", "FARE", "fa-re", 'say "hi"', "straße", "STRASSE", "\0"),
    *("fare raw", "from s", "select fare", "fara", "raw_fare", "boom", "is_void", "grandtotal"),
    *("pii", "location", '"team:r"', "growth", "run-1", "version-1", "x" * 70, "zzzzzz"),
    *("column:fare", "tag:pii", "owner:growth", "name:raw a", "+raw", "raw+1", "state:unknown ra"),
)
_NAMES = (
    *("postgres://h:5432|shop.public.raw", "postgres://h:5432|shop.public.Daily_straße"),
    *("s3://b|raw", "hive://h|lake.raw", "spark_catalog|raw", "hive://localhost:9083|l2"),
)
_QUERIES = (
    "INSERT INTO daily SELECT fare AS grandtotal FROM raw WHERE is_void",
    "CREATE TABLE daily AS SELECT * FROM raw",
    "SELECT 1",
)
_COLUMNS = ("fare", "FARE", "fa-re", 'say "hi"', "ta")


@st.composite
def _dataset(draw: st.DrawFn) -> dict[str, Any]:
    namespace, name = draw(st.sampled_from(_NAMES)).split("|")
    facets: dict[str, Any] = {}
    kinds = draw(st.sets(st.sampled_from(("schema", "tags", "lineage", "symlinks", "version"))))
    if "schema" in kinds:
        columns = draw(st.lists(st.sampled_from(_COLUMNS), max_size=2, unique=True))
        facets["schema"] = {"fields": [{"name": column} for column in columns]}
    if "tags" in kinds:
        facets["tags"] = {"tags": [{"key": "pii", "value": draw(st.sampled_from(("l2", "true")))}]}
    if "lineage" in kinds:
        source, of = draw(st.sampled_from(_NAMES)).split("|")
        column = {"namespace": source, "name": of, "field": draw(st.sampled_from(_COLUMNS))}
        facets["columnLineage"] = {"fields": {"raw_fare": {"inputFields": [column]}}}
    if "symlinks" in kinds:
        other, table = draw(st.sampled_from(_NAMES)).split("|")
        facets["symlinks"] = {"identifiers": [{"namespace": other, "name": table, "type": "TABLE"}]}
    if "version" in kinds:
        facets["version"] = {"datasetVersion": f"version-{draw(st.integers(0, 2))}"}
    return {"namespace": namespace, "name": name, "facets": facets}


@st.composite
def _event(draw: st.DrawFn) -> Logged:
    kind = draw(st.sampled_from(("run", "run", "run", "run", "alias", "dataset")))
    time = f"2025-11-21T08:00:0{draw(st.integers(0, 9))}Z"
    if kind == "alias":
        one, other = (tuple(draw(st.sampled_from(_NAMES)).split("|")) for _ in range(2))
        relations: tuple[Relation, ...] = ("reported", "same")
        if draw(st.booleans()):
            one, other = ("postgres://h:5432", "shop.public.%s"), ("s3://b", "%s")
            relations = ("reported", "rule")
        relation = draw(st.sampled_from(relations))
        return make_alias((one[0], one[1]), (other[0], other[1]), 7, relation).event
    if kind == "dataset":
        return entry_of(orjson.dumps({"eventTime": time, "dataset": draw(_dataset())})).event
    facets: dict[str, Any] = {}
    if draw(st.booleans()):
        facets["sql"] = {"query": draw(st.sampled_from(_QUERIES))}
    if draw(st.integers(0, 3)) == 0:
        facets["ownership"] = {"owners": [{"name": draw(st.sampled_from(("team:r", "growth")))}]}
    run: dict[str, Any] = {"runId": f"run-{draw(st.integers(0, 5))}", "facets": {}}
    above = draw(st.integers(0, 9))
    if above < 6:
        job = {"namespace": "n", "name": f"Load-{above % 3} ta"}
        run["facets"]["parent"] = {"run": {"runId": f"run-{above}"}, "job": job}
    if draw(st.booleans()):
        run["facets"]["errorMessage"] = {"message": draw(st.sampled_from(("boom", "from s")))}
    name = f"Load-{draw(st.integers(0, 2))} ta"
    body: dict[str, Any] = {
        "eventType": draw(st.sampled_from(("START", "COMPLETE", "FAIL"))),
        "eventTime": time,
        "run": run,
        "job": {"namespace": "n", "name": name, "facets": facets},
        "inputs": draw(st.lists(_dataset(), max_size=2)),
        "outputs": draw(st.lists(_dataset(), max_size=2)),
    }
    return entry_of(orjson.dumps(body)).event


def _answers(state: State, text: str) -> Any:
    hits = [
        sorted(search(state, text, with_sql=with_sql), key=lambda hit: hit.place)
        for with_sql in (True, False)
    ]
    return hits, sorted(jobs_named(state, text)), sorted(datasets_named(state, text))


def _assert_equal(state: State, events: Sequence[Logged], texts: Sequence[str]) -> None:
    scanned = project(events)
    scanned.is_past = True  # a state of the past has no index
    for text in texts:
        assert _answers(state, text) == _answers(scanned, text), text


@pytest.mark.replay
@settings(max_examples=examples(40))
@given(events=st.lists(st.tuples(_event(), st.booleans()), min_size=1, max_size=12))
def test_index_finds_what_a_scan_finds(events: list[tuple[Logged, bool]]) -> None:
    state = State()
    for count, (event, is_searched) in enumerate(events, 1):
        apply(state, event)
        if is_searched or count == len(events):
            _assert_equal(state, [event for event, _ in events[:count]], _TEXTS)


def test_error_is_found_again_when_a_run_above_started_earlier(build: Any) -> None:
    failed = build.run("FAIL", "1", "dag", "05:00:00")
    failed["run"]["facets"]["errorMessage"] = {"message": "boom"}
    late = build.run("COMPLETE", "3", "task", "09:00:00", parent=("2", "dag"))
    early = build.run("START", "3", "task", "01:00:00")
    state, events = State(), [build.entry(event).event for event in (failed, late, early)]
    for count, event in enumerate(events, 1):
        apply(state, event)
        _assert_equal(state, events[:count], ["boom"])


def test_index_forgets_former_texts(build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_index, "_FORMER", 3)
    state, events = State(), []
    for number in range(12):
        event = build.run("COMPLETE", f"r{number}", f"job{number % 2}", f"08:00:{10 + number}")
        column = {"fields": [{"name": f"column{number}"}]}
        event["outputs"] = [build.dataset(f"db|t{number % 2}", schema=column)]
        events.append(build.entry(event).event)
        apply(state, events[-1])
        former, newest = f"column{number - 2}", f"column{number}"
        _assert_equal(state, events, ("column", former, newest, "colunm3"))


def test_interrupted_update_of_the_index_continues(build: Any) -> None:
    source = {"namespace": "db", "name": "t0", "field": "gross"}
    lineage = {"fields": {"net": {"inputFields": [source]}}}
    bodies = [build.run("COMPLETE", f"r{n}", f"job{n}", "08:00:00") for n in range(3)]
    for number, body in enumerate(bodies):
        body["outputs"] = [build.dataset(f"db|t{number}", columnLineage=lineage)]
    events = [build.entry(body).event for body in bodies]
    interrupted = 0
    for checks in range(30):
        state, ticks = project(events), itertools.count()
        deadline.start(checks, lambda ticks=ticks: float(next(ticks)))  # type: ignore[misc]
        try:
            search(state, "gross")
        except DeadlineError:
            interrupted += 1
        deadline.start(1e9)
        _assert_equal(state, events, ("gross", "net", "job"))
    assert 10 < interrupted < 30


def test_search_counts_the_sql_texts_that_it_has_not_read(
    build: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = build.run("COMPLETE", "1", "load", "08:00:00")
    event["inputs"] = [build.dataset("postgres://h:5432|shop.public.orders")]
    event["outputs"] = [build.dataset("postgres://h:5432|shop.public.daily")]
    event["job"]["facets"]["sql"] = {"query": "INSERT INTO daily SELECT gross AS net FROM orders"}
    state = build.state(event)
    monkeypatch.setattr(_columns, "_SECONDS", 0.0)
    answer = search_answer(state, "gross", may_read_sql=False)
    assert (answer["items"], answer["unreadTexts"]) == ([], 1)
    monkeypatch.undo()
    answer = search_answer(state, "gross", may_read_sql=False)
    names = [hit["name"] for hit in answer["items"]]
    assert (names, answer["unreadTexts"]) == (["shop.public.orders"], 0)


def test_background_worker_completes_the_index_in_steps(
    build: Any, live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks, steps = itertools.count(), 1
    short = SimpleNamespace(start=lambda _: deadline.start(4, lambda: float(next(ticks))))
    monkeypatch.setattr(background, "deadline", short)
    bodies = [build.run("COMPLETE", f"r{n}", f"job{n}", "08:00:00") for n in range(9)]
    live.ingest(Batch([build.entry(body) for body in bodies]))
    indexer = background.Indexer(live)
    while indexer.step():
        steps += 1
    with live.reading() as state:
        index = _index.current_index(state)
        assert index is not None
        assert (steps > 2, len(index.candidates(["job"]))) == (True, 9)
        assert not any(kept(state, Rows)._missing.values())


_NAME = st.sampled_from(("a", "b", "", None, 1))
_ITEM = st.fixed_dictionaries({}, optional=dict.fromkeys(("namespace", "name", "field"), _NAME))
_INPUTS = st.one_of(st.none(), st.just("a"), st.lists(st.one_of(_ITEM, st.just("a")), max_size=3))
_FIELD = st.one_of(st.none(), st.fixed_dictionaries({}, optional={"inputFields": _INPUTS}))
_FIELDS = st.one_of(st.none(), st.dictionaries(st.sampled_from("abc"), _FIELD))


@given(facet=st.fixed_dictionaries({}, optional={"fields": _FIELDS, "dataset": _INPUTS}))
def test_index_and_queries_read_the_same_column_names(facet: dict[str, Any]) -> None:
    book, whole = FacetBook().put({"columnLineage": facet}, Stamp(0, "")), parse_columns(facet)
    assert list(_columns.described_columns(book)) == list(whole.columns)
    assert _columns._sources(book.packed("columnLineage")) == {
        (canonical_name(link.namespace, link.name), link.field) for link in whole.links
    }
