"""The columns of tables that only the SQL texts of earlier runs state, compared with SQLite's."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.events import EVERY_ROW
from headwater.graph.sql_lineage import sql_lineage
from headwater.identity import DatasetName
from headwater.log import Entry
from headwater.projection import State, apply, project
from packages.headwater.tests.support.budgets import examples

_PLACE = "sqlite://shop"
_TABLES = ("t", "u")


def _event(
    build: Any, number: int, text: str, *, end: str = "COMPLETE", minute: int = 1
) -> dict[str, Any]:
    """Return the last event of a run, which starts at an hour and takes a minute."""
    written = [name for name in _TABLES if f" {name} " in f"{text} ".replace(";", " ")]
    reads = (f"{_PLACE}|src",) if " from src" in text else ()
    event: dict[str, Any] = build.run(
        end,
        str(number),
        f"job_{number}",
        f"{number:02}:{minute:02}:00",
        reads=reads,
        writes=tuple(f"{_PLACE}|{name}" for name in written),
    )
    if text:
        event["job"]["facets"]["sql"] = {"query": text, "dialect": "sqlite"}
    return event


def _entries(build: Any, number: int, text: str, *, end: str = "COMPLETE") -> list[Entry]:
    start = _event(build, number, text, end="START", minute=0)
    return [build.entry(start), build.entry(_event(build, number, text, end=end))]


def _filled(state: State, number: int, name: str = "t") -> set[tuple[str, str]] | None:
    """Return the columns of a table that a run filled, each with its source; None if unknown."""
    run = next(run for key, run in state.runs.items() if key.job.name == f"job_{number}")
    lineage = sql_lineage(state, run)
    assert lineage is not None
    links = lineage.columns[state.identity.primary(DatasetName(_PLACE, name))].links
    found = {(link.target, link.field) for link in links}
    is_unknown = any(target == EVERY_ROW for target, _ in found)
    assert not is_unknown or all(target == EVERY_ROW for target, _ in found)
    return None if is_unknown else found


_INSERT = "insert into t select x0, x1 from src"
_PLACED = {("a", "x0"), ("b", "x1")}


def _answer(build: Any, *runs: str | tuple[str, str]) -> set[tuple[str, str]] | None:
    """Return what the last of some runs filled, each a text or a text with the type of its end."""
    entries: list[Entry] = []
    for number, run in enumerate(runs, 1):
        text, end = (run, "COMPLETE") if isinstance(run, str) else run
        entries += _entries(build, number, text, end=end)
    return _filled(project(entry.event for entry in entries), len(runs))


@pytest.mark.parametrize(
    "earlier",
    [
        ["create table t (a int, b int)"],
        ["create table t (b int, a int); drop table t ; create table t (a int, b int)"],
        ["create table t (b int, a int)", "drop table t", "create table t (a int, b int)"],
        ["create table t (a int, b int)", "create table if not exists t (b int, a int)"],
        ["create table if not exists t (a int, b int)"],
        ["create table t as select x1 as a, x0 as b from src"],
        ["select x0 as a, x1 as b into t from src"],
        ["create table t (a int, c int)", "alter table t rename column c to b"],
        ["create table t (a int, c int, b int)", "alter table t drop column c"],
        ["create table t (a int)", "alter table t add column b int"],
        ["create table t (a int, b int)", ("create table t (a int, b int)", "FAIL")],
        ["create table t (a int, b int)", "create index i on t (b)", "delete from t where a = 1"],
    ],
)
def test_earlier_texts_state_the_columns(build: Any, earlier: list[Any]) -> None:
    assert _answer(build, *earlier, _INSERT) == _PLACED


@pytest.mark.parametrize(
    "earlier",
    [
        [_INSERT, "create table if not exists t (a int, b int)"],
        ["create table t (a int, b int)", "drop table t"],
        ["create table t (a int, b int)", ("alter table t rename column a to c", "FAIL")],
        ["create table t (a int, b int)", ("drop table t", "ABORT")],
        ["create table t (a int, b int)", "alter table t rename column c to d"],
        ["create table t (a int, b int)", "create table t as select * from src"],
        ["create table t (a int, b int)", "alter table u rename to t "],
        ["create table t (a int, b int); rollback"],
        ["create table t (a int, b int generated always as (a * 2))"],
    ],
)
def test_uncertain_columns_are_unknown(build: Any, earlier: list[Any]) -> None:
    assert _answer(build, *earlier, _INSERT) is None


def test_run_without_a_text_may_have_created_the_table_again(build: Any) -> None:
    created = _entries(build, 1, "create table t (a int, b int)")
    other = build.run("COMPLETE", "2", "job_2", "02:00:00", writes=(f"{_PLACE}|t",))
    filled = _entries(build, 3, _INSERT)
    assert _filled(project(entry.event for entry in (*created, *filled)), 3) == _PLACED
    state = project(entry.event for entry in (*created, build.entry(other), *filled))
    assert _filled(state, 3) is None


def test_reported_columns_take_precedence(build: Any) -> None:
    created = _entries(build, 1, "create table t (b int, a int)")
    event = _event(build, 2, _INSERT)
    schema = {"fields": [{"name": "a"}, {"name": "b"}]}
    event["outputs"] = [build.dataset(f"{_PLACE}|t", schema=schema)]
    state = project(entry.event for entry in (*created, build.entry(event)))
    assert _filled(state, 2) == _PLACED


def test_later_definition_does_not_change_an_earlier_run(build: Any) -> None:
    """The state is asked before and after each event, so that kept values must be updated."""
    texts = ["create table t (a int, b int)", _INSERT, "alter table t rename column a to c"]
    entries = [
        item for number, text in enumerate(texts, 1) for item in _entries(build, number, text)
    ]
    state = State()
    for entry in entries[2:]:
        apply(state, entry.event)
    assert _filled(state, 2) is None
    for entry in entries[:2]:  # late events
        apply(state, entry.event)
    assert _filled(state, 2) == _PLACED


def test_overlapping_definition_makes_the_columns_unknown(build: Any) -> None:
    created = _entries(build, 1, "create table t (a int, b int)")
    filled = _entries(build, 2, _INSERT)
    altered = _event(build, 2, "alter table t rename column a to c", minute=0)
    altered["run"]["runId"], altered["job"]["name"] = "other", "other"
    entries = [*created, *filled, build.entry(altered)]
    assert _filled(project(entry.event for entry in entries), 2) is None


_COLUMNS = st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True)
_NAME = st.sampled_from(_TABLES)


@st.composite
def _statements(draw: st.DrawFn) -> str:
    """Return a statement about one of two tables."""
    table, columns, column = draw(_NAME), draw(_COLUMNS), draw(st.sampled_from("abcd"))
    listed = ", ".join(f"{name} int" for name in columns)
    selected = ", ".join(f"x{place} as {name}" for place, name in enumerate(columns))
    other = "u" if table == "t" else "t"
    return draw(
        st.sampled_from(
            [
                f"create table {table} ({listed})",
                f"create table if not exists {table} ({listed})",
                f"create table {table} as select {selected} from src",
                f"drop table {table} ",
                f"drop table if exists {table} ",
                f"alter table {table} add column {column} int",
                f"alter table {table} drop column {column}",
                f"alter table {table} rename column {columns[0]} to {column}",
                f"alter table {table} rename to {other} ",
                f"delete from {table} where 1 = 0",
            ]
        )
    )


def _run(database: sqlite3.Connection, text: str) -> str:
    """Execute the statements of a text until one fails; return the type of the run's end."""
    try:
        for statement in text.split(";"):
            database.execute(statement)
    except sqlite3.Error:
        return "FAIL"
    return "COMPLETE"


