"""The SQL text of a run that reports a dataset is not searched for it, without another result."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from hypothesis import given, settings

from headwater.graph.current import generations_of
from headwater.identity import DatasetName
from headwater.lineage import hidden_uses
from headwater.projection import State
from packages.headwater.tests.support.random_runs import RUNS, events_of, run_of


def _found(state: State) -> dict[DatasetName, set[str]]:
    known = generations_of(state)
    return {
        name: {ref.name for ref in hidden_uses.jobs_with_table_in_text(known, name)}
        for name in set(state.identity)
    }


def _found_by_all_texts(state: State) -> dict[DatasetName, set[str]]:
    with patch.object(hidden_uses, "_reports", lambda *_: False):
        return _found(state)


@settings(max_examples=100)
@given(runs=RUNS)
def test_jobs_found_by_their_texts_are_the_same(runs: list[dict[str, Any]], build: Any) -> None:
    bodies = events_of(build, runs)
    for body in bodies:
        if "job" in body and "sql" in body["job"]["facets"]:
            body["job"]["facets"]["sql"]["query"] += "; select * from a, b where broken ("
    assert _found(build.state(*bodies)) == _found_by_all_texts(build.state(*bodies))


def test_unreported_table_is_found_in_the_text_of_a_run_that_reports_another(build: Any) -> None:
    first, second = events_of(build, [run_of("p", "text", ["db|a"], ["db|b"])])
    body = second["job"]["facets"]["sql"]
    body["query"] = "merge into b using db.c on broken ( select x from db.c"
    state = build.state(first, second, build.run("COMPLETE", "c", "c", "09:00:00",
                                                 writes=("db|db.c", "db|db.a")))  # fmt: skip
    found = _found(state)
    assert found[DatasetName("db", "db.c")] == {"p"}
    assert found[DatasetName("db", "a")] == set()
