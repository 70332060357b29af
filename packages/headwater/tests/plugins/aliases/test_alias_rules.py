"""Rules join all pairs of names that match two patterns, in any order of events."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.errors import ConfigError, NotFoundError
from headwater.events import AliasEvent
from headwater.identity import DatasetName
from headwater.log import read_logged
from headwater.name_rules import mates, value_in
from headwater.plugins.aliases._entry import make_alias
from headwater.plugins.aliases._rules import rule_entry
from headwater.plugins.aliases.queries import aliases_answer
from headwater.plugins.retention.prune import plan, prune
from headwater.plugins.trust._doctor import doctor
from headwater.plugins.trust._names import rules_that_join_several_pairs
from headwater.projection import State, project
from headwater.projection.live import Batch, Live
from headwater.projection.past import Moment
from headwater.server.app import make_app
from packages.headwater.tests.support.budgets import examples
from packages.headwater.tests.support.entry_strategies import canonical

from .test_aliases import _at, _event

_PROD, _PLAIN = "dataset:pg:shop.prod_%s", "dataset:pg:shop.%s"


def _names(state: State, name: str) -> list[str]:
    return [alias.name for alias in state.identity.names(DatasetName("pg", name))]


def _say(
    live: Live, time: str, *, is_removed: bool = False, one: str = _PROD, other: str = _PLAIN
) -> None:
    with live.reading() as state:
        entry = rule_entry(state, one, other, _at(time), is_removed=is_removed)
    live.ingest(Batch([entry]))


@pytest.fixture
def shop(live: Live, build: Any) -> Live:
    """Return runs that write prod_orders and prod_users, and one that reads orders."""
    runs = [("1", "file|/in", "pg|shop.prod_orders"), ("2", "pg|shop.orders", "db|report")]
    runs.append(("3", "file|/in", "pg|shop.prod_users"))
    live.ingest(Batch([_event(build, run, f"08:0{run}:00", *names) for run, *names in runs]))
    return live


@pytest.mark.each_database
def test_rule_joins_present_and_future_names_until_it_is_removed(shop: Live, build: Any) -> None:
    _say(shop, "09:00:00")
    with shop.reading() as state:
        assert _names(state, "shop.orders") == ["shop.orders", "shop.prod_orders"]
        assert _names(state, "shop.prod_users") == ["shop.prod_users"]
        (rule,) = aliases_answer(state)["items"]
        assert (rule["isRule"], rule["pairCount"]) == (True, 1)
    shop.ingest(Batch([_event(build, "4", "09:30:00", "pg|shop.users", "db|people")]))
    with shop.reading() as state:
        assert _names(state, "shop.prod_users") == ["shop.prod_users", "shop.users"]
        assert aliases_answer(state)["items"][0]["pairCount"] == 2
    _say(shop, "10:00:00", is_removed=True)
    again = Live(shop.log)
    for live in (shop, again):
        with live.reading() as state:
            assert _names(state, "shop.users") == ["shop.users"]
            assert aliases_answer(state)["items"] == []


def test_rule_applies_from_its_event_time_also_after_pruning(shop: Live) -> None:
    _say(shop, "09:00:00")
    for time, names in (("08:30:00", 1), ("09:30:00", 2)):
        with shop.reading(Moment(_at(time), None)) as state:
            assert len(_names(state, "shop.orders")) == names
    found = plan(shop.log, 4_000_000_000_000_000, newest=1)
    prune(shop.log, found)
    with Live(shop.log).reading() as state:
        assert _names(state, "shop.orders") == ["shop.orders", "shop.prod_orders"]


_PATTERNS = [("a", "%s"), ("a", "p_%s"), ("b", "%s"), ("b", "p_%s"), ("a", "%s_x"), ("f", "k%s")]
_DATASETS = [
    "a|t",
    "a|p_t",
    "a|p_p_t",
    "b|t",
    "b|p_t",
    "a|t_x",
    "flink://|kt",
    "f|kt",
    "hive://h|t",
]
_RULES = [(one, other) for one in _PATTERNS for other in _PATTERNS if one < other]
_SAID = st.tuples(st.sampled_from(_RULES), st.integers(0, 4), st.booleans())
_RUNS = st.tuples(*[st.sampled_from(_DATASETS)] * 2, st.sampled_from([None, *_DATASETS]))


@pytest.mark.replay
@settings(max_examples=examples(300))
@given(
    runs=st.lists(_RUNS, min_size=1, max_size=6),
    said=st.lists(_SAID, max_size=5),
    seed=st.integers(0, 99),
)
def test_rules_are_equal_to_the_single_aliases_of_all_their_pairs(
    build: Any, runs: list[Any], said: list[Any], seed: int
) -> None:
    events: list[Any] = []
    names: set[DatasetName] = set()
    for number, (read, written, link) in enumerate(runs):
        facets = {} if link is None else {"symlinks": [(*link.split("|"), "TABLE")]}
        events.append(_event(build, str(number), f"08:00:0{number}", read, written, **facets).event)
        names |= {DatasetName(*name.split("|")) for name in (read, written, link) if name}
    rules = [
        make_alias(one, other, _at(f"08:00:0{second}"), "reported" if is_removed else "rule").event
        for (one, other), second, is_removed in said
    ]
    with_rules = [*events, *rules, *events[::2], *rules[::2]]
    Random(seed).shuffle(with_rules)
    assert canonical(project(with_rules)) == canonical(project([*events, *_single(rules, names)]))


def _single(rules: list[Any], names: set[DatasetName]) -> list[AliasEvent]:
    """Return a single alias for each pair that the last statements of rules join."""
    last: dict[Any, AliasEvent] = {}
    for event in sorted(rules, key=lambda event: (event.time, event.hash)):
        last[event.names] = event
    joined = [event.names for event in last.values() if event.relation == "rule"]
    pairs = {
        (name, DatasetName(*mate))
        for name in names
        for mate in mates(joined, name)
        if DatasetName(*mate) in names and mate != name
    }
    entries = [make_alias(*pair, _at("07:00:00")) for pair in sorted(pairs)]
    return [entry.event for entry in entries if isinstance(entry.event, AliasEvent)]


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        (_PROD, "dataset:pg:shop.orders", "other: received 'dataset:pg:shop.orders', expected the"),
        ("shop.prod_%s", _PLAIN, "one: received 'shop.prod_%s', expected the id"),
        (_PROD, "dataset:pg:%s.%s", "other: received 'dataset:pg:%s.%s'"),
        ("dataset:%s:orders", _PLAIN, "one: received 'dataset:%s:orders'"),
        (_PROD, "pg:shop.prod_%s", "expected a pattern other than"),
    ],
)
def test_invalid_patterns_are_rejected(one: str, other: str, message: str, shop: Live) -> None:
    with shop.reading() as state, pytest.raises(ConfigError) as error:
        rule_entry(state, one, other, 1)
    assert message in str(error.value)


def test_rule_that_joins_several_pairs_is_rejected(shop: Live, build: Any) -> None:
    chain = _event(build, "4", "09:00:00", "pg|shop.prod_prod_orders", "db|x")
    shop.ingest(Batch([chain]))
    with shop.reading() as state, pytest.raises(ConfigError, match="'orders', 'prod_orders'"):
        rule_entry(state, _PROD, _PLAIN, 1)


def test_rule_that_closes_a_cycle_is_rejected(shop: Live, build: Any) -> None:
    cycle = [("a", "b"), ("b", "c"), ("c", "a")]
    for number, (one, other) in enumerate(cycle):
        events = [_event(build, f"c{number}", "09:10:00", f"{one}|t", f"{other}|p_t")]
        shop.ingest(Batch(events))
    for one, other in cycle[:2]:
        _say(shop, "09:20:00", one=f"dataset:{one}:%s", other=f"dataset:{other}:%s")
    with shop.reading() as state:
        assert [*rules_that_join_several_pairs(state)] == []
        with pytest.raises(ConfigError, match="several pairs of dataset:a:%s = dataset:b:%s"):
            rule_entry(state, "dataset:c:p_%s", "dataset:a:%s", 1)


def test_doctor_warns_if_later_names_make_a_rule_join_several_pairs(shop: Live, build: Any) -> None:
    _say(shop, "09:00:00")
    shop.ingest(Batch([_event(build, "4", "09:10:00", "pg|shop.prod_prod_orders", "db|x")]))
    with shop.reading() as state:
        (found,) = rules_that_join_several_pairs(state)
        assert found in doctor(state)
    assert found["subject"] == "dataset:pg:shop.orders"
    assert "%s = 'orders', 'prod_orders'" in found["message"]
    assert f"headwater alias --rule --remove '{_PLAIN}' '{_PROD}'" in found["remedy"]


def test_missing_rule_cannot_be_removed(shop: Live) -> None:
    _say(shop, "09:00:00")
    with shop.reading() as state, pytest.raises(NotFoundError, match="no rule") as error:
        rule_entry(state, "dataset:pg:a_%s", _PLAIN, 1, is_removed=True)
    assert [*error.value.nearest] == [f"{_PLAIN} {_PROD}"]


def test_latest_statement_applies_despite_clock_change(shop: Live) -> None:
    _say(shop, "10:00:00")
    _say(shop, "09:00:00", is_removed=True)
    with shop.reading() as state:
        assert aliases_answer(state)["items"] == []


def test_api_adds_lists_and_removes_rules(shop: Live) -> None:
    with TestClient(make_app(shop)) as client:
        body = {"one": _PROD, "other": _PLAIN, "isRule": True}
        answer = client.post("/api/v2/aliases", json=body)
        assert (answer.status_code, answer.json()["items"][0]["pairCount"]) == (201, 1)
        wrong = client.post("/api/v2/aliases", json={**body, "isSeparate": True})
        assert (wrong.status_code, "isSeparate" in wrong.text) == (400, True)
        removed = client.post("/api/v2/aliases", json={**body, "isRemoved": True})
        assert removed.json()["items"] == []


@pytest.mark.each_database
@pytest.mark.parametrize("is_local", [True, False])
def test_cli_adds_lists_and_removes_rules(
    is_local: bool, call: Any, shop: Live, database: str, serving: Callable[[FastAPI], str]
) -> None:
    where = ("--database", database) if is_local else ("--url", serving(make_app(shop)))
    output = call("alias", "--rule", _PROD, _PLAIN, *where).stdout
    assert "shop.%s  (pg)  = shop.prod_%s  (pg)" in output
    assert "rule: 1 pair" in output
    assert call("alias", "--list", *where).stdout == output
    assert call("alias", "--rule", _PROD, _PLAIN, "--separate", *where).returncode == 2
    assert call("alias", "--rule", _PROD, _PLAIN, "--remove", *where).stdout.startswith("No man")


def test_projection_of_the_reversed_log_has_the_rule(shop: Live) -> None:
    _say(shop, "09:00:00")
    entries = [read_logged(kind, body) for _, kind, _, body in shop.log.rows()]
    with shop.reading() as state:
        assert canonical(project(reversed(entries))) == canonical(state)


@pytest.mark.parametrize(
    ("pattern", "name", "value"),
    [("p_%s", "p_t", "t"), ("p_%s", "p_", None), ("%s", "t", "t"), ("a%sa", "aa", None),
     ("a%sa", "a", None), ("%s_x", "t_x", "t")],
)  # fmt: skip
def test_wildcard_stands_for_a_text_that_is_not_empty(
    pattern: str, name: str, value: str | None
) -> None:
    assert value_in(("n", pattern), ("n", name)) == value
    assert value_in(("n", pattern), ("other", name)) is None