def _columns(database: sqlite3.Connection, name: str) -> list[str]:
    return [row[1] for row in database.execute(f"pragma table_info({name})")]


def _history(
    build: Any, texts: list[str]
) -> Iterator[tuple[list[Entry], str, set[tuple[str, str]] | None]]:
    """Yield the events of runs, the table that each filled, and its columns with their sources."""
    database = sqlite3.connect(":memory:", isolation_level=None)
    database.execute("create table src (x0 int, x1 int, x2 int, x3 int, x4 int, x5 int)")
    number = 0
    for text in texts:
        number += 1
        yield _entries(build, number, text, end=_run(database, text)), "", None
        for name in _TABLES:
            if columns := _columns(database, name)[:6]:
                number += 1
                sources = [f"x{place}" for place in range(len(columns))]
                insert = f"insert into {name} select {', '.join(sources)} from src"
                assert _run(database, insert) == "COMPLETE"
                yield _entries(build, number, insert), name, set(zip(columns, sources, strict=True))
    database.close()


@settings(max_examples=examples(60))
@given(
    texts=st.lists(st.lists(_statements(), min_size=1, max_size=2).map("; ".join), max_size=6),
    seed=st.integers(0, 2**32),
    is_asked=st.booleans(),
)
def test_columns_are_those_of_the_database_or_unknown(
    build: Any, texts: list[str], seed: int, is_asked: bool
) -> None:
    """In any order of events, and whether the state was asked before or not."""
    runs = list(_history(build, texts))
    entries = [entry for own, _, _ in runs for entry in own]
    state = project(entry.event for entry in entries)
    answers = {}
    for number, (_, name, truth) in enumerate(runs, 1):
        if name:
            answers[number, name] = _filled(state, number, name)
            assert answers[number, name] in (truth, None), (texts, number)
    random.Random(seed).shuffle(entries)
    late = State()
    for place, entry in enumerate(entries):
        apply(late, entry.event)
        if is_asked and place % 3 == 0:
            for run in [run for run in late.runs.values() if run.outputs]:
                sql_lineage(late, run)
    for (number, name), answer in answers.items():
        assert _filled(late, number, name) == answer
