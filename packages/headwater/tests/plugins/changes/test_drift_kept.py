"""The datasets with schema changes are updated after each event instead of being found again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater import deadline
from headwater.errors import DeadlineError
from headwater.plugins.changes._drifting import drifting_datasets
from headwater.plugins.changes.queries import drift_answer
from headwater.projection import State
from headwater.projection._apply import apply

_SCHEMAS: dict[str, Any] = {
    "narrow": [{"name": "x", "type": "int"}],
    "wide": [{"name": "x", "type": "int"}, {"name": "y", "type": "int"}],
    "other type": [{"name": "x", "type": "text"}],
    "none": None,
}
_EVENT = st.fixed_dictionaries(
    {
        "dataset": st.sampled_from(("a", "b", "c")),
        "schema": st.sampled_from(tuple(_SCHEMAS)),
        "by": st.sampled_from(("reads", "writes", "writes", "no run")),
        "run": st.integers(0, 3),
        "alias": st.sampled_from((None, None, None, "a", "b")),
    }
)


def _body(build: Any, event: dict[str, Any], number: int) -> Any:
    fields, alias = _SCHEMAS[event["schema"]], event["alias"]
    facets: dict[str, Any] = {"schema": {"fields": fields}} if fields else {}
    if alias:
        facets["symlinks"] = [("hive", f"shop.{alias}", "TABLE")]
    dataset = build.dataset(f"db|{event['dataset']}", **facets)
    run = f"r{event['run']}"
    body: dict[str, Any] = build.run("COMPLETE", run, f"j{event['run']}", f"08:{number:02}:00")
    if event["by"] == "no run":
        return {"eventTime": body["eventTime"], "producer": body["producer"], "dataset": dataset}
    return body | {"inputs" if event["by"] == "reads" else "outputs": [dataset]}


@pytest.mark.replay
@settings(max_examples=100)
@given(events=st.lists(_EVENT, min_size=2, max_size=8))
def test_changes_after_each_event_equal_those_of_a_new_projection(
    events: list[dict[str, Any]], build: Any
) -> None:
    state = State()
    bodies = [_body(build, event, number) for number, event in enumerate(events)]
    for number, body in enumerate(bodies, 1):
        apply(state, build.entry(body).event)
        assert drift_answer(state) == drift_answer(build.state(*bodies[:number]))


def test_interrupted_query_continues(build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = [
        _body(build, {"dataset": f"d{number}", "schema": schema, "by": "writes", "run": number + 9,
                      "alias": None}, minute)
        for number in range(20)
        for minute, schema in enumerate(("narrow", "wide"))
    ]  # fmt: skip
    for place, body in enumerate(bodies):
        body["run"]["runId"] += f"-{place}"
    state, checks = build.state(*bodies), 0

    def check() -> None:
        nonlocal checks
        checks += 1
        if checks == 5 * 3:
            raise DeadlineError("too long")

    interruptions = 0
    with monkeypatch.context() as patch:
        patch.setattr(deadline, "check", check)
        while True:
            checks = 0
            try:
                found = drifting_datasets(state)
            except DeadlineError:
                interruptions += 1
                assert interruptions < 20
            else:
                break
    assert interruptions > 1
    assert len(found) == len(drift_answer(state)["items"]) == 20
