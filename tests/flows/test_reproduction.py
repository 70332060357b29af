"""The comparison of a run's code with the code that reproduces it."""

from __future__ import annotations

import pytest

from metaflow_flows.train_forecast_model.reproduce import code_difference


@pytest.mark.parametrize(
    ("then", "now", "difference", "remedy"),
    [
        ("1a", "1a", "", ""),
        ("1a", "2b", "is commit 2b, but run 7 used commit 1a.", "`git checkout 1a` restores it."),
        ("1a-dirty", "1a-dirty", "uncommitted changes, so it is unknown whether", ""),
        ("1a-dirty", "1a", "used commit 1a-dirty.", "`git checkout 1a` restores it without the"),
        ("1a", "1a-dirty", "is commit 1a-dirty, but run 7 used commit 1a.", "`git checkout 1a`"),
        (None, "1a", "is commit 1a, but run 7 used commit unknown.", ""),
        (None, None, "is commit unknown, but run 7 used commit unknown.", ""),
    ],
)
def test_only_the_same_commit_without_changes_is_the_same_code(
    then: str | None, now: str | None, difference: str, remedy: str
) -> None:
    said = code_difference("7", then, now)
    assert difference in said
    assert remedy in said
    assert bool(said) == bool(difference)
    assert ("git checkout" in said) == bool(remedy)
