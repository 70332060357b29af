"""A text is parsed for local names only if it may contain some."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.sql.not_tables import _are_called

_PIECES = st.lists(
    st.sampled_from(
        ("f", "F", "g1", "a-b", "x$", "1", "_", ".", " ", "\n", "(", ")", '"', ",", "s.f", "é")
    )
)


@given(_PIECES, _PIECES)
def test_calls_are_found_as_by_a_regular_expression(pieces: list[str], parts: list[str]) -> None:
    text, name = "".join(pieces), "".join(parts)
    last = name.rpartition(".")[2].lower()
    expected = re.search(rf"\b{re.escape(last)}\s*\(", text, re.IGNORECASE) is not None
    assert _are_called([name], text) is expected


@pytest.mark.parametrize(
    ("text", "is_called"),
    [
        ("SELECT * FROM GENERATE_SERIES (1, 2)", True),
        ("SELECT * FROM my_generate_series(1)", False),
        ("SELECT * FROM generate_series", False),
    ],
)
def test_function_is_called_by_its_whole_name(text: str, is_called: bool) -> None:
    assert _are_called(["public.generate_series"], text) is is_called
