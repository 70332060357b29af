"""Flows are determined again only after events that can change them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.graph.current import generations_of
from headwater.graph.frontier import upstream_of
from headwater.graph.generation import Generation
from headwater.projection import State, apply
from packages.headwater.tests.support.random_runs import RUNS, events_of


def _edges(state: State) -> dict[str, set[str]]:
    """Return the present generations and those upstream of each dataset, with their edges."""
    generations = generations_of(state)

    def shown(generation: Generation, reads: Any, writes: Any) -> str:
        runs = sorted(run.key.run_id for run in generation.runs)
        return f"{generation.job.name} {runs} {sorted(reads)} {sorted(writes)}"

    present = generations.present.parts()
    found = {"present": {shown(g, edges.reads, edges.writes) for g, edges in present.items()}}
    for name in set(state.identity):
        walked = upstream_of(generations, generations.writing(name), name)
        found[str(name)] = {shown(g, edges.reads, edges.writes) for g, edges in walked.items()}
    return found


@pytest.mark.replay
@settings(max_examples=60)
@given(runs=RUNS, data=st.data())
def test_state_after_each_event_equals_a_new_one(
    runs: list[dict[str, Any]], data: st.DataObject, build: Any
) -> None:
    events = [build.entry(event).event for event in events_of(build, runs)]
    order = data.draw(st.permutations(events))
    state = State()
    for count, event in enumerate(order, 1):
        apply(state, event)
        if data.draw(st.booleans()) or count == len(order):
            new = State()
            for other in order[:count]:
                apply(new, other)
            assert _edges(state) == _edges(new)
