"""The identity of an event depends on its content alone; one event has limits."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import EventError, LimitError
from headwater.events import canonical, check_limits, identity_of, load

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=8)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=12,
)  # fmt: skip


def _shuffled(value: Any, chance: Random) -> Any:
    """Return an equal value whose objects have another order of keys."""
    if isinstance(value, list):
        return [_shuffled(item, chance) for item in value]
    if isinstance(value, dict):
        items = [(key, _shuffled(item, chance)) for key, item in value.items()]
        chance.shuffle(items)
        return dict(items)
    return value


@given(value=_JSON, seed=st.integers())
def test_identity_does_not_depend_on_the_spelling(value: Any, seed: int) -> None:
    other = json.dumps(_shuffled(value, Random(seed)), indent=2, ensure_ascii=bool(seed % 2))
    assert identity_of(load(other.encode())) == identity_of(value)


@given(value=_JSON)
def test_canonical_form_is_idempotent_and_keeps_the_value(value: Any) -> None:
    text = canonical(value)
    assert orjson.loads(text) == value
    assert canonical(orjson.loads(text)) == text


@given(one=_JSON, other=_JSON)
def test_different_bodies_have_different_identities(one: Any, other: Any) -> None:
    assert (identity_of(one) == identity_of(other)) == (canonical(one) == canonical(other))


def test_lone_surrogate_is_an_event_error() -> None:
    with pytest.raises(EventError, match="expected Unicode JSON"):
        canonical({"name": "\ud800"})


def _nested(levels: int, is_list: bool) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value] if is_list else {"k": value}
    return value


def _check(body: Any) -> None:
    check_limits(orjson.dumps(body), body)


@pytest.mark.parametrize("is_list", [True, False])
def test_at_most_a_hundred_levels_are_allowed(is_list: bool) -> None:
    _check(_nested(100, is_list))
    with pytest.raises(LimitError, match="received a deeper nesting, allowed at most 100 levels"):
        _check(_nested(101, is_list))


def test_exceeded_limit_names_the_place() -> None:
    with pytest.raises(LimitError) as caught:
        _check({"run": {"facets": {"x": [1, {"items": [0] * 100_001}]}}})
    assert str(caught.value) == (
        "run.facets.x[1].items: received 100001 items, allowed at most 100000 items"
    )
    _check({"items": [0] * 100_000})


@pytest.mark.parametrize("is_key", [True, False])
def test_long_text_is_rejected_at_any_position(is_key: bool) -> None:
    longest = "x" * 2**24
    _check({longest: 1} if is_key else {"a": longest})
    with pytest.raises(LimitError, match="received a string of 16777217 characters") as caught:
        _check({"a": {longest + "x": 1}} if is_key else {"a": [longest + "x"]})
    assert caught.value.path == ("a.<key>" if is_key else "a[0]")


def test_path_of_a_deep_place_is_shortened() -> None:
    body: Any = [0] * 100_001
    for _ in range(90):
        body = {"a_rather_long_key": body}
    with pytest.raises(LimitError) as caught:
        _check(body)
    assert len(caught.value.path) <= 203
    assert caught.value.path.endswith("...")
