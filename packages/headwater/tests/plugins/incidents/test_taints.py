"""Recall: a tainted version is refused by gates until its data is written again without it."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from headwater.errors import ConfigError, NotFoundError
from headwater.log import EventLog
from headwater.plugins.incidents._taints import taint_entry
from headwater.plugins.incidents.alerts import find_incidents
from headwater.plugins.incidents.queries import taints_answer, version_answer
from headwater.plugins.retention.prune import plan, prune
from headwater.plugins.trust.gate import gate_answer
from headwater.projection import State, apply
from headwater.projection.live import Batch, Live
from headwater.query.registry import ask, load_queries
from headwater.redaction import DEFAULT
from headwater.server.app import make_app
from packages.headwater.tests.conftest import Call
from packages.headwater.tests.support.reports import versioned

_MODEL, _RAW = "dataset:mf:model", "dataset:db:raw"
_POLICY = '{"no_failed_runs": false}'


def _day(build: Any, day: int, *, is_trained: bool = True) -> list[Any]:
    load = build.run("COMPLETE", f"l{day}", "load", f"1{day}:00:00", writes=("db|raw",))
    train = build.run("COMPLETE", f"t{day}", "train", f"1{day}:20:00", reads=("db|raw",),
                      writes=("mf|model",))  # fmt: skip
    names = {"raw": f"v{day}", "model": f"m{day}"}
    return [versioned(event, **names) for event in (load, train)[: 1 + is_trained]]


def _taint(state: State, text: str, *, is_cleared: bool = False, hour: int = 20) -> Any:
    now = 1_763_683_200_000_000 + hour * 3_600_000_000  # 2025-11-21
    return taint_entry(state, text, "fares in cents", now, DEFAULT, is_cleared=is_cleared).event


def _tainted(build: Any, bodies: list[Any], *texts: str) -> State:
    state = build.state(*bodies)
    for text in texts:
        apply(state, _taint(state, text))
    return state


def _refused(state: State) -> dict[str, list[str]]:
    """Return the ids of the refused datasets, with the messages."""
    found = {}
    for name in ("raw", "model"):
        (gated,) = gate_answer(state, [name])["datasets"]
        found[name] = [
            item["message"] for item in gated["violations"] if item["kind"] == "no_tainted"
        ]
    return {name: messages for name, messages in found.items() if messages}


def test_gates_refuse_what_contains_a_recalled_version(build: Any) -> None:
    state = _tainted(build, _day(build, 0), "raw@v0")
    message = "has, or may have, data of the recalled version v0: fares in cents"
    assert _refused(state) == {"raw": [message], "model": [message]}
    off = gate_answer(state, ["model"], policy='{"no_tainted": false}')
    assert off["passed"]
    assert version_answer(state, "raw@v0")["taint"] == {
        "reason": "fares in cents", "at": "2025-11-21T20:00:00Z",
    }  # fmt: skip
    assert version_answer(state, "model@m0")["taint"] is None
    for node in (None, "model"):
        assert [item["version"] for item in taints_answer(state, node)["items"]] == ["v0"]


def test_reload_clears_the_table_and_training_the_model(build: Any) -> None:
    reloaded = _tainted(build, [*_day(build, 0), *_day(build, 1, is_trained=False)], "raw@v0")
    assert set(_refused(reloaded)) == {"model"}
    trained = _tainted(build, [*_day(build, 0), *_day(build, 1)], "raw@v0")
    assert _refused(trained) == {}
    assert [item["version"] for item in taints_answer(trained)["items"]] == ["v0"]
    assert taints_answer(trained, "model")["items"] == []


def test_recalled_source_version_without_a_known_writer_is_refused(build: Any) -> None:
    state = _tainted(build, _day(build, 0)[1:], "raw@v0")
    assert set(_refused(state)) == {"model"}


def test_taint_is_cleared_and_given_again_in_any_order_of_events(build: Any) -> None:
    state = build.state(*_day(build, 0))
    events = []
    for is_cleared in (False, True, False):  # all with the same clock
        events.append(_taint(state, "raw@v0", is_cleared=is_cleared))
        apply(state, events[-1])
        assert bool(_refused(state)) is not is_cleared
    backwards = build.state(*_day(build, 0))
    for event in events[::-1]:
        apply(backwards, event)
    assert set(_refused(backwards)) == {"raw", "model"}


def test_errors_name_the_recalled_versions(build: Any) -> None:
    state = _tainted(build, _day(build, 0), "raw@v0")
    with pytest.raises(NotFoundError, match="'m0' of model is not recalled"):
        _taint(state, "model@m0", is_cleared=True)
    with pytest.raises(NotFoundError, match="no run reported version 'v7'"):
        _taint(state, "raw@v7")
    with pytest.raises(ConfigError, match="reason: received an empty text"):
        taint_entry(state, "raw@v0", " ", 1, DEFAULT)


@pytest.mark.each_database
def test_past_states_have_the_taints_of_their_time_also_after_pruning(
    live: Live, build: Any
) -> None:
    days = [event for day in range(4) for event in _day(build, day)]
    live.ingest(Batch([build.entry(event) for event in days]))
    with TestClient(make_app(live), "http://localhost:9002") as client:
        body = {"version": "raw@v3", "reason": "key AKIAIOSFODNN7EXAMPLE leaked"}
        assert client.post("/api/v2/taints", json=body).status_code == 201
        missing = client.post("/api/v2/taints", json={**body, "version": "raw@x"})
        assert (missing.status_code, missing.json()["nearest"][0]) == (404, "raw@v3")
    gate, query = load_queries()["gate"], load_queries()["taints"]
    assert not ask(live, gate, {"dataset": ["model"], "policy": _POLICY})["passed"]
    (taint,) = ask(live, query, {})["items"]
    assert "AKIA" not in taint["reason"]
    then = {"as_of": "2025-11-21T23:00:00Z"}
    assert ask(live, query, then)["items"] == []
    assert ask(live, gate, {"dataset": ["model"], "policy": _POLICY, **then})["passed"]
    found = plan(live.log, 4_000_000_000_000_000, newest=1)
    assert found.seqs
    prune(live.log, found)
    again = Live(live.log)
    assert [item["version"] for item in ask(again, query, {})["items"]] == ["v3"]
    assert not ask(again, gate, {"dataset": ["model"], "policy": _POLICY})["passed"]


def test_recall_fires_one_incident_alert_until_it_is_cleared(build: Any) -> None:
    class Everything:
        def matches_dataset(self, _names: Any) -> bool:
            return True

    state = _tainted(build, _day(build, 0), "raw@v0")
    ((key, found),) = find_incidents(state, Everything(), None)
    assert "raw@v0 is bad." in found["message"]
    assert "Recalled: fares in cents" in found["message"]
    assert "No owner: model" in found["message"]
    ((same, _),) = find_incidents(state, Everything(), None)
    assert key == same
    apply(state, _taint(state, "raw@v0", is_cleared=True))
    assert not list(find_incidents(state, Everything(), None))


def test_command_recalls_lists_and_clears(build: Any, tmp_path: Any, call: Call) -> None:
    database = str(tmp_path / "log.db")
    log = EventLog(database)
    log.append([build.entry(event) for event in _day(build, 0)])
    log.close()
    where = ("--database", database)
    shown = call("taint", "raw@v0", "--reason", "fares in cents", *where).stdout
    assert "version v0" in shown
    assert "fares in cents" in shown
    assert call("gate", "model", *where).returncode == 1
    assert "recalled since" in call("version", "raw@v0", *where).stdout
    assert "Read by 1 run" in call("incident", "raw@v0", *where).stdout
    cleared = call("taint", "raw@v0", "--clear", "--reason", "ok", *where)
    assert "No version is recalled." in cleared.stdout
    assert call("gate", "model", *where).returncode == 0
    assert call("taint", "raw@v0", *where).returncode == 2
