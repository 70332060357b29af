"""Who may post."""

from __future__ import annotations

from typing import Any

import pytest

from throughline_aws.authorizer import KEPT_SECONDS, Authorizer


def _asks(authorizer: Authorizer, header: str | None) -> bool:
    headers = {} if header is None else {"authorization": header}
    return authorizer({"headers": headers})["isAuthorized"]


@pytest.mark.parametrize(
    ("header", "may"),
    [
        ("Bearer new", True),
        ("bearer  old ", True),
        ("Bearer newer", False),
        ("Bearer ", False),
        ("Bearer", False),
        ("Basic new", False),
        ("new", False),
        ("Bearer ключ", False),
        (None, False),
    ],
)
def test_the_key_and_the_one_before_it_pass(header: str | None, may: bool) -> None:
    assert _asks(Authorizer(lambda: ["new", "old", ""]), header) is may


def test_without_any_key_nobody_passes() -> None:
    assert not _asks(Authorizer(lambda: [""]), "Bearer ")


def test_a_rotated_key_counts_after_a_while_and_is_not_asked_for_each_time() -> None:
    asked: list[Any] = []
    now = [0.0]

    def keys() -> list[str]:
        asked.append(now[0])
        return ["one"] if len(asked) == 1 else ["two", "one"]

    authorizer = Authorizer(keys, lambda: now[0])
    passing = [_asks(authorizer, f"Bearer {key}") for key in ("one", "two", "one")]
    assert passing == [True, False, True]
    now[0] = KEPT_SECONDS
    assert [_asks(authorizer, f"Bearer {key}") for key in ("one", "two")] == [True, True]
    assert asked == [0.0, KEPT_SECONDS]


def test_a_denied_key_is_not_in_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    assert not _asks(Authorizer(lambda: ["new"]), "Bearer nearly-new")
    said = capsys.readouterr().out
    assert "a request without a known key" in said
    assert "nearly" not in said
