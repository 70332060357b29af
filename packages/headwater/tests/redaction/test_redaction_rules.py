"""The quick search for markers never hides a secret from the rules."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.redaction import DEFAULT, MASK
from headwater.redaction._forms import GROUPS
from headwater.redaction._rules import Finder, Group, lower_bytes
from packages.headwater.tests.support import secret_forms as forms

_PART = 65_536
_SECRET_TEXTS = [form.replace("§", forms.SECRET) for form in forms.TEXTS] + list(forms.TOKENS)
_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.sampled_from([*_SECRET_TEXTS, "a", "string"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "value", "password", "token", "x", "ü"]), inner)
    ),
    max_leaves=8,
)


@pytest.mark.parametrize("text", _SECRET_TEXTS)
def test_masked_text_contains_a_marker_of_its_group(text: str) -> None:
    raw = orjson.dumps(text).lower()
    for group in GROUPS:
        if group.mask(text) != text:
            assert any(marker.encode() in lower_bytes(text) for marker in group.markers)
            assert group.may_match(raw)


@given(
    markers=st.sets(st.text("ab", min_size=1, max_size=4), min_size=1),
    text=st.text("abc", max_size=30),
    before=st.integers(0, 12),
)
def test_finder_finds_every_marker_even_across_parts(
    markers: set[str], text: str, before: int
) -> None:
    ordered = sorted(markers)
    padded = "c" * (_PART - before) + text
    expected = {
        (index, start)
        for index, marker in enumerate(ordered)
        for start in range(_PART - before, len(padded))
        if padded.startswith(marker, start)
    }
    finder = Finder([marker.encode() for marker in ordered])
    assert set(finder.find(padded.encode())) == expected


@given(text=st.text(max_size=20))
def test_positions_in_lower_case_bytes_are_those_of_the_text(text: str) -> None:
    lower = lower_bytes(text)
    assert len(lower) == len(text)
    for char, byte in zip(text, lower, strict=True):
        assert chr(byte) == (char.lower() if char.isascii() else "?")


@given(value=_JSON)
def test_redaction_is_idempotent_and_keeps_the_shape(value: Any) -> None:
    clean = DEFAULT.redact(value)
    assert DEFAULT.redact(clean) == clean
    assert _shape(clean) == _shape(value)
    if clean is not value:
        assert DEFAULT.is_suspicious(orjson.dumps(value))


def _shape(value: Any) -> Any:
    if isinstance(value, dict):
        return [(key, _shape(item)) for key, item in value.items()]
    if isinstance(value, list):
        return [_shape(item) for item in value]
    return None


@given(before=st.sampled_from(["", "ü", "\n", "x: ", "☃ "]), form=st.sampled_from(forms.TEXTS))
def test_text_before_a_secret_does_not_protect_it(before: str, form: str) -> None:
    clean = DEFAULT.redact_text(f"{before}\n{form.replace('§', forms.SECRET)}")
    assert forms.SECRET not in clean
    assert clean.startswith(before)


@pytest.mark.parametrize(
    ("value", "clean"),
    [
        ({"password": 1234, "port": 5432}, {"password": MASK, "port": 5432}),
        ({"password": True, "token": 7}, {"password": True, "token": 7}),
        ({"password": {"pin": [1, "string"]}}, {"password": {"pin": [MASK, "string"]}}),
        ({"name": "db.password", "value": "x"}, {"name": "db.password", "value": MASK}),
        ({"name": "db.port", "value": "x"}, {"name": "db.port", "value": "x"}),
        (["--password", "x", "--port", "1"], ["--password", MASK, "--port", "1"]),
        (["--password", "--port", "1"], ["--password", "--port", "1"]),
        (
            {"fields": {"password": {"type": "string"}}},
            {"fields": {"password": {"type": "string"}}},
        ),
        ({"https://u:pw9@h": 1}, {f"https://u:{MASK}@h": 1}),
    ],
)
def test_key_decides_which_values_are_masked(value: Any, clean: Any) -> None:
    assert DEFAULT.redact(value) == clean


def test_line_keeps_its_escapes_unless_it_has_a_secret() -> None:
    harmless = r'{"a": "\u0041\n'
    assert DEFAULT.redact_line(harmless) == harmless
    assert DEFAULT.redact_line(r'{"p\u0061ssword": "hunt') == f'{{"password": "{MASK}"'


def test_rules_of_a_group_apply_in_their_order() -> None:
    group = Group("a", ("a+", "b"), ("b", "c"))
    assert (group.mask("xAA"), group.may_match(b"a")) == ("xc", True)
    assert not Group("a", ("aa", MASK), check=rb"aa").may_match(b"a")
